/**
 * Count, mean, deviation and extremes of a stream of numbers, by Welford's recurrence: the mean of _n_ numbers is within a few
 * units of n·2^-53 times their size, whatever their offset. NaN and infinities make mean and deviation NaN; the extremes are those of the numbers that are not NaN.
 */
export class RunningMoments {
  /** How many numbers were added. */
  count = 0;
  /** The least; Infinity when there is none. */
  min = Infinity;
  /** The largest; -Infinity when there is none. */
  max = -Infinity;
  #mean = 0;
  /** Sum of the squares of the distances from the mean. */
  #squares = 0;

  add(value: number): void {
    const delta = value - this.#mean;
    this.#mean += delta / ++this.count;
    this.#squares += delta * (value - this.#mean);
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
  }

  /** NaN when nothing was added. */
  get mean(): number {
    return this.count === 0 ? Number.NaN : this.#mean;
  }

  /** The population deviation; NaN when nothing was added. */
  get std(): number {
    return this.count === 0 ? Number.NaN : Math.sqrt(Math.max(0, this.#squares) / this.count);
  }

  /** Adds what another stream had, as Chan, Golub and LeVeque do. */
  merge({ count, max, mean, min, std }: Readonly<MomentValues>): void {
    if (count === 0) return;
    const total = this.count + count;
    const delta = mean - this.#mean;
    this.#squares += std * std * count + (delta * delta * this.count * count) / total;
    this.#mean += (delta * count) / total;
    this.count = total;
    this.min = Math.min(this.min, min);
    this.max = Math.max(this.max, max);
  }
}

/** What {@link RunningMoments} say. */
export type MomentValues = {
  readonly count: number;
  readonly mean: number;
  readonly std: number;
  readonly min: number;
  readonly max: number;
};
