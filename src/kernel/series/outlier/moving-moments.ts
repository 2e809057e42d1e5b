/** Mean and standard deviation of a moving window, without drift. */
import type { Spread } from './outlier.ts';

/** What a scaled size may grow to. */
const SCALED_LIMIT = 2 ** 400;

/**
 * The window before a position is the end of one chunk and the beginning of the next. Of the first, the moments of every end are made
 * going backwards when the next chunk begins; of the second they grow with each value (Welford, 1962). The two are joined by the
 * formula of Chan, Golub and LeVeque (1979). Each part is taken from a value of its own that is always in the window, so that rounding
 * is relative to the range of the window, and equal values give exactly 0.
 */
export class MovingMoments {
  readonly #values: Float64Array;
  readonly #window: number;
  /** Moments of the last chunk from each of its places on: means from its last value, and sums of squared deviations. */
  readonly #endMeans: Float64Array;
  readonly #endSquares: Float64Array;
  /** Where the current chunk begins. */
  #start = 0;
  #scale = 1;
  /** Larger sizes need another scale; 0 as long as there were only zeros. */
  #limit = 0;
  #mean = 0;
  #squares = 0;

  /** @param values finite */
  constructor(values: Float64Array, window: number) {
    this.#values = values;
    this.#window = window;
    this.#endMeans = new Float64Array(window);
    this.#endSquares = new Float64Array(window);
  }

  before(end: number): Spread {
    if (end === this.#start + this.#window) this.#nextChunk(end);
    else if (end > this.#start) this.#grow(end);
    const last = this.#valueAt(this.#start - 1);
    const first = this.#valueAt(this.#start);
    const countAfter = end - this.#start;
    // Before the first chunk there is nothing.
    const countBefore = this.#start === 0 ? 0 : this.#window - countAfter;
    const count = countBefore + countAfter;
    if (count === 0) return { center: 0, low: 0, high: 0, spread: 0 };
    const mean = this.#endMeans[countAfter] ?? 0;
    const squares = this.#endSquares[countAfter] ?? 0;
    let center = last + mean;
    let sum = squares;
    if (countBefore === 0) {
      center = first + this.#mean;
      sum = this.#squares;
    } else if (countAfter > 0) {
      const gap = first - last + (this.#mean - mean);
      center = last + (mean + (gap * countAfter) / count);
      sum = squares + this.#squares + gap * gap * ((countBefore * countAfter) / count);
    }
    center /= this.#scale;
    return { center, low: center, high: center, spread: Math.sqrt(sum / count) / this.#scale };
  }

  #valueAt(at: number): number {
    return (this.#values[at] ?? 0) * this.#scale;
  }

  /** Takes in the value before `end`. */
  #grow(end: number): void {
    const size = Math.abs(this.#values[end - 1] ?? 0);
    if (size > this.#limit) this.#rescale(size);
    const count = end - this.#start;
    const value = this.#valueAt(end - 1) - this.#valueAt(this.#start);
    const from = value - this.#mean;
    this.#mean += from / count;
    this.#squares += from * (value - this.#mean);
  }

  #nextChunk(start: number): void {
    this.#start = start;
    this.#mean = 0;
    this.#squares = 0;
    this.#scale = 1;
    this.#limit = 0;
    let size = 0;
    for (let i = start - this.#window; i < start; i++)
      size = Math.max(size, Math.abs(this.#values[i] ?? 0));
    if (size > 0) this.#rescale(size);
    const last = this.#valueAt(start - 1);
    let mean = 0;
    let squares = 0;
    for (let count = 1; count <= this.#window; count++) {
      const value = this.#valueAt(start - count) - last;
      const from = value - mean;
      mean += from / count;
      squares += from * (value - mean);
      this.#endMeans[this.#window - count] = mean;
      this.#endSquares[this.#window - count] = squares;
    }
  }

  /**
   * Brings a size near 1, with what has been added up, so that squares are float64. Only sizes that have been met count: what is said
   * of a value must not depend on those after it.
   */
  #rescale(size: number): void {
    const scale = 2 ** Math.max(-1022, Math.min(1022, -Math.round(Math.log2(size))));
    const ratio = scale / this.#scale;
    this.#scale = scale;
    this.#limit = SCALED_LIMIT / scale;
    this.#mean *= ratio;
    this.#squares = this.#squares * ratio * ratio;
    for (let i = 0; i < this.#window; i++) {
      this.#endMeans[i] = (this.#endMeans[i] ?? 0) * ratio;
      this.#endSquares[i] = (this.#endSquares[i] ?? 0) * ratio * ratio;
    }
  }
}
