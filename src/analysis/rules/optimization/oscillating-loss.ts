import { axisOf, type MetricSeries } from '../../columns/run-columns.ts';
import { aroundCourse, MAX_CYCLE_VALUES, strongestCycle, type Cycle } from '../../signals/cycle.ts';
import { observe, ofMetric } from '../../signals/observe.ts';
import { saySpan, spanOfRows } from '../../signals/positions.ts';
import { blockRows, type Profile, levelSize } from '../../signals/profile.ts';
import { medianInPlace, quantileOf } from '../../signals/quickselect.ts';
import { defineRule } from '../../signals/rule.ts';
import { robustDeviation } from '../../signals/statistics.ts';
import { say, sayShare, when } from '../../text/sentences.ts';

export const oscillatingLoss = defineRule({
  id: 'oscillating_loss',
  category: 'optimization',
  needs: { anyOf: ['train_loss'], points: 'oscillatingLossMinPoints' },
  detects: 'A training loss that swings back and forth by a large part of what the run gains.',
  source:
    'AUTOTRAINER (oscillating loss: swings in a fifth of the epochs), TheDeepChecker (sign changes); that noise does not alternate is ours; longer cycles by the largest peak of the spectrum (Fisher, 1929)',
  cause: 'the learning rate or the momentum is too high, so that updates overshoot',
  advice: 'divide the learning rate by 3 and see whether the swings shrink',
  live: 'trend',
  thresholds: {
    oscillatingLossMinShare: {
      value: 0.2,
      doc: 'Least size of the typical swing, as a share of what the run gained.',
    },
    oscillatingLossMaxCorrelation: {
      value: -0.4,
      doc: 'Largest correlation of neighbours, trend removed: noise has 0, what alternates -1.',
    },
    oscillatingLossMinCycleShare: {
      value: 0.3,
      doc: 'Least share of the variance around the course of the loss that a cycle longer than two values must be.',
    },
    oscillatingLossMinPoints: { value: 20, doc: 'Fewest points in the second half of the run.' },
  },
  measure({ signals, thresholds: t }) {
    return signals.judgedLosses.flatMap((series) => {
      const course = signals.course(series);
      if (course === undefined) return [];
      const { improvement, profile, start } = course;
      const half = Math.floor(profile.values.length / 2);
      const tail = profile.values.subarray(half, half + 20_000);
      if (tail.length < t.oscillatingLossMinPoints) return [];
      const cycle = cycleOf(profile, half, signals.learningRate, t.oscillatingLossMinCycleShare);
      // Nothing gained: then the size of the loss is what swings are compared with.
      const gain = improvement > 0 ? improvement : levelSize(profile, start);
      const correlation = neighbourCorrelation(tail);
      const chance = (-3 * CORRELATION_ERROR) / Math.sqrt(tail.length);
      const isAlternating = correlation <= Math.min(t.oscillatingLossMaxCorrelation, chance);
      if (!isAlternating && cycle === undefined) return [];
      const swing = isAlternating ? typicalSwing(tail) : (cycle?.swing ?? 0);
      const share = swing / (gain || 1);
      if (!(share >= t.oscillatingLossMinShare) || (isAlternating && isShrinking(tail))) return [];
      const blocks = profile.levels.length;
      const rows = blockRows(profile, Math.floor(half / profile.blockSize), blocks - 1);
      const period = isAlternating ? 2 : (cycle?.period ?? null);
      return [{ series, rows, swing, share, correlation, isAlternating, cycle, period }];
    });
  },
  finding: {
    levels: { error: ({ share }) => share >= 1, warning: () => true },
    title: ({ series }) => `${series.key} swings`,
    fact: ({ isAlternating, period, rows, series, share, swing }) => {
      const every = when(!isAlternating, `every ${say(period ?? 2)} values `);
      const range = saySpan(spanOfRows(series, ...rows));
      return `${series.key} went up and down by ${say(swing)}, ${sayShare(share)} of what the run gained, ${every}${range}.`;
    },
    confidence: ({ correlation, cycle }) =>
      correlation < -0.7 || (cycle?.share ?? 0) > 0.6 ? 0.9 : 0.75,
    evidence: ({ correlation, period, rows, series, share, swing }, t) => [
      observe(
        ofMetric(series),
        rows,
        `Typical swing of ${say(swing)}; neighbours correlate by ${say(correlation)}.`,
        {
          observed: share,
          threshold: t.oscillatingLossMinShare,
          metadata: { neighbour_correlation: correlation, period_values: period },
        },
      ),
    ],
  },
});

/** Standard error of {@link neighbourCorrelation} for independent normal values, times the root of their number (simulated). */
const CORRELATION_ERROR = 1.44;

/** The median size of the step from one value to the next. */
function typicalSwing(values: Float64Array): number {
  const sizes = new Float64Array(Math.max(0, values.length - 1));
  for (let i = 0; i < sizes.length; i++)
    sizes[i] = Math.abs((values[i + 1] ?? 0) - (values[i] ?? 0));
  return quantileOf(sizes, 0.5);
}

/**
 * The correlation of each value with the next around the course of the series, robust in that differences beyond three
 * times the typical size are cut: from the correlation r of neighbouring differences, 1 + 2 r, which is 0 for independent
 * values whatever the trend, and -1 for what alternates.
 */
export function neighbourCorrelation(values: Float64Array): number {
  const limit = 3 * typicalSwing(values);
  if (!(limit > 0)) return 0;
  let product = 0;
  let square = 0;
  let before = Number.NaN;
  for (let i = 1; i < values.length; i++) {
    const difference =
      Math.max(-limit, Math.min(limit, (values[i] ?? 0) - (values[i - 1] ?? 0))) / limit;
    if (!Number.isNaN(before)) product += before * difference;
    square += difference * difference;
    before = difference;
  }
  return square > 0 ? 1 + (2 * product) / square : 0;
}

/** Whether swings of the last third are clearly smaller than those of the first: then the run settles by itself. */
function isShrinking(values: Float64Array): boolean {
  const third = Math.floor(values.length / 3);
  return typicalSwing(values.subarray(-third)) < 0.5 * typicalSwing(values.subarray(0, third));
}

/** Rises of the learning rate from which on it goes up and down by plan. */
const PLANNED_RISES = 2;
/** Epochs that have to be there before what repeats in each of them is taken away. */
const MIN_EPOCHS = 3;

/** The cycle of the end of a course: of single values, or of its levels where it is long; undefined where there is none, or it settles. */
function cycleOf(
  profile: Profile,
  half: number,
  rate: MetricSeries | undefined,
  minShare: number,
): Cycle | undefined {
  const { blockSize, levels, rows, series, values } = profile;
  const from = Math.max(half, values.length - MAX_CYCLE_VALUES);
  // The loss goes where the rate goes.
  if (rate !== undefined && isPlanned(rate, axisOf(series)[rows[half] ?? 0] ?? 0)) return undefined;
  const single = withoutEpochs(aroundCourse(values.slice(from)), rows, from, series.epochs);
  const near = lastingCycle(single, minShare);
  if (near !== undefined || blockSize === 1) return near;
  const far = lastingCycle(aroundCourse(levels.slice(levels.length >> 1)), minShare);
  if (far === undefined) return undefined;
  const period = far.period * blockSize;
  // What is shorter would have been seen among the single values, where what belongs to epochs was taken away.
  const isNew = period > single.length / 4 && !isOfEpochs(profile, period);
  return isNew ? { ...far, period } : undefined;
}

/** The strongest cycle that does not settle. */
function lastingCycle(residual: Float64Array, minShare: number): Cycle | undefined {
  const cycle = strongestCycle(residual);
  if (cycle === undefined || cycle.share < minShare) return undefined;
  const third = Math.floor(residual.length / 3);
  const isSettling =
    robustDeviation(residual.subarray(-third)) < 0.5 * robustDeviation(residual.subarray(0, third));
  return isSettling ? undefined : cycle;
}

/** Whether a period, in values, is an epoch or a small part of one, as far as the second half of a run can tell them apart. */
function isOfEpochs({ rows, series, values }: Profile, period: number): boolean {
  const half = values.length >> 1;
  const first = series.epochs[rows[half] ?? -1] ?? Number.NaN;
  const last = series.epochs[rows[values.length - 1] ?? -1] ?? Number.NaN;
  const epochs = Math.floor(last) - Math.floor(first);
  if (!(epochs >= 1)) return false;
  const cycles = (values.length - half) / period;
  return [1, 2, 3].some((parts) => Math.abs(cycles - parts * epochs) <= 1 + parts);
}

/** Whether a learning rate rises again and again after a position: restarts, cycles. */
function isPlanned(rate: MetricSeries, from: number): boolean {
  const positions = axisOf(rate);
  let lowest = Number.POSITIVE_INFINITY;
  let rises = 0;
  let isRising = false;
  for (let i = 0; i < rate.values.length; i++) {
    const value = rate.values[i] ?? Number.NaN;
    if (!((positions[i] ?? 0) >= from) || !Number.isFinite(value)) continue;
    const before = rate.values[i - 1] ?? value;
    if (value < before) isRising = false;
    lowest = isRising ? lowest : Math.min(lowest, value);
    if (value > 1.05 * lowest && !isRising) {
      isRising = true;
      rises++;
      lowest = value;
    }
  }
  return rises >= PLANNED_RISES;
}

/** Takes away what repeats at the same offset in every epoch: samples that come in one order, steps at the turn of an epoch. */
function withoutEpochs(
  residual: Float64Array,
  rows: Int32Array,
  from: number,
  epochs: Float64Array,
): Float64Array {
  const epochOf = (at: number): number => Math.floor(epochs[rows[at] ?? -1] ?? Number.NaN);
  let epoch = epochOf(from);
  let count = 1;
  // The first epoch may have begun before.
  let offset = -1;
  for (let at = from - 1; at >= 0 && epochOf(at) === epoch; at--) offset++;
  const offsets = Int32Array.from(residual, (_, i) => {
    const own = epochOf(from + i);
    offset = own === epoch ? offset + 1 : 0;
    if (own !== epoch) count++;
    epoch = own;
    return offset;
  });
  if (Number.isNaN(epoch) || count < MIN_EPOCHS || count > residual.length / 2) return residual;
  const byOffset = new Map<number, number[]>();
  residual.forEach((value, i) => {
    const list = byOffset.get(offsets[i] ?? 0) ?? [];
    list.push(value);
    byOffset.set(offsets[i] ?? 0, list);
  });
  const usual = new Map(
    [...byOffset].map(([key, list]) => [key, medianInPlace(Float64Array.from(list))]),
  );
  return residual.map((value, i) => value - (usual.get(offsets[i] ?? 0) ?? 0));
}
