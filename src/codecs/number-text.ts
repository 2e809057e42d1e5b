/** Numbers as programs print them: with words for what is not finite, and with what libraries put around them. */

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const WORDS: ReadonlyMap<string, number> = new Map([
  ['nan', Number.NaN],
  ['+nan', Number.NaN],
  ['-nan', Number.NaN],
  ['-nan(ind)', Number.NaN],
  ['1.#qnan', Number.NaN],
  ['inf', Infinity],
  ['+inf', Infinity],
  ['-inf', -Infinity],
  ['infinity', Infinity],
  ['+infinity', Infinity],
  ['-infinity', -Infinity],
  ['1.#inf', Infinity],
  ['-1.#inf', -Infinity],
]);
const ABSENT = new Set(['', 'none', 'null', 'na', 'n/a', '<na>', '-', '--']);
const LONGEST_NUMBER_CHARS = 400;
/** Longest number in JSON and tables. All digits of a double are fewer than 1,100. */
export const MAX_NUMBER_CHARS = 2_048;

/** The number that a text says, `undefined` when it says that there is none, `null` when it is no number. */
export function numberFromText(text: string): number | undefined | null {
  const trimmed = text.trim();
  if (trimmed.length > LONGEST_NUMBER_CHARS) return null;
  if (NUMBER.test(trimmed)) return Number(trimmed);
  const word = trimmed.toLowerCase();
  const known = WORDS.get(word);
  if (known !== undefined) return known;
  if (ABSENT.has(word)) return undefined;
  // PyTorch: a metric that was logged without `.item()`.
  const tensor = /^tensor\(\s*([^,)\s]+)\s*[,)]/.exec(word)?.[1];
  return tensor === undefined ? null : numberFromText(tensor);
}

/** A number as metrics have it: numbers, and texts that say one; `undefined` for everything else. Truth values are no numbers. */
export function metricNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  return numberFromText(value) ?? undefined;
}

/** The instant that a number or a text stands for, in UTC epoch milliseconds; NaN when it is none, such as seconds since a start. */
export function instantFromText(value: unknown): number {
  if (typeof value === 'number') {
    if (!(value >= 1e8)) return Number.NaN;
    // From 1973 on in seconds, milliseconds, microseconds, nanoseconds: the ranges do not overlap before the year 5138.
    if (value < 1e11) return value * 1000;
    if (value < 1e14) return value;
    if (value < 1e17) return value / 1000;
    return value < 1e20 ? value / 1e6 : Number.NaN;
  }
  if (typeof value !== 'string') return Number.NaN;
  const match =
    /^\s*(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s*(Z|[+-]\d\d:?\d\d)?\s*$/i.exec(
      value,
    );
  if (match === null) {
    const number = numberFromText(value);
    return typeof number === 'number' ? instantFromText(number) : Number.NaN;
  }
  const [, year, month, day, hour, minute, second, fraction = '', zone = 'Z'] = match;
  const ms = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  const part = fraction === '' ? 0 : Math.round(Number(`0.${fraction}`) * 1000);
  return ms + part - offsetMs(zone);
}

function offsetMs(zone: string): number {
  if (zone.toUpperCase() === 'Z') return 0;
  const sign = zone.startsWith('-') ? -1 : 1;
  return sign * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2))) * 60_000;
}
