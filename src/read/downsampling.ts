/** Whether the metrics of a run are whole. */
import { invalidInput } from '../base/errors.ts';
import { downsamplingOf } from '../segment/manifest.ts';
import type { Store } from '../store/store.ts';

/** What a rule of retention has left of the metrics of a run. */
export type RunDownsampling = {
  /** Samples of each metric that were left at most. */
  readonly pointsPerMetric: number;
  /** When it was done, the last time; UTC epoch milliseconds. */
  readonly atMs: number;
  /** Rows of the metrics now, and with those that are gone. */
  readonly rows: number;
  readonly rowsBefore: number;
};

/**
 * Whether a rule has downsampled the metrics of a run: what is left of them is as it was recorded. Undefined where none has.
 *
 * @throws {QuarkError} `invalid_input` for what is no open store
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { readDownsampling } from 'quark-sdk/analysis';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).log('train/loss', 0.5, { step: 0 });
 *   return session.runId;
 * });
 * console.log(await readDownsampling(store, runId)); // undefined: all of it is there
 * ```
 */
export async function readDownsampling(
  store: Pick<Store, 'listSegments'>,
  runId: string,
): Promise<RunDownsampling | undefined> {
  if (typeof store?.listSegments !== 'function')
    throw invalidInput('store', store, 'an open store (see openStorage())');
  const segments = await store.listSegments({ runId, table: 'metrics', empty: true });
  const { downsampledAtMs = 0, downsampledTo } = downsamplingOf(segments);
  if (downsampledTo === undefined) return undefined;
  const gone = segments.reduce((sum, one) => sum + (one.droppedRows ?? 0), 0);
  const rows = segments.reduce((sum, one) => sum + one.rowCount, 0);
  return { pointsPerMetric: downsampledTo, atMs: downsampledAtMs, rows, rowsBefore: rows + gone };
}
