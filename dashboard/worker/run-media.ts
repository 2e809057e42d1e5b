/** Large media, decoded in a worker: a table is read in parts, so that no message of them holds the page up. */
import type { Store } from 'quark-sdk';
import { loadMedia, type MediaContent, type TableContent } from 'quark-sdk/media';
import type { MediaRecord } from './protocol.ts';

/** Some rows of a table, and how many it has. */
export type TablePart = TableContent & { readonly rowCount: number };

/** The table that was asked for last: its parts are asked for one after the other. */
let last: { readonly sha256: string; readonly table: Promise<TableContent> } | undefined;

/** Rows of a table from a position on. @throws {Error} when it is missing or damaged */
export async function readTablePart(
  store: Store,
  runId: string,
  {
    count,
    from,
    record,
  }: { readonly record: MediaRecord; readonly from: number; readonly count: number },
): Promise<TablePart> {
  if (last?.sha256 !== record.sha256) {
    const table = loadMedia({ store, runId }, { kind: 'table', record });
    last = { sha256: record.sha256, table };
  }
  const mine = last;
  try {
    const { columns, rows } = await mine.table;
    const end = from + count;
    // It is not asked for again: the page holds it now.
    if (end >= rows.length && last === mine) last = undefined;
    return { columns, rows: rows.slice(from, end), rowCount: rows.length };
  } catch (error) {
    if (last === mine) last = undefined;
    throw error;
  }
}

/** Sound with its samples. @throws {Error} when it is missing or damaged */
export function readSound(
  store: Store,
  runId: string,
  record: MediaRecord,
): Promise<MediaContent['audio']> {
  return loadMedia({ store, runId }, { kind: 'audio', record });
}
