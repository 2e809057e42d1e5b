/** Files of confusion matrices. Pure. */
import type { SvgFile } from '../../charts/chart-svg.ts';
import { svgNumber, svgTag, svgText } from '../../charts/save/save-svg.ts';
import { formatCount } from '../../parts/format.ts';
import {
  DRAWING_HEAD,
  DRAWING_MARGIN,
  framedDrawing,
  rampColor,
  type DrawingWords,
} from '../save/drawing-words.ts';
import type { MediaTable } from '../save/media-save.tsx';
import type { ConfusionScale, ConfusionView } from './confusion.ts';

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
  const [left, top] = [DRAWING_MARGIN + LABEL_PX, DRAWING_MARGIN + DRAWING_HEAD];
  const hasLabels = cell >= MIN_LABEL_PX;
  const most = scale === 'counts' ? largest(view.values) : 1;
  const width = left + cell * size + DRAWING_MARGIN;
  const height = top + cell * size + LABEL_PX + DRAWING_MARGIN;
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
  return { width, height, svg: framedDrawing(words, width, height, [...cells, ...labels]) };
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
