/** A page that begins a run, or goes on with it after it was loaded again, as the test outside says. */
import { isQuarkError } from '../../src/base/errors.ts';
import { openStorage } from '../../src/location/open-storage.ts';
import type { SyncStatus } from '../../src/store/sync-control.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { MetricsLogger } from '../../src/session/metrics-logger.ts';
import type { StartRunOptions } from '../../src/session/run-options.ts';
import { TrainingSession } from '../../src/session/training-session.ts';

/** What a reader sees of a run. */
export type SeenRun = {
  readonly stored: string;
  readonly shown: string;
  readonly steps: readonly (number | null)[];
  readonly events: readonly string[];
};

/** What the test may say of a run that begins. */
export type StartOptions = Pick<
  StartRunOptions,
  'leaseTtlMs' | 'persistenceUrl' | 'userKey' | 'storageDir'
>;

declare global {
  interface Window {
    quarkReload: {
      /** Starts a run and logs a step, which is not flushed. */
      start(storage: string, options?: StartOptions): Promise<string>;
      /** Resumes it and logs the next step; null, or why not. */
      resume(storage: string, runId: string): Promise<string | null>;
      /** Logs a step and says what has become of the session. */
      log(step: number): Promise<readonly [state: string, isAborted: boolean]>;
      see(storage: string, runId: string): Promise<SeenRun>;
      /** What has been sent of the run of this page. */
      sent(): Promise<SyncStatus>;
      /** How many tabs have the lock of the one that sends. */
      senders(): Promise<number>;
      /** How often a timer of the page has fired: it stops while the page is frozen. */
      ticks(): number;
      end(): Promise<void>;
    };
  }
}

let session: TrainingSession;
let metrics: MetricsLogger;
let ticks = 0;
setInterval(() => ticks++, 20);

window.quarkReload = {
  async start(storage, options = {}) {
    session = await TrainingSession.startRun({ project: 'reload', storage, ...options });
    metrics = new MetricsLogger(session, { flushIntervalMs: 60_000 });
    metrics.log('loss', 0, { step: 0 });
    return session.runId;
  },
  async resume(storage, runId) {
    try {
      session = await TrainingSession.resumeRun({ runId, storage });
    } catch (error) {
      return isQuarkError(error, 'invalid_run_state')
        ? String(error.details['reason'])
        : String(error);
    }
    metrics = new MetricsLogger(session, { flushIntervalMs: 60_000 });
    const seen = await metrics.read();
    const step = Math.max(-1, ...seen.map((record) => record.step ?? -1)) + 1;
    metrics.log('loss', step, { step });
    return null;
  },
  async log(step) {
    metrics.log('loss', step, { step });
    await metrics.flush();
    return [session.recordingStatus().state, session.signal.aborted];
  },
  async see(storage, runId) {
    const store = await openStorage(storage);
    const reader = await openRun(store, runId);
    const [steps, events] = [await reader.readMetrics(), await reader.readEvents()];
    const seen = {
      stored: reader.run.status,
      shown: reader.effectiveStatus,
      steps: steps.map(({ step }) => step),
      events: events.map(({ eventType }) => eventType),
    };
    await store.close();
    return seen;
  },
  sent: () => session.syncStatus(),
  async senders() {
    const { held = [] } = await navigator.locks.query();
    return held.filter(({ name = '' }) => name.startsWith('quark-sync')).length;
  },
  ticks: () => ticks,
  async end() {
    await session.endRun();
    await session.close();
  },
};
