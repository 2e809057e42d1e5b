/** Made-up row batches of any table, for fast-check. */
import fc from 'fast-check';
import type { TableDefinition } from '../../src/schema/table.ts';
import type { RowBatch, Vector } from '../../src/codecs/arrow/vectors.ts';

const anyText = fc.string({ unit: 'grapheme', maxLength: 12 });
const anyF64 = fc.oneof(
  fc.double(),
  fc.constantFrom(Number.NaN, Infinity, -Infinity, -0, 5e-324, 1e308),
);
const anyCount = fc.oneof(fc.nat({ max: 1000 }), fc.maxSafeNat());

function vectorOf(
  kind: string,
  isNullable: boolean,
  rowCount: number,
): fc.Arbitrary<Vector | undefined> {
  const rows = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<(T | null)[]> =>
    fc.array(isNullable ? fc.option(item, { nil: null, freq: 3 }) : item, {
      minLength: rowCount,
      maxLength: rowCount,
    });
  switch (kind) {
    case 'count':
      return rows(anyCount).map((values) => ({
        kind: 'number',
        values: Float64Array.from(values, (v) => v ?? Number.NaN),
      }));
    case 'instant':
      return rows(fc.double({ min: 0, max: 4e12, noNaN: true })).map((values) => ({
        kind: 'number',
        values: Float64Array.from(values, (v) => v ?? Number.NaN),
      }));
    case 'f64':
      return rows(anyF64).map((values) => ({
        kind: 'f64',
        values: Float64Array.from(values, (v) => v ?? 0),
        isNull: values.includes(null) ? Uint8Array.from(values, (v) => (v === null ? 1 : 0)) : null,
      }));
    case 'key':
      return fc.uniqueArray(anyText, { minLength: 1, maxLength: 300 }).chain((dictionary) =>
        rows(fc.nat({ max: dictionary.length - 1 })).map((values) => ({
          kind: 'key',
          dictionary,
          indices: Int32Array.from(values, (v) => v ?? -1),
        })),
      );
    case 'text':
    case 'json':
      return rows(anyText).map((values) => ({ kind: 'text', values }));
    case 'bool':
      return rows(fc.boolean()).map((values) => ({
        kind: 'bool',
        values: Uint8Array.from(values, (v) => (v === null ? 2 : Number(v))),
      }));
    case 'f64_list':
      return rows(fc.array(anyF64, { maxLength: 5 })).map((values) => ({
        kind: 'f64_list',
        values: values.map((v) => (v === null ? null : Float64Array.from(v))),
      }));
    case 'text_list':
      return rows(fc.array(anyText, { maxLength: 5 })).map((values) => ({
        kind: 'text_list',
        values,
      }));
    default:
      return fc.constant(undefined);
  }
}

/** Any batch of `table` with up to `maxRows` rows. */
export function anyBatch(table: TableDefinition, maxRows = 70): fc.Arbitrary<RowBatch> {
  return fc.integer({ min: 1, max: maxRows }).chain((rowCount) => {
    const entries = table.segmentColumns.flatMap((name) => {
      const column = table.columns[name];
      if (column === undefined) return [];
      return [
        vectorOf(column.kind, column.isNullable, rowCount).map(
          (vector) => [table.storedNames.get(name) ?? name, vector] as const,
        ),
      ];
    });
    return fc.tuple(...entries).map((pairs) => ({
      rowCount,
      columns: new Map(
        pairs.flatMap(([name, vector]) => (vector === undefined ? [] : [[name, vector] as const])),
      ),
    }));
  });
}

/** The values of a column as plain data, for comparison; -0 and NaN kept apart by `Object.is`. */
export function valuesOf(vector: Vector | undefined, rowCount: number): unknown[] {
  return Array.from({ length: rowCount }, (_, i) => {
    if (vector === undefined) return null;
    switch (vector.kind) {
      case 'number':
        return Number.isNaN(vector.values[i]) ? null : vector.values[i];
      case 'f64':
        return vector.isNull?.[i] === 1 ? null : vector.values[i];
      case 'key':
        return (vector.indices[i] ?? -1) < 0 ? null : vector.dictionary[vector.indices[i] ?? -1];
      case 'bool':
        return vector.values[i] === 2 ? null : vector.values[i] === 1;
      case 'text':
        return vector.values[i];
      case 'f64_list':
      case 'text_list': {
        const list = vector.values[i];
        return list === null || list === undefined
          ? null
          : Array.from<unknown>(list as readonly unknown[]);
      }
    }
  });
}
