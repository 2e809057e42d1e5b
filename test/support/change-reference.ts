/** Change points by trying every segmentation: optimal partitioning without any pruning, for the tests of those that prune. */

/** Least sum of segment costs and penalties, and the changes of one segmentation that reaches it. */
export type Optimum = { readonly cost: number; readonly changes: readonly number[] };

/** Cost of the segment from `start` to `end`. */
export type SegmentCost = (start: number, end: number) => number;

/** The best segmentation with segments of at least `least` that begin at one of `places` (0 among them). */
export function optimalPartition(
  count: number,
  penalty: number,
  segmentCost: SegmentCost,
  least = 1,
  places: readonly number[] = Array.from({ length: count }, (_, i) => i),
): Optimum {
  const ends = [...places.slice(1), count];
  const costs = new Float64Array(count + 1).fill(Infinity);
  const before = new Uint32Array(count + 1);
  costs[0] = -penalty;
  for (const end of ends) {
    let lowest = Infinity;
    for (const start of places) {
      if (start > end - Math.min(least, count)) break;
      const cost = (costs[start] ?? 0) + penalty + segmentCost(start, end);
      if (cost < lowest) {
        lowest = cost;
        before[end] = start;
      }
    }
    costs[end] = lowest;
  }
  const changes: number[] = [];
  for (let at = before[count] ?? 0; at > 0; at = before[at] ?? 0) changes.unshift(at);
  return { cost: count === 0 ? 0 : (costs[count] ?? 0), changes };
}

/** Squared deviations from the mean, in two passes. */
export function meanCost(values: Float64Array): SegmentCost {
  return (a, b) => {
    let mean = values[a] ?? 0;
    for (let round = 0; round < 2; round++) {
      let off = 0;
      for (let i = a; i < b; i++) off += (values[i] ?? 0) - mean;
      mean += off / (b - a);
    }
    let sum = 0;
    for (let i = a; i < b; i++) sum += ((values[i] ?? 0) - mean) ** 2;
    return sum;
  };
}

/** Squared residuals of the least-squares line, in three passes. */
export function lineCost(values: Float64Array): SegmentCost {
  return (a, b) => {
    const middle = (a + b - 1) / 2;
    let mean = 0;
    for (let i = a; i < b; i++) mean += (values[i] ?? 0) / (b - a);
    let product = 0;
    let spread = 0;
    for (let i = a; i < b; i++) {
      product += (i - middle) * ((values[i] ?? 0) - mean);
      spread += (i - middle) ** 2;
    }
    const slope = spread === 0 ? 0 : product / spread;
    let sum = 0;
    for (let i = a; i < b; i++) sum += ((values[i] ?? 0) - mean - slope * (i - middle)) ** 2;
    return sum;
  };
}

/**
 * The cost that {@link optimalPartition} finds for squared deviations from the mean, or squared residuals of the line, over every pair
 * of places as there, in constant time each: from running sums to twice the digits of a float64 (two-sum), so that their differences
 * do not cancel. Squares are rounded, so values must be within some thousands of the deviations.
 */
export function quickOptimum(
  values: Float64Array,
  penalty: number,
  isLine: boolean,
  least = 1,
): number {
  const count = values.length;
  const centre = values.reduce((sum, value) => sum + value / count, 0);
  const sums = runningSums(count, (i) => (values[i] ?? 0) - centre);
  const squares = runningSums(count, (i) => ((values[i] ?? 0) - centre) ** 2);
  const products = runningSums(count, (i) => (i - count / 2) * ((values[i] ?? 0) - centre));
  const costs = new Float64Array(count + 1).fill(Infinity);
  costs[0] = -penalty;
  for (let end = least; end <= count; end++) {
    let lowest = Infinity;
    for (let start = 0; start <= end - least; start++) {
      const n = end - start;
      const sum = between(sums, start, end);
      let cost = between(squares, start, end) - (sum * sum) / n;
      if (isLine && n > 1) {
        const product = between(products, start, end) - ((start + end - 1 - count) / 2) * sum;
        cost -= (product * product * 12) / (n * (n * n - 1));
      }
      cost += (costs[start] ?? 0) + penalty;
      if (cost < lowest) lowest = cost;
    }
    costs[end] = lowest;
  }
  return costs[count] ?? 0;
}

/** The same cost of one segment. */
export function quickCost(values: Float64Array, isLine: boolean): SegmentCost {
  const count = values.length;
  const centre = values.reduce((sum, value) => sum + value / count, 0);
  const sums = runningSums(count, (i) => (values[i] ?? 0) - centre);
  const squares = runningSums(count, (i) => ((values[i] ?? 0) - centre) ** 2);
  const products = runningSums(count, (i) => (i - count / 2) * ((values[i] ?? 0) - centre));
  return (a, b) => {
    const n = b - a;
    const sum = between(sums, a, b);
    const rest = between(squares, a, b) - (sum * sum) / n;
    if (!isLine || n === 1) return rest;
    const product = between(products, a, b) - ((a + b - 1 - count) / 2) * sum;
    return rest - (product * product * 12) / (n * (n * n - 1));
  };
}

type RunningSums = { readonly high: Float64Array; readonly low: Float64Array };

function between({ high, low }: RunningSums, start: number, end: number): number {
  return (high[end] ?? 0) - (high[start] ?? 0) + ((low[end] ?? 0) - (low[start] ?? 0));
}

function runningSums(count: number, read: (i: number) => number): RunningSums {
  const high = new Float64Array(count + 1);
  const low = new Float64Array(count + 1);
  for (let i = 0; i < count; i++) {
    const term = read(i);
    const held = high[i] ?? 0;
    const sum = held + term;
    const part = sum - held;
    high[i + 1] = sum;
    low[i + 1] = (low[i] ?? 0) + (held - (sum - part)) + (term - part);
  }
  return { high, low };
}

/** Squared deviations of at most `reach`, from the best of all levels: the mean of some neighbours in the sorted order. */
export function boundedCost(values: Float64Array, reach: number): SegmentCost {
  return (a, b) => {
    const sorted = values.slice(a, b).sort();
    let lowest = (b - a) * reach * reach;
    for (let i = 0; i < sorted.length; i++) {
      for (let j = i + 1; j <= sorted.length; j++) {
        const level = sorted.subarray(i, j).reduce((sum, value) => sum + value / (j - i), 0);
        lowest = Math.min(lowest, boundedLoss(sorted, level, reach));
      }
    }
    return lowest;
  };
}

/** Squared deviations from `level`, each at most `reach` squared. */
export function boundedLoss(values: Float64Array, level: number, reach: number): number {
  return values.reduce((sum, value) => sum + Math.min(reach, Math.abs(value - level)) ** 2, 0);
}

/** Normal deviates of one seed: the same on every machine. */
export function normals(seed: number): () => number {
  let state = seed >>> 0;
  const uniform = (): number => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}
