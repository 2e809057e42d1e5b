/** The mean distance from a centre that rarely changes, over a moving window. */
import { ExactSum } from '../module/exact-sum.ts';
import { scratchFloat, scratchWords } from '../sketch/sketch-bins.ts';

type Kept = { readonly center: number; sum: ExactSum; start: number; end: number };

/**
 * Sums of the distances from two centres are kept, exactly, so that values leave them without a trace. This is asked for only while
 * most values of the window equal the centre: for another centre to take over, and for a third, most of the window has to be exchanged,
 * while two may take turns.
 */
export class MovingDistance {
  readonly #values: Float64Array;
  #kept: Kept[] = [];

  /** @param values finite */
  constructor(values: Float64Array) {
    this.#values = values;
  }

  /** The mean of |x - center| from `start` to before `end`, neither of which ever falls. Distances count as at most the largest float64. */
  mean(center: number, start: number, end: number): number {
    const found = this.#kept.find((kept) => kept.center === center);
    const kept = found ?? { center, sum: new ExactSum(), start, end: start };
    if (this.#kept[0] !== kept) {
      const other = this.#kept.find((one) => one !== kept);
      this.#kept = other === undefined ? [kept] : [kept, other];
    }
    if (kept.end < start) {
      kept.sum = new ExactSum();
      kept.start = start;
      kept.end = start;
    }
    for (; kept.end < end; kept.end++) this.#add(kept, kept.end, 1);
    for (; kept.start < start; kept.start++) this.#add(kept, kept.start, -1);
    return kept.sum.dividedBy(end - start);
  }

  #add(kept: Kept, at: number, sign: 1 | -1): void {
    const distance = Math.abs((this.#values[at] ?? 0) - kept.center);
    scratchFloat[0] = sign * Math.min(Number.MAX_VALUE, distance);
    kept.sum.add(scratchWords[1] ?? 0, scratchWords[0] ?? 0);
  }
}
