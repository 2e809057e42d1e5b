/** A chart as SVG: vectors of what is drawn, with title, legend and axes. */
import type { ChartAxis } from 'quark-sdk/workspace';
import { formatMetric, formatTicks } from '../parts/format.ts';
import { t } from '../parts/t.ts';
import { dashOf } from '../theme/curve-styles.ts';
import type { ShownCurve } from './legend.tsx';
import type { Drawing } from './metric-chart.ts';
import { svgDocument, svgTag, svgText } from './save/save-svg.ts';
import { tickIncrements, ticksBetween } from './plot/value-axis.ts';
import { axisWord, incrementsOf, xTickTexts } from './plot/axis-ticks.ts';
import { PathText, traceEnvelope, traceLine, traceSpread } from './plot/curve-paths.ts';
import {
  bandsInSight,
  FAINT_ALPHA,
  lookOf,
  markPath,
  marksInSight,
  SPREAD_ALPHA,
} from './draw-curves.ts';
import { leftOf, topOf, type PlotFrame, type ScaleSpan } from './plot/plot-frame.ts';

/** What a file of a chart says around its curves. */
export type SvgWords = {
  readonly title: string;
  readonly nameOf: (key: string) => string;
  /** Reads a colour of the style sheet: `--ink`. */
  readonly color: (name: string) => string;
  readonly fontFamily: string;
  /** Marks at positions of the x axis. */
  readonly marks: readonly { readonly x: number; readonly text: string }[];
};

/** A file and its size in pixels. */
export type SvgFile = { readonly svg: string; readonly width: number; readonly height: number };

const MARGIN = 16;
const TITLE_HEIGHT = 26;
const LEGEND_LINE = 20;
const FOOT = 24;
/** Width of a letter of the legend, about: a file is read with fonts that are not known here. */
const LETTER_PX = 7;
const X_SPACE_PX = 80;
const Y_SPACE_PX = 34;

/** The file of what was drawn last. */
export function chartSvg({ data, frame, model }: Drawing, words: SvgWords): SvgFile {
  const { color } = words;
  const right = frame.left + frame.width;
  const width = right + MARGIN + 12;
  const entries = legendEntries(model.curves, words, width);
  const lineCount = (entries.at(-1)?.line ?? -1) + 1;
  const head = MARGIN + TITLE_HEIGHT + lineCount * LEGEND_LINE + 6;
  const plot: PlotFrame = { ...frame, top: head };
  const height = head + frame.height + FOOT + MARGIN;
  const clip = svgTag(
    'clipPath',
    { id: 'plot' },
    svgTag('rect', { x: plot.left, y: plot.top, width: plot.width, height: plot.height }),
  );
  const svg = svgDocument(
    {
      width,
      height,
      title: words.title,
      background: color('--surface'),
      fontFamily: words.fontFamily,
    },
    svgTag('defs', {}, clip),
    svgTag(
      'text',
      { x: MARGIN, y: MARGIN + 16, fill: color('--ink'), 'font-size': 16, 'font-weight': 600 },
      svgText(words.title),
    ),
    ...entries.map(({ svg: entry }) => entry),
    ...bandTags(plot, { data, frame, model, outliers: undefined }),
    ...axisTags(plot, model.settings.axis, color),
    svgTag('g', { 'clip-path': 'url(#plot)' }, ...curveTags(plot, data, model.curves)),
    ...markTags(plot, words),
    ...marksInSight(plot, data).map(({ curve, kind, left }) => {
      const paint = model.curves[curve]?.color ?? '';
      const isLine = kind === 'nan';
      return svgTag('path', {
        d: markPath(plot, kind, left),
        fill: isLine ? 'none' : paint,
        stroke: isLine ? paint : undefined,
        'stroke-width': isLine ? 1.6 : undefined,
      });
    }),
  );
  return { svg, width, height };
}

type Entry = { readonly svg: string; readonly line: number };

/** Strokes, names and last values, in as many lines as they take. */
function legendEntries(
  curves: readonly ShownCurve[],
  words: SvgWords,
  width: number,
): readonly Entry[] {
  let line = 0;
  let left = MARGIN;
  return curves.map((curve): Entry => {
    const last = curve.points.ys.at(-1);
    const value = last === undefined ? '' : ` ${formatMetric(curve.key, last)}`;
    const text = `${words.nameOf(curve.key)}${value}`;
    const length = 32 + text.length * LETTER_PX;
    if (left > MARGIN && left + length > width - MARGIN) {
      line += 1;
      left = MARGIN;
    }
    const y = MARGIN + TITLE_HEIGHT + line * LEGEND_LINE + 10;
    const stroke = svgTag('path', {
      d: `M${left} ${y - 4}h18`,
      stroke: curve.color,
      'stroke-width': 2.6,
      'stroke-dasharray': dashText(curve),
    });
    const label = svgTag(
      'text',
      { x: left + 24, y, fill: words.color('--ink-2'), 'font-size': 12.5 },
      svgText(text),
    );
    left += length;
    return { svg: stroke + label, line };
  });
}

function dashText({ style }: ShownCurve): string | undefined {
  const dash = dashOf(style.dash);
  return dash.length === 0 ? undefined : dash.join(' ');
}

function curveTags(
  frame: PlotFrame,
  data: Drawing['data'],
  curves: readonly ShownCurve[],
): readonly string[] {
  const behind: string[] = [];
  const front: string[] = [];
  for (const [at, drawn] of data.curves.entries()) {
    const curve = curves[at];
    if (curve === undefined) continue;
    const drawing = lookOf(drawn, frame.width);
    if (curve.spread !== undefined) {
      const path = new PathText();
      traceSpread(frame, curve.spread, path);
      behind.unshift(
        svgTag('path', { d: path.d, fill: curve.color, 'fill-opacity': SPREAD_ALPHA }),
      );
    }
    if (drawing.behind !== undefined) {
      const path = new PathText();
      const isLine = drawing.behind === 'line';
      if (isLine) traceLine(frame, drawn.points, path);
      else traceEnvelope(frame, drawn.points, path);
      behind.push(
        svgTag('path', {
          d: path.d,
          fill: isLine ? 'none' : curve.color,
          stroke: curve.color,
          opacity: FAINT_ALPHA,
        }),
      );
    }
    const path = new PathText();
    traceLine(frame, drawn.line ?? drawn.points, path);
    front.push(
      svgTag('path', {
        d: path.d,
        fill: 'none',
        stroke: curve.color,
        'stroke-width': drawing.width,
        'stroke-linejoin': 'round',
        'stroke-dasharray': dashText(curve),
      }),
    );
  }
  const dots = data.lonely.map(({ curve, x, y }) =>
    svgTag('circle', {
      cx: leftOf(frame, x),
      cy: topOf(frame, y),
      r: 2.2,
      fill: curves[curve]?.color ?? '',
    }),
  );
  return [...behind, ...front, ...dots];
}

function bandTags(frame: PlotFrame, { model }: Drawing): readonly string[] {
  return bandsInSight(frame, model.bands ?? []).map(({ band, from, to }) =>
    svgTag('rect', {
      x: from,
      y: frame.top,
      width: to - from,
      height: frame.height,
      fill: band.color,
      opacity: 0.12,
    }),
  );
}

function markTags(frame: PlotFrame, { color, marks }: SvgWords): readonly string[] {
  return marks.flatMap(({ text, x }) => {
    const left = leftOf(frame, x);
    if (!(left >= frame.left && left <= frame.left + frame.width)) return [];
    return [
      svgTag(
        'g',
        {},
        svgTag('title', {}, svgText(text)),
        svgTag('path', {
          d: `M${left} ${frame.top}v${frame.height}`,
          stroke: color('--ink-3'),
          'stroke-dasharray': '2 4',
        }),
      ),
    ];
  });
}

function axisTags(
  frame: PlotFrame,
  axis: ChartAxis,
  color: (name: string) => string,
): readonly string[] {
  const foot = frame.top + frame.height;
  const xTicks = ticksOf(frame.x, frame.width / X_SPACE_PX, (min, max) =>
    incrementsOf(axis, min, max),
  );
  const yTicks = ticksOf(frame.y, frame.height / Y_SPACE_PX, tickIncrements);
  const yTexts = formatTicks(yTicks, frame.y.isLog);
  const label = { fill: color('--ink-3'), 'font-size': 11 };
  return [
    ...yTicks.flatMap((tick, at) => {
      const y = topOf(frame, tick);
      return [
        svgTag('path', { d: `M${frame.left} ${y}h${frame.width}`, stroke: color('--chart-grid') }),
        svgTag(
          'text',
          { ...label, x: frame.left - 6, y: y + 4, 'text-anchor': 'end' },
          svgText(yTexts[at] ?? ''),
        ),
      ];
    }),
    ...xTickTexts(axis, xTicks, frame.x.isLog).map((text, at) =>
      svgTag(
        'text',
        { ...label, x: leftOf(frame, xTicks[at] ?? 0), y: foot + 18, 'text-anchor': 'middle' },
        svgText(text),
      ),
    ),
    svgTag('title', {}, svgText(t('By {axis}', { axis: axisWord(axis) }))),
  ];
}

/** Ticks of an axis, at most about so many. */
function ticksOf(
  { isLog, max, min }: ScaleSpan,
  most: number,
  increments: (min: number, max: number) => readonly number[],
): readonly number[] {
  if (isLog) return logTicks(min, max, most);
  const increment = increments(min, max).find((one) => (max - min) / one <= Math.max(2, most));
  return increment === undefined ? [] : ticksBetween(min, max, increment);
}

function logTicks(min: number, max: number, most: number): readonly number[] {
  const from = Math.floor(Math.log10(min));
  const to = Math.ceil(Math.log10(max));
  const digits = to - from > 3 ? [1] : [1, 2, 5];
  const every = Math.max(1, Math.ceil((to - from) / most));
  const ticks: number[] = [];
  for (let power = from; power <= to; power += every)
    for (const digit of digits) ticks.push(Number(`${digit}e${power}`));
  return ticks.filter((tick) => tick >= min && tick <= max);
}
