/** Where an analysis runs: in a worker of the pool, or on the calling thread, in steps. */
import { checkNotAborted } from '../../base/assert.ts';
import { systemClock } from '../../base/clock.ts';
import { QuarkError } from '../../base/errors.ts';
import { nextTask } from '../../base/next-task.ts';
import { compileSeries } from '../../kernel/series/module/module.ts';
import { processorCount } from '../../kernel/workers/machine.ts';
import { WorkerPool } from '../../kernel/workers/pool.ts';
import { processSlots } from '../../kernel/workers/slots.ts';
import { SignalFanout } from '../../kernel/workers/signals.ts';
import { workerWays, type WorkerLike, type WorkerMode } from '../../kernel/workers/spawn.ts';
import type { SegmentFilter, SegmentManifest, SegmentSource, Store } from '../../store/store.ts';
import { analysisKernel } from '../signals/analysis-kernel.ts';
import { WATCH_WORKER } from './worker-file.ts';
import { doJob, revived, type AnalysisJob, type JobResult } from './analysis-job.ts';
import { packRecords, unpackRecords } from './carried-records.ts';
import { answerCall, JobServer, type AnalysisCall } from './job-port.ts';
import type { AnalysisProgress, RunAnalysisOptions } from '../evaluate/run-options.ts';

/** Rows up to which an analysis is done before a worker could have begun. */
const SMALL_ROWS = 20_000;
/** A call that was not answered by then fails. Reading a long run from a service takes minutes. */
const CALL_TIMEOUT_MS = 6 * 60 * 60_000;
const START_TIMEOUT_MS = 20_000;
const IDLE_MS = 30_000;
const MOST_WORKERS = 2;
/** Milliseconds of rules after which other tasks have their turn. */
const TURN_MS = 4;

type Pool = WorkerPool<AnalysisCall, unknown>;

let shared: Pool | undefined;
const signals = new SignalFanout();

/** The pool of all analyses of a program; one of its own where the caller says how workers are made. */
function poolFor({ spawn, workerMode = 'auto' }: RunAnalysisOptions): {
  readonly pool: Pool;
  readonly isOwn: boolean;
} {
  if (spawn === undefined && workerMode === 'auto')
    return { pool: (shared ??= newPool(workerMode, undefined)), isOwn: false };
  return { pool: newPool(workerMode, spawn), isOwn: true };
}

function newPool(mode: WorkerMode, spawn: (() => WorkerLike) | undefined): Pool {
  return new WorkerPool<AnalysisCall, unknown>({
    size: mode === 'none' ? 0 : Math.max(1, Math.min(MOST_WORKERS, processorCount() - 1)),
    ways: workerWays(WATCH_WORKER, mode, spawn),
    modules: async () => [await compileSeries()],
    runHere: async (call) => answerCall(call, await analysisKernel(), turns(undefined)),
    clock: systemClock,
    startTimeoutMs: START_TIMEOUT_MS,
    callTimeoutMs: CALL_TIMEOUT_MS,
    idleMs: IDLE_MS,
    onIdle: () => undefined,
    slots: processSlots(),
  });
}

/**
 * Does a job: in a worker, which reads the stores through this thread; on this thread, in steps, where there are no workers, the run is
 * small, or the settings have functions of the program.
 *
 * @param stores those of the runs, in their order
 * @throws {QuarkError} `aborted`; what the stores throw
 */
export async function runAnalysis<J extends AnalysisJob>(
  job: J,
  stores: readonly Store[],
  options: RunAnalysisOptions,
): Promise<JobResult<J>> {
  const { onProgress, signal } = options;
  checkNotAborted(signal);
  const { isOwn, pool } = poolFor(options);
  try {
    // What is listed to find out how long the runs are is what the analysis reads first.
    const sources = stores.map(listedOnce);
    if (!pool.hasWorkers || !canBeSent(job.settings) || (!isOwn && (await isSmall(job, sources)))) {
      const onShare = (share: number): void => onProgress?.({ stage: 'computing', share });
      const hooks = { kernel: await analysisKernel(), turn: turns(signal), onShare };
      return (await doJob(job, sources, hooks)) as JobResult<J>; // the kind of the job is the kind of its result
    }
    const value = await runInPool(pool, job, sources, options);
    return revived(job, unpackRecords(value)) as JobResult<J>; // as above
  } finally {
    if (isOwn) pool.close();
  }
}

async function runInPool(
  pool: Pool,
  job: AnalysisJob,
  sources: readonly ListedSource[],
  { onProgress, signal }: RunAnalysisOptions,
): Promise<unknown> {
  const { port1, port2 } = new MessageChannel();
  // A callback that throws ends the analysis with what it threw, as it does on the calling thread.
  const tell = (progress: AnalysisProgress): void => {
    try {
      onProgress?.(progress);
    } catch (error) {
      run.cancel(error);
    }
  };
  const server = new JobServer(port1, sources, tell);
  const sent = job.runs.map(({ columns }) => columns !== undefined);
  const bare = { ...job, runs: job.runs.map(({ info, record }) => ({ info, record })) };
  const call = { job: packRecords(bare), sent, port: port2 };
  const run = pool.run(call, new ArrayBuffer(0), [port2]);
  // It may fail while columns are sent.
  run.result.catch(() => undefined);
  const forget =
    signal &&
    signals.add(signal, (cause) => {
      run.cancel(new QuarkError('aborted', 'The analysis was aborted.', { cause }));
    });
  try {
    for (const [i, { columns }] of job.runs.entries())
      if (columns !== undefined) await server.send(i, columns);
    return await run.result;
  } catch (error) {
    throw server.originalOf(error);
  } finally {
    forget?.();
    server.close();
  }
}

/** Functions cannot be sent to another thread: rules with code, models with methods. */
function canBeSent(settings: AnalysisJob['settings']): boolean {
  try {
    structuredClone(settings);
    return true;
  } catch {
    return false;
  }
}

async function isSmall(job: AnalysisJob, sources: readonly ListedSource[]): Promise<boolean> {
  const tables =
    job.kind === 'alerts' ? ['metrics', 'layer_summaries', 'parameter_summaries'] : ['metrics'];
  let rows = 0;
  for (const [i, { columns, info }] of job.runs.entries()) {
    const source = sources[i];
    if (columns !== undefined || source === undefined) {
      for (const { values } of columns?.metrics.values() ?? []) rows += values.length;
      continue;
    }
    const lists = await Promise.all(tables.map((table) => source.listFirst(info.runId, table)));
    for (const { rowCount } of lists.flat()) rows += rowCount;
  }
  return rows <= SMALL_ROWS;
}

/** Where the segments of a run are read from; what was listed before is the answer to the next question for it. */
type ListedSource = SegmentSource & {
  readonly uri: string;
  listFirst(runId: string, table: string): Promise<readonly SegmentManifest[]>;
};

function listedOnce(store: Store): ListedSource {
  const listed = new Map<string, readonly SegmentManifest[]>();
  const keyOf = (filter: SegmentFilter): string =>
    JSON.stringify(Object.entries(filter).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return {
    uri: store.uri,
    async listFirst(runId, table) {
      const filter = { runId, table };
      const found = await store.listSegments(filter);
      listed.set(keyOf(filter), found);
      return found;
    },
    async listSegments(filter) {
      const key = keyOf(filter);
      const known = listed.get(key);
      // Once: where segments were merged since, the reader lists them again.
      listed.delete(key);
      return known ?? store.listSegments(filter);
    },
    readSegments: (segments) => store.readSegments(segments),
  };
}

/** Turns of others, once the rules since the last took some milliseconds. @throws {QuarkError} `aborted` */
function turns(signal: AbortSignal | undefined): () => Promise<void> {
  let lastMs = performance.now();
  return async () => {
    checkNotAborted(signal);
    if (performance.now() - lastMs < TURN_MS) return;
    await nextTask();
    checkNotAborted(signal);
    lastMs = performance.now();
  };
}
