/** Going over a table while others merge it. */
import { expect, test } from 'vitest';
import { exportQuark, exportTableParquet } from '../../../src/exchange.ts';
import { tableBatches } from '../../../src/read/table-batches.ts';
import { metricTable } from '../../../src/records/metric.ts';
import { batchOfRows } from '../../../src/segment/batch-ops.ts';
import { compactTable } from '../../../src/segment/compact.ts';
import { bytesOf, recordRun } from '../../support/recorded-run.ts';

const ROWS = 40_000;

/** Four segments of two metrics in turn, too large to be read together. */
async function recorded() {
  const batches = [0, 1, 2, 3].map((part) =>
    batchOfRows(
      metricTable,
      Array.from({ length: ROWS }, (_, i) => ({
        timestamp: 1_700_000_000_000 + i,
        metricKey: i % 2 === 0 ? 'a' : 'b',
        metricName: i % 2 === 0 ? 'a' : 'b',
        namespace: null,
        value: part * ROWS + i,
        step: i,
        epoch: null,
        description: null,
        metadata: null,
      })),
    ),
  );
  return recordRun([['metrics', batches]]);
}

test('every row comes once and in order, though the table is merged in the middle', async () => {
  const reader = await recorded();
  const values: number[] = [];
  let count = 0;
  for await (const batch of tableBatches(reader.store, metricTable, reader.run.id)) {
    expect(batch.rowCount).toBeLessThanOrEqual(65_536);
    const column = batch.columns.get('value');
    if (column?.kind === 'f64') values.push(...column.values.subarray(0, batch.rowCount));
    if (count++ === 0) await compactTable(reader.store, metricTable, reader.run.id, 'merge');
  }
  expect(values).toEqual(Array.from({ length: 4 * ROWS }, (_, i) => i));
});

test('an export that is ended rejects, and one of segments as they are says when they are gone', async () => {
  const reader = await recorded();
  const ended = new AbortController();
  const pieces = exportTableParquet(reader, 'metrics', { signal: ended.signal });
  await pieces.next();
  ended.abort();
  await expect(bytesOf(pieces)).rejects.toMatchObject({ code: 'aborted' });
  const { store } = reader;
  const moved = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === 'readSegments')
        return async (...args: Parameters<typeof store.readSegments>) => {
          await compactTable(store, metricTable, reader.run.id, 'merge');
          return store.readSegments(...args);
        };
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const other = Object.create(reader, { store: { value: moved }, run: { value: reader.run } });
  await expect(bytesOf(exportQuark(other))).rejects.toMatchObject({
    code: 'store_failed',
    details: { reason: 'busy' },
  });
  expect((await bytesOf(exportQuark(reader))).length).toBeGreaterThan(1000);
});
