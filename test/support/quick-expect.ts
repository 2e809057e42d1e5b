/**
 * Assertions for where there are a hundred thousand of them: `expect` takes longer to begin than most of what is checked, so it is
 * asked only once it is known to fail, and then says why.
 */
import { expect } from 'vitest';

/** As `expect(found, what).toBe(wanted)`. */
export function expectSame(found: unknown, wanted: unknown, what?: string): void {
  if (!Object.is(found, wanted)) expect(found, what).toBe(wanted);
}

/** As `expect(found, what).toBeLessThanOrEqual(most)`: NaN is not. */
export function expectAtMost(found: number, most: number, what?: string): void {
  if (!(found <= most)) expect(found, what).toBeLessThanOrEqual(most);
}

/** As `expect([...found], what).toEqual(wanted)` of numbers: -0 is not 0. */
export function expectSameNumbers(
  found: ArrayLike<number>,
  wanted: ArrayLike<number>,
  what?: string,
): void {
  let isSame = found.length === wanted.length;
  for (let i = 0; i < found.length && isSame; i += 1) isSame = Object.is(found[i], wanted[i]);
  if (!isSame) expect(Array.from(found), what).toEqual(Array.from(wanted));
}
