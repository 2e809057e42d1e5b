/** Exponential smoothing of a curve, for the eye only: it is never stored. */

/**
 * The exponential moving average of `ys`, corrected for its start, so that the first value is the first value and a
 * constant stays constant. Weight 0 changes nothing; 0.99 remembers about 100 points. Non-finite points stay as they are
 * and do not enter the average, so one NaN does not swallow the rest of the curve.
 */
export function smooth(ys: Float64Array, weight: number): Float64Array<ArrayBuffer> {
  const out = new Float64Array(ys.length);
  let sum = 0;
  let norm = 0;
  for (let at = 0; at < ys.length; at += 1) {
    const y = ys[at] ?? Number.NaN;
    if (!Number.isFinite(y)) {
      out[at] = y;
      continue;
    }
    sum = sum * weight + y * (1 - weight);
    norm = norm * weight + (1 - weight);
    out[at] = sum / norm;
  }
  return out;
}
