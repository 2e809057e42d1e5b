/** Layers by steps as cells, as many columns as there is room for. Pure. */
import { formatCount } from '../parts/format.ts';
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
  /** Probed steps that have no room for a column of their own are joined, so many a column. */
  readonly stepsPerColumn: number;
};

/** Columns for ascending steps, at most `maxColumns`. */
export function gridColumns(
  steps: Float64Array,
  maxColumns: number,
): { readonly columns: readonly GridColumn[]; readonly stepsPerColumn: number } {
  const stepsPerColumn = Math.max(1, Math.ceil(steps.length / Math.max(1, maxColumns)));
  const columns = Array.from({ length: Math.ceil(steps.length / stepsPerColumn) }, (_, at) => {
    const part = steps.subarray(at * stepsPerColumn, (at + 1) * stepsPerColumn);
    return { firstStep: part[0] ?? 0, lastStep: part.at(-1) ?? 0, stepCount: part.length };
  });
  return { columns, stepsPerColumn };
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
  const { columns, stepsPerColumn } = gridColumns(steps, maxColumns);
  const columnOf = new Map(
    Array.from(steps, (step, at) => [step, Math.floor(at / stepsPerColumn)] as const),
  );
  const cells = shown.flatMap(({ points }) => rowCells(points, columnOf, columns.length, kind));
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

/** Columns that get a label, so that labels keep `spacePx` apart on columns `columnPx` wide. */
export function labelledColumns(
  columnCount: number,
  columnPx: number,
  spacePx: number,
): readonly number[] {
  const every = Math.max(1, Math.ceil(spacePx / Math.max(columnPx, 0.01)));
  return Array.from({ length: Math.ceil(columnCount / every) }, (_, at) => at * every);
}
