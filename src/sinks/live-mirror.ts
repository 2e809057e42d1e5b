/**
 * A mirror sends what a run has stored to a sink, while the run goes on or after it. It reads from the store, in the background, by
 * sequence number. Its position is a note beside the data: before a batch is sent, up to where it reaches; when it has arrived, that
 * position. So the same batch comes again, marked as repeated, after a failure or the end of the process, and no other does.
 */
import { errorOf, QuarkError } from '../base/errors.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { warn } from '../base/console.ts';
import type { JsonObject } from '../base/json.ts';
import { positive, readOptions } from '../base/options.ts';
import { loadBytes } from '../instruments/artifacts/load-artifact.ts';
import {
  COMMON_MEDIA_TYPES,
  commonMediumOf,
  keyInContext,
} from '../instruments/media/common-media.ts';
import { readMetricColumns, type MetricColumns } from '../read/metric-columns.ts';
import { openRun } from '../read/run-reader.ts';
import { readArtifacts } from '../read/artifacts.ts';
import type { ArtifactRecord } from '../records/artifact.ts';
import { TERMINAL_RUN_STATUSES, type TerminalRunStatus } from '../records/literals.ts';
import type { RunRecord } from '../records/run.ts';
import type { RunContext } from '../session/run-context.ts';
import { handleOf, type RunHandle } from '../session/run-handle.ts';
import type { TrainingSession } from '../session/training-session.ts';
import type { Store, StoreNotes } from '../store/store.ts';
import { Delivery, within } from './delivery.ts';
import { checkSinkName } from './function-sinks.ts';
import {
  NO_SCALARS,
  type Sink,
  type SinkBatch,
  type SinkDistribution,
  type SinkImage,
  type SinkMedia,
  type SinkRun,
  type SinkScalars,
  type SinkSound,
  type SinkText,
} from './sink.ts';

/** Samples in a batch. */
const BATCH_ROWS = 50_000;
/** Larger histograms, texts, images and sounds are left out, as exports leave them out. */
const MAX_PAYLOAD_BYTES = 1 << 24;
/** Artifacts in a batch, and bytes of their payloads. */
const BATCH_ARTIFACTS = 100;
const BATCH_BYTES = 1 << 24;
/** How long the end of a run waits for a mirror, in milliseconds. What is left is sent by {@link finishMirror}. */
const END_MS = 10_000;

/** Options of {@link mirrorRun}. */
export type MirrorOptions = {
  /** How long after something was stored the mirror sends it, in milliseconds. Default 1000. */
  readonly intervalMs?: number;
};

/** How a mirror is getting on. */
export type MirrorStatus = {
  /** `failing`: the sink does not take records; it is tried again. `ended`: nothing more is sent. */
  readonly state: 'working' | 'failing' | 'ended';
  /** Why it fails, or failed last. */
  readonly error: Error | null;
  /** Samples that the sink has. */
  readonly samples: number;
};

/** Next sequence numbers. */
type Position = { readonly metrics: number; readonly artifacts: number };

/** What is noted beside the run. */
type MirrorNote = Position & {
  /** Where the batch ends that was about to be sent. */
  readonly until: Position | null;
  readonly memory: JsonObject | null;
  readonly config: string;
  /** Whether the sink was told of the end. */
  readonly isEnded: boolean;
};

const START: MirrorNote = {
  metrics: 0,
  artifacts: 0,
  until: null,
  memory: null,
  config: '',
  isEnded: false,
};

/**
 * Mirrors the run of a session to a sink until the session ends or leaves it. What the sink fails to take is told
 * (`onRecordingProblem` with `mirror_failed`, `status`), sent again, and stops nothing.
 *
 * @throws {QuarkError} `invalid_input`; `unsupported` for a store that has no notes, as one over HTTP: use one at hand
 * @example
 * ```js
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { lineSink, mirrorRun } from 'quark-sdk/tracker';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const mirror = mirrorRun(session, lineSink(), { intervalMs: 200 });
 *   new MetricsLogger(session).log('train/loss', 0.5, { step: 0 });
 *   await session.flush();
 *   console.log(mirror.status.state); // working
 * }); // the end of the run sends the rest: step 0: train/loss 0.5
 * ```
 */
export function mirrorRun(
  session: TrainingSession | RunContext,
  sink: Sink,
  options: MirrorOptions = {},
): LiveMirror {
  const handle = handleOf(session);
  handle.checkOpen();
  const { intervalMs } = readOptions('options', options, { intervalMs: positive(1000) });
  return new LiveMirror(handle.store, handle.runId, checkSink(sink), { intervalMs, handle });
}

/**
 * Sends what a sink lacks of a stored run that has ended: what was left when the process ended, or all of it.
 *
 * @returns the state in which it is; `failing` with the error when the sink did not take all
 * @throws {QuarkError} `invalid_input`; `run_not_found`; `invalid_run_state` while a session is live; `unsupported` as {@link mirrorRun}
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { finishMirror, tensorBoardSink } from 'quark-sdk/tracker';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1], [0.9, 0.5]);
 *   return session.runId;
 * });
 * const { state, samples } = await finishMirror(store, runId, tensorBoardSink({ directory: 'logs' }));
 * console.log(state, samples); // ended 2
 * ```
 */
export async function finishMirror(store: Store, runId: string, sink: Sink): Promise<MirrorStatus> {
  const { isLive } = await openRun(store, runId);
  if (isLive)
    throw new QuarkError(
      'invalid_run_state',
      `Run ${runId} has a live session. Mirror it there, with mirrorRun().`,
      { details: { runId } },
    );
  const mirror = new LiveMirror(store, runId, checkSink(sink), { intervalMs: 1000 });
  await mirror.end();
  return mirror.status;
}

type MirrorParts = { readonly intervalMs: number; readonly handle?: RunHandle };

/**
 * A mirror that is under way; made by {@link mirrorRun}. It ends with the session.
 *
 * @example
 * ```js
 * import { readdir } from 'node:fs/promises';
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { mirrorRun, tensorBoardSink } from 'quark-sdk/tracker';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const mirror = mirrorRun(session, tensorBoardSink({ directory: 'logs' })); // a LiveMirror
 *   new MetricsLogger(session).log('train/loss', 0.5, { step: 0 });
 *   await session.flush();
 *   await mirror.flush();
 *   console.log(mirror.status.state, mirror.status.samples); // working 1
 * });
 * console.log((await readdir('logs')).length); // 1
 * ```
 */
export class LiveMirror {
  readonly sink: Sink;
  readonly #store: Store;
  readonly #runId: string;
  readonly #handle: RunHandle | undefined;
  readonly #clock: Clock;
  readonly #delivery: Delivery;
  #note: MirrorNote = START;
  #isOpen = false;
  #isUnsure = false;
  #isEnded = false;
  #endError: Error | null = null;
  #columns: MetricColumns | undefined;

  /** @internal Use {@link mirrorRun}. */
  constructor(store: Store, runId: string, sink: Sink, { handle, intervalMs }: MirrorParts) {
    this.sink = sink;
    this.#store = store;
    this.#runId = runId;
    this.#handle = handle;
    this.#clock = handle?.clock ?? systemClock;
    this.#notes();
    this.#delivery = new Delivery({
      clock: this.#clock,
      intervalMs,
      work: () => this.#send(),
      onChange: (error, isFailing) => this.#tell(error, isFailing),
    });
    handle?.onAppended((table) => {
      if (table === 'metrics' || table === 'artifacts') this.#delivery.poke();
    });
    handle?.onOver(async () => {
      const isDone = handle.fenced === undefined && (await within(this.#clock, END_MS, this.end()));
      // What is under way may end later; no other batch begins.
      if (!isDone) void this.#stop();
    });
    this.#delivery.poke();
  }

  /** Samples and state; reads nothing. */
  get status(): MirrorStatus {
    const { error, isFailing } = this.#delivery;
    const isFailed = isFailing || this.#endError !== null;
    return {
      state: isFailed ? 'failing' : this.#isEnded ? 'ended' : 'working',
      error: this.#endError ?? error,
      samples: this.#note.metrics,
    };
  }

  /** Sends what is stored now. Resolves when the sink fails, too: see {@link LiveMirror.status}. */
  flush(): Promise<void> {
    return this.#delivery.settle();
  }

  /** @internal Sends the rest, tells the sink how the run ended, if it has, and closes it. Never rejects. */
  async end(): Promise<void> {
    await this.#delivery.settle();
    try {
      const { run } = await openRun(this.#store, this.#runId);
      const status = terminal(run.status);
      if (status !== undefined && !this.#delivery.isFailing && !this.#note.isEnded) {
        await this.sink.end?.(status, Date.parse(run.endedAt ?? run.startedAt));
        await this.#write({ ...this.#note, isEnded: true });
      }
    } catch (error) {
      this.#endError = errorOf(error);
      this.#tell(this.#endError, true);
    }
    await this.#stop();
  }

  #tell(error: Error, isFailing: boolean): void {
    const { recording, strictMode } = this.#handle ?? {};
    recording?.mirrored(error, isFailing);
    if (isFailing && strictMode === false)
      warn(
        `Quark: the mirror ${this.sink.name} of run ${this.#runId} fails. Recording goes on; the mirror tries again. ${error.message}`,
      );
  }

  async #stop(): Promise<void> {
    this.#isEnded = true;
    await this.#delivery.stop();
    this.#columns = undefined;
    await this.sink.close?.().catch(() => undefined);
  }

  /** One batch; true when there is more. */
  async #send(): Promise<boolean> {
    if (this.#handle?.fenced !== undefined) return false;
    const { run } = await openRun(this.#store, this.#runId);
    if (!this.#isOpen) await this.#open(run);
    const { batch, until } = await this.#next(run);
    if (batch === undefined) return false;
    const note = this.#note;
    await this.#write({ ...note, until });
    const memory = (await this.sink.write(batch)) ?? note.memory;
    const config = JSON.stringify(run.config);
    await this.#write({ ...note, ...until, until: null, memory, config, isEnded: false });
    return true;
  }

  async #open(run: RunRecord): Promise<void> {
    const text = await this.#notes().read(this.#noteName);
    const found: MirrorNote = text === undefined ? START : JSON.parse(text);
    const config = JSON.stringify(run.config);
    const opened = await this.sink.open?.(sinkRunOf(run), found.memory);
    const { has = 'all', memory = found.memory } = opened ?? {};
    this.#isUnsure = has === 'unknown';
    const isNew = has !== 'all' || text === undefined;
    await this.#write(isNew ? { ...START, memory, config } : { ...found, memory, isEnded: false });
    this.#isOpen = true;
  }

  /** The batch after the position: the one that was about to be sent, if any. */
  async #next(run: RunRecord): Promise<{ batch: SinkBatch | undefined; until: Position }> {
    const { artifacts: artifactsFrom, config, metrics: metricsFrom, until: asked } = this.#note;
    const columns = await this.#read(metricsFrom);
    const rows = rowsBetween(columns, metricsFrom, asked?.metrics);
    const found = await this.#artifacts(artifactsFrom, asked?.artifacts);
    const isChanged = config !== JSON.stringify(run.config);
    const until = asked ?? {
      metrics: rows.end === rows.start ? metricsFrom : (columns.sequences[rows.end - 1] ?? 0) + 1,
      artifacts: (found.at(-1)?.sequence ?? artifactsFrom - 1) + 1,
    };
    const isNothing = rows.end === rows.start && found.length === 0 && !isChanged;
    if (isNothing && asked === null) return { batch: undefined, until };
    const batch: SinkBatch = {
      run: sinkRunOf(run),
      scalars: rows.end === rows.start ? NO_SCALARS : slice(columns, rows.start, rows.end),
      ...(await mediaOf(this.#store, found)),
      parameters: isChanged ? run.config : null,
      isRepeated: asked !== null || this.#isUnsure,
    };
    return { batch, until };
  }

  /** What is stored from a sequence number on; read again once it is used up. */
  async #read(sequenceMin: number): Promise<MetricColumns> {
    const known = this.#columns;
    if (known !== undefined && known.lastSequence >= sequenceMin) return known;
    const source = { store: this.#store, runId: this.#runId };
    this.#columns = await readMetricColumns(source, { sequenceMin });
    return this.#columns;
  }

  async #artifacts(from: number, until: number | undefined): Promise<readonly ArtifactRecord[]> {
    const source = { store: this.#store, runId: this.#runId };
    const { records } = await readArtifacts(source, { sequenceMin: from });
    if (until !== undefined) return records.filter(({ sequence }) => (sequence ?? 0) < until);
    const some = records.slice(0, BATCH_ARTIFACTS);
    let bytes = 0;
    const end = some.findIndex(
      (record, i) => (bytes += wantedBytes(record)) > BATCH_BYTES && i > 0,
    );
    return end < 0 ? some : some.slice(0, end);
  }

  get #noteName(): string {
    return `mirrors/${this.#runId}/${this.sink.name}`;
  }

  async #write(note: MirrorNote): Promise<void> {
    await this.#notes().write(this.#noteName, JSON.stringify(note));
    this.#note = note;
  }

  /** @throws {QuarkError} `unsupported` */
  #notes(): StoreNotes {
    const { notes, uri } = this.#store;
    if (notes !== undefined) return notes;
    throw new QuarkError(
      'unsupported',
      `The store ${uri} has no notes, in which a mirror has its position. Record into a store at hand, and name the service as persistenceUrl.`,
      { details: { uri } },
    );
  }
}

/** @throws {QuarkError} `invalid_input` */
function checkSink(sink: Sink): Sink {
  const isSink = typeof sink === 'object' && sink !== null && typeof sink.write === 'function';
  if (!isSink)
    throw new QuarkError('invalid_input', 'sink must be a sink, with a name and write().');
  checkSinkName('sink.name', sink.name);
  return sink;
}

function terminal(status: string): TerminalRunStatus | undefined {
  return TERMINAL_RUN_STATUSES.find((one) => one === status);
}

function sinkRunOf(run: RunRecord): SinkRun {
  return {
    id: run.id,
    project: run.projectName,
    name: run.name ?? run.id,
    description: run.description ?? null,
    config: run.config,
    tags: run.tags,
    startedAtMs: Date.parse(run.startedAt),
  };
}

function rowsBetween(
  { rowCount, sequences }: MetricColumns,
  from: number,
  until: number | undefined,
): { readonly start: number; readonly end: number } {
  let start = 0;
  while (start < rowCount && (sequences[start] ?? 0) < from) start++;
  if (until === undefined) return { start, end: Math.min(rowCount, start + BATCH_ROWS) };
  let end = start;
  while (end < rowCount && (sequences[end] ?? 0) < until) end++;
  return { start, end };
}

function slice(columns: MetricColumns, start: number, end: number): SinkScalars {
  const { epochs, keyIndex, keys, steps, timesMs, values } = columns;
  return {
    rowCount: end - start,
    keys,
    keyIndex: keyIndex.subarray(start, end),
    values: values.subarray(start, end),
    steps: steps.subarray(start, end),
    epochs: epochs.subarray(start, end),
    timesMs: timesMs.subarray(start, end),
  };
}

/** Bytes of an artifact that is sent; 0 for others. */
function wantedBytes({ artifactType, sizeBytes }: ArtifactRecord): number {
  const isWanted = COMMON_MEDIA_TYPES.includes(artifactType) && sizeBytes <= MAX_PAYLOAD_BYTES;
  return isWanted ? sizeBytes : 0;
}

async function mediaOf(store: Store, records: readonly ArtifactRecord[]): Promise<SinkMedia> {
  const texts: SinkText[] = [];
  const distributions: SinkDistribution[] = [];
  const images: SinkImage[] = [];
  const sounds: SinkSound[] = [];
  for (const record of records) {
    if (wantedBytes(record) === 0) continue;
    const { id, step, timestamp } = record;
    const common = { key: keyInContext(record), step, timeMs: Date.parse(timestamp) };
    const medium = commonMediumOf(record, await loadBytes(store, record));
    if (medium?.kind === 'text') texts.push({ ...common, text: DECODER.decode(medium.bytes) });
    else if (medium?.kind === 'histogram')
      distributions.push({ ...common, ...binsOf(medium.rows) });
    else if (medium?.kind === 'image') images.push({ ...common, id, ...medium });
    else if (medium?.kind === 'audio') sounds.push({ ...common, id, bytes: medium.bytes });
  }
  return { texts, distributions, images, sounds };
}

const DECODER = new TextDecoder();

/** Buckets as edges and counts; what is between two of them is a bucket without values. */
function binsOf(rows: readonly number[]): { bins: readonly number[]; counts: readonly number[] } {
  const bins: number[] = rows.length === 0 ? [0] : [rows[0] ?? 0];
  const counts: number[] = [];
  for (let i = 0; i < rows.length; i += 3) {
    const [left = 0, right = 0, count = 0] = rows.slice(i, i + 3);
    if (left > (bins.at(-1) ?? 0)) {
      bins.push(left);
      counts.push(0);
    }
    bins.push(right);
    counts.push(count);
  }
  return { bins, counts };
}
