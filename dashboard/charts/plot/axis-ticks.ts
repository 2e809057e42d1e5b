/** The two axes of a chart: which ticks they have, and what is written beside them. */
import type { ChartAxis } from 'quark-sdk/workspace';
import type uPlot from 'uplot';
import { formatCount, formatElapsed, formatTicks, formatValue } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';
import { metricOfAxis } from './chart-settings.ts';
import { tickIncrements, ticksBetween } from './value-axis.ts';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

const STEP_INCREMENTS = [1, 2, 5]
  .flatMap((digit) => Array.from({ length: 13 }, (_, power) => digit * 10 ** power))
  .toSorted((a, b) => a - b);
const TIME_INCREMENTS = [
  0.1,
  0.2,
  0.5,
  1,
  2,
  5,
  10,
  15,
  30,
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365].map((count) => count * DAY),
];

/** Distances that ticks of an x axis may have, ascending. */
export function incrementsOf(axis: ChartAxis, min: number, max: number): number[] {
  switch (axis) {
    case 'step':
      return STEP_INCREMENTS;
    case 'epoch':
      return [0.1, 0.2, 0.5, ...STEP_INCREMENTS];
    case 'time':
    case 'wall':
      return TIME_INCREMENTS;
    default:
      return tickIncrements(min, max);
  }
}

/** The numbers of the x axis; the first one says what is counted. */
export function xTickTexts(axis: ChartAxis, ticks: readonly number[], isLog: boolean): string[] {
  if (axis === 'time') return ticks.map((tick) => formatElapsed(tick));
  if (axis === 'wall') return wallTexts(ticks);
  const name = metricOfAxis(axis)?.split('/').at(-1) ?? axis;
  const texts = formatTicks(ticks, isLog);
  const first = texts.findIndex((text) => text !== '');
  return texts.map((text, at) => (at === first ? `${name.slice(0, 12)} ${text}` : text));
}

/** Times of day, and the date where it changes. */
function wallTexts(ticks: readonly number[]): string[] {
  const step = Math.abs((ticks[1] ?? Number.POSITIVE_INFINITY) - (ticks[0] ?? 0));
  let day = '';
  return ticks.map((tick) => {
    const instant = new Date(tick * 1000);
    const date = `${instant.getMonth() + 1}-${String(instant.getDate()).padStart(2, '0')}`;
    if (step >= DAY) return date;
    const time = clockText(instant, step < MINUTE);
    const isNew = date !== day;
    day = date;
    return isNew ? `${date} ${time}` : time;
  });
}

function clockText(instant: Date, hasSeconds: boolean): string {
  const parts = [
    instant.getHours(),
    instant.getMinutes(),
    ...(hasSeconds ? [instant.getSeconds()] : []),
  ];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

/** A position on the x axis in full: `step 1,200`, `2:05:00`, `2026-11-23 14:05:09`, `tokens 1.2e7`. */
export function axisPosition(x: number, axis: ChartAxis): string {
  switch (axis) {
    case 'step':
      return t('step {step}', { step: formatCount(x) });
    case 'time':
      return formatElapsed(x);
    case 'wall':
      return wallText(x);
    case 'epoch':
      return t('epoch {epoch}', { epoch: x.toFixed(2) });
    default:
      return `${metricOfAxis(axis) ?? ''} ${formatValue(x)}`;
  }
}

/** `2026-11-23 14:05:09` */
export function wallText(seconds: number): string {
  const instant = new Date(seconds * 1000);
  if (Number.isNaN(instant.getTime())) return '–';
  const date = [instant.getFullYear(), instant.getMonth() + 1, instant.getDate()]
    .map((part) => String(part).padStart(2, '0'))
    .join('-');
  return `${date} ${clockText(instant, true)}`;
}

/** Where the ticks of a linear x axis are; times of day are at full hours of the local time zone. */
function xTicks(axis: ChartAxis, min: number, max: number, increment: number): number[] {
  const shift = axis === 'wall' ? -60 * new Date(min * 1000).getTimezoneOffset() : 0;
  return ticksBetween(min + shift, max + shift, increment).map((tick) => tick - shift);
}

/** The axes as uPlot takes them. `color` reads a colour of the style sheet. */
export function axesOf(
  settings: { readonly axis: ChartAxis; readonly logX: boolean; readonly logY: boolean },
  color: (name: string) => string,
  font: string,
): uPlot.Axis[] {
  const { axis, logX, logY } = settings;
  const grid = { stroke: color('--chart-grid'), width: 1 };
  const shared = { stroke: color('--ink-3'), font, gap: 6 };
  return [
    {
      ...shared,
      size: 30,
      space: axis === 'wall' ? 96 : 70,
      grid: { show: false },
      ticks: { ...grid, size: 4 },
      ...(logX
        ? {}
        : {
            incrs: (_plot, _axis, min, max) => incrementsOf(axis, min, max),
            splits: (_plot, _axis, min, max, increment) => xTicks(axis, min, max, increment),
          }),
      values: (_plot, ticks) => xTickTexts(axis, ticks, logX),
    },
    {
      ...shared,
      size: 54,
      space: 34,
      grid,
      ticks: { show: false },
      ...(logY ? {} : LINEAR_TICKS),
      values: (_plot, ticks) => [...formatTicks(ticks, logY)],
    },
  ];
}

/** uPlot's own increments end at 1e32, and a loss that explodes does not. */
const LINEAR_TICKS: Pick<uPlot.Axis, 'incrs' | 'splits'> = {
  incrs: (_plot, _axis, min, max) => tickIncrements(min, max),
  splits: (_plot, _axis, min, max, increment) => ticksBetween(min, max, increment),
};

/** What an axis counts, in a sentence. */
export function axisWord(axis: ChartAxis): string {
  switch (axis) {
    case 'step':
      return t('step');
    case 'time':
    case 'wall':
      return t('time');
    case 'epoch':
      return t('epoch');
    default:
      return metricOfAxis(axis) ?? '';
  }
}
