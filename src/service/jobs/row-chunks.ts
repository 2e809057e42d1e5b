/** The rows of a table as the bytes of an answer, a batch at a time. */
import { invalidInput, SessionStoreError } from '../../base/errors.ts';
import { checkPosition } from '../../read/filters.ts';
import { jsonLines } from '../../read/json-lines.ts';
import { tableBatches } from '../../read/table-batches.ts';
import { TABLES } from '../../records/tables.ts';
import type { TableDefinition } from '../../schema/table.ts';
import { batchBytes, gatherRows } from '../../segment/batch-ops.ts';
import { createStreamEncoder } from '../../segment/encode-stream.ts';
import { describeDamage } from '../../segment/open-segment.ts';
import type { RowBatch } from '../../codecs/arrow/vectors.ts';
import type { JobHost, JobParts, RowsQuery } from './job.ts';

/** The answer to a query. @throws {SessionStoreError} `corrupt` for a segment that cannot be read, unless those are left out */
export async function* rowChunks(query: RowsQuery, host: JobHost): JobParts {
  const table = tableOf(query.table);
  const batches = batchesOf(table, query, host);
  if (query.format === 'arrow') {
    const encoder = createStreamEncoder(table, [['quark:run_id', query.runId]]);
    try {
      // The first rows come before the schema leaves: what fails until then is an error with a status.
      let next = await batches.next();
      yield encoder.start();
      while (next.done !== true) {
        yield encoder.rows(next.value);
        next = await batches.next();
      }
      yield encoder.end();
    } finally {
      await batches.return(undefined);
    }
    return undefined;
  }
  const text = new TextEncoder();
  for await (const batch of batches)
    for (const lines of jsonLines(table, batch, query.runId)) yield text.encode(lines);
  return undefined;
}

/** The declaration of a table. @throws {QuarkError} `invalid_input` */
export function tableOf(name: string): TableDefinition {
  const table = TABLES.get(name);
  if (table !== undefined) return table;
  throw invalidInput('table', name, `one of ${[...TABLES.keys()].join(', ')}`);
}

async function* batchesOf(
  table: TableDefinition,
  { runId, position, conditions, limit, skipsDamage }: RowsQuery,
  { store, takeRoom, signal }: JobHost,
): AsyncGenerator<RowBatch, undefined> {
  const batches = tableBatches(store, table, runId, {
    rows: { position: checkPosition(position, []), conditions },
    signal,
    takeRoom,
    onDamage: (report) => {
      if (skipsDamage) return;
      throw new SessionStoreError(
        'corrupt',
        `${describeDamage(report)} Ask with damaged=skip for the rows that can be read.`,
        { details: { runId, table: table.table } },
      );
    },
  });
  if (limit === undefined) {
    yield* batches;
    return undefined;
  }
  // The most recent rows: as many as are asked for are held, and no more than a batch besides.
  const last: RowBatch[] = [];
  let held = 0;
  for await (const batch of batches) {
    last.push(batch);
    held += batch.rowCount;
    let room = batchBytes(batch);
    while (last[0] !== undefined && held - last[0].rowCount >= limit) {
      const dropped = last.shift();
      held -= dropped?.rowCount ?? 0;
      room -= dropped === undefined ? 0 : batchBytes(dropped);
    }
    takeRoom?.(room);
  }
  for (const [i, batch] of last.entries()) {
    const skipped = i === 0 ? held - limit : 0;
    yield skipped <= 0
      ? batch
      : gatherRows(
          batch,
          Int32Array.from({ length: batch.rowCount - skipped }, (_, row) => row + skipped),
        );
  }
  return undefined;
}
