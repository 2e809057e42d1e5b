/** One column while segments are put into it: written from the vectors of a segment, put in order some rows at a time. */
import { inOrder } from '../../base/ascending-order.ts';
import type { Vector } from '../../codecs/arrow/vectors.ts';
import type { Interleaving } from './interleaving.ts';

/** A column of names: those that occur, and which one each row has. */
export type NameColumn = {
  readonly values: readonly string[];
  /** Index into `values` of each row; -1 where the row has none. */
  readonly index: Int32Array;
};

/** The values of one column, a cell for each row; and a stage, where rows wait that are not in order yet. */
export interface Cells<R> {
  /** Makes room for that many rows; those up to `count` stay. */
  reserve(isStage: boolean, capacity: number, count: number): void;
  /** Puts the values of `rowCount` rows at `at` and after it. */
  write(isStage: boolean, vector: Vector | undefined, rowCount: number, at: number): void;
  /** Puts the cell `order[i]` of the stage at `at + i`. */
  arrange(order: Int32Array, at: number): void;
  /** The same for rows that are in order when they take turns. */
  interleave(rows: Interleaving, at: number): void;
  /** The first `count` cells, or those at `order`. */
  finish(count: number, order: Int32Array | null): R;
}

/** Unused memory at the end of a column that is left there rather than copied away, as a share of the rows. */
const MAX_SLACK = 1 / 8;

/** Numbers; NaN where there is none, and of a list the last. */
export function numberCells(): Cells<Float64Array> {
  let cells = new Float64Array(0);
  let stage = new Float64Array(0);
  return {
    reserve(isStage, capacity, count) {
      if (isStage) stage = grown(stage, new Float64Array(capacity), count);
      else cells = grown(cells, new Float64Array(capacity), count);
    },
    write: (isStage, vector, rowCount, at) =>
      copyNumbers(vector, (isStage ? stage : cells).subarray(at, at + rowCount)),
    arrange(order, at) {
      for (let i = 0; i < order.length; i++) cells[at + i] = stage[order[i] ?? 0] ?? Number.NaN;
    },
    interleave: (rows, at) => rows.put(cells, at, stage),
    finish: (count, order) => (order === null ? trimmedTo(cells, count) : inOrder(cells, order)),
  };
}

/** Names, as indices into those that occur. */
export function nameCells(): Cells<NameColumn> {
  const positions = new Map<string, number>();
  let cells = new Int32Array(0);
  let stage = new Int32Array(0);
  return {
    reserve(isStage, capacity, count) {
      if (isStage) stage = grown(stage, new Int32Array(capacity), count);
      else cells = grown(cells, new Int32Array(capacity), count);
    },
    write(isStage, vector, rowCount, at) {
      const target = (isStage ? stage : cells).subarray(at, at + rowCount);
      if (vector?.kind !== 'key') {
        target.fill(-1);
        return;
      }
      const { dictionary, indices } = vector;
      const known = Int32Array.from(dictionary, (name) => {
        const position = positions.get(name) ?? positions.size;
        positions.set(name, position);
        return position;
      });
      for (let row = 0; row < rowCount; row++) target[row] = known[indices[row] ?? -1] ?? -1;
    },
    arrange(order, at) {
      for (let i = 0; i < order.length; i++) cells[at + i] = stage[order[i] ?? 0] ?? -1;
    },
    interleave: (rows, at) => rows.put(cells, at, stage),
    finish(count, order) {
      const index = order === null ? trimmedTo(cells, count) : order.map((row) => cells[row] ?? -1);
      return { values: [...positions.keys()], index };
    },
  };
}

/** Texts and lists; null where there is none. */
export function valueCells<V>(
  read: (vector: Vector, row: number) => V | null,
): Cells<readonly (V | null)[]> {
  const cells: (V | null)[] = [];
  const stage: (V | null)[] = [];
  return {
    reserve: () => undefined,
    write(isStage, vector, rowCount, at) {
      const target = isStage ? stage : cells;
      for (let row = 0; row < rowCount; row++)
        target[at + row] = vector === undefined ? null : read(vector, row);
    },
    arrange(order, at) {
      for (let i = 0; i < order.length; i++) cells[at + i] = stage[order[i] ?? 0] ?? null;
    },
    interleave: (rows, at) => rows.putValues(cells, at, stage),
    finish: (_count, order) =>
      order === null ? cells : Array.from(order, (row) => cells[row] ?? null),
  };
}

function grown<A extends Float64Array | Int32Array>(before: A, larger: A, count: number): A {
  larger.set(before.subarray(0, count));
  return larger;
}

/** The first `count` numbers: themselves, a view, or a copy where much would be left over. */
export function trimmedTo<A extends Float64Array | Int32Array>(all: A, count: number): A {
  if (all.length === count) return all;
  const isTight = all.length - count <= count * MAX_SLACK;
  return (isTight ? all.subarray(0, count) : all.slice(0, count)) as A; // of its own kind
}

function plainNumbers(vector: Vector | undefined): Float64Array | undefined {
  const isPlain = vector?.kind === 'number' || (vector?.kind === 'f64' && vector.isNull === null);
  return isPlain ? vector.values : undefined;
}

function copyNumbers(vector: Vector | undefined, target: Float64Array): void {
  const plain = plainNumbers(vector);
  if (plain !== undefined) target.set(plain.subarray(0, target.length));
  else if (vector?.kind === 'f64')
    for (let row = 0; row < target.length; row++)
      target[row] = vector.isNull?.[row] === 1 ? Number.NaN : (vector.values[row] ?? Number.NaN);
  else if (vector?.kind === 'f64_list')
    for (let row = 0; row < target.length; row++)
      target[row] = vector.values[row]?.at(-1) ?? Number.NaN;
  else target.fill(Number.NaN);
}
