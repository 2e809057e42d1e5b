/** Rows put into columns, taken out as a batch, encoded, decoded and read again: whatever the rows, however they are cut. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  bool,
  count,
  f64,
  f64List,
  jsonObject,
  key,
  nullable,
  text,
  textList,
} from '../../src/schema/column.ts';
import { defineTable, TABLE_COLUMNS } from '../../src/schema/table.ts';
import { CURRENT_SCHEMA_VERSION } from '../../src/schema/version.ts';
import { concatBatches, valueAt } from '../../src/segment/batch-ops.ts';
import { decodeBatches } from '../../src/segment/decode.ts';
import { encodeBatch } from '../../src/segment/encode.ts';
import { RowColumns } from '../../src/segment/row-columns.ts';
import { runs } from '../support/property.ts';

const table = defineTable('thing', 'things', undefined, 'One column of each kind.', {
  ...TABLE_COLUMNS,
  name: nullable(key('Key.')),
  title: nullable(text('Text.')),
  count: nullable(count('Count.')),
  value: nullable(f64('Number.')),
  isGood: nullable(bool('Flag.')),
  list: nullable(f64List('Numbers.')),
  words: nullable(textList('Texts.')),
  metadata: nullable(jsonObject('Context.')),
});

const row = fc.record(
  {
    timestamp: fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') })
      .map((date) => date.toISOString()),
    name: fc.option(fc.constantFrom('a', 'b', 'längere', '')),
    title: fc.option(fc.string()),
    count: fc.option(fc.maxSafeNat()),
    value: fc.option(fc.double()),
    isGood: fc.option(fc.boolean()),
    list: fc.option(fc.array(fc.double(), { maxLength: 3 })),
    words: fc.option(fc.array(fc.string(), { maxLength: 3 })),
    metadata: fc.option(fc.dictionary(fc.string(), fc.integer(), { noNullPrototype: true })),
  },
  { noNullPrototype: true },
);

/** The rows of a buffer as they are read from what it writes. */
function written(columns: RowColumns, maxRows: number): object[] {
  return columns.take(maxRows).flatMap((taken) => {
    expect(taken.rowCount).toBeLessThanOrEqual(maxRows);
    const bytes = encodeBatch(table, taken);
    const batch = concatBatches(decodeBatches(table, bytes, CURRENT_SCHEMA_VERSION));
    return Array.from({ length: taken.rowCount }, (_, i) =>
      Object.fromEntries(
        table.segmentColumns.map((name) => {
          const column = table.columns[name as keyof typeof table.columns];
          return [name, valueAt(column, batch.columns.get(table.storedNames.get(name) ?? ''), i)];
        }),
      ),
    );
  });
}

test('rows come back as they were put in, and nothing of them is left for the next', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(row, { maxLength: 200, size: 'max' }), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 100 }),
      (groups, maxRows) => {
        const columns = new RowColumns(table);
        for (const rows of groups) {
          for (const item of rows) columns.push(item);
          expect(columns.rowCount).toBe(rows.length);
          expect(written(columns, maxRows)).toStrictEqual(rows);
          expect([columns.rowCount, columns.textChars]).toStrictEqual([0, 0]);
        }
      },
    ),
    runs(40),
  );
});

test('a burst of rows is written whole, and its memory is used for the few after it', () => {
  const columns = new RowColumns(table);
  const nothing = Object.fromEntries(table.segmentColumns.map((name) => [name, null]));
  const some = { ...nothing, timestamp: '2026-01-01T00:00:00.000Z', name: 'a', value: 0.5 };
  for (let i = 0; i < 20_000; i++) columns.push({ ...some, count: i });
  const all = written(columns, 1 << 16);
  expect(all).toHaveLength(20_000);
  expect(all[19_999]).toStrictEqual({ ...some, count: 19_999 });
  const few = { ...nothing, timestamp: '2026-01-01T00:00:00.001Z' };
  columns.push(few);
  expect(written(columns, 1 << 16)).toStrictEqual([few]);
});

test('long texts are counted as they wait', () => {
  const columns = new RowColumns(table);
  const before = columns.textChars;
  columns.push({ timestamp: 0, title: 'x'.repeat(1000), metadata: { text: 'y'.repeat(500) } });
  expect(columns.textChars - before).toBeGreaterThanOrEqual(1500);
  expect(columns.textChars - before).toBeLessThan(1600);
});
