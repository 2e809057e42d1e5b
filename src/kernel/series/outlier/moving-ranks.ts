/** Median, median absolute deviation and quartiles of a moving window. */
import { between, distanceUnit } from '../order/order.ts';
import { MovingDistance } from './moving-distance.ts';
import { type Spread, quartileSpread, robustSpread } from './outlier.ts';

/**
 * Every window lies within two chunks as long as itself, whose values are sorted once. A Fenwick tree over their ranks (Fenwick, 1994)
 * then counts those in the window: adding, removing and finding the value of a rank take log2(2 window) steps.
 */
export class MovingRanks {
  readonly #values: Float64Array;
  readonly #window: number;
  readonly #method: 'robust_z_score' | 'iqr_fence';
  readonly #distance: MovingDistance;
  /** The values of the last chunk, and those of both, in order. */
  #chunk = new Float64Array(0);
  #sorted = new Float64Array(0);
  #tree = new Int32Array(1);
  /** The largest power of two that is no larger than the tree. */
  #top = 0;
  #start = 0;
  #count = 0;
  /** How many of the nearest values lay below the median last time: the search begins there. */
  #nearBelow = 0;

  /** @param values finite */
  constructor(values: Float64Array, window: number, method: 'robust_z_score' | 'iqr_fence') {
    this.#values = values;
    this.#window = window;
    this.#method = method;
    this.#distance = new MovingDistance(values);
    this.#sortChunk(0);
  }

  before(end: number): Spread {
    if (end > 0) this.#move(end);
    if (this.#count === 0) return { center: 0, low: 0, high: 0, spread: 0 };
    const center = this.#quantile(0.5);
    if (this.#method === 'iqr_fence')
      return quartileSpread(this.#quantile(0.25), center, this.#quantile(0.75));
    const mad = this.#medianDistance(center);
    return robustSpread(center, mad, () =>
      this.#valueOf(0) === this.#valueOf(this.#count - 1)
        ? 0
        : this.#distance.mean(center, end - this.#count, end),
    );
  }

  /** Lets the value before `end` in, and the one that has become too old out. */
  #move(end: number): void {
    if (end === this.#start + this.#window) {
      this.#sortChunk(end);
      return;
    }
    this.#change(this.#values[end - 1] ?? 0, 1);
    this.#count += 1;
    if (this.#count <= this.#window) return;
    this.#change(this.#values[end - 1 - this.#window] ?? 0, -1);
    this.#count -= 1;
  }

  /** Sorts the chunk that begins at `start` in with the one before, of which the window then consists. */
  #sortChunk(start: number): void {
    const next = this.#values.slice(start, start + this.#window).sort();
    this.#sorted = mergeSorted(this.#chunk, next);
    this.#chunk = next;
    this.#start = start;
    this.#count = 0;
    this.#tree = new Int32Array(this.#sorted.length + 1);
    this.#top = this.#sorted.length === 0 ? 0 : 2 ** (31 - Math.clz32(this.#sorted.length));
    for (let at = Math.max(0, start - this.#window); at < start; at++) {
      this.#change(this.#values[at] ?? 0, 1);
      this.#count += 1;
    }
  }

  /** Counts a value in or out, at the first place in order that holds it. */
  #change(value: number, by: number): void {
    const sorted = this.#sorted;
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sorted[middle] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    const tree = this.#tree;
    for (let at = low + 1; at < tree.length; at += at & -at) tree[at] = (tree[at] ?? 0) + by;
  }

  /** The value of a rank in the window. */
  #valueOf(rank: number): number {
    const tree = this.#tree;
    let at = 0;
    let rest = rank;
    for (let step = this.#top; step > 0; step >>>= 1) {
      const next = at + step;
      const count = next < tree.length ? (tree[next] ?? 0) : Infinity;
      if (count <= rest) {
        at = next;
        rest -= count;
      }
    }
    return (this.#sorted[at] ?? 0) + 0;
  }

  #quantile(probability: number): number {
    const at = probability * (this.#count - 1);
    const floor = Math.floor(at);
    const low = this.#valueOf(floor);
    return at === floor ? low : between(low, this.#valueOf(floor + 1), at - floor);
  }

  /**
   * The median of the distances from the median. Distances below and above it ascend, each side for itself; of the nearest
   * `wanted` values, some number `below` lies below, and is found by doubling steps from where it was, then by halving.
   */
  #medianDistance(center: number): number {
    const count = this.#count;
    const unit = distanceUnit(this.#valueOf(0), this.#valueOf(count - 1));
    const split = (count + 1) >> 1;
    const above = count - split;
    const rank = (count - 1) >> 1;
    const wanted = rank + 1;
    const distanceBelow = (i: number): number =>
      i < 0
        ? -Infinity
        : i < split
          ? center * unit - this.#valueOf(split - 1 - i) * unit
          : Infinity;
    const distanceAbove = (i: number): number =>
      i < 0 ? -Infinity : i < above ? this.#valueOf(split + i) * unit - center * unit : Infinity;
    const isTooFew = (below: number): boolean =>
      distanceBelow(below) < distanceAbove(wanted - below - 1);
    let low = Math.max(0, wanted - above);
    let high = Math.min(wanted, split);
    let step = 1;
    let probe = Math.min(Math.max(this.#nearBelow, low), Math.max(low, high - 1));
    while (low < high) {
      if (isTooFew(probe)) {
        low = probe + 1;
        probe = step > 0 ? low + step : (low + high) >> 1;
      } else {
        high = probe;
        probe = step > 0 ? high - 1 - step : (low + high) >> 1;
      }
      step *= 2;
      if (probe < low || probe >= high) {
        probe = (low + high) >> 1;
        step = 0;
      }
    }
    this.#nearBelow = low;
    const nearest = Math.max(distanceBelow(low - 1), distanceAbove(wanted - low - 1));
    if (count % 2 === 1) return nearest / unit;
    const next = Math.min(distanceBelow(low), distanceAbove(wanted - low));
    return between(nearest, next, 0.5) / unit;
  }
}

function mergeSorted(first: Float64Array, second: Float64Array): Float64Array<ArrayBuffer> {
  const merged = new Float64Array(first.length + second.length);
  let i = 0;
  let j = 0;
  for (let at = 0; at < merged.length; at++) {
    const a = i < first.length ? (first[i] ?? 0) : Infinity;
    const b = j < second.length ? (second[j] ?? 0) : Infinity;
    if (a <= b) i += 1;
    else j += 1;
    merged[at] = Math.min(a, b);
  }
  return merged;
}
