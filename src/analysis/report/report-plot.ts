/** Curves as inline SVG: every extreme, every value that is no number, and the phases behind them. */
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import { escapeHtml } from './escape.ts';
import { linearTicks, logTicks, shortText } from '../text/number-text.ts';

/** One curve. */
export type PlotSeries = {
  readonly label: string;
  /** Ascending. */
  readonly positions: Float64Array;
  readonly values: Float64Array;
};

/** A span of the axis with a name. */
export type PlotBand = { readonly name: string; readonly start: number; readonly end: number };

/** What a plot shows. */
export type Plot = {
  readonly title: string;
  /** `step` or `epoch`. */
  readonly axis: string;
  readonly series: readonly PlotSeries[];
  readonly bands: readonly PlotBand[];
  /** Places of alerts. */
  readonly marks: readonly { readonly position: number; readonly label: string }[];
};

const WIDTH = 720;
const HEIGHT = 240;
const LEFT = 64;
const RIGHT = 24;
const TOP = 10;
const BOTTOM = 28;
/** Columns that a curve is reduced to: one for every two units of the drawing. */
const BUCKETS = 320;
/** A loss that spans more than this factor is drawn by its logarithm. */
const LOG_FACTOR = 200;

type Scale = {
  readonly at: (value: number) => number;
  readonly ticks: readonly number[];
  readonly isLog: boolean;
};

/** The plot as an SVG element that scales with its container. Colours come from the style sheet of the page. */
export function plotSvg(plot: Plot, kernel: SeriesKernel): string {
  const finite = plot.series.map((one) => rangeOf(one.values));
  const low = Math.min(...finite.map((range) => range.low));
  const high = Math.max(...finite.map((range) => range.high));
  const from = Math.min(...plot.series.map(({ positions }) => positions[0] ?? Infinity));
  const to = Math.max(...plot.series.map(({ positions }) => positions.at(-1) ?? -Infinity));
  if (!(high >= low) || !(to >= from)) return emptyPlot(plot);
  const x = linear(from, to, LEFT, WIDTH - RIGHT, 7);
  const y = verticalScale(low, high);
  const parts = [
    ...plot.bands.map((band, i) => bandOf(band, x, i)),
    ...y.ticks.map(
      (tick) =>
        line('grid', LEFT, y.at(tick), WIDTH - RIGHT, y.at(tick)) +
        label('y', LEFT - 6, y.at(tick) + 4, shortText(tick)),
    ),
    ...x.ticks.map((tick) => label('x', x.at(tick), HEIGHT - BOTTOM + 16, shortText(tick))),
    line('axis', LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM),
    ...plot.marks.map(
      ({ label: text, position }) =>
        `<g class="mark"><title>${escapeHtml(text)}</title>${line('mark', x.at(position), TOP, x.at(position), HEIGHT - BOTTOM)}</g>`,
    ),
    ...plot.series.map((one, i) => curveOf(one, i, x, y, kernel)),
    label('x', WIDTH - RIGHT, HEIGHT - 2, plot.axis, 'end'),
  ];
  return svg(plot, parts.join(''), y.isLog);
}

function svg(plot: Plot, content: string, isLog: boolean): string {
  const legend = plot.series
    .map(({ label: text }, i) => `<span class="key s${i % 6}">${escapeHtml(text)}</span>`)
    .join('');
  const scale = isLog ? ' <span class="hint">logarithmic scale</span>' : '';
  return (
    `<figure><figcaption>${escapeHtml(plot.title)}${scale} ${legend}</figcaption>` +
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(describe(plot))}">${content}</svg></figure>`
  );
}

function emptyPlot(plot: Plot): string {
  return svg(plot, label('x', WIDTH / 2, HEIGHT / 2, 'no finite value', 'middle'), false);
}

/** What those hear who do not see the plot. */
function describe(plot: Plot): string {
  const ends = plot.series.map(({ label: text, values }) => {
    const isFinite = (value: number): boolean => Number.isFinite(value);
    return `${text} from ${shortText(values.find(isFinite))} to ${shortText(values.findLast(isFinite))}`;
  });
  return `${plot.title} by ${plot.axis}: ${ends.join('; ')}`;
}

function linear(low: number, high: number, from: number, to: number, most: number): Scale {
  const span = high - low;
  // Of a range without width the middle is the place of all.
  const at = (value: number): number =>
    span > 0 ? from + ((value - low) / span) * (to - from) : (from + to) / 2;
  return { at, ticks: linearTicks(low, high, most), isLog: false };
}

function verticalScale(low: number, high: number): Scale {
  const [bottom, top] = [HEIGHT - BOTTOM - 4, TOP + 4];
  if (low > 0 && high / low > LOG_FACTOR) {
    const inner = linear(Math.log10(low), Math.log10(high), bottom, top, 5);
    return {
      at: (value) => inner.at(Math.log10(value)),
      ticks: logTicks(low, high, 6),
      isLog: true,
    };
  }
  return linear(low, high, bottom, top, 5);
}

function rangeOf(values: Float64Array): { readonly low: number; readonly high: number } {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return { low, high };
}

/** The first, lowest, highest and last value of each column, with a gap and a mark where there is no number. */
function curveOf(
  { positions, values }: PlotSeries,
  index: number,
  x: Scale,
  y: Scale,
  kernel: SeriesKernel,
): string {
  if (values.length === 0) return '';
  const { indices, nonFiniteIndices } = kernel.m4(values, { buckets: BUCKETS, positions });
  const rows = [...indices, ...nonFiniteIndices].toSorted((a, b) => a - b);
  let path = '';
  let isDown = false;
  let marks = '';
  let last: readonly [number, number] | undefined;
  for (const row of rows) {
    const at = x.at(positions[row] ?? 0);
    const value = values[row] ?? Number.NaN;
    if (!Number.isFinite(value)) {
      isDown = false;
      marks += `<circle class="nan" cx="${round(at)}" cy="${TOP + 4}" r="3"><title>${shortText(value)}</title></circle>`;
      continue;
    }
    path += `${isDown ? 'L' : 'M'}${round(at)} ${round(y.at(value))}`;
    isDown = true;
    last = [at, y.at(value)];
  }
  const name = `s${index % 6}`;
  // A single point has no line.
  const dot =
    indices.length === 1 && last !== undefined
      ? `<circle class="dot ${name}" cx="${round(last[0])}" cy="${round(last[1])}" r="3"/>`
      : '';
  return `<path class="curve ${name}" d="${path}"/>${dot}${marks}`;
}

function bandOf({ end, name, start }: PlotBand, x: Scale, index: number): string {
  const [from, to] = [x.at(start), x.at(end)].map((place) =>
    Math.min(WIDTH - RIGHT, Math.max(LEFT, place)),
  );
  const width = Math.max(1, (to ?? 0) - (from ?? 0));
  return `<g class="band b${index % 2}"><title>${escapeHtml(name)}</title><rect x="${round(from ?? 0)}" y="${TOP}" width="${round(width)}" height="${HEIGHT - TOP - BOTTOM}"/></g>`;
}

function line(name: string, x1: number, y1: number, x2: number, y2: number): string {
  return `<line class="${name}" x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}"/>`;
}

function label(name: string, x: number, y: number, text: string, anchor?: string): string {
  const given = anchor === undefined ? '' : ` style="text-anchor:${anchor}"`;
  return `<text class="${name}" x="${round(x)}" y="${round(y)}"${given}>${escapeHtml(text)}</text>`;
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}
