/** Files of histograms over steps. Pure. */
import type { SvgFile } from '../../charts/chart-svg.ts';
import { stepsText } from '../../charts/heat/layer-grid.ts';
import { svgTag, svgText } from '../../charts/save/save-svg.ts';
import { formatTick, rounded } from '../../parts/format.ts';
import {
  DRAWING_HEAD,
  DRAWING_MARGIN,
  framedDrawing,
  rampColor,
  type DrawingWords,
} from '../save/drawing-words.ts';
import type { MediaTable } from '../save/media-save.tsx';
import type { HistogramGrid } from './histogram-grid.ts';

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
  const top = DRAWING_MARGIN + DRAWING_HEAD;
  const left = DRAWING_MARGIN + HEAT.left;
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
  const width = left + HEAT.width + DRAWING_MARGIN;
  const height = top + HEAT.height + HEAT.foot + DRAWING_MARGIN;
  return {
    width,
    height,
    svg: framedDrawing(words, width, height, [...cells, ...values, ...ends]),
  };
}
