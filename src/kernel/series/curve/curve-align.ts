/** Two series on one axis of steps. One pass that waits for memory, so there is no other form of it than this. */
import type { AlignSettings } from './curve-checks.ts';
import type { AlignedSeries } from './curve.ts';
import { gatherByIndex, lastAtEach } from './curve-order.ts';

type Points = { readonly index: Uint32Array; readonly at: Float64Array };
type Stepped = { readonly steps: Float64Array; readonly values: Float64Array };

export function alignOnStep(
  first: Stepped,
  second: Stepped,
  { join, fill, tolerance }: AlignSettings,
): AlignedSeries {
  const one = lastAtEach(first.values, first.steps);
  const two = lastAtEach(second.values, second.steps);
  const { steps, oneAt, twoAt } = merge(one, two, join);
  if (fill !== 'none') {
    fillIn(one.at, steps, oneAt, fill === 'nearest', tolerance);
    fillIn(two.at, steps, twoAt, fill === 'nearest', tolerance);
  }
  const firstIndex = indicesOf(one, oneAt);
  const secondIndex = indicesOf(two, twoAt);
  return {
    steps,
    first: gatherByIndex(first.values, firstIndex),
    second: gatherByIndex(second.values, secondIndex),
    firstIndex,
    secondIndex,
  };
}

/** Indices in the series of some of its points; -1 for -1. */
function indicesOf({ index }: Points, found: Int32Array): Int32Array<ArrayBuffer> {
  const indices = new Int32Array(found.length);
  for (let row = 0; row < found.length; row++) indices[row] = index[found[row] ?? -1] ?? -1;
  return indices;
}

/** The steps of the axis, and for each the point of either series that lies there, -1 where none does. */
function merge(
  { at: one }: Points,
  { at: two }: Points,
  join: AlignSettings['join'],
): {
  readonly steps: Float64Array<ArrayBuffer>;
  readonly oneAt: Int32Array<ArrayBuffer>;
  readonly twoAt: Int32Array<ArrayBuffer>;
} {
  const most = join === 'outer' ? one.length + two.length : one.length;
  const steps = new Float64Array(most);
  const oneAt = new Int32Array(most);
  const twoAt = new Int32Array(most);
  let count = 0;
  let j = 0;
  const put = (step: number, i: number, k: number): void => {
    steps[count] = step;
    oneAt[count] = i;
    twoAt[count] = k;
    count += 1;
  };
  for (let i = 0; i < one.length; i++) {
    const step = one[i] ?? 0;
    for (; j < two.length && (two[j] ?? 0) < step; j++)
      if (join === 'outer') put(two[j] ?? 0, -1, j);
    const isShared = two[j] === step;
    if (isShared || join !== 'inner') put(step, i, isShared ? j : -1);
    if (isShared) j += 1;
  }
  if (join === 'outer') for (; j < two.length; j++) put(two[j] ?? 0, -1, j);
  return {
    steps: steps.slice(0, count),
    oneAt: oneAt.slice(0, count),
    twoAt: twoAt.slice(0, count),
  };
}

/** Gives each step without a point the point before it, or the nearest, of those at `at`. */
function fillIn(
  at: Float64Array,
  steps: Float64Array,
  found: Int32Array,
  isNearest: boolean,
  tolerance: number,
): void {
  let next = 0;
  for (let row = 0; row < steps.length; row++) {
    const step = steps[row] ?? 0;
    while (next < at.length && (at[next] ?? 0) <= step) next += 1;
    if ((found[row] ?? -1) >= 0) continue;
    const back = next === 0 ? Infinity : step - (at[next - 1] ?? 0);
    const ahead = isNearest && next < at.length ? (at[next] ?? 0) - step : Infinity;
    if (Math.min(back, ahead) > tolerance || (next === 0 && ahead === Infinity)) continue;
    found[row] = back <= ahead ? next - 1 : next;
  }
}
