/** Level, slope and loss of segments that have been found. */
import type { ChangeEngine } from './change-search.ts';

/** One level and slope for each segment, and the loss of all. */
export type Fit = {
  readonly levels: Float64Array;
  readonly slopes: Float64Array;
  readonly loss: number;
};

const ROUNDS = 50;

/** Segments of the mean. */
export function fitMeans(engine: ChangeEngine, starts: Uint32Array): Fit {
  const items = engine.items(starts);
  const levels = Float64Array.from(starts, (_, i) => items[3 * i + 1] ?? 0);
  return { levels, slopes: new Float64Array(starts.length), loss: sumRests(items) };
}

/** Segments of lines. A level is the height of the line at the first point. */
export function fitLines(engine: ChangeEngine, starts: Uint32Array): Fit {
  const items = engine.lineItems(starts);
  const slopes = Float64Array.from(starts, (_, i) => items[3 * i + 1] ?? 0);
  const levels = Float64Array.from(starts, (start, i) => {
    const size = (starts[i + 1] ?? engine.count) - start;
    return (items[3 * i] ?? 0) - ((slopes[i] ?? 0) * (size - 1)) / 2;
  });
  return { levels, slopes, loss: sumRests(items) };
}

/**
 * Segments of the mean where a deviation of more than `reach` costs no more than one of it: from the levels given, the mean of the
 * points within reach is taken until it stays, which never raises the loss.
 */
export function fitBounded(
  engine: ChangeEngine,
  starts: Uint32Array,
  given: Float64Array,
  reach: number,
): Fit {
  const points = engine.points();
  let loss = 0;
  const levels = Float64Array.from(starts, (start, k) => {
    const end = starts[k + 1] ?? points.length;
    let level = given[k] ?? 0;
    for (let round = 0; round < ROUNDS; round++) {
      let near = 0;
      let sum = 0;
      for (let i = start; i < end; i++) {
        const off = (points[i] ?? 0) - level;
        if (off <= reach && off >= -reach) {
          near++;
          sum += off;
        }
      }
      const next = near === 0 ? level : level + sum / near;
      if (Math.abs(next - level) <= 1e-12 * reach) break;
      level = next;
    }
    for (let i = start; i < end; i++) {
      const off = Math.min(reach, Math.abs((points[i] ?? 0) - level));
      loss += off * off;
    }
    return level;
  });
  return { levels, slopes: new Float64Array(starts.length), loss };
}

/** Sum of the third number of every three. */
function sumRests(items: Float64Array): number {
  let sum = 0;
  for (let i = 2; i < items.length; i += 3) sum += items[i] ?? 0;
  return sum;
}
