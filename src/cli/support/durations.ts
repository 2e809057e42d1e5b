/** Spans of time on the command line. */

const UNITS_MS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Milliseconds of a span such as `12h`, `90d` or `4w`; undefined where the text is something else, a date for example. */
export function durationMs(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  return unitMs === undefined ? undefined : Number(count) * unitMs;
}

/** Milliseconds of so many days. */
export function daysMs(days: number): number {
  return days * 86_400_000;
}
