import {
  tableFromIPC as flechetteTable,
  tableFromArrays,
  tableToIPC,
  dictionary,
  utf8,
  int32,
  float64,
} from '@uwdata/flechette';
import { tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { metricTable } from '../../src/records/metric.ts';
import { TABLES } from '../../src/records/tables.ts';
import { batchOfRows } from '../../src/segment/batch-ops.ts';
import { decodeBatches } from '../../src/segment/decode.ts';
import { encodeBatch } from '../../src/segment/encode.ts';
import { packSegment } from '../../src/codecs/packed/pack.ts';
import { unpackSegment } from '../../src/codecs/packed/unpack.ts';
import { anyBatch, valuesOf } from '../support/batches.ts';
import { runs } from '../support/property.ts';

/** What the tables of both libraries have in common. */
type ReadTable = {
  readonly numRows: number;
  getChild(name: string): { at(index: number): unknown } | null | undefined;
};

describe.each([...TABLES.values()].map((table) => [table.table, table] as const))(
  'segments of %s',
  (_name, table) => {
    const stored = table.segmentColumns.map((name) => table.storedNames.get(name) ?? name);

    test('read back what was written', () => {
      fc.assert(
        fc.property(anyBatch(table), (batch) => {
          const [back, ...more] = decodeBatches(table, encodeBatch(table, batch));
          expect(more).toEqual([]);
          expect(back?.rowCount).toBe(batch.rowCount);
          for (const name of stored)
            expect(valuesOf(back?.columns.get(name), batch.rowCount), name).toEqual(
              valuesOf(batch.columns.get(name), batch.rowCount),
            );
        }),
        runs(40),
      );
    });

    test('are read by two other implementations of Arrow', () => {
      fc.assert(
        fc.property(anyBatch(table), (batch) => {
          const bytes = encodeBatch(table, batch);
          const others: readonly ReadTable[] = [flechetteTable(bytes, {}), tableFromIPC(bytes)];
          for (const other of others) {
            expect(other.numRows).toBe(batch.rowCount);
            for (const name of stored) {
              const expected = valuesOf(batch.columns.get(name), batch.rowCount);
              const column = other.getChild(name);
              if (column === null || column === undefined)
                expect(
                  expected.every((value) => value === null),
                  name,
                ).toBe(true);
              else
                expect(
                  Array.from({ length: batch.rowCount }, (_, i) => plain(column.at(i))),
                  name,
                ).toEqual(expected);
            }
          }
        }),
        runs(40),
      );
    });

    test('pack and unpack bit for bit', async () => {
      await fc.assert(
        fc.asyncProperty(anyBatch(table, 200), async (batch) => {
          const bytes = encodeBatch(table, batch);
          expect(await unpackSegment(await packSegment(bytes))).toEqual(bytes);
        }),
        runs(6),
      );
    });
  },
);

test('segments written by another implementation are read', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          key: fc.constantFrom('train/loss', 'val/loss', 'é'),
          value: fc.double(),
          step: fc.nat(),
          time: fc.nat(),
        }),
        { minLength: 1, maxLength: 100 },
      ),
      (rows) => {
        const bytes = tableToIPC(
          tableFromArrays(
            {
              metric_key: rows.map((row) => row.key),
              value: rows.map((row) => row.value),
              step: rows.map((row) => row.step),
              timestamp: rows.map((row) => row.time),
            },
            {
              types: {
                metric_key: dictionary(utf8(), int32()),
                value: float64(),
                step: int32(),
                timestamp: float64(),
              },
            },
          ),
          { format: 'stream' },
        );
        if (bytes === null) throw new Error('nothing was written');
        const [batch] = decodeBatches(metricTable, bytes);
        expect(valuesOf(batch?.columns.get('metric_key'), rows.length)).toEqual(
          rows.map((row) => row.key),
        );
        expect(valuesOf(batch?.columns.get('value'), rows.length)).toEqual(
          rows.map((row) => row.value),
        );
        expect(valuesOf(batch?.columns.get('step'), rows.length)).toEqual(
          rows.map((row) => row.step),
        );
      },
    ),
    runs(40),
  );
});

function plain(value: unknown): unknown {
  if (typeof value === 'object' && value !== null && Symbol.iterator in value)
    return Array.from(value as Iterable<unknown>);
  return value;
}

test('columns that are longer than what is unpacked at a time come back bit for bit', async () => {
  const count = 2 * 16_384 + 7;
  const batch = batchOfRows(
    metricTable,
    Array.from({ length: count }, (_, i) => ({
      // Instants that rarely fall, steps with gaps: differences of both widths, and values of any bits.
      timestamp: 1_700_000_000_000 + 30 * i + (i % 91 === 0 ? -200 : i % 7),
      metricKey: i % 300 < 2 ? 'b' : 'a',
      metricName: i % 300 < 2 ? 'b' : 'a',
      namespace: null,
      value: i % 1000 === 0 ? Number.NaN : Math.tan(i) * 10 ** (i % 30),
      step: i % 5000 === 0 ? 2 ** 30 - i : 3 * i + (i % 4),
      epoch: i % 3 === 0 ? null : Math.floor(i / 70),
      description: null,
      metadata: null,
    })),
  );
  const bytes = encodeBatch(metricTable, batch);
  expect(Buffer.compare(await unpackSegment(await packSegment(bytes)), bytes)).toBe(0);
});
