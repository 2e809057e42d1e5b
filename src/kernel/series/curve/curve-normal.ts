/** The normal distribution, for the tests of a trend. Relative error below 1e-12. */

/** Probability that a standard normal value is further from 0 than `z`. */
export function twoSidedProbability(z: number): number {
  const x = Math.abs(z) / Math.SQRT2;
  return x < 2 ? 1 - smallErf(x) : largeErfc(x);
}

/** The z for which {@link twoSidedProbability} is `probability`, between 0 and 1. */
export function twoSidedQuantile(probability: number): number {
  let low = 0;
  let high = 40;
  while (high - low > 1e-13 * high) {
    const middle = 0.5 * (low + high);
    if (twoSidedProbability(middle) > probability) low = middle;
    else high = middle;
    if (middle === 0) break;
  }
  return 0.5 * (low + high);
}

/** The series of Abramowitz and Stegun (1964), 7.1.6, whose terms are all positive. */
function smallErf(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; term > 1e-17 * sum; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** The continued fraction of Abramowitz and Stegun (1964), 7.1.14, from the far end. */
function largeErfc(x: number): number {
  let rest = 0;
  for (let n = 120; n >= 1; n--) rest = (0.5 * n) / (x + rest);
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * (x + rest));
}
