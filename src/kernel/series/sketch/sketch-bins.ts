/** The bins of a quantile sketch: which values share one, and how many there are in each. */

/** The least room that a growing array of bins leaves. */
const SPARE = 64;
/** The part of the accuracy that is kept for rounding: all that happens in {@link LogBins} takes less. */
const MARGIN = 1e-6;
const NEWTON_STEPS = 6;

/** Two words of a float64, the high one second: every engine that runs WebAssembly is little-endian. */
export const scratchFloat: Float64Array = new Float64Array(1);
/** The words of {@link scratchFloat}, signed: those are small integers to an engine more often. */
export const scratchWords: Int32Array = new Int32Array(scratchFloat.buffer);

/**
 * Numbers the bins of positive float64: bin _i_ holds what lies from `low(i)` to `low(i + 1)`, and the ratio of the two is at most
 * (1 + α) / (1 - α). Bins are cut by a cubic that follows the logarithm within each power of two (Masson, Rim and Lee, 2019, call it
 * cubic interpolation), with nothing but additions and multiplications: every engine has the same bins, which those of Math.log would
 * not be. That takes 1 percent more bins than a logarithm.
 */
export class LogBins {
  readonly #accuracy: number;
  readonly #binsPerDoubling: number;

  /** @param relativeAccuracy α */
  constructor(relativeAccuracy: number) {
    const accuracy = relativeAccuracy * (1 - MARGIN);
    // ln((1 + α) / (1 - α)) = 2 artanh α. The cubic rises by at least 10/7 ln 2 for each doubling.
    let artanh = 0;
    for (let power = 1, term = accuracy; term > 1e-20; power += 2) {
      artanh += term / power;
      term *= accuracy * accuracy;
    }
    this.#accuracy = accuracy;
    this.#binsPerDoubling = 0.7 / (2 * artanh);
  }

  /** The bin of the size of a float64 that is not 0, given as two signed words. */
  binOf(high: number, low: number): number {
    let exponent = (high >>> 20) & 0x7ff;
    let fraction = ((high & 0xfffff) * 2 ** 32 + (low >>> 0)) * 2 ** -52;
    if (exponent === 0) {
      // A subnormal: its leading bit says what its exponent would be.
      const shift =
        Math.clz32(high & 0xfffff) < 32 ? Math.clz32(high & 0xfffff) - 11 : 21 + Math.clz32(low);
      fraction = fraction * 2 ** shift - 1;
      exponent = 1 - shift;
    }
    const rise = ((6 / 35) * fraction - 3 / 5) * fraction + 10 / 7;
    return Math.floor((exponent - 1023 + rise * fraction) * this.#binsPerDoubling);
  }

  /** The smallest value of a bin; 0 or Infinity where float64 ends. */
  low(bin: number): number {
    return this.#at(bin, 1);
  }

  /** What stands for a bin: within α of each of its values, times that value. */
  middle(bin: number): number {
    return this.#at(bin, 1 + this.#accuracy);
  }

  #at(bin: number, factor: number): number {
    const position = bin / this.#binsPerDoubling;
    const exponent = Math.floor(position);
    const wanted = position - exponent;
    let fraction = wanted;
    for (let step = 0; step < NEWTON_STEPS; step++) {
      const found = (((6 / 35) * fraction - 3 / 5) * fraction + 10 / 7) * fraction;
      const slope = ((18 / 35) * fraction - 6 / 5) * fraction + 10 / 7;
      fraction -= (found - wanted) / slope;
    }
    // In two steps: 2 ** exponent alone may leave the range of float64.
    const half = Math.trunc(exponent / 2);
    return (1 + fraction) * factor * 2 ** half * 2 ** (exponent - half);
  }
}

/**
 * Counts in consecutive bins: the highest in use and `limit - 1` below it. What lies lower is counted in the lowest of these, which
 * makes the counts depend on the values alone, not on their order. There is room for twice as many, so that bins are put together only
 * now and then when the highest keeps rising.
 */
export class BinCounts {
  readonly #limit: number;
  #counts = new Float64Array(0);
  /** The bin of the first count. */
  #base = 0;
  /** Bins below are not used any more. */
  #floor = -Infinity;
  #total = 0;
  #isCollapsed = false;

  /** @param limit most bins */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many values there are in all bins. */
  get total(): number {
    return this.#total;
  }

  /** Whether values have been counted in a bin above their own. */
  get isCollapsed(): boolean {
    this.#collapse();
    return this.#isCollapsed;
  }

  /** Counts values in a bin. */
  add(bin: number, count = 1): void {
    let at = bin - this.#base;
    if (at < 0 || at >= this.#counts.length) at = this.#makeRoom(bin) - this.#base;
    this.#counts[at] = (this.#counts[at] ?? 0) + count;
    this.#total += count;
  }

  /** Counts what the other has counted. */
  merge(other: BinCounts): void {
    const { first, counts } = other.filled();
    if (other.#isCollapsed) this.#isCollapsed = true;
    // The highest first, so that room is made once.
    for (let i = counts.length - 1; i >= 0; i--) {
      const count = counts[i] ?? 0;
      if (count > 0) this.add(first + i, count);
    }
  }

  /** The counts from the lowest to the highest bin in use, and the number of the first. */
  filled(): { first: number; counts: Float64Array } {
    this.#collapse();
    const start = this.#counts.findIndex((count) => count > 0);
    if (start < 0) return { first: 0, counts: new Float64Array(0) };
    const end = this.#counts.findLastIndex((count) => count > 0) + 1;
    return { first: this.#base + start, counts: this.#counts.slice(start, end) };
  }

  /** Goes on from counts that another has given out. */
  restore(first: number, counts: Float64Array, isCollapsed: boolean): void {
    this.#counts = counts.slice();
    this.#base = first;
    this.#total = counts.reduce((total, count) => total + count, 0);
    this.#isCollapsed = isCollapsed;
  }

  /** Counts what lies below the bins that the highest allows in the lowest of them. */
  #collapse(): void {
    const counts = this.#counts;
    const floorAt = counts.findLastIndex((count) => count > 0) - this.#limit + 1;
    if (floorAt < 0) return;
    this.#floor = this.#base + floorAt;
    for (let i = 0; i < floorAt; i++) {
      const count = counts[i] ?? 0;
      if (count === 0) continue;
      counts[floorAt] = (counts[floorAt] ?? 0) + count;
      counts[i] = 0;
      this.#isCollapsed = true;
    }
  }

  /** Makes room for a bin and returns the one that its values are counted in. */
  #makeRoom(bin: number): number {
    if (bin < this.#floor && this.#floor >= this.#base) {
      this.#isCollapsed = true;
      return this.#floor;
    }
    const { first, counts } = this.filled();
    const last = first + counts.length - 1;
    const highest = counts.length === 0 ? bin : Math.max(bin, last);
    const floor = highest - this.#limit + 1;
    const lowest = Math.max(floor, counts.length === 0 ? bin : Math.min(bin, first));
    const span = highest - lowest + 1;
    const spare = Math.min(2 * this.#limit - span, span + SPARE);
    this.#base = lowest - Math.min(this.#limit - span, spare >> 1);
    this.#counts = new Float64Array(span + spare);
    counts.forEach((count, i) => {
      if (count === 0) return;
      if (first + i < floor) this.#isCollapsed = true;
      const at = Math.max(first + i, floor) - this.#base;
      this.#counts[at] = (this.#counts[at] ?? 0) + count;
    });
    if (lowest === floor) this.#floor = floor;
    if (bin < floor) this.#isCollapsed = true;
    return Math.max(bin, floor);
  }
}
