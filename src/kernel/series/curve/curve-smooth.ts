/** Exponential moving averages in plain JavaScript; by position there is no other form, as it is bound by the powers it takes. */
import type { ExponentialSettings } from './curve-checks.ts';
import { SMOOTH_LIMIT } from './curve-layout.ts';

const DOWN = 2 ** -200;

/** A way to smooth values of at most {@link SMOOTH_LIMIT} in size; null when it met a larger one. */
export type Smoother = (
  values: Float64Array,
  settings: ExponentialSettings,
) => Float64Array<ArrayBuffer> | null;

/** Smooths values of any size: where there are huge ones, all are made smaller by a power of two, which costs no precision there. */
export function smoothAny(
  values: Float64Array,
  settings: ExponentialSettings,
  smooth: Smoother,
): Float64Array<ArrayBuffer> {
  const result = smooth(values, settings);
  if (result !== null) return result;
  const scaled = smooth(
    values.map((x) => x * DOWN),
    settings,
  );
  return (scaled ?? values).map((y) =>
    Math.max(-Number.MAX_VALUE, Math.min(y / DOWN, Number.MAX_VALUE)),
  );
}

/** The definition, as a running mean: a value's gain is its share of all weight so far. */
export const smoothPlainly: Smoother = (values, { decay, adjust, positions, fillGaps }) => {
  const results = new Float64Array(values.length);
  let shift = Number.NaN;
  let before = Number.NaN;
  let mean = 0;
  let weight = 0;
  let last = Number.NaN;
  // Distances repeat, and a power costs as much as twenty values.
  let distance = 1;
  let left = decay;
  for (let i = 0; i < values.length; i++) {
    const x = values[i] ?? Number.NaN;
    const position = positions === null ? 0 : (positions[i] ?? Number.NaN);
    if (!Number.isFinite(x) || !Number.isFinite(position)) {
      results[i] = fillGaps ? last : Number.NaN;
      continue;
    }
    if (Math.abs(x) > SMOOTH_LIMIT) return null;
    if (Number.isNaN(shift)) {
      shift = x;
      before = position;
    }
    if (positions !== null) {
      const step = Math.max(0, position - before);
      if (step !== distance) {
        distance = step;
        left = decay ** step;
      }
      before = position;
    }
    weight = left * weight + 1;
    mean += (x - shift - mean) * (adjust ? 1 / weight : 1 - left);
    last = shift + mean;
    results[i] = last;
  }
  return results;
};
