/** Reads the metrics of runs as series, a long run in several reads. */
import { openRun, type RunReader, type SeriesRead, type Store } from 'quark-sdk';
import { getOrMake } from '../parts/maps.ts';
import { TurnBreak } from '../parts/turns.ts';
import { SegmentWindow } from './segment-window.ts';
import type { SeriesSet } from './series.ts';

/** What to read of a run. */
export type PageSeriesQuery = {
  readonly runId: string;
  /** Only these metrics. */
  readonly metricKeys?: readonly string[];
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
  return async ({ runId, metricKeys, sequenceMin }) => {
    const opening = getOrMake(readers, runId, () => openRun(window.store, runId));
    opening.catch(() => readers.delete(runId));
    const read = await (
      await opening
    ).readSeries({ sequenceMin, ...(metricKeys === undefined ? {} : { metricKeys }) });
    const end = window.endOf(runId, 'metrics');
    return {
      ...read,
      // A window of damaged segments has no row, and is passed over as well.
      lastSequence: Math.max(read.lastSequence, end ?? -1),
      hasMore: end !== undefined,
    };
  };
}

/** A set of series that grows, and the sequence number from which on its rows are to be read. */
export type Growing = { series: SeriesSet; next: number };

/**
 * Reads on until there is no more, in turns of the event loop; `onRows` is called after each read that had rows. Ends where `target` has
 * got another set meanwhile.
 */
export async function readInto(
  target: Growing,
  read: ReadSeries,
  query: Omit<PageSeriesQuery, 'sequenceMin'>,
  onRows: () => void = () => undefined,
): Promise<void> {
  const { series } = target;
  const turn = new TurnBreak();
  let found;
  do {
    found = await read({ ...query, sequenceMin: target.next });
    for (const step of series.taking(found)) await turn.pause(step);
    if (target.series !== series) return;
    target.next = found.lastSequence + 1;
    if (found.rowCount > 0) onRows();
    await turn.pause();
  } while (found.hasMore);
}

/** The metrics of a run by its segments alone; those of the first rows where segments have too many to list. */
export async function metricKeysOf(
  store: Store,
  runId: string,
  readSeries: ReadSeries,
): Promise<readonly string[]> {
  const segments = await store.listSegments({ runId, table: 'metrics' });
  const listed = new Set(segments.flatMap(({ keys }) => keys ?? []));
  if (segments.some(({ keys }) => keys === null))
    for (const { key } of (await readSeries({ runId, sequenceMin: 0 })).series) listed.add(key);
  return [...listed].toSorted();
}
