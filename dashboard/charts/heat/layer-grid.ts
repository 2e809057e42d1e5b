/** Layers by steps as cells, as many columns as there is room for. Pure. */
import { formatCount } from '../../parts/format.ts';
import { colorScale, shareOn, type ColorScale, type ScaleKind } from './color-scale.ts';

/** One point a step, ascending. Arrays of one length. */
export type LayerPoints = {
  readonly steps: Float64Array;
  /** NaN where every element was NaN or infinite. */
  readonly values: Float64Array;
  /** 1 where elements of the tensor were NaN or infinite. */
  readonly isBad: Uint8Array;
};

/** Steps that share a column. */
export type GridColumn = {
  readonly firstStep: number;
  readonly lastStep: number;
  /** Where the next column begins: the column is as wide as the steps from its first to this. */
  readonly endStep: number;
  /** Probed steps in it. */
  readonly stepCount: number;
};

/** What a cell stands for. */
export type GridCell = {
  /** Of the numbers in the cell the one that is shown: that furthest from the middle of its row. NaN: only bad ones. */
  readonly value: number;
  readonly min: number;
  readonly max: number;
  /** Numbers in the cell; 0: the cell is empty. */
  readonly count: number;
  /** How many of them came from tensors with elements that are NaN or infinite. */
  readonly badCount: number;
};

/** The cells of a heat map, row by row. */
export type LayerGrid = {
  readonly rows: readonly string[];
  readonly columns: readonly GridColumn[];
  readonly scale: ColorScale;
  /** `[rows, columns]`, row-major. */
  readonly cells: readonly GridCell[];
  /** The same cells as shades, 0 to 255; {@link EMPTY_SHADE} or {@link BAD_SHADE}. */
  readonly shades: Int16Array;
  /** Probed steps that have no room for a column of their own are joined, so many a column at most. */
  readonly stepsPerColumn: number;
};

/** Columns for steps, and the column of each step. */
export type StepColumns = {
  readonly columns: readonly GridColumn[];
  /** Index of the column of each step. */
  readonly columnOf: Int32Array;
  /** Most steps in one column. */
  readonly stepsPerColumn: number;
};

/**
 * Columns for ascending steps, at most `maxColumns`, each at least that part of all steps wide: steps that are nearer to each other
 * share one. A column reaches to the next one; the last is as wide as the steps are usually apart.
 */
export function gridColumns(steps: Float64Array, maxColumns: number): StepColumns {
  const first = steps[0] ?? 0;
  const end = (steps.at(-1) ?? 0) + usualGap(steps);
  // Rounding must not join steps that are exactly so far apart.
  const least = ((end - first) / Math.max(1, maxColumns)) * (1 - 1e-9);
  const begins: number[] = [];
  const columnOf = Int32Array.from(steps, (step, at) => {
    const before = steps[begins.at(-1) ?? -1];
    if (before === undefined || step - before >= least) begins.push(at);
    return begins.length - 1;
  });
  const columns = begins.map((from, at): GridColumn => {
    const to = begins[at + 1] ?? steps.length;
    return {
      firstStep: steps[from] ?? 0,
      lastStep: steps[to - 1] ?? 0,
      endStep: steps[to] ?? end,
      stepCount: to - from,
    };
  });
  const stepsPerColumn = columns.reduce((most, { stepCount }) => Math.max(most, stepCount), 1);
  return { columns, columnOf, stepsPerColumn };
}

function usualGap(steps: Float64Array): number {
  const gaps = steps.subarray(1).map((step, at) => step - (steps[at] ?? 0));
  return gaps.toSorted()[gaps.length >> 1] ?? 1;
}

/** Where each column begins on `width` CSS pixels, and at last where the last one ends. */
export function columnLefts(columns: readonly GridColumn[], width: number): Float64Array {
  const first = columns[0]?.firstStep ?? 0;
  const end = columns.at(-1)?.endStep ?? 1;
  const share = width / Math.max(end - first, Number.MIN_VALUE);
  const lefts = Float64Array.from(columns, ({ firstStep }) => (firstStep - first) * share);
  return Float64Array.of(...lefts, width);
}

/** The steps of a column: `7`, `7 – 12`. */
export function stepsText({ firstStep, lastStep }: GridColumn): string {
  const first = formatCount(firstStep);
  return firstStep === lastStep ? first : `${first} – ${formatCount(lastStep)}`;
}

/** Shade of a cell without a number. */
export const EMPTY_SHADE = -1;
/** Shade of a cell with elements that are NaN or infinite. */
export const BAD_SHADE = -2;

const EMPTY_CELL: GridCell = {
  value: Number.NaN,
  min: Number.NaN,
  max: Number.NaN,
  count: 0,
  badCount: 0,
};

/** The cells for at most `maxColumns` columns. Steps that no layer has a number for take no room. */
export function layerGrid(
  layers: readonly { readonly name: string; readonly points: LayerPoints }[],
  kind: ScaleKind,
  maxColumns: number,
): LayerGrid {
  const shown = layers.filter(({ points }) => points.steps.length > 0);
  const steps = Float64Array.from(
    new Set(shown.flatMap(({ points }) => [...points.steps])),
  ).toSorted();
  const { columns, columnOf, stepsPerColumn } = gridColumns(steps, maxColumns);
  const byStep = new Map(Array.from(steps, (step, at) => [step, columnOf[at] ?? 0] as const));
  const cells = shown.flatMap(({ points }) => rowCells(points, byStep, columns.length, kind));
  const scale = colorScale(kind, valuesOf(cells));
  const shades = Int16Array.from(cells, (cell) => shadeOf(cell, scale));
  return {
    rows: shown.map(({ name }) => name),
    columns,
    scale,
    cells,
    shades,
    stepsPerColumn,
  };
}

function* valuesOf(cells: readonly GridCell[]): Iterable<number> {
  for (const { value } of cells) yield value;
}

function shadeOf(cell: GridCell, scale: ColorScale): number {
  if (cell.count === 0) return EMPTY_SHADE;
  if (cell.badCount > 0) return BAD_SHADE;
  const share = shareOn(scale, cell.value);
  return Number.isNaN(share) ? EMPTY_SHADE : Math.round(share * 255);
}

function rowCells(
  { steps, values, isBad }: LayerPoints,
  columnOf: ReadonlyMap<number, number>,
  columnCount: number,
  kind: ScaleKind,
): GridCell[] {
  const cells = Array.from({ length: columnCount }, () => EMPTY_CELL);
  const middle = medianOf(values);
  const distance = (value: number): number => distanceOn(kind, value, middle);
  for (const [at, step] of steps.entries()) {
    const column = columnOf.get(step) ?? -1;
    const before = cells[column];
    const value = values[at] ?? Number.NaN;
    const badCount = (before?.badCount ?? 0) + (isBad[at] ?? 0);
    if (before === undefined || (Number.isNaN(value) && isBad[at] !== 1)) continue;
    const isFurther = Number.isNaN(before.value) || distance(value) > distance(before.value);
    cells[column] = {
      value: isFurther ? value : before.value,
      min: smaller(before.min, value),
      max: -smaller(-before.max, -value),
      count: before.count + 1,
      badCount,
    };
  }
  return cells;
}

function smaller(known: number, value: number): number {
  if (Number.isNaN(known)) return value;
  return value < known ? value : known;
}

function medianOf(values: Float64Array): number {
  const finite = values.filter((value) => Number.isFinite(value)).toSorted();
  return finite[finite.length >> 1] ?? 0;
}

function distanceOn(kind: ScaleKind, value: number, middle: number): number {
  if (kind !== 'log' || !(middle > 0)) return Math.abs(value - middle);
  // Zero is as far as can be: a gradient that is gone must not be hidden by its neighbours.
  return value > 0 ? Math.abs(Math.log(value / middle)) : Number.POSITIVE_INFINITY;
}

/** Columns that get a label, so that labels are at least `spacePx` apart; `lefts` are those of {@link columnLefts}. */
export function labelledColumns(lefts: Float64Array, spacePx: number): readonly number[] {
  const labelled: number[] = [];
  let next = Number.NEGATIVE_INFINITY;
  for (const [column, left] of lefts.subarray(0, -1).entries()) {
    if (left < next) continue;
    labelled.push(column);
    next = left + spacePx;
  }
  return labelled;
}
