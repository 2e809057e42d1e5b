/** Values in query lines: numbers, times, durations, true and false, and texts. */

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/iu;
const UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['min', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
]);
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|min|[smhdw]))+$/iu;
const DATE = /^\d{4}-\d{2}-\d{2}$/u;
const DAY_MS = 86_400_000;

/** A number, true, false or a text, as it is written. */
export function plainValue(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return numberOf(text) ?? text;
}

/** A finite number; undefined for what is none. */
export function numberOf(text: string): number | undefined {
  const number = NUMBER.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}

/** Milliseconds of `10m`, `1h30m`, `2.5s`; undefined for what is no duration. */
export function durationOf(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  let sum = 0;
  for (const [, amount, unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(ms|min|[smhdw])/giu))
    sum += Number(amount) * (UNITS.get(unit.toLowerCase()) ?? 0);
  return sum;
}

/**
 * From when to when a time is, in UTC epoch milliseconds: a whole day where only a day is named. `7d` and `-7d` are so long ago;
 * `today` and `yesterday` are days by the clock of the reader. Undefined for what is no time.
 */
export function timeRangeOf(
  text: string,
  nowMs: number,
): readonly [from: number, to: number] | undefined {
  const ago = durationOf(text.replace(/^-/u, ''));
  if (ago !== undefined) return [nowMs - ago, nowMs - ago];
  if (text === 'today' || text === 'yesterday') {
    const start = new Date(nowMs).setHours(0, 0, 0, 0) - (text === 'today' ? 0 : DAY_MS);
    return [start, start + DAY_MS];
  }
  if (!/^\d{4}-/u.test(text)) return undefined;
  const from = Date.parse(
    text.includes('T') && !/(?:Z|[+-]\d\d:?\d\d)$/iu.test(text) ? `${text}Z` : text,
  );
  if (Number.isNaN(from)) return undefined;
  return [from, DATE.test(text) ? from + DAY_MS : from];
}
