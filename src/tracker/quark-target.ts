/** The provider `quark`: a session, its metrics, and artifacts for texts and distributions. */
import { errorOf, QuarkError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { TerminalRunStatus } from '../records/literals.ts';
import { ArtifactStore } from '../instruments/artifacts/artifact-store.ts';
import { markRows, overtakeRows, type LastRows, type RowMarks } from '../read/overtaking.ts';
import { MetricsLogger } from '../session/metrics-logger.ts';
import type { SessionOptions } from '../session/run-options.ts';
import { TrainingSession } from '../session/training-session.ts';
import { mirrorRun } from '../sinks/live-mirror.ts';
import type { CheckedRun, QuarkTrackerConfig } from './config.ts';
import type {
  TrackedBins,
  TrackedEntry,
  TrackerState,
  TrackerStatus,
  TrackerTarget,
} from './tracker.ts';

/** A new run, or that of a state. @throws {QuarkError} as `startRun` and `resumeRun`; `unsupported` */
export async function openQuarkTarget(
  config: QuarkTrackerConfig,
  run: CheckedRun,
): Promise<TrackerTarget> {
  const { mirrors = [] } = config;
  const session =
    run.resume === undefined
      ? await TrainingSession.startRun({
          ...optionsOf(config, run),
          project: run.project,
          config: run.parameters,
          tags: run.tags,
          name: run.name,
          description: run.description,
        })
      : await resume(config, run, run.resume);
  for (const sink of mirrors) mirrorRun(session, sink);
  const marks = run.resume === undefined ? {} : (marksOf(run.resume) ?? {});
  return new QuarkTarget(session, locationOf(config), marks);
}

function optionsOf(config: QuarkTrackerConfig, { clock }: CheckedRun): SessionOptions {
  const { onRecordingProblem, persistenceUrl, userKey } = config;
  const storage = config.storage ?? config.resume?.memory['storage'];
  return {
    ...(storage === undefined || storage === null ? {} : { storage: storage as string }),
    ...(persistenceUrl === undefined ? {} : { persistenceUrl }),
    ...(userKey === undefined ? {} : { userKey }),
    ...(onRecordingProblem === undefined ? {} : { onRecordingProblem }),
    ...(clock === undefined ? {} : { clock }),
  };
}

async function resume(
  config: QuarkTrackerConfig,
  run: CheckedRun,
  state: TrackerState,
): Promise<TrainingSession> {
  const { run_id: runId } = state.memory;
  const session = await TrainingSession.resumeRun({
    ...optionsOf(config, run),
    runId: typeof runId === 'string' ? runId : '',
  });
  try {
    const { store } = session;
    if (store.sync !== undefined)
      throw new QuarkError(
        'unsupported',
        'A run that is sent to a service by an outbox cannot be resumed from a state: the service would have both courses of it. Name the service as the storage, or resume the run with resumeRun().',
        { details: { runId: session.runId } },
      );
    const marks = marksOf(state);
    const last: LastRows =
      marks === undefined ? { kind: 'step', step: state.step } : { kind: 'marks', marks };
    await overtakeRows(store, session.runId, last);
    return session;
  } catch (error) {
    await session.close().catch(() => undefined);
    throw error;
  }
}

/** Undefined where none could be taken. */
function marksOf({ memory: { marks } }: TrackerState): RowMarks | undefined {
  if (typeof marks !== 'object' || marks === null || Array.isArray(marks)) return undefined;
  return Object.fromEntries(
    Object.entries(marks).flatMap(([table, mark]) =>
      typeof mark === 'number' ? [[table, mark] as const] : [],
    ),
  );
}

/** Where to find the run again; null for a store that was handed in. */
function locationOf({ resume: state, storage }: QuarkTrackerConfig): string | null {
  if (typeof storage === 'string') return storage;
  const known = storage === undefined ? state?.memory['storage'] : undefined;
  return typeof known === 'string' ? known : null;
}

class QuarkTarget implements TrackerTarget {
  readonly runId: string;
  readonly #session: TrainingSession;
  readonly #metrics: MetricsLogger;
  readonly #artifacts: ArtifactStore;
  readonly #location: string | null;
  #marks: RowMarks;
  #error: Error | null = null;

  constructor(session: TrainingSession, location: string | null, marks: RowMarks) {
    this.runId = session.runId;
    this.#session = session;
    this.#metrics = new MetricsLogger(session, { nonFinite: 'store' });
    this.#artifacts = new ArtifactStore(session);
    this.#location = location;
    this.#marks = marks;
  }

  get status(): TrackerStatus {
    const { bufferedRows, droppedRows, error, state } = this.#session.recordingStatus();
    return {
      state: state === 'recording' ? 'working' : 'failing',
      error: error ?? this.#error,
      waiting: bufferedRows,
      dropped: droppedRows,
    };
  }

  scalar({ context, name, step }: TrackedEntry, value: number): void {
    this.#metrics.log(name, value, { step, context });
  }

  distribution({ context, name, step }: TrackedEntry, { bins, counts }: TrackedBins): void {
    this.#follow(this.#artifacts.logHistogram(name, { bins, counts, step, metadata: { context } }));
  }

  text({ context, name, step }: TrackedEntry, text: string): void {
    const options = { step, metadata: { context }, payloadFormat: 'text' } as const;
    this.#follow(this.#artifacts.store('text', name, text, options));
  }

  parameters(values: JsonObject): void {
    this.#follow(this.#session.updateConfig(values));
  }

  flush(): Promise<void> {
    return this.#session.flush();
  }

  async remember(): Promise<JsonObject> {
    const marks = await this.#takeMarks();
    return { run_id: this.runId, storage: this.#location, marks: marks ?? null };
  }

  async close(status: TerminalRunStatus): Promise<void> {
    try {
      await this.#session.endRun(status);
    } catch (error) {
      this.#error = errorOf(error);
    }
    await this.#session.close();
  }

  /** Undefined while rows wait: marks would leave them out. The state then counts on steps. */
  async #takeMarks(): Promise<RowMarks | undefined> {
    await this.#session.flush();
    if (this.#session.recordingStatus().state !== 'recording') return undefined;
    try {
      this.#marks = await markRows(this.#session.store, this.runId, this.#marks);
      return this.#marks;
    } catch (error) {
      this.#error = errorOf(error);
      return undefined;
    }
  }

  /** What it fails to store is in the status of the session. */
  #follow(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.#error = errorOf(error);
    });
  }
}
