/** A table of ours out of a Parquet file: whole row groups as the columns of records, every bit of them. */
import { isQuarkError, messageOf } from '../../../base/errors.ts';
import type { Column } from '../../../schema/column.ts';
import type { TableDefinition } from '../../../schema/table.ts';
import type { RowBatch, Vector } from '../../../codecs/arrow/vectors.ts';
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportLimits } from '../../../codecs/limits.ts';
import type {
  ParquetFooter,
  ParquetGroup,
  ParquetLeaf,
} from '../../../codecs/parquet/parquet-footer.ts';
import { ParquetBudget, ParquetBudgetError } from '../../../codecs/parquet/parquet-budget.ts';
import { ParquetPages, type ParquetPage } from '../../../codecs/parquet/parquet-pages.ts';
import { checkColumnRows } from '../../../codecs/parquet/parquet-rows.ts';

/** Rows of a row group at most: ours have 65,536. */
const MAX_GROUP_ROWS = 1 << 22;

/**
 * The row groups as batches; what is damaged is reported and left out.
 *
 * @throws {Error} when the file says of itself that it holds more than it can
 */
export async function* parquetBatches(
  table: TableDefinition,
  file: InputFile,
  footer: ParquetFooter,
  limits: ImportLimits,
  problem: (location: string, reason: string) => void,
): AsyncGenerator<RowBatch, void, undefined> {
  checkColumnRows(footer, file, limits);
  const budget = new ParquetBudget(file, limits);
  for (const [number, group] of footer.groups.entries()) {
    if (group.rowCount === 0) continue;
    try {
      yield await readGroup({ table, file, footer, limits, budget }, group);
    } catch (error) {
      if (isQuarkError(error, 'aborted')) throw error;
      const isOver = error instanceof ParquetBudgetError;
      const what = isOver ? 'It and the rest of the file are' : 'It is';
      problem(`row group ${number + 1}`, `${what} left out: ${messageOf(error)}.`);
      if (isOver) return;
    }
  }
}

/** What every row group of a file is read with. */
type GroupReading = {
  readonly table: TableDefinition;
  readonly file: InputFile;
  readonly footer: ParquetFooter;
  readonly limits: ImportLimits;
  readonly budget: ParquetBudget;
};

async function readGroup(
  { budget, file, footer: { leaves }, limits, table }: GroupReading,
  group: ParquetGroup,
): Promise<RowBatch> {
  if (group.rowCount > MAX_GROUP_ROWS) throw new Error(`it has ${group.rowCount} rows`);
  const columns = new Map<string, Vector>();
  let bytes = 0;
  for (const [field, column] of Object.entries(table.columns)) {
    const name = table.storedNames.get(field) ?? field;
    if (name === 'run_id' || name === 'sequence') continue;
    const index = leaves.findIndex(({ top }) => top === name);
    const leaf = leaves[index];
    const chunk = group.chunks[index];
    if (leaf === undefined || chunk === undefined) continue;
    try {
      if (chunk.isElsewhere) throw new Error('it is in another file');
      const pages: ParquetPage[] = [];
      const reader = new ParquetPages(file, leaf, chunk, limits, budget);
      for (let page = await reader.next(); page !== undefined; page = await reader.next()) {
        pages.push(page);
        bytes += page.bytes;
        if (bytes > limits.maxExpandedBytes)
          throw new Error(
            `it takes more than ${limits.maxExpandedBytes} bytes (limits.maxExpandedBytes)`,
          );
      }
      const vector = vectorOf(column, leaf, pages, group.rowCount, budget);
      if (vector !== undefined) columns.set(name, vector);
    } catch (error) {
      if (isQuarkError(error, 'aborted') || error instanceof ParquetBudgetError) throw error;
      throw new Error(`column "${name}": ${messageOf(error)}`, { cause: error });
    }
  }
  return { rowCount: group.rowCount, columns };
}

function takeTexts(pages: readonly ParquetPage[], budget: ParquetBudget): void {
  for (const { values } of pages)
    if (values.kind === 'texts' && values.positions !== null)
      for (const position of values.positions) budget.takeBytes(values.texts.byteLength(position));
}

/** Undefined when all of it is null. */
function vectorOf(
  { kind }: Column<unknown>,
  leaf: ParquetLeaf,
  pages: readonly ParquetPage[],
  rowCount: number,
  budget: ParquetBudget,
): Vector | undefined {
  const isList = kind === 'f64_list' || kind === 'text_list';
  if (isList !== (leaf.maxRepetition === 1))
    throw new Error('it has another type than its declaration');
  const wantsTexts = kind === 'key' || kind === 'text' || kind === 'json' || kind === 'text_list';
  if (pages.some(({ values }) => (values.kind === 'texts') !== wantsTexts))
    throw new Error('it has another type than its declaration');
  // Texts of a dictionary are stored once here, and once for each row where they go.
  if (kind !== 'key') takeTexts(pages, budget);
  const hasAny = pages.some(({ values }) => lengthOf(values) > 0);
  if (!isList) {
    const count = pages.reduce((sum, page) => sum + page.count, 0);
    if (count !== rowCount) throw new Error(`it has ${count} rows instead of ${rowCount}`);
    if (!hasAny) return undefined;
  }
  switch (kind) {
    case 'count':
    case 'instant': {
      const values = new Float64Array(rowCount).fill(Number.NaN);
      eachNumber(leaf, pages, (row, source, at) => (values[row] = source[at] ?? Number.NaN));
      return { kind: 'number', values };
    }
    case 'f64': {
      const values = new Float64Array(rowCount);
      const isNull = new Uint8Array(rowCount).fill(1);
      const target = new Uint32Array(values.buffer);
      eachNumber(leaf, pages, (row, source, at) => {
        // Bits, not numbers: the payload of a NaN has to stay.
        const bits = new Uint32Array(source.buffer, source.byteOffset + 8 * at, 2);
        target[2 * row] = bits[0] ?? 0;
        target[2 * row + 1] = bits[1] ?? 0;
        isNull[row] = 0;
      });
      return { kind: 'f64', values, isNull: isNull.includes(1) ? isNull : null };
    }
    case 'bool': {
      const values = new Uint8Array(rowCount).fill(2);
      eachNumber(leaf, pages, (row, source, at) => (values[row] = source[at] === 1 ? 1 : 0));
      return { kind: 'bool', values };
    }
    case 'key':
      return keysOf(leaf, pages, rowCount);
    case 'text':
    case 'json': {
      const values = new Array<string | null>(rowCount).fill(null);
      eachText(leaf, pages, (row, text) => (values[row] = text));
      return { kind: 'text', values };
    }
    case 'f64_list': {
      const lists = listsOf<number>(leaf, pages, rowCount);
      return {
        kind: 'f64_list',
        values: lists.map((list) => (list === null ? null : Float64Array.from(list))),
      };
    }
    case 'text_list':
      return { kind: 'text_list', values: listsOf<string>(leaf, pages, rowCount) };
  }
}

function keysOf(leaf: ParquetLeaf, pages: readonly ParquetPage[], rowCount: number): Vector {
  const positions = new Map<string, number>();
  const indices = new Int32Array(rowCount).fill(-1);
  eachText(leaf, pages, (row, text) => {
    let position = positions.get(text);
    if (position === undefined) positions.set(text, (position = positions.size));
    indices[row] = position;
  });
  return { kind: 'key', dictionary: [...positions.keys()], indices };
}

/** Calls back with the row and the index of each value that is not null. */
function eachValue(
  leaf: ParquetLeaf,
  pages: readonly ParquetPage[],
  visit: (row: number, page: ParquetPage, at: number) => void,
): void {
  let row = 0;
  for (const page of pages) {
    let at = 0;
    for (let i = 0; i < page.count; i++, row++)
      if (page.definition === null || page.definition[i] === leaf.maxDefinition)
        visit(row, page, at++);
  }
}

function eachNumber(
  leaf: ParquetLeaf,
  pages: readonly ParquetPage[],
  visit: (row: number, source: Float64Array, at: number) => void,
): void {
  eachValue(leaf, pages, (row, { values }, at) => {
    if (values.kind === 'numbers') visit(row, values.values, at);
  });
}

function eachText(
  leaf: ParquetLeaf,
  pages: readonly ParquetPage[],
  visit: (row: number, text: string) => void,
): void {
  eachValue(leaf, pages, (row, { values }, at) => {
    if (values.kind === 'texts') visit(row, values.texts.at(values.positions?.[at] ?? at));
  });
}

/** Levels back to lists: 0 begins a row, and what is defined to the end is an item. */
function listsOf<T extends number | string>(
  leaf: ParquetLeaf,
  pages: readonly ParquetPage[],
  rowCount: number,
): (T[] | null)[] {
  const lists: (T[] | null)[] = [];
  for (const { count, definition, repetition, values } of pages) {
    let at = 0;
    for (let i = 0; i < count; i++) {
      const level = definition === null ? leaf.maxDefinition : (definition[i] ?? 0);
      if ((repetition?.[i] ?? 0) === 0) lists.push(level >= leaf.listDefinition - 1 ? [] : null);
      if (level < leaf.maxDefinition) continue;
      const item =
        values.kind === 'numbers'
          ? values.values[at]
          : values.texts.at(values.positions?.[at] ?? at);
      at++;
      const list = lists.at(-1);
      if (list === undefined || list === null) throw new Error('a list has no beginning');
      list.push(item as T);
    }
  }
  if (lists.length !== rowCount)
    throw new Error(`it has ${lists.length} rows instead of ${rowCount}`);
  return lists;
}

function lengthOf(values: ParquetPage['values']): number {
  return values.kind === 'numbers'
    ? values.values.length
    : (values.positions?.length ?? values.texts.length);
}
