/** Numbers, spans and instants as a person reads them. Everything is passed in, so the same input gives the same text. */
import { t, tn, type TextValues } from './t.ts';

const MS_PER_SECOND = 1000;
const SECONDS_PER_MINUTE = 60;
const SECONDS_PER_HOUR = 3600;
const SECONDS_PER_DAY = 86_400;

/** A measured value with four significant digits: `0.03125`, `1,234`, `3.2e-7`, `NaN`, `+∞`. */
export function formatValue(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Number.POSITIVE_INFINITY) return '+∞';
  if (value === Number.NEGATIVE_INFINITY) return '−∞';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) return minus(trimExponent(value.toExponential(3)));
  if (Number.isInteger(value)) return minus(formatCount(value));
  if (size >= 1000) return minus(groupThousands(value.toFixed(1)));
  return minus(Number(value.toPrecision(4)).toString());
}

/** The label of an axis tick: short, and never grouped away from its neighbours. */
export function formatTick(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return '0';
  if (size < 1e-3 || size >= 1e12) return minus(trimExponent(value.toExponential(1)));
  if (size >= 1e9) return minus(`${trimZeros((value / 1e9).toFixed(2))}G`);
  if (size >= 1e6) return minus(`${trimZeros((value / 1e6).toFixed(2))}M`);
  if (size >= 1e4) return minus(`${trimZeros((value / 1e3).toFixed(1))}k`);
  return minus(trimZeros(value.toPrecision(4)));
}

/** An axis whose largest tick is below this is written with powers of ten. */
const SMALLEST_PLAIN = 1e-3;
/** A logarithmic axis that reaches this is, too. */
const LARGEST_PLAIN_LOG = 1e6;

/** Units of ticks, the largest first. */
const TICK_UNITS: readonly (readonly [size: number, suffix: string])[] = [
  [1e9, 'G'],
  [1e6, 'M'],
  [1e4, 'k'],
];

/**
 * The labels of an axis, all in one notation: with the same unit and as many decimals (`0`, `0.5`, `1.0`), or all with a power of
 * ten. Ticks of a logarithmic axis, which are not equally far apart, have the decimals that each needs. A null has no label.
 */
export function formatTicks(
  ticks: readonly (number | null)[],
  isLog: boolean = false,
): readonly string[] {
  const sizes = ticks.flatMap((tick) => (tick === null || tick === 0 ? [] : [Math.abs(tick)]));
  const most = Math.max(0, ...sizes);
  const write = isLog
    ? logWriter(Math.min(most, ...sizes), most)
    : linearWriter(most, smallestStep(ticks));
  return ticks.map((tick) => {
    if (tick === null) return '';
    return tick === 0 ? '0' : minus(write(tick));
  });
}

function smallestStep(ticks: readonly (number | null)[]): number {
  const known = ticks.filter((tick) => tick !== null);
  let step = Number.POSITIVE_INFINITY;
  for (const [at, tick] of known.entries()) {
    const gap = Math.abs(tick - (known[at - 1] ?? Number.NaN));
    if (gap > 0 && gap < step) step = gap;
  }
  return step === Number.POSITIVE_INFINITY ? Math.abs(known[0] ?? 1) : step;
}

function logWriter(least: number, most: number): (tick: number) => string {
  if (least < SMALLEST_PLAIN || most >= LARGEST_PLAIN_LOG)
    return (tick) => trimExponent(tick.toExponential(1));
  return (tick) => String(Number(tick.toPrecision(4)));
}

function linearWriter(most: number, step: number): (tick: number) => string {
  if (most < SMALLEST_PLAIN || most >= 1e12)
    return (tick) => trimExponent(tick.toExponential(Math.max(1, digitsOf(most, step))));
  const [size, suffix] = TICK_UNITS.find(([from]) => most >= from) ?? [1, ''];
  const unit = suffix === 'k' ? 1e3 : size;
  const decimals = decimalsOf(step / unit);
  return (tick) => `${(tick / unit).toFixed(decimals)}${suffix}`;
}

const MAX_DECIMALS = 10;

/** Decimals in which multiples of `step` are told apart exactly. */
function decimalsOf(step: number): number {
  for (let decimals = 0; decimals < MAX_DECIMALS; decimals += 1) {
    const scaled = step * 10 ** decimals;
    if (scaled >= 0.5 && Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return decimals;
  }
  return MAX_DECIMALS;
}

/** Digits after the first in which values up to `most` that are `step` apart differ. */
function digitsOf(most: number, step: number): number {
  return Math.min(MAX_DECIMALS, Math.max(0, Math.ceil(Math.log10(most / step))));
}

/** A value of a metric: bytes, as their names say, in the unit that suits them. */
export function formatMetric(key: string, value: number): string {
  return key.endsWith('bytes') && Number.isFinite(value) ? formatBytes(value) : formatValue(value);
}

/** `340 B`, `12.3 kB`, `1.53 GB`: decimal units, three digits. */
export function formatBytes(bytes: number): string {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.abs(bytes) || 1) / 3)));
  const unit = ['B', 'kB', 'MB', 'GB', 'TB'][power] ?? 'B';
  return minus(`${Number((bytes / 1000 ** power).toPrecision(3))} ${unit}`);
}

/** An integer with thousands separators. */
export function formatCount(count: number): string {
  return groupThousands(String(Math.round(count)));
}

/** What is counted, with its singular and its plural. */
const COUNTED = {
  run: (count: number, shown: TextValues) => tn(count, '{count} run', '{count} runs', shown),
  row: (count: number, shown: TextValues) => tn(count, '{count} row', '{count} rows', shown),
  file: (count: number, shown: TextValues) => tn(count, '{count} file', '{count} files', shown),
  problem: (count: number, shown: TextValues) =>
    tn(count, '{count} problem', '{count} problems', shown),
} as const;

/** A count with its noun: `1 run`, `1,200 runs`. */
export function countText(count: number, noun: keyof typeof COUNTED): string {
  return COUNTED[noun](count, { count: formatCount(count) });
}

/** A number with so many significant digits. */
export function rounded(value: number, digits: number = 3): number {
  return Number(value.toPrecision(digits));
}

/** A span: `340 ms`, `4.2 s`, `3m 12s`, `2h 05m`, `3d 4h`. */
export function formatDuration(spanMs: number): string {
  if (!Number.isFinite(spanMs)) return '–';
  const ms = Math.max(0, spanMs);
  if (ms < MS_PER_SECOND) return `${Math.round(ms)} ms`;
  const seconds = ms / MS_PER_SECOND;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < SECONDS_PER_MINUTE) return `${whole} s`;
  if (whole < SECONDS_PER_HOUR) {
    return `${Math.floor(whole / SECONDS_PER_MINUTE)}m ${pad(whole % SECONDS_PER_MINUTE)}s`;
  }
  if (whole < SECONDS_PER_DAY) {
    const minutes = Math.floor((whole % SECONDS_PER_HOUR) / SECONDS_PER_MINUTE);
    return `${Math.floor(whole / SECONDS_PER_HOUR)}h ${pad(minutes)}m`;
  }
  const hours = Math.floor((whole % SECONDS_PER_DAY) / SECONDS_PER_HOUR);
  return `${Math.floor(whole / SECONDS_PER_DAY)}d ${hours}h`;
}

/** Spans below these, in milliseconds, are told in microseconds and nanoseconds. */
const LEAST_MS = 0.01;
const LEAST_US = 0.00001;

/** A span that was measured: `90 ns`, `4.2 µs`, `0.25 ms`, `12.3 ms`, `2m 05s`. Spans of less than a second have four digits. */
export function formatMeasuredSpan(spanMs: number): string {
  const size = Math.abs(spanMs);
  if (size > 0 && size < LEAST_US) return `${formatValue(spanMs * 1e6)} ns`;
  if (size > 0 && size < LEAST_MS) return `${formatValue(spanMs * 1e3)} µs`;
  return spanMs < MS_PER_SECOND ? `${formatValue(spanMs)} ms` : formatDuration(spanMs);
}

/** How long the rest of something takes, in whole seconds: `42 s`, `5m 00s`. */
export function formatRest(spanMs: number): string {
  const seconds = Math.ceil(spanMs / MS_PER_SECOND);
  return seconds < SECONDS_PER_MINUTE ? `${seconds} s` : formatDuration(seconds * MS_PER_SECOND);
}

/** Elapsed seconds on an axis: `45s`, `1:30`, `2:05:00`. */
export function formatElapsed(seconds: number): string {
  const sign = seconds < 0 ? '−' : '';
  const size = Math.abs(seconds);
  if (size < SECONDS_PER_MINUTE) return `${sign}${trimZeros(size.toFixed(size < 10 ? 1 : 0))}s`;
  const whole = Math.round(size);
  const minutes = Math.floor((whole % SECONDS_PER_HOUR) / SECONDS_PER_MINUTE);
  const rest = pad(whole % SECONDS_PER_MINUTE);
  return whole < SECONDS_PER_HOUR
    ? `${sign}${minutes}:${rest}`
    : `${sign}${Math.floor(whole / SECONDS_PER_HOUR)}:${pad(minutes)}:${rest}`;
}

/** How long ago an instant was: `just now`, `4 min ago`, `3 h ago`, `2 d ago`, else the date. */
export function formatAgo(atMs: number, nowMs: number): string {
  const seconds = (nowMs - atMs) / MS_PER_SECOND;
  if (!Number.isFinite(seconds)) return '–';
  if (seconds < 10) return t('just now');
  if (seconds < SECONDS_PER_MINUTE) return t('{seconds} s ago', { seconds: Math.floor(seconds) });
  if (seconds < SECONDS_PER_HOUR)
    return t('{minutes} min ago', { minutes: Math.floor(seconds / SECONDS_PER_MINUTE) });
  if (seconds < SECONDS_PER_DAY)
    return t('{hours} h ago', { hours: Math.floor(seconds / SECONDS_PER_HOUR) });
  if (seconds < 14 * SECONDS_PER_DAY)
    return t('{days} d ago', { days: Math.floor(seconds / SECONDS_PER_DAY) });
  return new Date(atMs).toISOString().slice(0, 10);
}

/** An identifier short enough for a table: its last characters, which are the random ones. */
export function shortId(id: string): string {
  return id.length <= 10 ? id : id.slice(-8);
}

function pad(part: number): string {
  return String(part).padStart(2, '0');
}

function minus(text: string): string {
  return text.startsWith('-') ? `−${text.slice(1)}` : text;
}

function trimZeros(text: string): string {
  if (!text.includes('.') || text.includes('e')) return text;
  return text.replace(/\.?0+$/, '');
}

function trimExponent(text: string): string {
  const [digits = '', exponent = ''] = text.split('e');
  return `${trimZeros(digits)}e${exponent.replace('+', '')}`;
}

function groupThousands(text: string): string {
  const [whole = '', fraction] = text.split('.');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
