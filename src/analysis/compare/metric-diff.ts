/** One metric of two runs. */
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import {
  axisOf,
  type MetricSeries,
  type RunColumns,
  type SeriesAxis,
} from '../columns/run-columns.ts';
import { directionOf } from '../signals/roles/direction.ts';
import { finitePart, type FinitePart } from '../signals/finite-part.ts';
import type { ComparisonSettings, MetricTargetSpec } from './compare-config.ts';
import { metricDiffRecord, type MetricDiff, type MetricDirection } from './diff-records.ts';
import { partingOf } from './parting.ts';
import { momentsOf, welchOfMoments, type Moments } from '../signals/student-t.ts';

/** Share of a series at its end that stands for where it arrived, and fewest values of it. */
const TAIL_SHARE = 0.1;
const MIN_TAIL = 5;
/** Share of the shorter series that must lie on common places to be compared there. */
const MIN_COMMON_SHARE = 0.5;

/** Compares one metric; a series is null where the run has none. */
export function diffMetric(
  metricKey: string,
  primary: MetricSeries | null,
  reference: MetricSeries | null,
  settings: ComparisonSettings,
  kernel: SeriesKernel,
): MetricDiff {
  const target = settings.targets.get(metricKey);
  const direction = target === undefined ? directionOf(metricKey) : directionOfTarget(target);
  const a = primary === null ? undefined : finitePart(primary);
  const b = reference === null ? undefined : finitePart(reference);
  const has = [a, b].map((part) => part !== undefined && part.values.length > 0);
  const bests = [bestOf(a, direction), bestOf(b, direction)] as const;
  const times = [timeToTarget(a, target), timeToTarget(b, target)] as const;
  const common =
    primary !== null && reference !== null ? alignedOn(primary, reference, kernel) : null;
  const areas = common === null ? null : areasOf(common, kernel);
  const parting = common === null ? null : partingOf(common.both, kernel);
  return metricDiffRecord.create({
    metricKey,
    presence: has[0] === has[1] ? 'both' : has[0] === true ? 'primary' : 'reference',
    direction,
    axis: common?.axis ?? null,
    commonCount: common?.both.steps.length ?? 0,
    primaryCount: a?.values.length ?? 0,
    referenceCount: b?.values.length ?? 0,
    ...triple('First', a?.values[0], b?.values[0]),
    ...triple('Last', a?.values.at(-1), b?.values.at(-1)),
    ...triple('Best', bests[0]?.value, bests[1]?.value),
    primaryBestStep: placeOrNull(bests[0]?.place),
    referenceBestStep: placeOrNull(bests[1]?.place),
    ...triple('Area', areas?.[0].area, areas?.[1].area),
    ...triple('Mean', areas?.[0].mean, areas?.[1].mean),
    lastPValue: tailPValue(a, b, settings, kernel),
    firstDifferentStep: placeOrNull(parting?.different),
    partingStep: placeOrNull(parting?.parted),
    rejoiningStep: placeOrNull(parting?.rejoined),
    targetValue: target?.targetValue ?? null,
    targetDirection: target?.direction ?? null,
    primaryTimeToTargetStep: placeOrNull(times[0]),
    referenceTimeToTargetStep: placeOrNull(times[1]),
    timeToTargetStepDelta: difference(times[0], times[1]),
  });
}

/** The three fields of one figure of both runs, and of its difference. */
function triple(
  name: 'First' | 'Last' | 'Best' | 'Area' | 'Mean',
  primary: number | undefined,
  reference: number | undefined,
): Record<string, number | null> {
  return {
    [`primary${name}`]: finiteOrNull(primary),
    [`reference${name}`]: finiteOrNull(reference),
    [`${name.toLowerCase()}Delta`]: difference(primary, reference),
  };
}

function difference(a: number | undefined, b: number | undefined): number | null {
  return a === undefined || b === undefined ? null : finiteOrNull(a - b);
}

function finiteOrNull(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}

function placeOrNull(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? Math.floor(value) : null;
}

function directionOfTarget({ direction }: MetricTargetSpec): MetricDirection {
  return direction === 'at_least' ? 'higher' : 'lower';
}

function bestOf(
  part: FinitePart | undefined,
  direction: MetricDirection | null,
): { readonly value: number; readonly place: number } | undefined {
  if (part === undefined || direction === null) return undefined;
  const sign = direction === 'lower' ? 1 : -1;
  let at = -1;
  for (let i = 0; i < part.values.length; i++)
    if (at < 0 || sign * (part.values[i] ?? 0) < sign * (part.values[at] ?? 0)) at = i;
  return at < 0 ? undefined : { value: part.values[at] ?? 0, place: part.positions[at] ?? 0 };
}

function timeToTarget(
  part: FinitePart | undefined,
  target: MetricTargetSpec | undefined,
): number | undefined {
  if (part === undefined || target === undefined) return undefined;
  const { direction, targetValue } = target;
  const at = part.values.findIndex((value) =>
    direction === 'at_least' ? value >= targetValue : value <= targetValue,
  );
  return at < 0 ? undefined : part.positions[at];
}

/** Two series on one axis. */
type Common = {
  readonly axis: SeriesAxis;
  /** Finite values of each, on the axis. */
  readonly primary: Placed;
  readonly reference: Placed;
  /** Rows that both have. */
  readonly both: {
    readonly steps: Float64Array;
    readonly first: Float64Array;
    readonly second: Float64Array;
  };
};

type Placed = { readonly steps: Float64Array; readonly values: Float64Array };

/**
 * Both series by step; by epoch where steps hardly coincide and epochs do better; where neither does, each row of the sparser beside the last
 * of the other before it. Null without an axis that both have, or without overlap.
 */
function alignedOn(a: MetricSeries, b: MetricSeries, kernel: SeriesKernel): Common | null {
  const ways = (['step', 'epoch'] as const).flatMap((axis) => {
    const primary = onAxis(a, axis);
    const reference = onAxis(b, axis);
    if (primary.steps.length === 0 || reference.steps.length === 0) return [];
    const both = kernel.alignOnStep(primary, reference);
    const shorter = Math.min(primary.steps.length, reference.steps.length);
    return [{ axis, primary, reference, both, share: both.steps.length / shorter }];
  });
  const direct = ways.find(({ share }) => share >= MIN_COMMON_SHARE);
  if (direct !== undefined) return direct;
  const [first] = ways;
  if (first === undefined) return null;
  const { axis, primary, reference } = first;
  const isPrimarySparser = primary.steps.length <= reference.steps.length;
  const [sparse, dense] = isPrimarySparser ? [primary, reference] : [reference, primary];
  const filled = kernel.alignOnStep(sparse, dense, { join: 'left', fill: 'previous' });
  const last = dense.steps.at(-1) ?? 0;
  const rows = Int32Array.from(filled.steps.keys()).filter(
    (i) => Number.isFinite(filled.second[i] ?? Number.NaN) && (filled.steps[i] ?? 0) <= last,
  );
  if (rows.length === 0) return null;
  const pick = (values: Float64Array): Float64Array =>
    Float64Array.from(rows, (row) => values[row] ?? Number.NaN);
  const [one, two] = [pick(filled.first), pick(filled.second)];
  return {
    axis,
    primary,
    reference,
    both: {
      steps: pick(filled.steps),
      first: isPrimarySparser ? one : two,
      second: isPrimarySparser ? two : one,
    },
  };
}

/** The finite values that have a place on an axis, the last of each place. */
function onAxis(series: MetricSeries, axis: SeriesAxis): Placed {
  const places = axis === 'step' ? series.steps : series.epochs;
  const { values } = series;
  const rowCount = values.length;
  const isTaken = (row: number): boolean =>
    places[row] !== places[row + 1] && Number.isFinite(places[row]) && Number.isFinite(values[row]);
  let count = 0;
  for (let row = 0; row < rowCount; row++) if (isTaken(row)) count++;
  if (count === rowCount) return { steps: places, values };
  const steps = new Float64Array(count);
  const taken = new Float64Array(count);
  for (let row = 0, at = 0; row < rowCount; row++)
    if (isTaken(row)) {
      steps[at] = places[row] ?? 0;
      taken[at++] = values[row] ?? 0;
    }
  return { steps, values: taken };
}

type Area = { readonly area: number; readonly mean: number };

function areasOf(
  { primary, reference }: Common,
  kernel: SeriesKernel,
): readonly [Area, Area] | null {
  const from = Math.max(primary.steps[0] ?? 0, reference.steps[0] ?? 0);
  const to = Math.min(primary.steps.at(-1) ?? 0, reference.steps.at(-1) ?? 0);
  if (from > to) return null;
  const area = ({ steps, values }: Placed): Area =>
    kernel.areaUnderCurve(values, { positions: steps, from, to });
  return [area(primary), area(reference)];
}

/**
 * Welch's test between the last tenths of two series, with as many values as independent ones would be: n (1 - r) / (1 + r) for the correlation
 * r of neighbours. Null where one of them has fewer than five values, or no spread is known.
 */
function tailPValue(
  a: FinitePart | undefined,
  b: FinitePart | undefined,
  { confidenceLevel }: ComparisonSettings,
  kernel: SeriesKernel,
): number | null {
  const [first, second] = [a, b].map((part) => tailMoments(part, kernel));
  if (first === undefined || second === undefined) return null;
  const test = welchOfMoments(first, second, confidenceLevel);
  return test === undefined || Number.isNaN(test.pValue) ? null : test.pValue;
}

function tailMoments(part: FinitePart | undefined, kernel: SeriesKernel): Moments | undefined {
  if (part === undefined) return undefined;
  const count = Math.max(MIN_TAIL, Math.ceil(part.values.length * TAIL_SHARE));
  if (part.values.length < count) return undefined;
  const tail = part.values.subarray(part.values.length - count);
  const { mean, variance } = momentsOf(tail);
  const { slope } = kernel.theilSen(tail);
  let product = 0;
  let square = 0;
  let previous = Number.NaN;
  for (let i = 0; i < tail.length; i++) {
    const rest = (tail[i] ?? 0) - mean - slope * (i - (tail.length - 1) / 2);
    if (i > 0) product += rest * previous;
    square += rest * rest;
    previous = rest;
  }
  const r = square > 0 ? Math.min(0.99, Math.max(0, product / square)) : 0;
  return { count: Math.max(2, (count * (1 - r)) / (1 + r)), mean, variance };
}

/** Where a series arrived: the median of its last tenth, or of its last value alone in a short one. */
export function arrival(series: MetricSeries, kernel: SeriesKernel): number | undefined {
  const { values } = finitePart(series);
  if (values.length === 0) return undefined;
  const count = Math.max(1, Math.floor(values.length * TAIL_SHARE));
  return kernel.median(values.subarray(values.length - count));
}

/** Whether the last value of a series is NaN or infinite. */
export function endsBroken(series: MetricSeries | undefined): boolean {
  const last = series?.values.at(-1);
  return last !== undefined && !Number.isFinite(last);
}

/** Keys of the metrics of a run that end so. */
export function brokenKeys({ metrics }: Pick<RunColumns, 'metrics'>): readonly string[] {
  return [...metrics.values()].filter(endsBroken).map(({ key }) => key);
}

/** Last step of a series; undefined where it has epochs only. */
export function lastStep(series: MetricSeries): number | undefined {
  return series.x === 'step' ? axisOf(series).at(-1) : undefined;
}
