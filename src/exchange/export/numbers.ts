/** Numbers as text: the shortest that reads back as the same bits. */

/** The number in CSV: `NaN`, `Infinity`, `-Infinity` and `-0` are written out. */
export function csvNumber(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}
