/** The numbers of one layer over steps. */
import type { LayerPoints } from '../../charts/layer-grid.ts';
import type { QuantityId } from './layer-quantities.ts';

/** One number as it was recorded. */
export type TrackEntry = {
  readonly step: number;
  readonly epoch: number;
  readonly slot: string;
  readonly value: number;
  readonly isBad: boolean;
};

/** One quantity of one layer, with a slot for each call or parameter. */
export class LayerTrack {
  readonly #isParameters: boolean;
  readonly #steps: number[] = [];
  readonly #epochs: number[] = [];
  readonly #slots: string[] = [];
  readonly #tops: number[] = [];
  readonly #bottoms: number[] = [];
  readonly #bad: boolean[] = [];
  #points: LayerPoints | undefined;

  constructor(quantity: QuantityId) {
    this.#isParameters = quantity === 'weight_gradient_norm' || quantity === 'update_ratio';
  }

  get length(): number {
    return this.#steps.length;
  }

  /** The value is `top / bottom`: kept apart, because those of several parameters are joined before they are divided. */
  push(
    { epoch, isBad, slot, step }: Omit<TrackEntry, 'value'>,
    top: number,
    bottom: number = 1,
  ): void {
    this.#steps.push(step);
    this.#epochs.push(epoch);
    this.#slots.push(slot);
    this.#tops.push(top);
    this.#bottoms.push(bottom);
    this.#bad.push(isBad || Math.abs(top) === Number.POSITIVE_INFINITY);
    this.#points = undefined;
  }

  /** The number at a place, of its own slot. */
  entry(at: number): TrackEntry {
    return {
      step: this.#steps[at] ?? Number.NaN,
      epoch: this.#epochs[at] ?? Number.NaN,
      slot: this.#slots[at] ?? '',
      value: this.#ratio(at),
      isBad: this.#bad[at] ?? false,
    };
  }

  /**
   * One point a step. Of a slot written twice at a step, as after a resume, the last counts. Several calls give the value
   * furthest from zero, several parameters that of all their elements together.
   */
  points(): LayerPoints {
    this.#points ??= this.#join();
    return this.#points;
  }

  #ratio(at: number): number {
    const bottom = this.#bottoms[at] ?? Number.NaN;
    return bottom === 0 ? Number.NaN : (this.#tops[at] ?? Number.NaN) / bottom;
  }

  #join(): LayerPoints {
    const order = this.#order();
    const steps = new Float64Array(order.length);
    const values = new Float64Array(order.length);
    const isBad = new Uint8Array(order.length);
    let count = 0;
    let start = 0;
    while (start < order.length) {
      const step = this.#steps[order[start] ?? 0] ?? Number.NaN;
      const entries: number[] = [];
      let end = start;
      for (; end < order.length && this.#steps[order[end] ?? 0] === step; end += 1) {
        const at = order[end] ?? 0;
        const known = entries.findIndex((entry) => this.#slots[entry] === this.#slots[at]);
        entries[known < 0 ? entries.length : known] = at;
      }
      steps[count] = step;
      values[count] = this.#isParameters ? this.#together(entries) : this.#furthest(entries);
      isBad[count] = entries.some((at) => this.#bad[at]) ? 1 : 0;
      count += 1;
      start = end;
    }
    return {
      steps: steps.subarray(0, count),
      values: values.subarray(0, count),
      isBad: isBad.subarray(0, count),
    };
  }

  /** Places in order of steps; those of one step in the order they were written. */
  #order(): Int32Array | readonly number[] {
    const places = Int32Array.from(this.#steps.keys());
    const isAscending = this.#steps.every(
      (step, at) => at === 0 || step >= (this.#steps[at - 1] ?? 0),
    );
    if (isAscending) return places;
    return [...places].toSorted((a, b) => (this.#steps[a] ?? 0) - (this.#steps[b] ?? 0));
  }

  #furthest(entries: readonly number[]): number {
    let found = Number.NaN;
    for (const at of entries) {
      const value = this.#ratio(at);
      if (Number.isNaN(found) || Math.abs(value) > Math.abs(found)) found = value;
    }
    return found;
  }

  /** Norms of parts make the norm of the whole: the root of the sum of their squares. */
  #together(entries: readonly number[]): number {
    const tops = Math.hypot(...entries.map((at) => this.#tops[at] ?? Number.NaN));
    const isRatio = entries.some((at) => this.#bottoms[at] !== 1);
    if (!isRatio) return tops;
    const bottom = Math.hypot(...entries.map((at) => this.#bottoms[at] ?? Number.NaN));
    return bottom === 0 ? Number.NaN : tops / bottom;
  }
}
