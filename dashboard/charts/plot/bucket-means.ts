/** Means of parts of a series that grows, without looking at all of its values each time. */
import type { SeriesPyramid } from 'quark-sdk/kernels';
import { getOrMake } from '../../parts/maps.ts';

/** Values of a block whose sum is stored. */
const BLOCK = 64;

const known = new WeakMap<SeriesPyramid, BlockSums>();

/** Sums of the finite values of full blocks. A block that is full never changes. */
class BlockSums {
  readonly #sums: number[] = [];
  readonly #counts: number[] = [];

  /** The mean of the finite values from `from` up to `to`; NaN where there is none. */
  mean(values: Float64Array, from: number, to: number): number {
    let sum = 0;
    let count = 0;
    const add = (value: number): void => {
      if (!Number.isFinite(value)) return;
      sum += value;
      count += 1;
    };
    let at = from;
    while (at < to) {
      if (at % BLOCK === 0 && at + BLOCK <= to) {
        const block = at / BLOCK;
        this.#extend(values, block);
        sum += this.#sums[block] ?? 0;
        count += this.#counts[block] ?? 0;
        at += BLOCK;
      } else {
        add(values[at] ?? Number.NaN);
        at += 1;
      }
    }
    return sum / count;
  }

  #extend(values: Float64Array, block: number): void {
    for (let next = this.#sums.length; next <= block; next += 1) {
      let sum = 0;
      let count = 0;
      for (let at = next * BLOCK; at < (next + 1) * BLOCK; at += 1) {
        const value = values[at] ?? Number.NaN;
        if (!Number.isFinite(value)) continue;
        sum += value;
        count += 1;
      }
      this.#sums.push(sum);
      this.#counts.push(count);
    }
  }
}

/** The means of spans of a series, each from one of these indices up to the next, at the middles of the spans. Empty spans give none. */
export function bucketMeans(
  series: SeriesPyramid,
  starts: ArrayLike<number>,
): { readonly xs: number[]; readonly ys: (number | null)[] } {
  const sums = getOrMake(known, series, () => new BlockSums());
  const { positions, values } = series;
  const xs: number[] = [];
  const ys: (number | null)[] = [];
  for (let bucket = 0; bucket + 1 < starts.length; bucket += 1) {
    const from = starts[bucket] ?? 0;
    const to = starts[bucket + 1] ?? 0;
    if (from >= to) continue;
    const mean = sums.mean(values, from, to);
    const first = positions?.[from] ?? from;
    xs.push(first + ((positions?.[to - 1] ?? to - 1) - first) / 2);
    ys.push(Number.isFinite(mean) ? mean : null);
  }
  return { xs, ys };
}
