/** The order of a series along its positions. */

/** Whether no value is less than the one before it. */
export function isSorted(values: Float64Array): boolean {
  for (let i = 1; i < values.length; i++) if ((values[i] ?? 0) < (values[i - 1] ?? 0)) return false;
  return true;
}

/** Indices of the points whose value and position are finite. */
export function finitePoints(values: Float64Array, positions: Float64Array | null): Uint32Array {
  const kept = new Uint32Array(values.length);
  let count = 0;
  for (let i = 0; i < values.length; i++)
    if (Number.isFinite(values[i]) && (positions === null || Number.isFinite(positions[i])))
      kept[count++] = i;
  return kept.subarray(0, count);
}

/** The values at some indices, NaN at -1; the indices themselves where there are no values. */
export function gatherByIndex(
  values: Float64Array | null,
  index: Uint32Array | Int32Array,
): Float64Array<ArrayBuffer> {
  // A plain loop: Float64Array.from with a function takes ten times as long.
  const found = new Float64Array(index.length);
  for (let k = 0; k < index.length; k++) {
    const i = index[k] ?? 0;
    found[k] = values === null ? i : (values[i] ?? Number.NaN);
  }
  return found;
}

/** Finite points by position, of several at one position the last in order of index. */
export function lastAtEach(
  values: Float64Array,
  positions: Float64Array | null,
): { readonly index: Uint32Array; readonly at: Float64Array } {
  const index = finitePoints(values, positions);
  let at = gatherByIndex(positions, index);
  if (!isSorted(at)) {
    index.sort((i, j) => (positions?.[i] ?? i) - (positions?.[j] ?? j) || i - j);
    at = gatherByIndex(positions, index);
  }
  let count = 0;
  for (let k = 0; k < at.length; k++) {
    if (k + 1 < at.length && at[k] === at[k + 1]) continue;
    index[count] = index[k] ?? 0;
    at[count] = at[k] ?? 0;
    count += 1;
  }
  return { index: index.subarray(0, count), at: at.subarray(0, count) };
}
