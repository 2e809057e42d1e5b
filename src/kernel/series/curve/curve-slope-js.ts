/** Counts of the slopes between pairs of points, in plain JavaScript: by the inversions that a merge sort undoes. */
import { compareResiduals, residual, tame } from './curve-exact.ts';

/** The slopes of all pairs of some points, countable but never listed. Points are in order of x, and of y where x is equal. */
export interface Slopes {
  /** Number of points. */
  readonly pointCount: number;
  /** How many slopes are below this one, and how many are equal to it. It is above the lower end. */
  count(slope: number): { readonly below: number; readonly equal: number };
  /** Makes the slope counted last the lower end of {@link Slopes.between}; -Infinity before. */
  keepLow(): void;
  /** Makes -Infinity the lower end again. */
  resetLow(): void;
  /** Of the slopes between the lower end and `high`, both exclusive, those at these ascending ranks of a fixed order of no meaning. */
  between(high: number, ranks: Float64Array): Float64Array;
}

/** Residuals closer than this, relative to themselves, are compared exactly. */
const CLOSE = 2 ** -50;

export class JsSlopes implements Slopes {
  readonly #x: Float64Array;
  readonly #y: Float64Array;
  readonly #low: Uint32Array;
  #slope = 0;
  #scaledY: Float64Array;
  #order: Uint32Array;
  #keys: Float64Array;
  #otherOrder: Uint32Array;
  #otherKeys: Float64Array;

  constructor(x: Float64Array, y: Float64Array) {
    this.#x = x;
    this.#y = y;
    this.#scaledY = y;
    this.#low = new Uint32Array(x.length);
    this.#order = new Uint32Array(x.length);
    this.#keys = new Float64Array(x.length);
    this.#otherOrder = new Uint32Array(x.length);
    this.#otherKeys = new Float64Array(x.length);
    this.resetLow();
  }

  get pointCount(): number {
    return this.#x.length;
  }

  count(slope: number): { readonly below: number; readonly equal: number } {
    this.#order.forEach((_, i, order) => (order[i] = i));
    const below = this.#sort(slope, new Float64Array(0), new Float64Array(0));
    let equal = 0;
    this.#eachTie((from, to) => {
      equal += pairs(to - from);
      for (let i = from; i < to;) {
        let next = i + 1;
        while (next < to && this.#xAt(next) === this.#xAt(i)) next += 1;
        equal -= pairs(next - i);
        i = next;
      }
    });
    return { below, equal };
  }

  keepLow(): void {
    this.#low.set(this.#order);
    // Pairs of the slope itself have to be in the order that a higher slope keeps.
    this.#eachTie((from, to) => this.#low.subarray(from, to).reverse());
  }

  resetLow(): void {
    this.#low.forEach((_, i, low) => (low[i] = i));
  }

  between(high: number, ranks: Float64Array): Float64Array {
    const found = new Float64Array(ranks.length);
    this.#order.set(this.#low);
    this.#sort(high, ranks, found);
    return found;
  }

  /** Sorts by residual; the number of pairs that were the other way round, and at `ranks` among them, their slopes. */
  #sort(slope: number, ranks: Float64Array, found: Float64Array): number {
    const { slope: tamed, factor } = tame(slope);
    this.#slope = tamed;
    this.#scaledY = factor === 1 ? this.#y : this.#y.map((y) => y * factor);
    for (let k = 0; k < this.#order.length; k++) {
      const i = this.#order[k] ?? 0;
      this.#keys[k] = residual(this.#x[i] ?? 0, this.#scaledY[i] ?? 0, tamed);
    }
    const { length } = this.#order;
    let inverted = 0;
    let next = 0;
    let rank = ranks[0] ?? Infinity;
    for (let width = 1; width < length; width *= 2) {
      const [order, keys, toOrder, toKeys] = [
        this.#order,
        this.#keys,
        this.#otherOrder,
        this.#otherKeys,
      ];
      for (let start = 0; start < length; start += 2 * width) {
        const middle = Math.min(start + width, length);
        const end = Math.min(middle + width, length);
        let left = start;
        let right = middle;
        for (let to = start; to < end; to++) {
          const isRight = right < end && (left >= middle || this.#isLess(keys, order, right, left));
          if (isRight) {
            inverted += middle - left;
            for (; rank < inverted; rank = ranks[++next] ?? Infinity) {
              const first = order[middle - (inverted - rank)] ?? 0;
              found[next] = this.#slopeOf(first, order[right] ?? 0);
            }
          }
          const from = isRight ? right++ : left++;
          toOrder[to] = order[from] ?? 0;
          toKeys[to] = keys[from] ?? 0;
        }
      }
      [this.#order, this.#otherOrder] = [toOrder, order];
      [this.#keys, this.#otherKeys] = [toKeys, keys];
    }
    return inverted;
  }

  #isLess(keys: Float64Array, order: Uint32Array, a: number, b: number): boolean {
    const ka = keys[a] ?? 0;
    const kb = keys[b] ?? 0;
    if (Math.abs(ka - kb) > CLOSE * Math.abs(kb)) return ka < kb;
    return this.#compare(order[a] ?? 0, order[b] ?? 0) < 0;
  }

  #compare(i: number, j: number): number {
    const y = this.#scaledY;
    return compareResiduals(this.#x[i] ?? 0, y[i] ?? 0, this.#x[j] ?? 0, y[j] ?? 0, this.#slope);
  }

  #slopeOf(i: number, j: number): number {
    return ((this.#y[j] ?? 0) - (this.#y[i] ?? 0)) / ((this.#x[j] ?? 0) - (this.#x[i] ?? 0));
  }

  #xAt(k: number): number {
    return this.#x[this.#order[k] ?? 0] ?? 0;
  }

  /** Calls `visit` for each span of the sorted points, of two or more, whose residuals are equal. */
  #eachTie(visit: (from: number, to: number) => void): void {
    const [order, keys] = [this.#order, this.#keys];
    for (let from = 0; from < order.length;) {
      let to = from + 1;
      while (to < order.length && !this.#isLess(keys, order, from, to)) to += 1;
      if (to - from > 1) visit(from, to);
      from = to;
    }
  }
}

function pairs(count: number): number {
  return (count * (count - 1)) / 2;
}
