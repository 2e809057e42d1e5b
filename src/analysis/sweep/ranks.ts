/** Ranks, and how far a setting goes with them. */

/** Ranks from 1, of equal values their mean. */
export function ranksOf(values: readonly number[]): Float64Array {
  const order = [...values.keys()].toSorted((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  const ranks = new Float64Array(values.length);
  for (let from = 0; from < order.length;) {
    let to = from + 1;
    while (to < order.length && values[order[to] ?? 0] === values[order[from] ?? 0]) to += 1;
    for (let i = from; i < to; i += 1) ranks[order[i] ?? 0] = (from + 1 + to) / 2;
    from = to;
  }
  return ranks;
}

/** Pearson's correlation; 0 where either does not vary. Of ranks it is Spearman's (1904). */
export function correlation(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const count = a.length;
  let [sumA, sumB] = [0, 0];
  for (let i = 0; i < count; i += 1) {
    sumA += a[i] ?? 0;
    sumB += b[i] ?? 0;
  }
  let [product, squareA, squareB] = [0, 0, 0];
  for (let i = 0; i < count; i += 1) {
    const x = (a[i] ?? 0) - sumA / count;
    const y = (b[i] ?? 0) - sumB / count;
    product += x * y;
    squareA += x * x;
    squareB += y * y;
  }
  return squareA > 0 && squareB > 0 ? product / Math.sqrt(squareA * squareB) : 0;
}

/** The share of the variance of `values` that lies between levels (eta squared; of ranks it is that of Kruskal and Wallis, 1952). */
export function shareBetween(levels: ArrayLike<number>, values: ArrayLike<number>): number {
  const sums = new Map<number, { count: number; sum: number }>();
  let total = 0;
  for (let i = 0; i < values.length; i += 1) {
    const level = levels[i] ?? 0;
    const entry = sums.get(level) ?? { count: 0, sum: 0 };
    entry.count += 1;
    entry.sum += values[i] ?? 0;
    total += values[i] ?? 0;
    sums.set(level, entry);
  }
  const mean = total / values.length;
  let all = 0;
  for (let i = 0; i < values.length; i += 1) all += ((values[i] ?? 0) - mean) ** 2;
  let between = 0;
  for (const { count, sum } of sums.values()) between += count * (sum / count - mean) ** 2;
  return all > 0 ? between / all : 0;
}
