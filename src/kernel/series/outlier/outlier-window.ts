/**
 * Outliers against the finite values before each, in a moving window. The series is cut into chunks as long as the window, so that every
 * window is the end of one chunk and the beginning of the next: nothing has to be taken back out of a sum, and ranks are known for two
 * chunks at a time.
 */
import type { OutlierScanSettings, Outliers, Spread } from './outlier.ts';
import { fencesOf, findNonFinite, scoreOf } from './outlier.ts';
import { MovingMoments } from './moving-moments.ts';
import { MovingRanks } from './moving-ranks.ts';

/** The spread of a window that moves over a series of finite values. */
export interface MovingSpread {
  /** The spread of the last `window` of the values before position `end`, or of all where there are fewer. `end` grows by 1 a call. */
  before(end: number): Spread;
}

/** The outliers of a series against the `window` finite values before each. */
export function outliersInWindow(
  values: Float64Array,
  settings: OutlierScanSettings,
  window: number,
): Outliers {
  const nonFiniteIndices = findNonFinite(values);
  const isAllFinite = nonFiniteIndices.length === 0;
  const finite = isAllFinite ? values : values.filter((value) => value - value === 0);
  // A window longer than the series is one of all that came before.
  const length = Math.max(1, Math.min(window, finite.length));
  const moving: MovingSpread =
    settings.method === 'z_score'
      ? new MovingMoments(finite, length)
      : new MovingRanks(finite, length, settings.method);
  const found: Found = { indices: [], scores: [], lowerFences: [], upperFences: [] };
  let at = -1;
  for (let i = 0; i < finite.length; i++) {
    at += 1;
    if (!isAllFinite) while (!Number.isFinite(values[at])) at += 1;
    const spread = moving.before(i);
    if (i < settings.minCount) continue;
    const value = finite[i] ?? 0;
    const [lower, upper] = fencesOf(spread, settings);
    if (!(value < lower || value > upper)) continue;
    found.indices.push(at);
    found.scores.push(scoreOf(value, spread));
    found.lowerFences.push(lower);
    found.upperFences.push(upper);
  }
  return {
    method: settings.method,
    threshold: settings.threshold,
    indices: Uint32Array.from(found.indices),
    scores: Float64Array.from(found.scores),
    lowerFences: Float64Array.from(found.lowerFences),
    upperFences: Float64Array.from(found.upperFences),
    baseline: null,
    nonFiniteIndices,
  };
}

type Found = Record<'indices' | 'scores' | 'lowerFences' | 'upperFences', number[]>;
