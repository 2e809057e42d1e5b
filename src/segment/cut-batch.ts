/** Batches of a size that everything can work with: a store takes segments of a bounded size, and files have row groups. */
import { gatherRows } from './batch-ops.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';

/** Rows of a batch at most. */
const BATCH_ROWS = 65_536;
/** Characters and numbers of lists in a batch, about: rows of long texts make shorter batches. */
const BATCH_ITEMS = 1 << 22;

/**
 * The rows from `start` on in batches of at most 65,536, and fewer where they are long.
 *
 * @param order the rows in the order that is wanted; null: as they are
 */
export function* cutBatch(
  batch: RowBatch,
  start = 0,
  order: Int32Array | null = null,
): Generator<RowBatch> {
  const rowAt = (i: number): number => order?.[i] ?? i;
  const weigh = weightsOf(batch);
  for (let from = start; from < batch.rowCount;) {
    let to = from;
    let items = 0;
    while (to < batch.rowCount && to - from < BATCH_ROWS && (to === from || items < BATCH_ITEMS)) {
      items += weigh(rowAt(to));
      to++;
    }
    const isAll = from === 0 && to === batch.rowCount && order === null;
    yield isAll
      ? batch
      : gatherRows(
          batch,
          Int32Array.from({ length: to - from }, (_, i) => rowAt(from + i)),
        );
    from = to;
  }
}

/** How much a row has besides plain numbers. */
function weightsOf(batch: RowBatch): (row: number) => number {
  const long = [...batch.columns.values()].filter(isLong);
  return (row) => {
    let weight = 0;
    for (const vector of long) {
      const value = vector.values[row];
      if (value === null || value === undefined) continue;
      weight += value.length;
      if (vector.kind === 'text_list')
        for (const text of vector.values[row] ?? []) weight += text.length;
    }
    return weight;
  };
}

function isLong(
  vector: Vector,
): vector is Extract<Vector, { kind: 'text' | 'f64_list' | 'text_list' }> {
  return vector.kind === 'text' || vector.kind === 'f64_list' || vector.kind === 'text_list';
}
