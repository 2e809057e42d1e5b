/** Reads the metrics of runs by metric, a part of a long run at a time. */
import { openRun, type RunReader, type Store } from 'quark-sdk';
import { SegmentWindow } from './segment-window.ts';
import { splitByMetric, type SeriesRead } from './series-parts.ts';

/** What to read of a run. */
export type SeriesQuery = {
  readonly runId: string;
  /** Only this metric. */
  readonly metricKey?: string;
  /** Only rows from this sequence number on. */
  readonly sequenceMin: number;
};

/** Reads metrics of one store. @throws {RunNotFoundError} */
export type ReadSeries = (query: SeriesQuery) => Promise<SeriesRead>;

const offered = new WeakMap<Store, ReadSeries>();

/** From now on the metrics of this store are read by `read`: for one whose bytes are somewhere else. */
export function offerSeries(store: Store, read: ReadSeries): void {
  offered.set(store, read);
}

/** The reader of the metrics of a store. */
export function seriesReader(store: Store): ReadSeries {
  return offered.get(store) ?? windowReader(store);
}

/** Reads on this thread. `rows`: how many at a time, about. */
export function windowReader(store: Store, rows?: number): ReadSeries {
  const window = new SegmentWindow(store, rows);
  const readers = new Map<string, Promise<RunReader>>();
  return async ({ runId, metricKey, sequenceMin }) => {
    const opening = readers.get(runId) ?? openRun(window.store, runId);
    readers.set(runId, opening);
    opening.catch(() => readers.delete(runId));
    const columns = await (
      await opening
    ).readMetricColumns({ sequenceMin, ...(metricKey === undefined ? {} : { metricKey }) });
    const end = window.endOf(runId, 'metrics');
    return {
      ...splitByMetric(columns),
      // A window of damaged segments has no row, and is passed over as well.
      lastSequence: Math.max(columns.lastSequence, end ?? -1),
      hasMore: end !== undefined,
      damage: columns.damage,
    };
  };
}
