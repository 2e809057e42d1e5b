/** Where two series of one metric part. */
import { NORMAL_MAD_SCALE } from '../../kernel/series/order/order.ts';
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import { finitePart } from '../signals/finite-part.ts';
import { robustCurve } from '../signals/robust-curve.ts';

/** A difference is out of the noise from this many standard deviations on. */
const PARTED_BY = 3;
/** Fewest blocks of the smoothed difference, and share of them, for which it is out of the noise where runs part. */
const MIN_APART = 3;
const APART_SHARE = 0.02;
/** Blocks on either side from which the noise around a block is estimated. */
const NOISE_REACH = 12;

/** Two series at their common positions. */
type AlignedValues = {
  readonly steps: Float64Array;
  readonly first: Float64Array;
  readonly second: Float64Array;
};

export type Parting = {
  readonly different: number | undefined;
  readonly parted: number | undefined;
  readonly rejoined: number | undefined;
};

/**
 * Where two series differ first, where they part, and where they come together again. They part where the difference leaves the
 * noise and keeps its sign for a while; in a series too short to tell noise, where it takes the sign that it keeps to the end.
 */
export function partingOf({ steps, first, second }: AlignedValues, kernel: SeriesKernel): Parting {
  let at = 0;
  while (at < first.length && first[at] === second[at]) at++;
  const different = steps[at];
  if (different === undefined)
    return { different: undefined, parted: undefined, rejoined: undefined };
  const values = new Float64Array(first.length);
  for (let i = 0; i < values.length; i++) values[i] = (first[i] ?? 0) - (second[i] ?? 0);
  const part = finitePart({
    key: 'difference',
    x: 'step',
    steps,
    epochs: steps,
    timesMs: steps,
    values,
  });
  const curve = robustCurve(part, kernel, { isSigned: true });
  const { fitted, positions, regime } = curve;
  const noise = regime === 'point' ? fitted.map(() => 0) : noiseAround(curve.values, kernel);
  const spans = apartSpans(fitted, noise);
  const last = spans.at(-1);
  const lastsToEnd = last !== undefined && last.end === fitted.length;
  // A block begins before the first value in it that differs.
  const positionAt = (block: number | undefined): number | undefined => {
    const position = block === undefined ? undefined : positions[block];
    return position === undefined ? undefined : Math.max(position, different);
  };
  if (regime === 'point')
    return {
      different,
      parted: positionAt(lastsToEnd ? last.start : undefined),
      rejoined: undefined,
    };
  const long = Math.max(MIN_APART, Math.ceil(fitted.length * APART_SHARE));
  const lasting = spans.filter(
    ({ start, end }) => end - start >= long || (end === fitted.length && end - start >= MIN_APART),
  );
  return {
    different,
    parted: positionAt(lasting[0]?.start),
    rejoined: lastsToEnd ? undefined : positionAt(lasting.at(-1)?.end),
  };
}

type ApartSpan = { readonly start: number; readonly end: number };

/**
 * Standard deviation of the noise around each value: of second differences, in which a trend is gone, over the neighbourhood and
 * over the whole, whichever is more. Early losses are noisier than late ones.
 */
function noiseAround(values: Float64Array, kernel: SeriesKernel): Float64Array {
  const bends = new Float64Array(Math.max(0, values.length - 2));
  for (let i = 0; i < bends.length; i++)
    bends[i] = Math.abs((values[i] ?? 0) - 2 * (values[i + 1] ?? 0) + (values[i + 2] ?? 0));
  const deviation = (part: Float64Array): number =>
    (NORMAL_MAD_SCALE * kernel.median(part)) / Math.sqrt(6);
  const whole = deviation(bends);
  return values.map((_, i) =>
    Math.max(whole, deviation(bends.subarray(Math.max(0, i - 1 - NOISE_REACH), i + NOISE_REACH))),
  );
}

/** Spans of one sign in which values are out of the noise. */
function apartSpans(values: Float64Array, noise: Float64Array): readonly ApartSpan[] {
  const spans: ApartSpan[] = [];
  let start = 0;
  let sign = 0;
  for (let i = 0; i <= values.length; i++) {
    const value = values[i] ?? 0;
    const here = Math.abs(value) > PARTED_BY * (noise[i] ?? 0) ? Math.sign(value) : 0;
    if (here === sign) continue;
    if (sign !== 0) spans.push({ start, end: i });
    start = i;
    sign = here;
  }
  return spans;
}
