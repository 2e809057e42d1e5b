/** Axes of quantities: where a value lies, and which ticks are beside it. Pure. */
import { tickIncrements, ticksBetween } from '../charts/plot/value-axis.ts';
import { formatTick, formatTicks } from '../parts/format.ts';

/** A value of a quantity; null for none. */
export type QuantityValue = number | string | null;

/** How a quantity lies on an axis. */
export type QuantityScale = {
  readonly kind: 'linear' | 'log' | 'category';
  /** From 0 to 1; undefined for a value that is missing, or that a logarithmic axis has no position for. */
  readonly at: (value: QuantityValue) => number | undefined;
  /** Labels and their positions, from 0 to 1. */
  readonly ticks: readonly { readonly at: number; readonly label: string }[];
  /** Positive values that go over more than two powers of ten: a logarithmic axis fits. */
  readonly fitsLog: boolean;
};

/** From this ratio of the largest to the smallest value on, a logarithmic axis fits. */
const LOG_RATIO = 100;
/** Categories that have a tick. */
const MAX_LABELS = 24;
/** So many different numbers or fewer are levels of a setting: each has a tick. */
const MAX_LEVELS = 5;
const ROOM = 0.04;

/**
 * The scale of values. Texts make it one of categories, in the order of their names; numbers among them are categories, too.
 *
 * @param isLog whether the axis is logarithmic; undefined: where that fits
 */
export function quantityScale(
  values: readonly QuantityValue[],
  isLog: boolean | undefined,
  tickCount: number = 6,
): QuantityScale {
  if (values.some((value) => typeof value === 'string')) return categoryScale(values);
  const numbers = values.filter((value) => typeof value === 'number');
  const positive = numbers.filter((value) => value > 0);
  const few = [...new Set(numbers)];
  const levels = few.length > 1 && few.length <= MAX_LEVELS ? few : undefined;
  const [least, most] = rangeOf(numbers);
  const fitsLog =
    numbers.length > 1 && positive.length === numbers.length && most / least >= LOG_RATIO;
  if (isLog ?? fitsLog) {
    const [low, high] = rangeOf(positive);
    if (low <= high)
      return {
        ...logScale(
          low,
          high,
          levels?.filter((value) => value > 0),
          tickCount,
        ),
        fitsLog,
      };
  }
  return { ...linearScale(least, most, levels, tickCount), fitsLog };
}

function rangeOf(numbers: readonly number[]): readonly [number, number] {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of numbers) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return [least, most];
}

type Scale = Omit<QuantityScale, 'fitsLog'>;

function linearScale(
  least: number,
  most: number,
  levels: readonly number[] | undefined,
  tickCount: number,
): Scale {
  const half = least < most ? 0 : Math.abs(least) * 0.1 || 0.5;
  const [min, max] = least <= most ? [least - half, most + half] : [0, 1];
  const share = (value: number): number =>
    ROOM + (1 - 2 * ROOM) * ((value / 2 - min / 2) / (max / 2 - min / 2));
  const increment =
    tickIncrements(min, max).find((one) => (max - min) / one <= tickCount) ?? max - min;
  const ticks = levels ?? ticksBetween(min, max, increment);
  const labels = levels?.map(formatTick) ?? formatTicks(ticks);
  return {
    kind: 'linear',
    at: (value) => (typeof value === 'number' ? share(value) : undefined),
    ticks: ticks.map((tick, i) => ({ at: share(tick), label: labels[i] ?? '' })),
  };
}

function logScale(
  least: number,
  most: number,
  levels: readonly number[] | undefined,
  tickCount: number,
): Scale {
  const [low, high] = [Math.log10(least), Math.log10(most)];
  const half = low < high ? 0 : 0.5;
  const share = (value: number): number =>
    ROOM + (1 - 2 * ROOM) * ((Math.log10(value) - low + half) / (high - low + 2 * half));
  const first = Math.ceil(low - half - 1e-9);
  const count = Math.floor(high + half + 1e-9) - first + 1;
  const every = Math.max(1, Math.ceil(count / tickCount));
  const powers = Array.from({ length: Math.max(0, count) }, (_, i) => 10 ** (first + i)).filter(
    (_, i) => i % every === 0,
  );
  const ticks = levels ?? (powers.length >= 2 ? powers : [...new Set([least, most])]);
  const labels = levels?.map(formatTick) ?? formatTicks(ticks, true);
  return {
    kind: 'log',
    at: (value) => (typeof value === 'number' && value > 0 ? share(value) : undefined),
    ticks: ticks.map((tick, i) => ({ at: share(tick), label: labels[i] ?? '' })),
  };
}

function categoryScale(values: readonly QuantityValue[]): QuantityScale {
  const names = [...new Set(values.flatMap((value) => (value === null ? [] : [String(value)])))];
  names.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const index = new Map(names.map((name, i) => [name, i]));
  const share = (i: number): number =>
    names.length < 2 ? 0.5 : 0.08 + (0.84 * i) / (names.length - 1);
  const every = Math.ceil(names.length / MAX_LABELS);
  return {
    kind: 'category',
    fitsLog: false,
    at: (value) => {
      const i = value === null ? undefined : index.get(String(value));
      return i === undefined ? undefined : share(i);
    },
    ticks: names.flatMap((label, i) => (i % every === 0 ? [{ at: share(i), label }] : [])),
  };
}

/** A text of at most so many letters, cut in the middle: the ends of names differ. */
export function cutMiddle(text: string, most: number): string {
  const letters = Array.from(text);
  if (letters.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - end).join('')}…${letters.slice(letters.length - end).join('')}`;
}
