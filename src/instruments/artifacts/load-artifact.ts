/** Payloads of artifacts, read back without a session: of runs that have ended as of those that go on. */
import { invalidInput, QuarkError } from '../../base/errors.ts';
import { readArtifacts } from '../../read/artifacts.ts';
import { checkRunSource, runIdOf, type RunSource } from '../../read/scan.ts';
import type { ArtifactRecord } from '../../records/artifact.ts';
import type { Store } from '../../store/store.ts';
import { getPayload } from './parts.ts';
import { readPayload, type LoadedPayload } from './payload.ts';

/** A run whose artifacts are read: what `openRun(store, runId)` returns, or a store and the id of a run. */
export type ArtifactSource = RunSource & { readonly store: Pick<Store, 'getBlob'> };

/**
 * The payload of an artifact of a run, whole: a JSON value, text or bytes. Its hash is checked.
 *
 * @param run what `openRun(store, runId)` returns, or a store and the id of a run
 * @param artifact a record, or the id of one
 * @throws {QuarkError} `invalid_input`; `artifact_not_found`; `unsupported` for a payload that memory cannot hold
 * @throws {SessionStoreError} `missing` or `corrupt`
 * @example
 * ```js
 * import { openRun, openStorage, TrainingSession } from 'quark-sdk';
 * import { ArtifactStore, loadArtifact } from 'quark-sdk/probes';
 *
 * const runId = await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   await new ArtifactStore(session).store('report', 'confusion', { rows: [[9, 1], [0, 10]] });
 *   return session.runId;
 * });
 * const store = await openStorage('quark-runs');
 * const run = await openRun(store, runId);
 * const [record] = await run.readArtifacts({ artifactKey: 'confusion' });
 * const report = await loadArtifact(run, record); // a JSON value, text or bytes
 * console.log(report); // { rows: [ [ 9, 1 ], [ 0, 10 ] ] }
 * await store.close();
 * ```
 */
export async function loadArtifact(
  run: ArtifactSource,
  artifact: string | ArtifactRecord,
): Promise<LoadedPayload> {
  const { store } = checkRunSource('run', run);
  return loadPayload(store, await findArtifact(run, artifact));
}

/**
 * The bytes of a payload, chunk by chunk. Each is checked before it is returned, and the hash of the whole before the last one is.
 *
 * @throws {QuarkError} `invalid_input`; `artifact_not_found`
 * @throws {SessionStoreError} `missing` or `corrupt`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { ArtifactStore, streamArtifact } from 'quark-sdk/probes';
 *
 * const store = createMemoryStore();
 * const record = await TrainingSession.run({ project: 'digits', storage: store }, (session) =>
 *   new ArtifactStore(session).store('checkpoint', 'checkpoints/last', new Uint8Array(3_000_000)),
 * );
 * let bytes = 0;
 * for await (const chunk of streamArtifact({ store, runId: record.runId }, record)) bytes += chunk.length;
 * console.log(bytes); // 3000000
 * ```
 */
export async function* streamArtifact(
  run: ArtifactSource,
  artifact: string | ArtifactRecord,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { store } = checkRunSource('run', run);
  yield* getPayload(store, await findArtifact(run, artifact));
}

/** The record of an artifact. @throws {QuarkError} `artifact_not_found` */
async function findArtifact(
  run: RunSource,
  artifact: string | ArtifactRecord,
): Promise<ArtifactRecord> {
  if (typeof artifact === 'object' && artifact !== null && 'sha256' in artifact) return artifact;
  if (typeof artifact !== 'string')
    throw invalidInput('artifact', artifact, 'an artifact record, or the id of one');
  const [record] = (await readArtifacts(run, { artifactId: artifact })).records;
  if (record !== undefined) return record;
  const runId = runIdOf(run);
  throw new QuarkError(
    'artifact_not_found',
    `Run ${runId} has no artifact with the id ${artifact}.`,
    { details: { id: artifact, runId } },
  );
}

async function loadPayload(
  store: Pick<Store, 'getBlob'>,
  record: ArtifactRecord,
): Promise<LoadedPayload> {
  return readPayload(record.payloadFormat, await loadBytes(store, record));
}

/** The payload of a record as it is stored. @throws as {@link loadArtifact} */
export async function loadBytes(
  store: Pick<Store, 'getBlob'>,
  record: ArtifactRecord,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = roomFor(record);
  let at = 0;
  for await (const chunk of getPayload(store, record)) {
    // A damaged part may be longer than the payload; the generator says so after the last one.
    bytes.set(chunk.subarray(0, bytes.byteLength - at), at);
    at += chunk.byteLength;
  }
  return bytes;
}

function roomFor({ id, sizeBytes }: ArtifactRecord): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(sizeBytes);
  } catch (cause) {
    throw new QuarkError(
      'unsupported',
      `The payload of artifact ${id} has ${sizeBytes} bytes, more than can be buffered at once. Read it with stream().`,
      { details: { id, sizeBytes }, cause },
    );
  }
}
