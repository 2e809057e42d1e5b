/** What the tables of runs have, by the batches of their writers. */
import { batchRangeShape, type BatchRange } from '../../records/shapes/manifest.ts';
import { count, defineShape, list, text } from '../../schema/shape.ts';
import { batchesOf, coalesceRanges } from '../batch-ranges.ts';
import type { StoredBatches, TableBatches } from '../store.ts';
import { numberCell, sql, sqlOne, textCell, together, type SqlWork } from './sql-database.ts';
import { sqlShape } from './sql-shapes.ts';

const line = sqlShape(
  defineShape('segment', {
    writerId: text(),
    batchNumber: count(),
    rowCount: count(),
    sources: list(batchRangeShape, 'BatchRange'),
  }),
);
/** Where the name of the table is. */
const TABLE = line.columns.length;

type Found = { rowCount: number; readonly batches: BatchRange[] };

/** Reads lines of segments and no bytes. A table that was emptied and has nothing is in the answer, too. */
export function* listBatches(space: string, runIds: readonly string[]): SqlWork<StoredBatches> {
  const asked = [...new Set(runIds)];
  const segments = yield* together(
    asked.map((runId) =>
      sql(
        `SELECT ${line.selected}, text(table_name)
         FROM segments JOIN streams ON streams.stream_key = segments.stream_key
         WHERE space = ? AND run_id = ?`,
        space,
        runId,
      ),
    ),
  );
  // After the segments: of a table that is emptied in between, the answer has the new count and batches of before, and not the
  // other way round, which would be taken for a loss.
  const streams = yield* together(
    asked.map((runId) =>
      sql(
        `SELECT text(streams.table_name), streams.next_sequence,
           coalesce(stream_replacements.replace_count, 0)
         FROM streams LEFT JOIN stream_replacements ON stream_replacements.stream_key = streams.stream_key
         WHERE streams.space = ? AND streams.run_id = ?`,
        space,
        runId,
      ),
    ),
  );
  const revisions = yield* together(
    asked.map((runId) =>
      sqlOne('SELECT revision FROM runs WHERE space = ? AND id = ?', space, runId),
    ),
  );
  const runs = asked.flatMap((id, i) =>
    (revisions[i] ?? []).map((row) => ({ id, revision: numberCell(row, 0) })),
  );
  const tables = asked.flatMap((runId, i) => {
    const found = new Map<string, Found>();
    for (const row of segments[i] ?? []) {
      const table = textCell(row, TABLE);
      const { rowCount, ...segment } = line.read(row, {});
      const known = found.get(table) ?? { rowCount: 0, batches: [] };
      known.rowCount += rowCount;
      known.batches.push(...batchesOf(segment));
      found.set(table, known);
    }
    return (streams[i] ?? []).flatMap((row): TableBatches[] => {
      const table = textCell(row, 0);
      const replaceCount = numberCell(row, 2);
      if (numberCell(row, 1) === 0 && replaceCount === 0) return [];
      const { batches, rowCount } = found.get(table) ?? { rowCount: 0, batches: [] };
      return [{ runId, table, rowCount, replaceCount, batches: coalesceRanges(batches) }];
    });
  });
  return { runs, tables };
}
