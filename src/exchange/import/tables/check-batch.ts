/** Rows of a file held against the declaration of their table: a store takes what it is given, so what is wrong stays outside. */
import { isQuarkError } from '../../../base/errors.ts';
import type { Column } from '../../../schema/column.ts';
import type { TableDefinition } from '../../../schema/table.ts';
import { gatherRows } from '../../../segment/batch-ops.ts';
import type { RowBatch, Vector } from '../../../codecs/arrow/vectors.ts';

/** The rows that are right, and what is wrong with the first of the others. */
export type ImportedBatch = {
  readonly batch: RowBatch;
  readonly leftOut: number;
  readonly reason: string;
};

export function checkImportedBatch(table: TableDefinition, batch: RowBatch): ImportedBatch {
  const isWrong = new Uint8Array(batch.rowCount);
  let reason = '';
  const refuse = (row: number, why: string): void => {
    if (reason === '') reason = why;
    isWrong[row] = 1;
  };
  for (const name of table.segmentColumns) {
    const column = table.columns[name];
    if (column === undefined) continue;
    const stored = table.storedNames.get(name) ?? name;
    const vector = batch.columns.get(stored);
    const parse = (value: unknown): void => {
      column.parse(stored, value);
      for (const one of Array.isArray(value) ? value : [value]) column.checkName?.(stored, one);
    };
    checkColumn(column, vector, batch.rowCount, parse, (row, why) =>
      refuse(row, `${stored}: ${why}`),
    );
  }
  const leftOut = isWrong.reduce((sum, wrong) => sum + wrong, 0);
  if (leftOut === 0) return { batch, leftOut, reason };
  const rows = Int32Array.from(
    Array.from({ length: batch.rowCount }, (_, row) => row).filter((row) => isWrong[row] === 0),
  );
  return { batch: gatherRows(batch, rows), leftOut, reason };
}

function checkColumn(
  column: Column<unknown>,
  vector: Vector | undefined,
  rowCount: number,
  parse: (value: unknown) => void,
  refuse: (row: number, why: string) => void,
): void {
  const missing = (row: number): void => {
    if (!column.isNullable) refuse(row, 'it is missing');
  };
  const check = (rule: (value: unknown) => void, row: number, value: unknown): void => {
    const why = wrongness(rule, value);
    if (why !== undefined) refuse(row, why);
  };
  if (vector?.kind === 'key') {
    // A word is checked once, however many rows have it.
    const reasons = vector.dictionary.map((word) => wrongness(parse, word));
    for (let row = 0; row < rowCount; row++) {
      const index = vector.indices[row] ?? -1;
      if (index < 0) missing(row);
      else if (reasons[index] !== undefined) refuse(row, reasons[index]);
    }
    return;
  }
  const valueAt = valuesOf(vector);
  // Nested records are known by their prototypes, which a file has not: that it is JSON is enough.
  const rule = column.kind === 'json' ? (value: unknown) => void JSON.parse(String(value)) : parse;
  for (let row = 0; row < rowCount; row++) {
    const value = valueAt(row);
    if (value === null) missing(row);
    else if (vector?.kind !== 'bool') check(rule, row, value);
  }
}

/** The value of each row of a vector; null where there is none. */
function valuesOf(vector: Exclude<Vector, { kind: 'key' }> | undefined): (row: number) => unknown {
  switch (vector?.kind) {
    case undefined:
      return () => null;
    case 'number':
      return (row) => {
        const value = vector.values[row] ?? Number.NaN;
        return Number.isNaN(value) ? null : value;
      };
    case 'f64':
      return (row) => (vector.isNull?.[row] === 1 ? null : vector.values[row]);
    case 'bool':
      return (row) => (vector.values[row] === 2 ? null : vector.values[row]);
    case 'text':
    case 'f64_list':
    case 'text_list':
      return (row) => vector.values[row] ?? null;
  }
}

function wrongness(parse: (value: unknown) => void, value: unknown): string | undefined {
  try {
    parse(value);
    return undefined;
  } catch (error) {
    if (isQuarkError(error, 'invalid_input')) return `must be ${String(error.details['rule'])}`;
    if (error instanceof SyntaxError) return 'it is no JSON';
    throw error;
  }
}
