/** What the curves of a run do not show: rows of earlier sessions, and samples that were taken away. */
import type { RunReader, Store } from 'quark-sdk';
import type { RunDownsampling } from 'quark-sdk/analysis';
import { countText, formatCount } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';

/** Facts of a run as text; undefined where there is nothing to say. */
export type StoredRowFacts = {
  readonly superseded: string | undefined;
  readonly downsampled: string | undefined;
};

/** Reads them: listings, and no rows. */
export async function readStoredRows(reader: RunReader): Promise<StoredRowFacts> {
  const [superseded, fewer] = await Promise.all([
    reader.supersededRows(),
    downsamplingOf(reader.store, reader.run.id),
  ]);
  return {
    superseded:
      superseded === 0
        ? undefined
        : t(
            '{superseded} of an earlier session, written after another one had taken the run over; not shown',
            { superseded: countText(superseded, 'row') },
          ),
    downsampled:
      fewer === undefined
        ? undefined
        : t(
            'the curves have at most {pointsPerMetric} points a metric since {date}: {rows} of {rowsBefore} rows are left',
            {
              pointsPerMetric: formatCount(fewer.pointsPerMetric),
              date: new Date(fewer.atMs).toLocaleDateString(),
              rows: formatCount(fewer.rows),
              rowsBefore: formatCount(fewer.rowsBefore),
            },
          ),
  };
}

/** Most runs have never been downsampled: pages of those load none of the analysis. */
async function downsamplingOf(store: Store, runId: string): Promise<RunDownsampling | undefined> {
  const segments = await store.listSegments({ runId, table: 'metrics', empty: true });
  if (segments.every(({ downsampledTo }) => downsampledTo === undefined)) return undefined;
  const { readDownsampling } = await import('quark-sdk/analysis');
  return readDownsampling(store, runId);
}
