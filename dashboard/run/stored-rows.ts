/** What the curves of a run do not show: rows of earlier sessions, and samples that were taken away. */
import type { RunReader } from 'quark-sdk';
import { readDownsampling } from 'quark-sdk/analysis';
import { countText, formatCount } from '../parts/format.ts';

/** Facts of a run as text; undefined where there is nothing to say. */
export type StoredRowFacts = {
  readonly superseded: string | undefined;
  readonly downsampled: string | undefined;
};

/** Reads them: two listings, and no rows. */
export async function readStoredRows(reader: RunReader): Promise<StoredRowFacts> {
  const [superseded, fewer] = await Promise.all([
    reader.supersededRows(),
    readDownsampling(reader.store, reader.run.id),
  ]);
  return {
    superseded:
      superseded === 0
        ? undefined
        : `${countText(superseded, 'row')} of an earlier session, written after another one had taken the run over; not shown`,
    downsampled:
      fewer === undefined
        ? undefined
        : `the curves have at most ${formatCount(fewer.pointsPerMetric)} points a metric since ${new Date(fewer.atMs).toLocaleDateString()}: ${formatCount(fewer.rows)} of ${formatCount(fewer.rowsBefore)} rows are left`,
  };
}
