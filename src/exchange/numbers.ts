/** Numbers as text: the shortest that reads back as the same bits. */

/** The number in CSV: `NaN`, `Infinity`, `-Infinity` and `-0` are written out. */
export function csvNumber(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

/** The number in JSON: what JSON has no number for is text. */
export function jsonNumber(value: number): string {
  return Number.isFinite(value) ? csvNumber(value) : `"${value}"`;
}
