/** What a program records through, whichever provider is behind it. */
import type { JsonObject } from '../base/json.ts';
import type { MetricContext } from '../base/series-key.ts';
import type { TerminalRunStatus } from '../records/literals.ts';

/** The providers of {@link openTracker}. */
export const TRACKER_PROVIDERS = [
  'quark',
  'null',
  'console',
  'tensorboard',
  'mlflow',
  'tee',
] as const;

/** One of {@link TRACKER_PROVIDERS}. */
export type TrackerProvider = (typeof TRACKER_PROVIDERS)[number];

/** What tells series of one name apart: `{ stage: 'train', rank: 0 }`. See `MetricContext` of the package. */
export type TrackerContext = MetricContext;

/** Options of one call of a {@link Tracker}. */
export type TrackOptions = {
  /** The step of this record alone. Default: the step of the tracker. */
  readonly step?: number | undefined;
  /** Merged over the context of the tracker, for this record alone. */
  readonly context?: TrackerContext | undefined;
};

/** Values to count in bins, or bins that were counted already: one more edge than there are counts. */
export type Distribution =
  | ArrayLike<number>
  | { readonly bins: ArrayLike<number>; readonly counts: ArrayLike<number> };

/**
 * Where a tracker is: plain JSON, for the checkpoint of the program. {@link openTracker} goes on from it with `resume`. It has no
 * passwords and no keys.
 */
export type TrackerState = {
  readonly version: 1;
  readonly provider: TrackerProvider;
  /** The step of the tracker. */
  readonly step: number;
  readonly context: TrackerContext;
  /** What the provider needs: the id of its run, and up to where it was written. */
  readonly memory: JsonObject;
};

/** How a tracker is getting on. */
export type TrackerStatus = {
  /** `failing`: what was recorded last has not arrived, and is tried again. */
  readonly state: 'working' | 'failing';
  /** Why, or why it failed last; null before the first failure. */
  readonly error: Error | null;
  /** Records that have not arrived. */
  readonly waiting: number;
  /** Records that were dropped because too many waited. */
  readonly dropped: number;
};

/**
 * Records a run at a provider that the program does not know. Every call but `flush`, `state` and `close` returns at once. A
 * provider that fails stops nothing: {@link Tracker.status} says so. Wrong input throws, alike for all providers.
 *
 * @example
 * ```js
 * import { openTracker } from 'quark-sdk/tracker';
 *
 * const tracker = await openTracker({ provider: 'quark', project: 'digits', storage: 'quark-runs' });
 * tracker.setContext({ stage: 'train' });
 * for (let step = 0; step < 10; step++) {
 *   tracker.setStep(step);
 *   tracker.scalar('loss', 1 / (step + 1));
 * }
 * await tracker.close();
 * ```
 */
export interface Tracker extends AsyncDisposable {
  readonly provider: TrackerProvider;
  /** The id of the run at the provider; null where it has none. */
  readonly runId: string | null;
  /** The step of records that name none. 0 until {@link Tracker.setStep}. */
  readonly step: number;
  readonly context: TrackerContext;
  /** Sets the step of the records that follow: an integer, 0 or more. @throws {QuarkError} `invalid_input` */
  setStep(step: number): void;
  /** Replaces the context of the records that follow. @throws {QuarkError} `invalid_input` */
  setContext(context: TrackerContext): void;
  /** Records a number, which may be NaN or infinite. @throws {QuarkError} `invalid_input` */
  scalar(name: string, value: number, options?: TrackOptions): void;
  /**
   * Records a distribution. Values are counted in 64 bins of equal width between the smallest and the largest finite one; others are left
   * out.
   *
   * @throws {QuarkError} `invalid_input`
   */
  distribution(name: string, values: Distribution, options?: TrackOptions): void;
  /** Records a text. @throws {QuarkError} `invalid_input` */
  text(name: string, text: string, options?: TrackOptions): void;
  /** Adds to the parameters of the run; those of the same name are replaced. @throws {QuarkError} `invalid_input` */
  parameters(values: JsonObject): void;
  status(): TrackerStatus;
  /** Waits until what was recorded has arrived. Resolves when the provider fails, too: the status says so. */
  flush(): Promise<void>;
  /**
   * The state for a checkpoint, after a flush. Records that follow are overtaken by a tracker that goes on from it.
   *
   * @example
   * ```js
   * import { readFile, writeFile } from 'node:fs/promises';
   * import { openTracker } from 'quark-sdk/tracker';
   *
   * const tracker = await openTracker({ provider: 'quark', project: 'digits', storage: 'quark-runs' });
   * tracker.setStep(10);
   * await writeFile('checkpoint.json', JSON.stringify({ tracker: await tracker.state() }));
   * await tracker.close('interrupted');
   * const { tracker: state } = JSON.parse(await readFile('checkpoint.json', 'utf8'));
   * const again = await openTracker({ resume: state });
   * console.log(again.step, again.runId === tracker.runId); // 10 true
   * await again.close();
   * ```
   */
  state(): Promise<TrackerState>;
  /** Ends the run: `completed` unless told otherwise. What fails is in the status. Closing twice is fine. */
  close(status?: TerminalRunStatus): Promise<void>;
}

/** One record as a provider gets it. */
export type TrackedEntry = {
  readonly name: string;
  readonly step: number;
  readonly context: TrackerContext;
};

/** Bins and how many values each has. */
export type TrackedBins = { readonly bins: readonly number[]; readonly counts: readonly number[] };

/** What is behind a tracker: it gets checked input. */
export interface TrackerTarget {
  readonly runId: string | null;
  readonly status: TrackerStatus;
  scalar(entry: TrackedEntry, value: number): void;
  distribution(entry: TrackedEntry, bins: TrackedBins): void;
  text(entry: TrackedEntry, text: string): void;
  parameters(values: JsonObject): void;
  flush(): Promise<void>;
  /** For the state, after a flush. */
  remember(step: number): Promise<JsonObject>;
  close(status: TerminalRunStatus): Promise<void>;
}
