/** Mean and standard deviation without rounding, until the end. */
import { exactly } from './hard-series.ts';

const UNIT_BITS = 1074;
const MORE_BITS = 128n;

/** Of finite values, one or more. */
export function exactMoments(values: readonly number[]): { mean: number; std: number } {
  const count = BigInt(values.length);
  const exact = values.map(exactly);
  const sum = exact.reduce((total, x) => total + x, 0n);
  const squares = exact.reduce((total, x) => total + x * x, 0n);
  const deviation = count * squares - sum * sum;
  return {
    mean: toNumber((sum << MORE_BITS) / count),
    std: toNumber(root((deviation << (2n * MORE_BITS)) / (count * count))),
  };
}

/** A number of units of 2^-1202 as float64. */
function toNumber(units: bigint): number {
  const size = units < 0n ? -units : units;
  const excess = Math.max(0, size.toString(2).length - 64);
  const value =
    Number(size >> BigInt(excess)) * 2 ** (excess - UNIT_BITS) * 2 ** -Number(MORE_BITS);
  return units < 0n ? -value : value;
}

/** The integer square root, by Newton's method from above. */
function root(square: bigint): bigint {
  if (square === 0n) return 0n;
  let at = 1n << BigInt((square.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (at + square / at) >> 1n;
    if (next >= at) return at;
    at = next;
  }
}
