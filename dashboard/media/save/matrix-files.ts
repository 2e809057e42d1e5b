/** Files of grids of cells: confusion matrices, and histograms over steps. Pure. */
import type { SvgFile } from '../../charts/chart-svg.ts';
import { stepsText } from '../../charts/heat/layer-grid.ts';
import { svgDocument, svgNumber, svgTag, svgText } from '../../charts/save/save-svg.ts';
import { formatCount, formatTick, rounded } from '../../parts/format.ts';
import type { HistogramGrid } from '../distribution/histogram-grid.ts';
import type { ConfusionScale, ConfusionView } from '../evaluation/confusion.ts';
import type { DrawingWords } from './drawing-words.ts';
import type { MediaTable } from './media-save.tsx';

/** One row a pair of classes: how many examples, and their share as the view shows it. */
export function confusionTable(view: ConfusionView, scale: ConfusionScale): MediaTable {
  const size = view.classes.length;
  const share =
    scale === 'counts' ? [] : [scale === 'row' ? 'share_of_true' : 'share_of_predicted'];
  return {
    header: ['true_class', 'predicted_class', 'count', ...share],
    rows: Array.from(view.counts, (count, at) => [
      view.classes[Math.floor(at / size)],
      view.classes[at % size],
      count,
      ...(share.length === 0 ? [] : [view.values[at]]),
    ]),
  };
}

const MARGIN = 16;
const TITLE_PX = 32;
const LABEL_PX = 120;
const MATRIX_PX = 520;
const MAX_CELL_PX = 52;
const MIN_LABEL_PX = 11;
const MIN_NUMBER_PX = 26;
const MAX_LABEL_CHARS = 18;

/** The matrix with its classes; cells have a number where they are wide enough. */
export function confusionSvg(
  view: ConfusionView,
  scale: ConfusionScale,
  ramp: Uint8Array,
  words: DrawingWords,
): SvgFile {
  const size = Math.max(1, view.classes.length);
  const cell = Math.min(MAX_CELL_PX, MATRIX_PX / size);
  const [left, top] = [MARGIN + LABEL_PX, MARGIN + TITLE_PX];
  const hasLabels = cell >= MIN_LABEL_PX;
  const most = scale === 'counts' ? largest(view.values) : 1;
  const width = left + cell * size + MARGIN;
  const height = top + cell * size + LABEL_PX + MARGIN;
  const ink = words.color('--ink');
  const cells = Array.from(view.values, (value, at) => {
    const x = left + (at % size) * cell;
    const y = top + Math.floor(at / size) * cell;
    if (Number.isNaN(value) || most === 0) return '';
    const color = rampColor(ramp, Math.sqrt(value / most));
    const rect = svgTag('rect', { x, y, width: cell, height: cell, fill: color.css });
    if (cell < MIN_NUMBER_PX || value === 0) return rect;
    const text = scale === 'counts' ? formatCount(value) : String(Math.round(100 * value));
    const middle = {
      x: x + cell / 2,
      y: y + cell / 2 + 4,
      'text-anchor': 'middle',
      'font-size': 11,
    };
    return (
      rect + svgTag('text', { ...middle, fill: color.isLight ? '#111' : '#fff' }, svgText(text))
    );
  });
  const labels = hasLabels
    ? view.classes.flatMap((name, at) => {
        const middle = (at + 0.5) * cell;
        const text = svgText(shortened(name));
        const own = { fill: ink, 'font-size': 11, 'text-anchor': 'end' };
        const [x, y] = [left + middle + 4, top + cell * size + 8];
        const turned = `rotate(-90 ${svgNumber(x)} ${svgNumber(y)})`;
        return [
          svgTag('text', { ...own, x: left - 6, y: top + middle + 4 }, text),
          svgTag('text', { ...own, x, y, transform: turned }, text),
        ];
      })
    : [];
  return { width, height, svg: framed(words, width, height, [...cells, ...labels]) };
}

/** One row a cell: the steps, the range of values, and the share of the elements in it. */
export function histogramTable({ columns, edges, shares }: HistogramGrid): MediaTable {
  return {
    header: ['steps', 'from', 'to', 'share'],
    rows: columns.flatMap((one, column) =>
      Array.from({ length: edges.length - 1 }, (_, up) => {
        // Rows are stored from the largest value down.
        const row = edges.length - 2 - up;
        return [stepsText(one), edges[row + 1], edges[row], shares[row * columns.length + column]];
      }),
    ),
  };
}

const HEAT = { left: 76, width: 560, height: 240, foot: 26 };
const HEAT_LABELS = 5;

/** Histograms over steps, a column for one or more steps, the largest values on top. */
export function histogramSvg(
  { columns, edges, maxShare, shares }: HistogramGrid,
  ramp: Uint8Array,
  words: DrawingWords,
): SvgFile {
  const rowCount = Math.max(1, edges.length - 1);
  const [cellWidth, cellHeight] = [
    HEAT.width / Math.max(1, columns.length),
    HEAT.height / rowCount,
  ];
  const top = MARGIN + TITLE_PX;
  const left = MARGIN + HEAT.left;
  const ink = { fill: words.color('--ink'), 'font-size': 11 };
  const cells = Array.from(shares, (share, at) => {
    if (!(share > 0)) return '';
    return svgTag('rect', {
      x: left + (at % columns.length) * cellWidth,
      y: top + Math.floor(at / columns.length) * cellHeight,
      // A little wider: no light lines between cells.
      width: cellWidth + 0.3,
      height: cellHeight + 0.3,
      fill: rampColor(ramp, Math.sqrt(share / maxShare)).css,
    });
  });
  const values = Array.from({ length: HEAT_LABELS + 1 }, (_, at) => {
    const edge = edges[Math.round((at / HEAT_LABELS) * rowCount)] ?? 0;
    const y = top + (at / HEAT_LABELS) * HEAT.height + 4;
    const text = svgText(formatTick(rounded(edge)));
    return svgTag('text', { ...ink, x: left - 6, y, 'text-anchor': 'end' }, text);
  });
  const [first] = columns;
  const last = columns.at(-1);
  const y = top + HEAT.height + 16;
  const ends = [
    ...(first === undefined
      ? []
      : [svgTag('text', { ...ink, x: left, y }, svgText(stepsText(first)))]),
    ...(last === undefined || columns.length === 1
      ? []
      : [
          svgTag(
            'text',
            { ...ink, x: left + HEAT.width, y, 'text-anchor': 'end' },
            svgText(stepsText(last)),
          ),
        ]),
  ];
  const width = left + HEAT.width + MARGIN;
  const height = top + HEAT.height + HEAT.foot + MARGIN;
  return { width, height, svg: framed(words, width, height, [...cells, ...values, ...ends]) };
}

/** A file with its title. */
export function framed(
  { color, fontFamily, title }: DrawingWords,
  width: number,
  height: number,
  inside: readonly string[],
): string {
  const heading = { x: MARGIN, y: MARGIN + 14, fill: color('--ink'), 'font-size': 15 };
  return svgDocument(
    { width, height, title, background: color('--surface'), fontFamily },
    svgTag('text', { ...heading, 'font-weight': 600 }, svgText(title)),
    ...inside,
  );
}

function rampColor(ramp: Uint8Array, share: number): { css: string; isLight: boolean } {
  const shade = Math.max(0, Math.min(255, Math.round(share * 255)));
  const [red = 0, green = 0, blue = 0] = ramp.subarray(3 * shade, 3 * shade + 3);
  return {
    css: `rgb(${red},${green},${blue})`,
    isLight: 0.3 * red + 0.59 * green + 0.11 * blue > 140,
  };
}

function largest(values: Float64Array): number {
  return values.reduce((most, value) => Math.max(most, Number.isNaN(value) ? 0 : value), 0);
}

function shortened(name: string): string {
  const letters = Array.from(name);
  return letters.length <= MAX_LABEL_CHARS
    ? name
    : `${letters.slice(0, MAX_LABEL_CHARS - 1).join('')}…`;
}
