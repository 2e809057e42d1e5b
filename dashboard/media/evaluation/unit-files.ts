/** Files of curves from 0 to 1. Pure. */
import type { SvgFile } from '../../charts/chart-svg.ts';
import { svgTag, svgText } from '../../charts/save/save-svg.ts';
import { framedDrawing, type DrawingWords } from '../save/drawing-words.ts';
import type { MediaTable } from '../save/media-save.tsx';
import type { UnitCurve } from './unit-chart.tsx';

/** What the axes of curves are called. */
export type UnitTitles = { readonly xTitle: string; readonly yTitle: string };

/** One row a point: the curve, both values, and the threshold. */
export function unitTable(
  curves: readonly UnitCurve[],
  { xTitle, yTitle }: UnitTitles,
): MediaTable {
  return {
    header: ['curve', xTitle, yTitle, 'threshold'],
    rows: curves.flatMap(({ name, thresholds, xs, ys }) =>
      Array.from(xs, (x, at) => [name, x, ys[at], thresholds[at]]),
    ),
  };
}

const SIDE = 360;
const LEFT = 64;
const TOP = 48;
const LINE_PX = 18;
const TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1];

/** The curves with axes and legend. `hasDiagonal` draws the line of a classifier that guesses. */
export function unitSvg(
  curves: readonly UnitCurve[],
  titles: UnitTitles & { readonly hasDiagonal: boolean },
  words: DrawingWords,
): SvgFile {
  const ink = { fill: words.color('--ink'), 'font-size': 11 };
  const line = { stroke: words.color('--line') };
  const guess = { ...line, x1: LEFT, y1: TOP + SIDE, x2: LEFT + SIDE, y2: TOP };
  const legendTop = TOP + SIDE + 56;
  const drawn = curves.map(({ color, dash, xs, ys }) =>
    svgTag('path', {
      d: Array.from(
        xs,
        (x, at) => `${at === 0 ? 'M' : 'L'}${hundredth(xOf(x))} ${hundredth(yOf(ys[at] ?? 0))}`,
      ).join(''),
      ...strokeOf(color, dash),
    }),
  );
  const legend = curves.flatMap(({ color, dash, name }, at) => {
    const y = legendTop + at * LINE_PX;
    return [
      svgTag('path', { d: `M${LEFT} ${y - 4}h22`, ...strokeOf(color, dash) }),
      svgTag('text', { ...ink, x: LEFT + 30, y }, svgText(name)),
    ];
  });
  const width = LEFT + SIDE + 32;
  const height = legendTop + curves.length * LINE_PX;
  const inside = [
    ...axisTags(titles, words),
    ...(titles.hasDiagonal ? [svgTag('line', { ...guess, 'stroke-dasharray': '4 4' })] : []),
    ...drawn,
    ...legend,
  ];
  return { width, height, svg: framedDrawing(words, width, height, inside) };
}

function strokeOf(
  color: string,
  dash: readonly number[],
): Record<string, string | number | undefined> {
  const dashes = dash.length === 0 ? undefined : dash.join(' ');
  return { fill: 'none', stroke: color, 'stroke-width': 2, 'stroke-dasharray': dashes };
}

function hundredth(value: number): number {
  return Math.round(value * 100) / 100;
}

function axisTags(titles: UnitTitles, words: DrawingWords): readonly string[] {
  const ink = { fill: words.color('--ink'), 'font-size': 11 };
  const line = { stroke: words.color('--line') };
  const ticks = TICKS.flatMap((tick) => [
    svgTag('line', { ...line, x1: xOf(tick), y1: TOP, x2: xOf(tick), y2: TOP + SIDE }),
    svgTag('line', { ...line, x1: LEFT, y1: yOf(tick), x2: LEFT + SIDE, y2: yOf(tick) }),
    svgTag(
      'text',
      { ...ink, x: xOf(tick), y: TOP + SIDE + 16, 'text-anchor': 'middle' },
      `${tick}`,
    ),
    svgTag('text', { ...ink, x: LEFT - 6, y: yOf(tick) + 4, 'text-anchor': 'end' }, `${tick}`),
  ]);
  const middle = { ...ink, 'text-anchor': 'middle' };
  const turned = `translate(20 ${TOP + SIDE / 2}) rotate(-90)`;
  const names = [
    svgTag('text', { ...middle, x: LEFT + SIDE / 2, y: TOP + SIDE + 34 }, svgText(titles.xTitle)),
    svgTag('text', { ...middle, transform: turned }, svgText(titles.yTitle)),
  ];
  return [...ticks, ...names];
}

function xOf(x: number): number {
  return LEFT + x * SIDE;
}

function yOf(y: number): number {
  return TOP + (1 - y) * SIDE;
}
