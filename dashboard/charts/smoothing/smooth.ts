/** Smoothing of a curve, for the eye only: it is never stored. */
import type { Smoothing } from '../plot/chart-settings.ts';

/** Parts the axis is divided into to say how near two points are: about the pixels of a chart. */
const UNITS_PER_AXIS = 500;

/**
 * A curve smoothed by kind. Distances between points are measured on the axis that is shown (`extent` is the length of all of it, a unit
 * is a five hundredth of it), not in numbers of points: uneven steps are treated as what they are, the same amount smooths a curve of
 * a hundred points and one of a million alike, and leaves a dozen points of validation alone. On a curve of one point a unit it is what
 * TensorBoard shows.
 *
 * Amount 0 changes nothing, a constant stays constant. Non-finite points stay as they are and do not count, so one NaN does not swallow the
 * rest of the curve.
 */
export function smooth(
  xs: Float64Array,
  ys: Float64Array,
  { kind, amount }: Smoothing,
  extent: number,
): Float64Array<ArrayBuffer> {
  const unit = extent / UNITS_PER_AXIS;
  if (!(amount > 0)) return Float64Array.from(ys);
  switch (kind) {
    case 'exponential':
      return exponential(xs, ys, amount, unit);
    case 'mean':
      return runningMean(xs, ys, meanWidth(amount) * unit);
    case 'gaussian':
      return gaussian(xs, ys, gaussianWidth(amount) * unit);
  }
}

/**
 * Width of the running mean in units: the mean of so many independent values varies as much as their exponential mean with this weight,
 * `(1 - w) / (1 + w)` of their variance.
 */
export function meanWidth(amount: number): number {
  return (1 + amount) / (1 - amount);
}

/** Standard deviation of the Gaussian in units, by the same measure: its weights come to the variance of `2 * sqrt(pi) * deviation` values. */
export function gaussianWidth(amount: number): number {
  return meanWidth(amount) / (2 * Math.sqrt(Math.PI));
}

/**
 * The mean of each point and those before it, where a point counts `weight` to the power of its distance. The weights are divided by
 * their sum, so that the beginning is not drawn towards zero (debiased). The same as W&B's time-weighted mean, whose weight is the root
 * of this one and whose axis has 1,000 units.
 */
function exponential(
  xs: Float64Array,
  ys: Float64Array,
  weight: number,
  unit: number,
): Float64Array<ArrayBuffer> {
  const out = new Float64Array(ys.length);
  let mean = 0;
  let total = 0;
  let before = Number.NaN;
  let lastGap = Number.NaN;
  let lastDecay = 0;
  for (let at = 0; at < ys.length; at += 1) {
    const x = xs[at] ?? Number.NaN;
    const y = ys[at] ?? Number.NaN;
    if (!Number.isFinite(y)) {
      out[at] = y;
      continue;
    }
    const gap = x - before;
    // Steps are mostly even: then one power serves them all.
    if (gap !== lastGap) {
      lastGap = gap;
      lastDecay = unit > 0 && gap >= 0 ? weight ** (gap / unit) : 0;
    }
    before = x;
    total = total * lastDecay + 1;
    mean += (y - mean) / total;
    out[at] = mean;
  }
  return out;
}

/**
 * The mean of all points within half of `width` on both sides. Sums are taken over two stacks, which never subtract: one value of 1e30 is
 * forgotten once it is out of the window.
 */
function runningMean(xs: Float64Array, ys: Float64Array, width: number): Float64Array<ArrayBuffer> {
  const out = new Float64Array(ys.length);
  const half = width / 2;
  const window = new MeanWindow(ys);
  for (let at = 0; at < ys.length; at += 1) {
    const x = xs[at] ?? Number.NaN;
    while (window.end < ys.length && (xs[window.end] ?? 0) <= x + half) window.push();
    // Rounding may leave a point out of its own window.
    while (window.end <= at) window.push();
    while (window.start < at && (xs[window.start] ?? 0) < x - half) window.shift();
    const y = ys[at] ?? Number.NaN;
    out[at] = Number.isFinite(y) ? window.mean : y;
  }
  return out;
}

/** The mean of the finite values from `start` up to `end`, both of which only grow. */
class MeanWindow {
  start = 0;
  end = 0;
  readonly #ys: Float64Array;
  /** Sums and counts from each index to {@link #turn}; what comes after that is in the sums below. */
  readonly #sums: Float64Array;
  readonly #counts: Int32Array;
  #turn = 0;
  #sum = 0;
  #count = 0;

  constructor(ys: Float64Array) {
    this.#ys = ys;
    this.#sums = new Float64Array(ys.length + 1);
    this.#counts = new Int32Array(ys.length + 1);
  }

  push(): void {
    const y = this.#ys[this.end] ?? Number.NaN;
    this.end += 1;
    if (!Number.isFinite(y)) return;
    this.#sum += y;
    this.#count += 1;
  }

  shift(): void {
    if (this.start >= this.#turn) this.#turnOver();
    this.start += 1;
  }

  #turnOver(): void {
    this.#sums[this.end] = 0;
    this.#counts[this.end] = 0;
    for (let at = this.end - 1; at >= this.start; at -= 1) {
      const y = this.#ys[at] ?? Number.NaN;
      const isFinite = Number.isFinite(y);
      this.#sums[at] = (this.#sums[at + 1] ?? 0) + (isFinite ? y : 0);
      this.#counts[at] = (this.#counts[at + 1] ?? 0) + (isFinite ? 1 : 0);
    }
    this.#turn = this.end;
    this.#sum = 0;
    this.#count = 0;
  }

  get mean(): number {
    const isBefore = this.start < this.#turn;
    const sum = (isBefore ? (this.#sums[this.start] ?? 0) : 0) + this.#sum;
    return sum / ((isBefore ? (this.#counts[this.start] ?? 0) : 0) + this.#count);
  }
}

/** Cells of the grid of the Gaussian for one standard deviation. */
const CELLS_PER_DEVIATION = 16;
/** Beyond so many deviations a point does not count. */
const REACH = 4;
const MOST_CELLS = 100_000;

/**
 * The mean of all points, weighted by a Gaussian of their distances. Values and weights are spread over a grid of a sixteenth of the
 * deviation, which is smoothed and read between its cells: so a million points take no longer than a few thousand. It differs
 * from the sum over all pairs by less than a five hundredth of the range of the values around.
 */
function gaussian(
  xs: Float64Array,
  ys: Float64Array,
  deviation: number,
): Float64Array<ArrayBuffer> {
  const first = xs[0] ?? 0;
  const span = (xs.at(-1) ?? 0) - first;
  if (!(deviation > 0) || !(span > 0)) return exponential(xs, ys, 0, 0);
  const cell = Math.max(deviation / CELLS_PER_DEVIATION, span / MOST_CELLS);
  const count = Math.ceil(span / cell) + 2;
  const sums = new Float64Array(count);
  const weights = new Float64Array(count);
  for (let at = 0; at < ys.length; at += 1) {
    const y = ys[at] ?? Number.NaN;
    if (!Number.isFinite(y)) continue;
    const position = ((xs[at] ?? 0) - first) / cell;
    const left = Math.floor(position);
    const share = position - left;
    sums[left] = (sums[left] ?? 0) + y * (1 - share);
    weights[left] = (weights[left] ?? 0) + 1 - share;
    sums[left + 1] = (sums[left + 1] ?? 0) + y * share;
    weights[left + 1] = (weights[left + 1] ?? 0) + share;
  }
  const smoothSums = convolved(sums, deviation / cell);
  const smoothWeights = convolved(weights, deviation / cell);
  return Float64Array.from(ys, (y, at) => {
    if (!Number.isFinite(y)) return y;
    const position = ((xs[at] ?? 0) - first) / cell;
    const left = Math.floor(position);
    const share = position - left;
    const between = (of: Float64Array): number =>
      (of[left] ?? 0) * (1 - share) + (of[left + 1] ?? 0) * share;
    return between(smoothSums) / between(smoothWeights);
  });
}

/** Cells smoothed by a Gaussian with this deviation in cells. */
function convolved(cells: Float64Array, deviation: number): Float64Array {
  const reach = Math.ceil(REACH * deviation);
  const kernel = Float64Array.from({ length: reach + 1 }, (_, at) =>
    Math.exp(-0.5 * (at / deviation) ** 2),
  );
  const out = new Float64Array(cells.length);
  // From each cell that has something: a curve of few points has few.
  for (let at = 0; at < cells.length; at += 1) {
    const value = cells[at] ?? 0;
    if (value === 0) continue;
    const from = Math.max(0, at - reach);
    const to = Math.min(cells.length - 1, at + reach);
    for (let target = from; target <= to; target += 1)
      out[target] = (out[target] ?? 0) + value * (kernel[Math.abs(target - at)] ?? 0);
  }
  return out;
}
