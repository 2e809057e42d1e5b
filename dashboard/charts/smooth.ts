/** Smoothing of a curve, for the eye only: it is never stored. */

/** Parts the axis is divided into to say how near two points are: about the pixels of a chart. */
const UNITS_PER_AXIS = 500;

/**
 * The mean of each point and those before it, where a point counts `weight` to the power of its distance. Distance is
 * measured on the screen (`extent` is the length of the whole axis), so that the same weight smooths a curve of a
 * hundred points and one of a million alike, and leaves a dozen points of validation alone.
 *
 * Weight 0 changes nothing. The first value stays, a constant stays exactly constant. Non-finite points stay as they are
 * and do not count, so one NaN does not swallow the rest of the curve.
 */
export function smooth(
  xs: Float64Array,
  ys: Float64Array,
  weight: number,
  extent: number,
): Float64Array<ArrayBuffer> {
  const out = new Float64Array(ys.length);
  const unit = extent / UNITS_PER_AXIS;
  let mean = 0;
  let total = 0;
  let before = Number.NaN;
  let lastGap = Number.NaN;
  let lastDecay = 0;
  for (let at = 0; at < ys.length; at += 1) {
    const x = xs[at] ?? Number.NaN;
    const y = ys[at] ?? Number.NaN;
    if (!Number.isFinite(y)) {
      out[at] = y;
      continue;
    }
    const gap = x - before;
    // Steps are mostly even: then one power serves them all.
    if (gap !== lastGap) {
      lastGap = gap;
      lastDecay = unit > 0 && gap >= 0 ? weight ** (gap / unit) : 0;
    }
    before = x;
    total = total * lastDecay + 1;
    mean += (y - mean) / total;
    out[at] = mean;
  }
  return out;
}
