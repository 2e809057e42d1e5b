/** Several series on the axis of one: validation by epoch beside training by step. */
import { axisOf, type MetricSeries } from './run-columns.ts';
import { indexAtOrBefore } from './sorted-search.ts';

/**
 * The series with its rows where they belong on the axis of `primary`: by the steps or epochs that both have, else by the time they were
 * recorded, else spread evenly from the first to the last row of `primary`. The series itself where the axes are the same.
 */
export function onAxisOf(series: MetricSeries, primary: MetricSeries): MetricSeries {
  if (series.x === primary.x) return series;
  const positions = positionsOn(series, primary) ?? spread(series, primary);
  return primary.x === 'step'
    ? { ...series, x: 'step', steps: positions }
    : { ...series, x: 'epoch', epochs: positions };
}

/**
 * Where the rows of a series belong on the axis of `primary`: by the steps or epochs that both have, else by the time they were recorded.
 * Undefined where neither says it.
 */
export function positionsOn(series: MetricSeries, primary: MetricSeries): Float64Array | undefined {
  if (series.x === primary.x) return axisOf(series);
  return positionsByAxis(series, primary) ?? positionsByTime(series, primary);
}

function positionsByAxis(series: MetricSeries, primary: MetricSeries): Float64Array | undefined {
  const own = primary.x === 'step' ? series.steps : series.epochs;
  if (own.every((position) => Number.isFinite(position))) return own;
  // Ends of epochs: the last step that belongs to the epoch or to one before it.
  const shared = series.x === 'epoch' ? primary.epochs : primary.steps;
  return lookUp(axisOf(series), shared, axisOf(primary));
}

function positionsByTime(series: MetricSeries, primary: MetricSeries): Float64Array | undefined {
  return lookUp(series.timesMs, primary.timesMs, axisOf(primary));
}

/** The position of the last row of the primary whose mark is not above each of `wanted`; undefined unless the marks are known and ascend. */
function lookUp(
  wanted: Float64Array,
  marks: Float64Array,
  positions: Float64Array,
): Float64Array | undefined {
  if (marks.length === 0 || !wanted.every((mark) => Number.isFinite(mark))) return undefined;
  for (let i = 0; i < marks.length; i++) {
    const mark = marks[i] ?? Number.NaN;
    if (!Number.isFinite(mark) || (i > 0 && mark < (marks[i - 1] ?? 0))) return undefined;
  }
  if ((marks[0] ?? 0) === (marks.at(-1) ?? 0) && marks.length > 1) return undefined;
  return wanted.map((mark) => positions[Math.max(0, indexAtOrBefore(marks, mark))] ?? 0);
}

function spread(series: MetricSeries, primary: MetricSeries): Float64Array {
  const own = axisOf(series);
  const target = axisOf(primary);
  const first = own[0] ?? 0;
  const length = (own.at(-1) ?? first) - first;
  const from = target[0] ?? 0;
  const to = target.at(-1) ?? from;
  return own.map((position) =>
    length > 0 ? Math.round(from + ((position - first) / length) * (to - from)) : to,
  );
}
