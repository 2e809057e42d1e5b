/** The metrics that a run has. */
import type { Store } from 'quark-sdk';
import type { ReadSeries } from './series-reader.ts';

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
