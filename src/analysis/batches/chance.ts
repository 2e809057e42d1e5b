/** Probabilities of sums of ranks. */
import { twoSidedProbability } from '../../kernel/series/curve/curve-normal.ts';

/** More terms are normal: the sum has lighter tails than that, so the probability comes out too large rather than too small. */
const MAX_EXACT = 30;

/**
 * Probability that the sum of `count` independent numbers, uniform in [0, 1], is at most `sum` (Irwin 1927, Hall 1927). Exact to 1e-9 of the
 * probability in the lower tail up to 30 terms, normal beyond.
 */
export function uniformSumAtMost(sum: number, count: number): number {
  if (sum <= 0) return 0;
  if (sum >= count) return 1;
  if (count > MAX_EXACT) return lowerTail((sum - count / 2) / Math.sqrt(count / 12));
  // By symmetry the shorter tail: its terms do not cancel.
  if (sum > count / 2) return 1 - uniformSumAtMost(count - sum, count);
  let total = 0;
  // x^n / n! term by term, so that neither leaves the range.
  for (let j = 0; j <= sum; j++) {
    let term = j % 2 === 0 ? 1 : -1;
    for (let i = 1; i <= count; i++) term *= (sum - j) / i;
    for (let i = 1; i <= j; i++) term *= (count - i + 1) / i;
    total += term;
  }
  return Math.min(1, Math.max(0, total));
}

/** Probability that a standard normal value is at most `z`. */
export function lowerTail(z: number): number {
  const half = twoSidedProbability(z) / 2;
  return z < 0 ? half : 1 - half;
}
