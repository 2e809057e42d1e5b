/** A curve in braille characters: two columns and four rows of dots a character. */
import { shortNumber } from '../support/text.ts';

/** Bits of a braille character by column and row, from U+2800 on. */
const DOTS: readonly (readonly number[])[] = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
];
const BLANK = 0x2800;

/** Samples of a curve, in the order of their positions. */
export type BrailleCurve = {
  readonly positions: ArrayLike<number>;
  readonly values: ArrayLike<number>;
};

/** How a curve is drawn. */
export type BrailleOptions = {
  /** Characters. */
  readonly width: number;
  readonly height: number;
  /** Whether the vertical axis is logarithmic; values up to 0 are left out then. */
  readonly isLog: boolean;
};

/** Lines of text with the axes' labels. A curve without a finite value says so. */
export function brailleChart(curve: BrailleCurve, options: BrailleOptions): readonly string[] {
  const { height, isLog, width } = options;
  const scale = isLog ? Math.log10 : (value: number): number => value;
  const bounds = boundsOf(curve, scale);
  if (bounds === undefined) return ['no values to draw'];
  const { high, low } = bounds;
  const labels = [high, low].map((value) => shortNumber(isLog ? 10 ** value : value));
  const labelWidth = Math.max(...labels.map(({ length }) => length));
  const cells = new Uint8Array(Math.max(1, width - labelWidth - 2) * height);
  const columns = cells.length / height;
  drawColumns(curve, scale, bounds, { cells, columns, height });
  const lines = Array.from({ length: height }, (_, row) => {
    const label = row === 0 ? labels[0] : row === height - 1 ? labels[1] : '';
    const text = Array.from(cells.subarray(row * columns, (row + 1) * columns), (bits) =>
      String.fromCodePoint(BLANK + bits),
    ).join('');
    return `${(label ?? '').padStart(labelWidth)} ┤${text}`;
  });
  const [from, to] = [shortNumber(bounds.from), shortNumber(bounds.to)];
  const room = Math.max(1, columns - from.length - to.length);
  return [...lines, `${' '.repeat(labelWidth + 2)}${from}${' '.repeat(room)}${to}`];
}

type Bounds = {
  readonly from: number;
  readonly to: number;
  readonly low: number;
  readonly high: number;
};

function boundsOf(
  { positions, values }: BrailleCurve,
  scale: (value: number) => number,
): Bounds | undefined {
  let [from, to, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < values.length; i += 1) {
    const at = positions[i] ?? Number.NaN;
    const value = scale(values[i] ?? Number.NaN);
    if (!Number.isFinite(value) || !Number.isFinite(at)) continue;
    from = Math.min(from, at);
    to = Math.max(to, at);
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return from > to ? undefined : { from, to, low, high };
}

/** Fills, in each column of dots, from the lowest to the highest value there, and joins it to the column before: no spike is lost. */
function drawColumns(
  { positions, values }: BrailleCurve,
  scale: (value: number) => number,
  { from, high, low, to }: Bounds,
  grid: { readonly cells: Uint8Array; readonly columns: number; readonly height: number },
): void {
  const dots = grid.columns * 2;
  const rows = grid.height * 4;
  const lowest = new Float64Array(dots).fill(Infinity);
  const highest = new Float64Array(dots).fill(-Infinity);
  for (let i = 0; i < values.length; i += 1) {
    const value = scale(values[i] ?? Number.NaN);
    const at = positions[i] ?? Number.NaN;
    if (!Number.isFinite(value) || !Number.isFinite(at)) continue;
    const x = to === from ? 0 : Math.round(((at - from) / (to - from)) * (dots - 1));
    const y = high === low ? rows >> 1 : Math.round(((high - value) / (high - low)) * (rows - 1));
    lowest[x] = Math.min(lowest[x] ?? Infinity, y);
    highest[x] = Math.max(highest[x] ?? -Infinity, y);
  }
  let before: number | undefined;
  for (let x = 0; x < dots; x += 1) {
    let [top, foot] = [lowest[x] ?? Infinity, highest[x] ?? -Infinity];
    if (top > foot) continue;
    const middle = (top + foot) / 2;
    if (before !== undefined) {
      top = Math.min(top, Math.ceil((before + middle) / 2));
      foot = Math.max(foot, Math.floor((before + middle) / 2));
    }
    before = middle;
    for (let y = top; y <= foot; y += 1) {
      const cell = (y >> 2) * grid.columns + (x >> 1);
      grid.cells[cell] = (grid.cells[cell] ?? 0) | (DOTS[x & 1]?.[y & 3] ?? 0);
    }
  }
}
