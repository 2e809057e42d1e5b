/** Quantiles of a stream in bounded memory. */
import { checkOptionNames } from '../../../base/assert.ts';
import { invalidInput } from '../../../base/errors.ts';
import { ExactSum } from '../module/exact-sum.ts';
import { checkProbabilities, checkProbability } from '../order/order.ts';
import { BinCounts, LogBins, scratchFloat, scratchWords } from './sketch-bins.ts';
import { type SketchState, decodeSketch, encodeSketch } from './sketch-codec.ts';
import { type SeriesValues, checkSeries } from '../module/values.ts';

/** Options of a {@link QuantileSketch}. */
export type QuantileSketchOptions = {
  /** The relative error of a quantile, α: from 1e-5 to 0.25. Default 0.01. */
  readonly relativeAccuracy?: number;
  /**
   * Most bins for the positive values, and as many for the negative ones: 64 to 1,048,576, of 8 bytes each as they come into use.
   * Default 2048, which with α = 0.01 spans a factor of 10^17 between the largest and the smallest size.
   */
  readonly maxBins?: number;
};

/** The range and the default of `relativeAccuracy`. */
const ACCURACY = { min: 1e-5, max: 0.25, default: 0.01 };
const BINS = { min: 64, max: 2 ** 20, default: 2048 };

/**
 * A mergeable sketch of the quantiles of a stream: DDSketch (Masson, Rim and Lee, VLDB 2019).
 *
 * An estimate of the quantile _p_ of _n_ finite values is within α·|x| of the value _x_ of rank floor(_p_ (_n_ - 1)), plus half the
 * smallest subnormal. When the values of one sign span more than `maxBins` bins, those nearest to zero are counted in one bin: the
 * bound then holds for quantiles of at least {@link QuantileSketch.resolvedMagnitude} in size, and the others are estimated with an
 * absolute error of at most that. With the defaults it is 10^-17 of the largest size.
 *
 * Chosen over KLL, whose error is one of rank (in a series with a long tail the 0.99 quantile may be off by any factor) and which is
 * random, and over the t-digest, which has no proven bound: this one is deterministic, and a sketch depends on the values alone.
 * Whatever way a stream is divided and in whatever order its parts are merged, the result is the same, bit for bit, in every engine.
 *
 * NaN and infinities are counted and take no part in anything else.
 *
 * @example
 * ```js
 * import { QuantileSketch } from 'quark-sdk/kernels';
 *
 * const sketch = new QuantileSketch();
 * for (let i = 1; i <= 1000; i++) sketch.add(i);
 * console.log(sketch.count, sketch.mean); // 1000 500.5
 * const [median, high] = sketch.quantiles([0.5, 0.99]); // within 1 % of 500 and 990
 * console.log(Math.abs(median - 500) < 5, Math.abs(high - 990) < 10); // true true
 * const copy = QuantileSketch.fromBytes(sketch.toBytes());
 * copy.merge(sketch);
 * console.log(copy.count); // 2000
 * ```
 */
export class QuantileSketch {
  /** α: the relative error of a quantile. */
  readonly relativeAccuracy: number;
  /** Most bins for the values of one sign. */
  readonly maxBins: number;
  readonly #bins: LogBins;
  readonly #positive: BinCounts;
  readonly #negative: BinCounts;
  #sum = new ExactSum();
  #zeroCount = 0;
  #nanCount = 0;
  #positiveInfinityCount = 0;
  #negativeInfinityCount = 0;
  #min = Infinity;
  #max = -Infinity;

  /** @throws {QuarkError} `invalid_input` */
  constructor(options: QuantileSketchOptions = {}) {
    checkOptionNames('options', options, ['relativeAccuracy', 'maxBins']);
    const { relativeAccuracy = ACCURACY.default, maxBins = BINS.default } = options;
    if (!isWithin(relativeAccuracy, ACCURACY))
      throw invalidInput(
        'options.relativeAccuracy',
        relativeAccuracy,
        `a number from ${ACCURACY.min} to ${ACCURACY.max}`,
      );
    if (!isWithin(maxBins, BINS) || !Number.isInteger(maxBins))
      throw invalidInput('options.maxBins', maxBins, `an integer from ${BINS.min} to ${BINS.max}`);
    this.relativeAccuracy = relativeAccuracy;
    this.maxBins = maxBins;
    this.#bins = new LogBins(relativeAccuracy);
    this.#positive = new BinCounts(maxBins);
    this.#negative = new BinCounts(maxBins);
  }

  /** How many finite values were added. */
  get count(): number {
    return this.#positive.total + this.#negative.total + this.#zeroCount;
  }

  /** How many of them are 0 of either sign. */
  get zeroCount(): number {
    return this.#zeroCount;
  }

  /** How many NaN were added; they are not in `count`. */
  get nanCount(): number {
    return this.#nanCount;
  }

  /** How many positive infinities were added; they are not in `count`. */
  get positiveInfinityCount(): number {
    return this.#positiveInfinityCount;
  }

  /** How many negative infinities were added; they are not in `count`. */
  get negativeInfinityCount(): number {
    return this.#negativeInfinityCount;
  }

  /** The least finite value, exactly; NaN when there is none. */
  get min(): number {
    return this.count > 0 ? this.#min : Number.NaN;
  }

  /** The largest finite value, exactly; NaN when there is none. */
  get max(): number {
    return this.count > 0 ? this.#max : Number.NaN;
  }

  /** The sum of the finite values, added up exactly and rounded once; an infinity above the range of float64. */
  get sum(): number {
    return this.#sum.value();
  }

  /** The exact sum divided by the count, within one unit in the last place; NaN when no value is finite. */
  get mean(): number {
    return this.count > 0 ? this.#sum.dividedBy(this.count) : Number.NaN;
  }

  /** The size from which quantiles are within α of their value, see above: 0 as long as no bins had to be put together. */
  get resolvedMagnitude(): number {
    const sides = [this.#positive, this.#negative].filter((side) => side.isCollapsed);
    return Math.max(0, ...sides.map((side) => this.#bins.low(side.filled().first + 1)));
  }

  /**
   * Adds one value.
   *
   * @throws {QuarkError} `invalid_input` when it is no number
   */
  add(value: number): void {
    if (typeof value !== 'number') throw invalidInput('value', value, 'a number');
    this.#add(value);
  }

  /**
   * Adds the values of a series.
   *
   * @throws {QuarkError} `invalid_input`, before any is added
   */
  addAll(values: SeriesValues): void {
    const data = checkSeries('values', values);
    for (let i = 0; i < data.length; i++) this.#add(data[i] ?? 0);
  }

  /**
   * Adds what the other sketch has seen; that one stays as it is.
   *
   * @throws {QuarkError} `invalid_input` when the other was made with other options
   */
  merge(other: QuantileSketch): void {
    if (!(other instanceof QuantileSketch)) throw invalidInput('other', other, 'a QuantileSketch');
    for (const option of ['relativeAccuracy', 'maxBins'] as const) {
      if (other[option] !== this[option])
        throw invalidInput(`other.${option}`, other[option], `${this[option]}, as in this sketch`);
    }
    const [min, max] = [other.#min, other.#max];
    this.#positive.merge(other.#positive);
    this.#negative.merge(other.#negative);
    this.#sum.addSum(other.#sum);
    this.#zeroCount += other.#zeroCount;
    this.#nanCount += other.#nanCount;
    this.#positiveInfinityCount += other.#positiveInfinityCount;
    this.#negativeInfinityCount += other.#negativeInfinityCount;
    this.#min = Math.min(this.#min, min);
    this.#max = Math.max(this.#max, max);
  }

  /**
   * The estimate of a quantile; those of 0 and 1 are the exact extremes. NaN when no value is finite.
   *
   * @param probability from 0 to 1
   * @throws {QuarkError} `invalid_input`
   */
  quantile(probability: number): number {
    return this.#quantile(checkProbability('probability', probability));
  }

  /**
   * The estimates of several quantiles, in the order asked for; they never fall when the probability rises.
   *
   * @param probabilities numbers from 0 to 1
   * @throws {QuarkError} `invalid_input`
   */
  quantiles(probabilities: readonly number[]): Float64Array {
    return Float64Array.from(checkProbabilities(probabilities), (p) => this.#quantile(p));
  }

  /** The sketch as bytes, the same for the same values, to be stored or sent; {@link QuantileSketch.fromBytes} reads them. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return encodeSketch({
      relativeAccuracy: this.relativeAccuracy,
      maxBins: this.maxBins,
      zeroCount: this.#zeroCount,
      nanCount: this.#nanCount,
      positiveInfinityCount: this.#positiveInfinityCount,
      negativeInfinityCount: this.#negativeInfinityCount,
      min: this.#min,
      max: this.#max,
      sum: this.#sum.limbs(),
      positive: { ...this.#positive.filled(), isCollapsed: this.#positive.isCollapsed },
      negative: { ...this.#negative.filled(), isCollapsed: this.#negative.isCollapsed },
    });
  }

  /**
   * The sketch that these bytes hold. They are checked, and copied.
   *
   * @throws {QuarkError} `invalid_input` when they are not those of a sketch
   */
  static fromBytes(bytes: Uint8Array): QuantileSketch {
    const state = decodeSketch(bytes);
    const { relativeAccuracy, maxBins } = state;
    if (!isWithin(relativeAccuracy, ACCURACY) || !isWithin(maxBins, BINS))
      throw invalidInput('bytes', `options ${relativeAccuracy}, ${maxBins}`, 'those of a sketch');
    const sketch = new QuantileSketch({ relativeAccuracy, maxBins });
    sketch.#restore(state);
    return sketch;
  }

  #restore(state: SketchState): void {
    const { positive, negative } = state;
    this.#positive.restore(positive.first, positive.counts, positive.isCollapsed);
    this.#negative.restore(negative.first, negative.counts, negative.isCollapsed);
    this.#sum = new ExactSum(state.sum);
    this.#zeroCount = state.zeroCount;
    this.#nanCount = state.nanCount;
    this.#positiveInfinityCount = state.positiveInfinityCount;
    this.#negativeInfinityCount = state.negativeInfinityCount;
    this.#min = state.min;
    this.#max = state.max;
    if (!this.#isConsistent())
      throw invalidInput('bytes', 'extremes that belong to other bins', 'those of a sketch');
  }

  /** Whether the extremes lie in the outermost bins in use. */
  #isConsistent(): boolean {
    if (!Number.isSafeInteger(this.count)) return false;
    if (this.count === 0)
      return this.#min === Infinity && this.#max === -Infinity && this.sum === 0;
    return (
      this.#isEdge(this.#max, this.#positive, this.#negative) &&
      this.#isEdge(-this.#min, this.#negative, this.#positive)
    );
  }

  /** Whether `extreme`, the largest value as seen from `upper`, is in its bin: the highest there, else 0, else the lowest of `lower`. */
  #isEdge(extreme: number, upper: BinCounts, lower: BinCounts): boolean {
    if (upper.total > 0) {
      const { first, counts } = upper.filled();
      return extreme > 0 && this.#binOf(extreme) === first + counts.length - 1;
    }
    if (this.#zeroCount > 0) return extreme === 0;
    if (!(extreme < 0)) return false;
    const { first } = lower.filled();
    const bin = this.#binOf(extreme);
    return lower.isCollapsed ? bin <= first : bin === first;
  }

  #binOf(value: number): number {
    scratchFloat[0] = value;
    return this.#bins.binOf(scratchWords[1] ?? 0, scratchWords[0] ?? 0);
  }

  #add(value: number): void {
    scratchFloat[0] = value;
    const low = scratchWords[0] ?? 0;
    const high = scratchWords[1] ?? 0;
    if (value - value !== 0) this.#countNonFinite(value);
    else {
      if (value < this.#min) this.#min = value;
      if (value > this.#max) this.#max = value;
      if (value > 0) this.#positive.add(this.#bins.binOf(high, low));
      else if (value < 0) this.#negative.add(this.#bins.binOf(high, low));
      else {
        this.#zeroCount += 1;
        // A zero has no sign: else the extremes would depend on the order of 0 and -0.
        if (this.#min === 0) this.#min = 0;
        if (this.#max === 0) this.#max = 0;
        return;
      }
      this.#sum.add(high, low);
    }
  }

  #countNonFinite(value: number): void {
    if (value > 0) this.#positiveInfinityCount += 1;
    else if (value < 0) this.#negativeInfinityCount += 1;
    else this.#nanCount += 1;
  }

  #quantile(probability: number): number {
    if (this.count === 0) return Number.NaN;
    if (probability === 0) return this.#min;
    if (probability === 1) return this.#max;
    const rank = Math.floor(probability * (this.count - 1));
    return Math.min(this.#max, Math.max(this.#min, this.#valueOf(rank)));
  }

  /** What stands for the bin of a rank. */
  #valueOf(rank: number): number {
    const negative = this.#negative.total;
    if (rank < negative) return -this.#bins.middle(binOfRank(this.#negative, negative - 1 - rank));
    if (rank < negative + this.#zeroCount) return 0;
    return this.#bins.middle(binOfRank(this.#positive, rank - negative - this.#zeroCount));
  }
}

function binOfRank(side: BinCounts, rank: number): number {
  const { first, counts } = side.filled();
  let below = 0;
  const at = counts.findIndex((count) => (below += count) > rank);
  return first + at;
}

function isWithin(value: unknown, { min, max }: { min: number; max: number }): boolean {
  return typeof value === 'number' && value >= min && value <= max;
}
