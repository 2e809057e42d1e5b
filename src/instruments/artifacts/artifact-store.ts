/** Stores what is no number: histograms, snapshots, checkpoints, files. */
import {
  checkOptionalCount,
  checkOptionNames,
  checkTimestamp,
  checkFlag,
} from '../../base/assert.ts';
import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { invalidInput, messageOf, QuarkError } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import { type JsonObject, copyJsonObject } from '../../base/json.ts';
import { checkType, parseKey } from '../../base/names.ts';
import { readArtifacts, type ArtifactFilter } from '../../read/artifacts.ts';
import { artifactTable, type ArtifactRecord } from '../../records/artifact.ts';
import type { ArtifactPayloadFormat } from '../../records/literals.ts';
import { RecordWriter } from '../../session/record-writer.ts';
import type { RunContext } from '../../session/run-context.ts';
import { handleOf, writeFor, type RunHandle } from '../../session/run-handle.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { BufferedBlobs } from './buffered-blobs.ts';
import { interruptible } from './interruptible.ts';
import { loadArtifact, streamArtifact } from './load-artifact.ts';
import { PART_BYTES, putPayload, putPayloadNow } from './parts.ts';
import {
  checkHistogram,
  openPayload,
  PAYLOAD_FILE_NAMES,
  type ArtifactPayload,
  type LoadedPayload,
} from './payload.ts';

/**
 * Where an artifact lies relative to its run, wherever runs become files: in exports and in records. In a store the payload itself is
 * stored under its SHA-256, so that equal payloads take room once.
 */
export const ARTIFACT_STORAGE_LAYOUT = Object.freeze({
  payload: 'artifacts/{artifact_key}/{id}/{payload_file}',
  metadata: 'artifacts/{artifact_key}/{id}/metadata.json',
});

/** Called with each artifact once it is stored. May be async; it is awaited, so it must wait neither for `close` nor for the run's end. */
export type RetentionHook = (store: ArtifactStore, record: ArtifactRecord) => unknown;

/** Options of {@link ArtifactStore}. */
export type ArtifactStoreOptions = {
  /** Called in order with each artifact once it is stored. Default none. */
  readonly retentionHooks?: readonly RetentionHook[];
  /**
   * Whether `store` rejects with `retention_failed` when a hook throws; the artifact is stored all the same. Otherwise a warning event
   * is recorded. Default: the run's strict mode.
   */
  readonly raiseOnRetentionError?: boolean | null;
};

/** Options of every way of storing. */
export type StoreArtifactOptions = {
  readonly step?: number | null | undefined;
  readonly epoch?: number | null | undefined;
  /** Prefix of the artifact's name, with a "/". */
  readonly namespace?: string | null | undefined;
  /** Default: `text` for text, `bytes` for bytes, else `json`. */
  readonly payloadFormat?: ArtifactPayloadFormat | null | undefined;
  /** Context of the artifact; a JSON object. */
  readonly metadata?: JsonObject | null | undefined;
  /** When it was made. Default: now. */
  readonly timestamp?: string | number | Date | undefined;
};

/** Options of {@link ArtifactStore.logHistogram}. */
export type LogHistogramOptions = Omit<StoreArtifactOptions, 'payloadFormat'> & {
  /** Edges of the bins, ascending: one more than there are counts. */
  readonly bins: ArrayLike<number>;
  /** Values in each bin, 0 or more. */
  readonly counts: ArrayLike<number>;
};

/** Options of {@link ArtifactStore.logSnapshot}. */
export type LogSnapshotOptions = StoreArtifactOptions & {
  /** Artifact type; default `batch_diagnostics_snapshot`. */
  readonly snapshotType?: string | undefined;
};

const OPTION_NAMES = [
  'step',
  'epoch',
  'namespace',
  'payloadFormat',
  'metadata',
  'timestamp',
] as const;

/**
 * Stores artifacts of a run. `store` resolves once payload and record are durable. A payload that is given as a stream may have any
 * size: one part of it is in memory at a time.
 *
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { ArtifactStore } from 'quark-sdk/probes';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const artifacts = new ArtifactStore(session);
 *   await artifacts.store('checkpoint', 'checkpoints/last', new Uint8Array(400), { step: 500 });
 *   await artifacts.logHistogram('weights/dense', { bins: [-1, 0, 1], counts: [40, 60], step: 500 });
 *   const [record] = await artifacts.read({ artifactType: 'checkpoint' });
 *   console.log(record.artifactKey, record.payloadFormat, record.step); // checkpoints/last bytes 500
 *   const weights = await artifacts.load(record); // a JSON value, text or bytes
 *   console.log(weights instanceof Uint8Array && weights.length); // 400
 * });
 * ```
 */
export class ArtifactStore implements AsyncDisposable {
  readonly #handle: RunHandle;
  readonly #writer: RecordWriter<typeof artifactTable.columns>;
  readonly #buffered: BufferedBlobs;
  readonly #hooks: readonly RetentionHook[];
  readonly #raisesRetentionErrors: boolean;
  readonly #detach: () => void;
  /** Calls that are not in the store yet. */
  readonly #keeping = new Set<Promise<unknown>>();
  /** The same, and those whose hooks are running. */
  readonly #running = new Set<Promise<unknown>>();

  /**
   * @param session a session, or a context made by one
   * @throws {QuarkError} `invalid_input` naming the option
   */
  constructor(session: TrainingSession | RunContext, options: ArtifactStoreOptions = {}) {
    this.#handle = handleOf(session);
    checkOptionNames('options', options, ['retentionHooks', 'raiseOnRetentionError']);
    const { retentionHooks = [], raiseOnRetentionError } = options;
    if (!Array.isArray(retentionHooks) || retentionHooks.some((hook) => typeof hook !== 'function'))
      throw invalidInput('retentionHooks', retentionHooks, 'a list of functions');
    const raises = raiseOnRetentionError ?? this.#handle.strictMode;
    checkFlag('raiseOnRetentionError', raises);
    this.#hooks = [...retentionHooks];
    this.#raisesRetentionErrors = raises;
    this.#buffered = new BufferedBlobs(this.#handle);
    this.#writer = new RecordWriter(this.#handle, artifactTable, {}, { gate: this.#buffered });
    this.#detach = this.#handle.attach({
      drain: async () => {
        // Not for the hooks: one may wait for this.
        await Promise.allSettled(this.#keeping);
        await this.#writer.drain();
      },
      drainNow: () => this.#writer.drainNow(),
      close: () => this.#end(),
    });
  }

  /**
   * Stores one artifact. A JSON payload, or one in memory, is read before this returns; a stream while the promise is pending.
   *
   * Without strict mode it also resolves when the store fails: the record, with `sequence: null`, and the payload are buffered in
   * memory and stored later. At most 64 MiB of payloads are buffered; an artifact beyond that is dropped, and counted in a
   * `records_dropped` event and in `recordingStatus()`.
   *
   * @param artifactType `tensor_summary`, `checkpoint_metadata`, ...
   * @param name a full key (`layers/encoder/weights`) or a name that `namespace` is put before
   * @throws {QuarkError} `invalid_input` naming field, value and rule, before anything is stored; `writer_closed`;
   *   `invalid_run_state`; `retention_failed`; `aborted` when the process is to stop and a stream brings nothing for five seconds
   * @throws {SessionStoreError} in strict mode, when the store failed; the next flush retries a record that could not be written
   */
  store(
    artifactType: string,
    name: string,
    payload: ArtifactPayload,
    options: StoreArtifactOptions = {},
  ): Promise<ArtifactRecord> {
    const kept = track(this.#keeping, this.#keep(artifactType, name, payload, options));
    const work = kept.then(async (record) => {
      await this.#runHooks(record);
      return record;
    });
    return track(this.#running, work);
  }

  /**
   * Stores small artifacts before it returns: for the last moment of a process. Retention hooks are not called.
   *
   * @internal
   * @returns false where the store answers later only, or fails
   */
  storeNow(
    artifactType: string,
    name: string,
    payloads: readonly { readonly bytes: Uint8Array<ArrayBuffer>; readonly metadata: JsonObject }[],
  ): boolean {
    const { putBlobNow } = this.#handle.store;
    if (putBlobNow === undefined || this.#writer.isClosed) return false;
    try {
      for (const { bytes, metadata } of payloads) {
        const kept = putPayloadNow({ putBlobNow }, bytes);
        this.#writer.add({ ...this.#rowOf(artifactType, name, 'bytes', { metadata }), ...kept });
      }
    } catch {
      return false;
    }
    this.#writer.drainNow();
    return this.#writer.status.bufferedRows === 0;
  }

  /**
   * Does work that ends with storing an artifact, such as encoding an image: flushes, and the end of the run, wait for it.
   *
   * @internal
   */
  prepare<T>(work: () => Promise<T>): Promise<T> {
    return track(this.#running, track(this.#keeping, work()));
  }

  /** Stores a histogram as `{ bins, counts }`. @throws {QuarkError} as {@link store} */
  async logHistogram(name: string, options: LogHistogramOptions): Promise<ArtifactRecord> {
    checkOptionNames('options', options, ['bins', 'counts', ...OPTION_NAMES]);
    const { bins, counts, ...rest } = options;
    return this.store('histogram', name, checkHistogram(bins, counts), {
      ...rest,
      payloadFormat: 'json',
    });
  }

  /** Stores a snapshot of anything. @throws {QuarkError} as {@link store} */
  async logSnapshot(
    name: string,
    payload: ArtifactPayload,
    options: LogSnapshotOptions = {},
  ): Promise<ArtifactRecord> {
    checkOptionNames('options', options, ['snapshotType', ...OPTION_NAMES]);
    const { snapshotType = 'batch_diagnostics_snapshot', ...rest } = options;
    return this.store(snapshotType, name, payload, rest);
  }

  /**
   * Artifacts of the run in the order they were stored.
   *
   * @throws {QuarkError} `invalid_input` naming the filter
   */
  async read(filter: ArtifactFilter = {}): Promise<readonly ArtifactRecord[]> {
    return (await readArtifacts(this.#handle, filter)).records;
  }

  /**
   * The payload of an artifact, whole: a JSON value, text or bytes. Its hash is checked. For payloads that are larger than
   * the memory there is {@link ArtifactStore.stream}.
   *
   * @param artifact a record, or the id of one
   * @throws {QuarkError} `artifact_not_found`; `unsupported` for a payload that memory cannot hold
   * @throws {SessionStoreError} `missing` or `corrupt`
   */
  async load(artifact: string | ArtifactRecord): Promise<LoadedPayload> {
    return loadArtifact(this.#handle, artifact);
  }

  /**
   * The bytes of a payload, chunk by chunk. Each chunk is checked before it is returned, and the hash of the whole before the last one is.
   *
   * @throws {QuarkError} `artifact_not_found`
   * @throws {SessionStoreError} `missing` or `corrupt`
   */
  async *stream(artifact: string | ArtifactRecord): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    yield* streamArtifact(this.#handle, artifact);
  }

  /**
   * Waits for what is being stored, and for the hooks; then refuses more. `read` and `load` still work. A hook must not wait for this,
   * nor for the end of the run, which closes the store; it may wait for `session.flush()`.
   */
  close(): Promise<void> {
    return writeFor(this.#handle, () => this.#end());
  }

  /** Same as {@link close}. */
  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    await Promise.allSettled(this.#running);
    await this.#writer.close();
    this.#detach();
  }

  async #keep(
    artifactType: string,
    name: string,
    payload: ArtifactPayload,
    options: StoreArtifactOptions,
  ): Promise<ArtifactRecord> {
    checkOptionNames('options', options, OPTION_NAMES);
    const source = openPayload(payload, options.payloadFormat);
    const row = this.#rowOf(artifactType, name, source.format, options);
    this.#writer.check();
    const { clock, signal } = this.#handle;
    const { chunks } = source;
    const comes = Symbol.asyncIterator in chunks ? interruptible(chunks, signal, clock) : chunks;
    const buffered = this.#buffered.forPayload();
    const kept = await putPayload(buffered, comes, PART_BYTES);
    if (buffered.isDropped) this.#buffered.drop(buffered.hashes, row.artifactKey, kept.sizeBytes);
    else this.#writer.add({ ...row, ...kept });
    const written = await this.#writer.flush();
    return (
      written.find((found) => found.id === row.id) ??
      artifactTable.wrap({ ...row, ...kept, runId: this.#handle.runId, sequence: null })
    );
  }

  #rowOf(
    artifactType: string,
    name: string,
    payloadFormat: ArtifactPayloadFormat,
    options: StoreArtifactOptions,
  ) {
    const key = parseKey('name', name, options.namespace);
    const { metadata, timestamp } = options;
    const { clock } = this.#handle;
    const id = createId('art', clock.now());
    return {
      timestamp: checkTimestamp(timestamp, clock),
      id,
      artifactType: checkType('artifactType', artifactType),
      namespace: key.namespace,
      artifactName: key.name,
      artifactKey: key.key,
      step: checkOptionalCount('step', options.step),
      epoch: checkOptionalCount('epoch', options.epoch),
      payloadFormat,
      payloadRelativePath: `artifacts/${key.key}/${id}/${PAYLOAD_FILE_NAMES[payloadFormat]}`,
      metadataRelativePath: `artifacts/${key.key}/${id}/metadata.json`,
      metadata:
        metadata === null || metadata === undefined ? null : copyJsonObject('metadata', metadata),
    };
  }

  async #runHooks(record: ArtifactRecord): Promise<void> {
    for (const hook of this.#hooks) {
      try {
        await hook(this, record);
      } catch (cause) {
        const message = `A retention hook failed after artifact ${record.artifactKey} was kept: ${messageOf(cause)}`;
        const details = { id: record.id, artifactKey: record.artifactKey };
        if (this.#raisesRetentionErrors)
          throw new QuarkError('retention_failed', message, { details, cause });
        this.#handle.notify({
          eventType: 'retention_failed',
          severity: 'warning',
          step: record.step,
          epoch: record.epoch,
          payload: { message, artifact_id: record.id, artifact_key: record.artifactKey },
        });
      }
    }
  }
}

/** Adds `work` to `set` until it settles. */
function track<T>(set: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
  set.add(work);
  const forget = (): void => void set.delete(work);
  work.then(forget, forget);
  return work;
}
