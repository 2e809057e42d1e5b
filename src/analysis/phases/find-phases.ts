/** From the losses of a run to its phases. */
import type { PhaseName } from '../../records/literals.ts';
import { jsSeriesKernel, type SeriesKernel } from '../../kernel/series/series-kernel.ts';
import { axisOf, type MetricSeries, type SeriesAxis } from '../columns/run-columns.ts';
import { firstAt, indexAtOrBefore } from '../columns/sorted-search.ts';
import type { RoleSeries } from '../signals/roles/loss-roles.ts';
import { turnsOf } from '../signals/robust-curve.ts';
import { onAxisOf } from '../columns/align-axis.ts';
import { describePhase, type FoundPhase } from './describe.ts';
import { findExcursions, withoutEvents, type Episode } from './divergence.ts';
import { findOverfitting, type Overfitting } from './overfitting.ts';
import {
  findPlateaus,
  isConverged,
  plateauView,
  type IsSolved,
  type PlateauView,
} from './plateaus.ts';
import { labelLeg } from './progress.ts';
import { overlay, overlayOn, segmentsOf, withoutShort, type Segment } from './segments.ts';
import {
  checkPhaseThresholds,
  type PhaseAnalyzerThresholds,
  type PhaseSettings,
} from './thresholds.ts';
import { unitOfAccuracies } from '../signals/roles/units.ts';
import { errorTrack, lossTrack, relativeTo, rewardTrack, type Track } from './track.ts';

/** Error rate up to which a task counts as solved. */
const SOLVED_ERROR = 0.05;

/** Validations that show progress, and how many times the change of a plateau they fall by in all. */
const MIN_SEEN = 5;
const MIN_FALLS = 3;

/** What phases are found from, all on one axis. */
export type PhaseView = {
  readonly axis: SeriesAxis;
  /** First and last position of any row of the series. */
  readonly first: number;
  readonly last: number;
  /** What the run is judged by: the training loss where there is one. */
  readonly primary: Track;
  /** The curve of the primary without its spikes. */
  readonly values: Float64Array;
  readonly excursions: readonly Episode[];
  readonly plateaus: PlateauView;
  readonly overfitting: readonly Overfitting[];
  /** Whether the primary is a training series with a validation beside it. */
  readonly val: Track | null;
  /** Position from which on the primary is not finite; NaN where it is finite to its end. */
  readonly failedFrom: number;
  readonly thresholds: PhaseSettings;
};

/**
 * The phases of a run, in order, without gap or overlap, from its first to its last row.
 *
 * The run is judged by its reward, where it has one, and else by its training loss; without one by the validation loss, and without either by the accuracies, as error rates. A series of
 * up to 20 values is judged from point to point, one of up to 200 as its moving median, and a longer one by the lines between the change points
 * of the medians of its blocks; so is a shorter one of training, where noise is larger than the trend from one value to the next. Divergence goes before overfitting, and both before how the loss falls:
 *
 * - `divergence`: see {@link PhaseAnalyzerThresholds}, for good or for a tenth of the run; also from where no loss is finite any more.
 *   What comes back sooner is an event, and no phase, and neither is a loss that goes up and down in turns.
 * - `overfitting_onset`: from the first validation that is worse than the best to the next that is better, if training went on falling.
 * - `initialization_adaptation`: the first points of an epoch-level series; in a step-level one until the loss has made half its way, at most
 *   2 % of the run once it falls.
 * - `rapid_learning`: up to the knee of the curve, or as long as the loss falls fast enough; falls at the begin of epochs come later
 *   and are no learning anew.
 * - `stagnation`: the loss has a plateau, see {@link PhaseAnalyzerThresholds}, or has not begun to fall after a tenth of the run, nor has validation. Where it
 *   has it near its minimum, after a fall of nine tenths, or with an accuracy of 0.95, it has converged: that is stabilization.
 * - `stabilization`: all else.
 *
 * While a run goes on, its last phase may still change its name and any boundary may move, as shares of the run are shares of what is there;
 * what stays for sure is that the phases cover it.
 *
 * No result depends on the unit of a loss, on the numbering of steps, or on how the run is stored. Without any row there is no phase; one
 * row, or two, are initialization; without a finite value all of it is divergence.
 *
 * @param kernel what medians and change points are computed with, such as `await loadSeriesKernel()`; plain JavaScript, with the same
 *   results, unless given
 * @throws {QuarkError} `invalid_input` naming the threshold
 * @example
 * ```js
 * import { createMetricSeries, findPhases, findRoleSeries, loadSeriesKernel } from 'quark-sdk/analysis';
 *
 * const steps = Float64Array.from({ length: 500 }, (_, step) => step);
 * const loss = createMetricSeries('train/loss', { steps, values: steps.map((step) => 0.2 + Math.exp(-step / 40)) });
 * const found = findPhases(findRoleSeries(new Map([[loss.key, loss]])), {}, await loadSeriesKernel());
 * console.log(found.map(({ phaseName }) => phaseName));
 * ```
 */
export function findPhases(
  series: RoleSeries,
  thresholds: PhaseAnalyzerThresholds = {},
  kernel: SeriesKernel = jsSeriesKernel,
): readonly FoundPhase[] {
  return findPhasesWith(series, checkPhaseThresholds(thresholds), kernel);
}

/** The same with thresholds that were checked. */
export function findPhasesWith(
  series: RoleSeries,
  settings: PhaseSettings,
  kernel: SeriesKernel,
): readonly FoundPhase[] {
  const given = alignedSeries(series);
  const rows = inOrder(given).filter(({ values }) => values.length > 0);
  const [any] = rows;
  if (any === undefined) return [];
  const first = Math.min(...rows.map((one) => axisOf(one)[0] ?? 0));
  const last = Math.max(...rows.map((one) => axisOf(one).at(-1) ?? 0));
  const tracks = tracksOf(given, kernel);
  if (tracks === undefined) {
    return [describePhase(null, { name: 'divergence', start: first }, last, any.x, any.key)];
  }
  const view = viewOf(tracks, { axis: any.x, first, last }, settings);
  const segments = segmentsOfView(view, tracks);
  return segments.map((segment, i) =>
    describePhase(view, segment, endOf(segments[i + 1], last), any.x, view.primary.part.key),
  );
}

type Tracks = {
  readonly primary: Track;
  readonly val: Track | null;
  readonly errors: readonly Track[];
};

function alignedSeries(series: RoleSeries): RoleSeries {
  const { reward, trainAccuracy, trainLoss, valAccuracy, valLoss } = series;
  const primary = inOrder(series).find(({ values }) => values.length > 0);
  const align = (one: MetricSeries | null): MetricSeries | null =>
    one === null || primary === undefined ? one : onAxisOf(one, primary);
  return {
    trainLoss: align(trainLoss),
    valLoss: align(valLoss),
    trainAccuracy: align(trainAccuracy),
    valAccuracy: align(valAccuracy),
    reward: align(reward ?? null),
  };
}

/** What there is, in the order in which a run is judged by it. */
function inOrder({
  reward,
  trainAccuracy,
  trainLoss,
  valAccuracy,
  valLoss,
}: RoleSeries): readonly MetricSeries[] {
  const all = [reward ?? null, trainLoss, valLoss, trainAccuracy, valAccuracy];
  return all.flatMap((one) => one ?? []);
}

function tracksOf(series: RoleSeries, kernel: SeriesKernel): Tracks | undefined {
  const { reward, trainAccuracy, valAccuracy } = series;
  const given = reward ?? null;
  const gained = given === null ? null : rewardTrack(given, kernel);
  if (gained !== null) return { primary: gained, val: null, errors: [] };
  const unit = unitOfAccuracies([trainAccuracy, valAccuracy].flatMap((one) => one ?? []));
  const trainLoss = lossTrack(series.trainLoss, 'training', kernel);
  const valLoss = lossTrack(series.valLoss, 'validation', kernel);
  const trainError = errorTrack(trainAccuracy, unit, 'training', kernel);
  const valError = errorTrack(valAccuracy, unit, 'validation', kernel);
  const errors = [valError, trainError].flatMap((track) => track ?? []).slice(0, 1);
  if (trainLoss !== null) return { primary: trainLoss, val: valLoss, errors };
  if (valLoss !== null) return { primary: valLoss, val: null, errors };
  if (trainError !== null) return { primary: trainError, val: valError, errors };
  return valError === null ? undefined : { primary: valError, val: null, errors };
}

function viewOf(
  { primary, val }: Tracks,
  range: Pick<PhaseView, 'axis' | 'first' | 'last'>,
  thresholds: PhaseSettings,
): PhaseView {
  const { divergence, events } = findExcursions(primary, thresholds);
  const values = withoutEvents(primary, events);
  return {
    ...range,
    primary,
    values,
    val,
    excursions: divergence,
    plateaus: plateauView(primary, values, val),
    overfitting: val === null ? [] : findOverfitting(primary, val, thresholds),
    failedFrom: primary.part.failedFrom,
    thresholds,
  };
}

function segmentsOfView(view: PhaseView, { errors, primary }: Tracks): readonly Segment[] {
  const { excursions, failedFrom, first, last, overfitting, thresholds, values } = view;
  const { positions } = primary.curve;
  const labels: PhaseName[] = Array.from({ length: positions.length }, () => 'divergence');
  const isSolved: IsSolved = (position) =>
    errors.some(({ curve }) => {
      const at = indexAtOrBefore(curve.positions, position);
      return at >= 0 && (curve.fitted[at] ?? 1) <= SOLVED_ERROR;
    });
  let from = 0;
  for (const { from: end, to } of [
    ...excursions,
    { from: positions.length, to: positions.length },
  ]) {
    const firstPoints = from === 0 ? firstPointsOf(view) : 0;
    if (end > from) labelLeg(primary, values, { from, to: end, firstPoints }, thresholds, labels);
    from = to;
  }
  let segments = withProgress(segmentsOf(labels, positions), view);
  const { window } = view.plateaus;
  const slow = positions[Math.max(0, labels.indexOf('stabilization'))] ?? first;
  const begun = positions[Math.max(0, labels.indexOf('rapid_learning'))] ?? first;
  // A loss may also have a long plateau and then fall once more.
  for (const [below, since] of [
    ['rapid_learning', begun],
    ['stabilization', slow],
  ] as const)
    for (const { end, start } of findPlateaus(view.plateaus, view.val, since, thresholds)) {
      const at = Math.min(positions.length - 1, firstAt(positions, start));
      if (!isConverged(primary, values, at, isSolved))
        segments = overlayOn(segments, below, 'stagnation', { start, end, window, last });
    }
  for (const { start, until } of overfitting)
    segments = overlay(segments, 'overfitting_onset', start, until);
  for (const { from: begin, to } of excursions)
    segments = overlay(
      segments,
      'divergence',
      positions[begin] ?? first,
      positions[to] ?? Infinity,
    );
  if (!Number.isNaN(failedFrom)) segments = overlay(segments, 'divergence', failedFrom, Infinity);
  const whole = segments.map((segment, i) => (i === 0 ? { ...segment, start: first } : segment));
  return withoutShort(whole, primary, last);
}

/** A training loss whose noise hides that it has begun to fall makes progress where the validation beside it falls. */
function withProgress(segments: readonly Segment[], { thresholds, val }: PhaseView): Segment[] {
  return segments.map((segment, i) => {
    if (segment.name !== 'stagnation' || val === null) return segment;
    const { fitted, noise, positions } = val.curve;
    const from = firstAt(positions, segment.start);
    const seen = fitted.subarray(from, firstAt(positions, segments[i + 1]?.start ?? Infinity));
    const before = seen[0] ?? 0;
    const fall = before - (seen.at(-1) ?? before);
    const isFalling =
      seen.length >= MIN_SEEN &&
      turnsOf(seen) <= 1 &&
      fall > 2 * noise &&
      relativeTo(val, fall, before) > MIN_FALLS * thresholds.stagnationMaxRelativeChange;
    return isFalling ? { ...segment, name: 'stabilization' } : segment;
  });
}

/** Points of the primary that are initialization: validations before the first of them count as well, but for one. */
function firstPointsOf({ primary, thresholds, val }: PhaseView): number {
  const wanted = thresholds.initializationPoints;
  const before = val === null ? 0 : firstAt(val.curve.positions, primary.curve.positions[0] ?? 0);
  return Math.max(1, wanted - before);
}

function endOf(next: Segment | undefined, last: number): number {
  if (next === undefined) return last;
  return Number.isInteger(next.start) ? next.start - 1 : next.start;
}
