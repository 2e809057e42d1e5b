/** The kernels for drawing in plain JavaScript. */
import {
  bucketStarts,
  checkBuckets,
  checkLttb,
  type BucketReduction,
  type BucketRequest,
  type DrawKernel,
} from './draw.ts';
import { pickTriangles, reduceToTriangles } from './draw-lttb.ts';
import { ReductionBuilder, scanSpan, type KeptPoints } from './draw-span.ts';

/** The kernels for drawing in plain JavaScript. */
export const jsDraw: DrawKernel = {
  m4: (values, options) => reduce(checkBuckets(values, options, countAscending), 'm4'),
  minMax: (values, options) => reduce(checkBuckets(values, options, countAscending), 'minMax'),
  lttb: (given, options) =>
    reduceToTriangles(
      checkLttb(given, options, countAscending),
      (values, positions, points) =>
        isAllFinite(values) ? pickTriangles(values, positions, points) : undefined,
      (values, positions, buckets) =>
        reduce(
          { values, positions, starts: bucketStarts(values.length, positions, { buckets }) },
          'minMax',
        ),
    ),
};

function reduce({ values, starts }: BucketRequest, kept: KeptPoints): BucketReduction {
  const builder = new ReductionBuilder(starts, kept);
  for (let b = 0; b + 1 < starts.length; b++)
    builder.addSpan(scanSpan(values, starts[b] ?? 0, starts[b + 1] ?? 0, kept));
  return builder.finish();
}

function isAllFinite(values: Float64Array): boolean {
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? Number.NaN;
    if (value - value !== 0) return false;
  }
  return true;
}

/** Positions before the first that is below its predecessor or NaN. */
export function countAscending(positions: Float64Array): number {
  for (let at = 1; at < positions.length; at++)
    if (!((positions[at - 1] ?? Number.NaN) <= (positions[at] ?? Number.NaN))) return at;
  return positions.length;
}
