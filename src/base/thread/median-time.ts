/** The median of times: a pause of the thread moves a mean, and not this. */

/** The upper one of the two in the middle where their number is even; 0 of none. */
export function medianTime(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
}
