/** Batches as columns: put together from rows, or from what was read, and taken apart into rows again. */
import { checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import type { BatchColumns } from './run-columns.ts';

/** One batch for {@link createBatchColumns}. */
export type BatchRow = {
  /** Loss of the batch: the mean over its samples. */
  readonly loss: number;
  readonly step?: number | undefined;
  readonly epoch?: number | undefined;
  /** UTC epoch milliseconds. */
  readonly timeMs?: number | undefined;
  readonly batchSize?: number | undefined;
  /** Samples of each class. */
  readonly classCounts?: Readonly<Record<string, number>> | undefined;
  readonly sampleIds?: readonly (string | number)[] | undefined;
  /** JSON text. */
  readonly metadata?: string | null | undefined;
};

/** Columns of equal length, and what each row was made of. */
type BatchParts = Pick<
  BatchColumns,
  'steps' | 'epochs' | 'timesMs' | 'losses' | 'batchSizes' | 'metadata'
> & {
  readonly classCounts: (row: number) => object;
  readonly sampleIds: (row: number) => readonly (string | number)[];
};

/**
 * Batches from rows in memory, for {@link createRunColumns}. They are put in the order of their steps; those without a step come last.
 *
 * @throws {QuarkError} `invalid_input` naming the row and the field
 * @example
 * ```js
 * import { createBatchColumns, createRunColumns } from 'quark-sdk/analysis';
 *
 * const batches = createBatchColumns([
 *   { step: 1, loss: 0.6, classCounts: { cat: 3, dog: 1 }, sampleIds: ['a', 'b', 'c', 'd'] },
 *   { step: 0, loss: 0.7, classCounts: { cat: 2, dog: 2 } },
 * ]);
 * console.log(batches.rowCount, batches.losses, batches.classNames); // 2 Float64Array(2) [ 0.7, 0.6 ] [ 'cat', 'dog' ]
 * console.log(createRunColumns({ batches }).batches === batches); // true
 * ```
 */
export function createBatchColumns(rows: readonly BatchRow[]): BatchColumns {
  if (!Array.isArray(rows)) throw invalidInput('rows', rows, 'a list of batches');
  rows.forEach(checkRow);
  return columnsOfRows(rows);
}

/** The same of rows that were checked. */
export function columnsOfRows(rows: readonly BatchRow[]): BatchColumns {
  const place = ({ step }: BatchRow): number => step ?? Number.MAX_VALUE;
  const sorted = rows.toSorted((a, b) => place(a) - place(b));
  const column = (read: (row: BatchRow) => number | undefined): Float64Array =>
    Float64Array.from(sorted, (row) => read(row) ?? Number.NaN);
  return packBatches({
    steps: column(({ step }) => step),
    epochs: column(({ epoch }) => epoch),
    timesMs: column(({ timeMs }) => timeMs),
    losses: column(({ loss }) => loss),
    batchSizes: column(({ batchSize }) => batchSize),
    classCounts: (row) => sorted[row]?.classCounts ?? {},
    sampleIds: (row) => sorted[row]?.sampleIds ?? [],
    metadata: sorted.map(({ metadata }) => metadata ?? null),
  });
}

function checkRow(row: BatchRow, at: number): void {
  const name = `rows[${at}]`;
  checkOptionNames(name, row, [
    'loss',
    'step',
    'epoch',
    'timeMs',
    'batchSize',
    'classCounts',
    'sampleIds',
    'metadata',
  ]);
  if (typeof row.loss !== 'number') throw invalidInput(`${name}.loss`, row.loss, 'a number');
  for (const [field, value] of Object.entries({
    step: row.step,
    epoch: row.epoch,
    timeMs: row.timeMs,
    batchSize: row.batchSize,
  }))
    if (value !== undefined && typeof value !== 'number')
      throw invalidInput(`${name}.${field}`, value, 'a number');
  for (const [label, count] of Object.entries(row.classCounts ?? {}))
    if (typeof count !== 'number' || !(count >= 0))
      throw invalidInput(`${name}.classCounts.${label}`, count, 'a number of samples');
  const ids: unknown = row.sampleIds ?? [];
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string' || typeof id === 'number'))
    throw invalidInput(`${name}.sampleIds`, ids, 'a list of texts or numbers');
}

/** Classes and samples as positions in lists of names, in the order in which they come first. */
export function packBatches({ classCounts, sampleIds, ...parts }: BatchParts): BatchColumns {
  const rowCount = parts.losses.length;
  const classes = new Map<string, number>();
  const classOffsets = new Int32Array(rowCount + 1);
  const classIndex: number[] = [];
  const counts: number[] = [];
  const sampleOffsets = new Int32Array(rowCount + 1);
  for (let row = 0; row < rowCount; row++) {
    for (const [name, count] of Object.entries(classCounts(row))) {
      if (typeof count !== 'number') continue;
      classIndex.push(positionIn(classes, name));
      counts.push(count);
    }
    classOffsets[row + 1] = classIndex.length;
    sampleOffsets[row + 1] = (sampleOffsets[row] ?? 0) + sampleIds(row).length;
  }
  const samples = new Map<string, number>();
  const sampleIndex = new Int32Array(sampleOffsets[rowCount] ?? 0);
  for (let row = 0, at = 0; row < rowCount; row++)
    for (const id of sampleIds(row)) sampleIndex[at++] = positionIn(samples, String(id));
  return {
    rowCount,
    ...parts,
    classNames: [...classes.keys()],
    classOffsets,
    classIndex: Int32Array.from(classIndex),
    classCounts: Float64Array.from(counts),
    sampleNames: [...samples.keys()],
    sampleOffsets,
    sampleIndex,
  };
}

function positionIn(names: Map<string, number>, name: string): number {
  const known = names.get(name);
  if (known !== undefined) return known;
  names.set(name, names.size);
  return names.size - 1;
}

/** Sample ids of a batch; empty where none were recorded. */
export function samplesOf(batches: BatchColumns, row: number): readonly string[] {
  const { sampleIndex, sampleNames, sampleOffsets } = batches;
  const from = sampleOffsets[row] ?? 0;
  return Array.from(
    sampleIndex.subarray(from, sampleOffsets[row + 1] ?? from),
    (at) => sampleNames[at] ?? '',
  );
}

/** Samples of each class in a batch; empty where none were recorded. */
export function classesOf(batches: BatchColumns, row: number): ReadonlyMap<string, number> {
  const { classCounts, classIndex, classNames, classOffsets } = batches;
  const from = classOffsets[row] ?? 0;
  const counts = new Map<string, number>();
  for (let i = from; i < (classOffsets[row + 1] ?? from); i++)
    counts.set(classNames[classIndex[i] ?? -1] ?? '', classCounts[i] ?? 0);
  return counts;
}

/** The batches as rows. */
export function rowsOfBatches(batches: BatchColumns): BatchRow[] {
  const number = (values: Float64Array, row: number): number | undefined => {
    const value = values[row] ?? Number.NaN;
    return Number.isNaN(value) ? undefined : value;
  };
  return Array.from({ length: batches.rowCount }, (_, row) => ({
    loss: batches.losses[row] ?? Number.NaN,
    step: number(batches.steps, row),
    epoch: number(batches.epochs, row),
    timeMs: number(batches.timesMs, row),
    batchSize: number(batches.batchSizes, row),
    classCounts: Object.fromEntries(classesOf(batches, row)),
    sampleIds: samplesOf(batches, row),
    metadata: batches.metadata[row] ?? null,
  }));
}
