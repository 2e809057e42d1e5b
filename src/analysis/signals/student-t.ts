/** Student's distribution, Welch's test and Holm's correction: how far a difference may be chance. */

/** Mean of a sample with its confidence interval. */
export type MeanInterval = {
  readonly count: number;
  readonly mean: number;
  /** Standard deviation of the sample, with n - 1; NaN for fewer than two. */
  readonly std: number;
  /** Ends of the confidence interval of the mean; NaN for fewer than two. */
  readonly low: number;
  readonly high: number;
};

/** A difference of two means. */
export type WelchTest = {
  /** Mean of the first sample less that of the second. */
  readonly difference: number;
  /** Ends of the confidence interval of the difference. */
  readonly low: number;
  readonly high: number;
  readonly t: number;
  readonly degreesOfFreedom: number;
  /** Two-sided. */
  readonly pValue: number;
};

/** Terms of a continued fraction, far more than it takes for up to 10^12 degrees of freedom. */
const MAX_TERMS = 10_000;
/** Standard errors up to this share of the means are what rounding leaves of equal values. */
const ROUNDING = 10 * Number.EPSILON;

/** Logarithm of the gamma function for x > 0 (Lanczos 1964, g = 7 and nine terms); relative error below 1e-13. */
function logGamma(x: number): number {
  const terms = [
    676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406,
    12.507343278686905, -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
  ];
  let sum = 0.9999999999998099;
  for (const [i, term] of terms.entries()) sum += term / (x + i);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** Logarithm of 1 / B(a, 1/2); for large a by Stirling's series (DLMF 5.11.13), where the difference of logarithms would lose digits. */
function logInverseHalfBeta(a: number): number {
  const root = 0.5 * Math.log(Math.PI);
  if (a < 500) return logGamma(a + 0.5) - logGamma(a) - root;
  return 0.5 * Math.log(a) - 1 / (8 * a) + 1 / (192 * a ** 3) - root;
}

/** The continued fraction of the incomplete beta function (DLMF 8.17.22) by the method of Lentz (1976). */
function betaFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300;
  let c = 1;
  let d = 1 / nonZero(1 - ((a + b) * x) / (a + 1), tiny);
  let f = d;
  for (let m = 1; m <= MAX_TERMS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonZero(1 + even * d, tiny);
    c = nonZero(1 + even / c, tiny);
    f *= c * d;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonZero(1 + odd * d, tiny);
    c = nonZero(1 + odd / c, tiny);
    const step = c * d;
    f *= step;
    if (Math.abs(step - 1) < 1e-15) break;
  }
  return f;
}

function nonZero(value: number, tiny: number): number {
  return Math.abs(value) < tiny ? tiny : value;
}

/**
 * Probability that |T| exceeds `t` with so many degrees of freedom: the regularized incomplete beta function of df / (df + t²) with df/2 and
 * 1/2. Absolute error below 1e-12.
 */
export function studentTwoSided(t: number, degreesOfFreedom: number): number {
  if (Number.isNaN(t) || !(degreesOfFreedom > 0)) return Number.NaN;
  if (!Number.isFinite(t)) return 0;
  if (t === 0) return 1;
  const a = degreesOfFreedom / 2;
  const square = t * t;
  const x = degreesOfFreedom / (degreesOfFreedom + square);
  const rest = square / (degreesOfFreedom + square);
  // Logarithms of x and 1 - x that keep their digits near 0 and 1.
  const front = Math.exp(
    logInverseHalfBeta(a) -
      a * Math.log1p(square / degreesOfFreedom) -
      0.5 * Math.log1p(degreesOfFreedom / square),
  );
  return x <= (a + 1) / (a + 2.5)
    ? (front * betaFraction(x, a, 0.5)) / a
    : 1 - (front * betaFraction(rest, 0.5, a)) / 0.5;
}

/** The t that |T| stays below with probability `confidence`; by bisection, to 1e-12 of it. */
export function studentQuantile(confidence: number, degreesOfFreedom: number): number {
  let low = 0;
  let high = 1;
  while (studentTwoSided(high, degreesOfFreedom) > 1 - confidence && high < 1e15) high *= 2;
  for (let i = 0; i < 200 && high - low > 1e-12 * high; i++) {
    const middle = (low + high) / 2;
    if (studentTwoSided(middle, degreesOfFreedom) > 1 - confidence) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Mean of a sample with the interval of Student (1908). */
export function meanInterval(values: readonly number[], confidence: number): MeanInterval {
  const { count, mean, variance } = momentsOf(values);
  const std = Math.sqrt(variance);
  const half =
    count < 2 ? Number.NaN : (studentQuantile(confidence, count - 1) * std) / Math.sqrt(count);
  return { count, mean, std, low: mean - half, high: mean + half };
}

/**
 * The t-test of Welch (1947), which does not take the variances for equal, with the degrees of freedom of Satterthwaite (1946). Undefined for
 * a sample of fewer than two values, and where neither varies by more than rounding: there is no noise that a difference could be measured by.
 */
export function welchTest(
  first: readonly number[],
  second: readonly number[],
  confidence: number,
): WelchTest | undefined {
  return welchOfMoments(momentsOf(first), momentsOf(second), confidence);
}

/** Count, mean and variance of a sample; the count may be an effective one. */
export type Moments = { readonly count: number; readonly mean: number; readonly variance: number };

/** {@link welchTest} of samples of which only this is known. */
export function welchOfMoments(
  first: Moments,
  second: Moments,
  confidence: number,
): WelchTest | undefined {
  if (first.count < 2 || second.count < 2) return undefined;
  const a = first.variance / first.count;
  const b = second.variance / second.count;
  const difference = first.mean - second.mean;
  const error = Math.sqrt(a + b);
  if (error <= ROUNDING * Math.max(Math.abs(first.mean), Math.abs(second.mean))) return undefined;
  const degreesOfFreedom =
    (a + b) ** 2 / (a ** 2 / (first.count - 1) + b ** 2 / (second.count - 1));
  const t = difference / error;
  const half = studentQuantile(confidence, degreesOfFreedom) * error;
  return {
    difference,
    low: difference - half,
    high: difference + half,
    t,
    degreesOfFreedom,
    pValue: studentTwoSided(t, degreesOfFreedom),
  };
}

/** Count, mean and variance (with n - 1) of a sample. */
export function momentsOf(values: ArrayLike<number>): Moments {
  const count = values.length;
  let mean = 0;
  for (let i = 0; i < count; i++) mean += (values[i] ?? 0) / count;
  let squares = 0;
  for (let i = 0; i < count; i++) squares += ((values[i] ?? 0) - mean) ** 2;
  return {
    count,
    mean: count === 0 ? Number.NaN : mean,
    variance: count < 2 ? Number.NaN : squares / (count - 1),
  };
}

/** Probabilities as they are when so many questions were asked (Holm 1979), in the same order. */
export function holm(pValues: readonly number[]): readonly number[] {
  const order = pValues.map((_, i) => i).toSorted((a, b) => (pValues[a] ?? 1) - (pValues[b] ?? 1));
  const adjusted = pValues.slice();
  let least = 0;
  order.forEach((at, rank) => {
    least = Math.max(least, Math.min(1, (pValues.length - rank) * (pValues[at] ?? 1)));
    adjusted[at] = least;
  });
  return adjusted;
}
