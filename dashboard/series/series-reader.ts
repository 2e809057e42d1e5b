/** Reads the metrics of runs as series, a long run in several reads. */
import { openRun, type RunReader, type SeriesRead, type Store } from 'quark-sdk';
import { SegmentWindow } from './segment-window.ts';

/** What to read of a run. */
export type PageSeriesQuery = {
  readonly runId: string;
  /** Only this metric. */
  readonly metricKey?: string;
  /** Only rows from this sequence number on. */
  readonly sequenceMin: number;
};

/** Series of a run, and whether there is more to read at once. */
export type PageSeriesRead = SeriesRead & { readonly hasMore: boolean };

/** Reads metrics of one store. @throws {RunNotFoundError} */
export type ReadSeries = (query: PageSeriesQuery) => Promise<PageSeriesRead>;

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
    const read = await (
      await opening
    ).readSeries({ sequenceMin, ...(metricKey === undefined ? {} : { metricKeys: [metricKey] }) });
    const end = window.endOf(runId, 'metrics');
    return {
      ...read,
      // A window of damaged segments has no row, and is passed over as well.
      lastSequence: Math.max(read.lastSequence, end ?? -1),
      hasMore: end !== undefined,
    };
  };
}
