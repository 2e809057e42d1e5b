/** Merging of the tables of a run; comes when the first merge is due. */
import { TABLES } from '../records/tables.ts';
import type { Store } from '../store/store.ts';
import { compactTable, type CompactLimits } from './compact.ts';

/**
 * Merges the segments of one table, or of all tables of a run, one after the other; a table that this release does not know stays as it
 * is. `writerId` names what is merged.
 */
export async function mergeTables(
  store: Store,
  table: string | undefined,
  runId: string,
  writerId: () => string,
  limits: CompactLimits,
): Promise<void> {
  for (const [name, definition] of TABLES)
    if (table === undefined || table === name)
      await compactTable(store, definition, runId, writerId(), limits);
}
