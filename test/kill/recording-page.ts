/** A page that trains, a step at a time, as the test outside says. */
import { isQuarkError } from '../../src/base/errors.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { MetricsLogger } from '../../src/session/metrics-logger.ts';
import type {
  RecordingProblem,
  RecordingStatus,
} from '../../src/session/storing/recording-health.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { openStorage } from '../../src/location/open-storage.ts';

/** What is found of a run once everything was stored. */
export type StoredTraining = {
  readonly status: string;
  readonly values: readonly number[];
  readonly eventTypes: readonly string[];
  readonly lostRows: readonly unknown[];
};

declare global {
  interface Window {
    quarkTraining: {
      /** Begins `TrainingSession.run`; resolves with the id of the run once the work has begun. */
      begin(storage: string, leaseTtlMs?: number): Promise<string>;
      /** Logs rows, each with as many random characters, and flushes unless told otherwise. */
      log(rows: number, chars?: number, flushes?: boolean): Promise<RecordingStatus>;
      /** Lets the work return its model; resolves with what `run` returns. */
      finish(): Promise<{ isModel: boolean; status: string }>;
      recordingStatus(): RecordingStatus;
      /** What the callback was told: kind, reason, lost rows. */
      problems(): (readonly [string, unknown, number])[];
      /** What is stored of a run. */
      stored(storage: string, runId: string): Promise<StoredTraining>;
      /** Code, reason and message of the error that opening a storage gives; null where it opens. */
      openError(storage: string): Promise<readonly unknown[] | null>;
    };
  }
}

const model = { weights: new Float32Array(4) };
const problems: RecordingProblem[] = [];
let session: TrainingSession;
let metrics: MetricsLogger;
let running: Promise<unknown>;
let release = (): void => undefined;
let next = 0;

window.quarkTraining = {
  begin(storage, leaseTtlMs) {
    return new Promise((resolve, reject) => {
      const options = {
        project: 'quota',
        storage,
        ...(leaseTtlMs === undefined ? {} : { leaseTtlMs }),
        onRecordingProblem: (problem: RecordingProblem) => void problems.push(problem),
      };
      running = TrainingSession.run(options, async (opened) => {
        session = opened;
        metrics = new MetricsLogger(opened);
        const done = new Promise<void>((finish) => {
          release = finish;
        });
        resolve(opened.runId);
        await done;
        return model;
      });
      running.catch(reject);
    });
  },
  async log(rows, chars = 0, flushes = true) {
    for (let i = 0; i < rows; i++, next++)
      metrics.log('loss', next, { step: next, ...(chars === 0 ? {} : { metadata: noise(chars) }) });
    if (flushes) await metrics.flush();
    if (flushes) await session.flush();
    return session.recordingStatus();
  },
  async finish() {
    release();
    const result = await running;
    return { isModel: result === model, status: session.status };
  },
  recordingStatus: () => session.recordingStatus(),
  problems: () =>
    problems.map(({ error, kind, lostRows }) => [kind, Reflect.get(error, 'reason'), lostRows]),
  async stored(storage, runId) {
    const store = await openStorage(storage);
    try {
      const reader = await openRun(store, runId);
      const events = await reader.readEvents();
      const { values } = await reader.readMetricColumns();
      return {
        status: reader.run.status,
        values: [...values],
        eventTypes: events.map(({ eventType }) => eventType),
        lostRows: events.flatMap(({ payload }) => payload['lost_rows'] ?? []),
      };
    } finally {
      await store.close();
    }
  },
  async openError(storage) {
    try {
      await (await openStorage(storage)).close();
      return null;
    } catch (error) {
      const { details, code } = isQuarkError(error) ? error : { details: {}, code: 'raw' };
      return [code, Reflect.get(details, 'reason'), String(error)];
    }
  },
};

/** Text that no database can make smaller. */
function noise(chars: number): { readonly noise: string } {
  let text = '';
  while (text.length < chars)
    text += crypto.randomUUID().replaceAll('-', '') + crypto.randomUUID().replaceAll('-', '');
  return { noise: text.slice(0, chars) };
}
