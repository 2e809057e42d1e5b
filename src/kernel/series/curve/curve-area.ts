/** Area under a curve. One pass that waits for memory, so there is no other form of it than this. */
import type { AreaSettings } from './curve-checks.ts';
import type { CurveArea } from './curve.ts';
import { lastAtEach } from './curve-order.ts';

export function areaUnderCurve(values: Float64Array, settings: AreaSettings): CurveArea {
  const { positions, from, to } = settings;
  const { index, at } = lastAtEach(values, positions);
  const total = new CompensatedSum();
  let start = Number.NaN;
  let end = Number.NaN;
  let lone = Number.NaN;
  let count = 0;
  for (let k = 0; k < index.length; k++) {
    const x = at[k] ?? 0;
    const y = values[index[k] ?? 0] ?? 0;
    if (x >= from && x <= to) {
      count += 1;
      lone = y;
    }
    if (k === 0) continue;
    const x0 = at[k - 1] ?? 0;
    const y0 = values[index[k - 1] ?? 0] ?? 0;
    const left = Math.max(x0, from);
    const right = Math.min(x, to);
    if (left > right) continue;
    const low = left === x0 ? y0 : between(x0, y0, x, y, left);
    const high = right === x ? y : between(x0, y0, x, y, right);
    if (Number.isNaN(start)) start = left;
    end = right;
    if (left === right) lone = low;
    total.add((0.5 * low + 0.5 * high) * (right - left));
  }
  const span = Number.isNaN(start) ? 0 : end - start;
  const area = total.value;
  return { area, span, mean: span === 0 ? lone : area / span, count };
}

function between(x0: number, y0: number, x1: number, y1: number, x: number): number {
  const share = (x - x0) / (x1 - x0);
  return y0 * (1 - share) + y1 * share;
}

/** A sum with the rounding of each addition kept beside it (Neumaier, 1974). */
class CompensatedSum {
  #sum = 0;
  #rest = 0;

  add(x: number): void {
    const sum = this.#sum + x;
    this.#rest += Math.abs(this.#sum) >= Math.abs(x) ? this.#sum - sum + x : x - sum + this.#sum;
    this.#sum = sum;
  }

  get value(): number {
    const value = this.#sum + this.#rest;
    return Number.isNaN(value) ? this.#sum : value;
  }
}
