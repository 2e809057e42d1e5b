/** Made-up losses: series of a run, and noise that is the same each time. */
import { createMetricSeries } from '../../src/analysis/columns/metric-series.ts';
import type { MetricSeries } from '../../src/analysis/columns/run-columns.ts';
import type { RoleSeries } from '../../src/analysis/signals/roles/loss-roles.ts';

/** Normally distributed numbers from a seed (mulberry32, Box and Muller). */
export function noiseFrom(seed: number): () => number {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** A metric by step: `values[i]` at step `first + i * every`. */
export function byStep(
  key: string,
  values: ArrayLike<number>,
  every: number = 1,
  first: number = 0,
): MetricSeries {
  const steps = Float64Array.from({ length: values.length }, (_, i) => first + i * every);
  return createMetricSeries(key, { steps, values: Float64Array.from(values) });
}

/** A metric that has epochs only. */
export function byEpoch(key: string, values: ArrayLike<number>, first: number = 0): MetricSeries {
  const epochs = Float64Array.from({ length: values.length }, (_, i) => first + i);
  return createMetricSeries(key, { epochs, values: Float64Array.from(values) });
}

/** The four series of a run; what is left out is not there. */
export function roles(given: Partial<RoleSeries>): RoleSeries {
  return { trainLoss: null, valLoss: null, trainAccuracy: null, valAccuracy: null, ...given };
}

/** A loss of `length` steps: a curve of the share of the run, with noise in proportion to it. */
export function stepLoss(
  length: number,
  curve: (share: number) => number,
  noise: number = 0.05,
  seed: number = 1,
): Float64Array {
  const next = noiseFrom(seed);
  return Float64Array.from({ length }, (_, i) => curve(i / (length - 1)) * (1 + noise * next()));
}
