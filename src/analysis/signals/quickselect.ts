/** Order statistics of small windows, without a kernel: in place, in expected linear time. */

/** The value of this rank (0 the smallest) among `values[from..to)`, which are put in another order. No NaN among them. */
export function selectRank(
  values: Float64Array,
  rank: number,
  from = 0,
  to = values.length,
): number {
  let low = from;
  let high = to - 1;
  const wanted = from + rank;
  while (low < high) {
    const pivot = middleOfThree(values, low, high);
    let i = low;
    let j = high;
    while (i <= j) {
      while ((values[i] ?? 0) < pivot) i++;
      while ((values[j] ?? 0) > pivot) j--;
      if (i > j) break;
      const kept = values[i] ?? 0;
      values[i++] = values[j] ?? 0;
      values[j--] = kept;
    }
    if (wanted <= j) high = j;
    else if (wanted >= i) low = i;
    else break;
  }
  return values[wanted] ?? Number.NaN;
}

/** The median of finite values, which are put in another order; of an even number the mean of the two in the middle. */
export function medianInPlace(values: Float64Array, from = 0, to = values.length): number {
  const count = to - from;
  if (count <= 0) return Number.NaN;
  const upper = selectRank(values, count >>> 1, from, to);
  if (count % 2 === 1) return upper;
  let lower = Number.NEGATIVE_INFINITY;
  const end = from + (count >>> 1);
  for (let i = from; i < end; i++) lower = Math.max(lower, values[i] ?? lower);
  return lower / 2 + upper / 2;
}

/** The quantile of finite values, linear between ranks; NaN of none. The values stay as they are. */
export function quantileOf(values: ArrayLike<number>, probability: number): number {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return Number.NaN;
  const at = probability * (sorted.length - 1);
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  const high = sorted[Math.ceil(at)] ?? Number.NaN;
  return low + (at - Math.floor(at)) * (high - low);
}

function middleOfThree(values: Float64Array, low: number, high: number): number {
  const a = values[low] ?? 0;
  const b = values[(low + high) >>> 1] ?? 0;
  const c = values[high] ?? 0;
  return a < b ? (b < c ? b : Math.max(a, c)) : a < c ? a : Math.max(b, c);
}
