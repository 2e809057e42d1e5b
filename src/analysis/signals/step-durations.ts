/** How long steps took, from metrics or from telemetry. */
import type { RunColumns } from '../columns/run-columns.ts';
import { placeRows, gather } from '../columns/place-rows.ts';
import { ofMetric, type Subject } from './observe.ts';
import { rowBefore } from './positions.ts';
import type { Signals } from './signals.ts';
import { sampleRows } from './statistics.ts';

/** A time a step, in milliseconds; NaN where it is not known. */
export type StepDurations = Subject & { readonly values: Float64Array };

/** Rows that shares of a step are computed for, at most. */
const MAX_ROWS = 8192;

/** Times of steps; undefined when none are known. */
export function stepDurations(columns: RunColumns, signals: Signals): StepDurations | undefined {
  const metric = signals.stepTime;
  if (metric !== undefined) return { ...ofMetric(metric), values: metric.values };
  return ofTelemetry(columns, 'stepTimeMs');
}

/**
 * Share of each step that was spent waiting for data, 0 to 1, of a long run every n-th step; undefined when it is not
 * known.
 */
export function dataShares(columns: RunColumns, signals: Signals): StepDurations | undefined {
  const { dataTime, stepTime } = signals;
  if (dataTime !== undefined && stepTime !== undefined) {
    const rows = sampleRows(dataTime.values.length, MAX_ROWS);
    const values = Float64Array.from(rows, (row) => {
      const step = dataTime.steps[row] ?? Number.NaN;
      const at = rowBefore(stepTime, step);
      if (stepTime.steps[at] !== step) return Number.NaN;
      return share(dataTime.values[row] ?? Number.NaN, stepTime.values[at]);
    });
    const series = {
      x: dataTime.x,
      steps: gather(dataTime.steps, rows),
      epochs: gather(dataTime.epochs, rows),
      timesMs: gather(dataTime.timesMs, rows),
    };
    if (values.some((value) => !Number.isNaN(value)))
      return { source: dataTime.key, kind: 'metric', series, values };
  }
  const { dataTimeMs, stepTimeMs } = columns.telemetry;
  const values = dataTimeMs.map((value, row) => share(value, stepTimeMs[row]));
  return ofTelemetry(columns, 'dataTimeMs', values);
}

function share(part: number, whole: number | undefined): number {
  return whole !== undefined && whole > 0 ? Math.min(1, part / whole) : Number.NaN;
}

function ofTelemetry(
  columns: RunColumns,
  name: 'stepTimeMs' | 'dataTimeMs',
  values: Float64Array = columns.telemetry[name],
): StepDurations | undefined {
  const known = Int32Array.from(
    Array.from(values.keys()).filter((row) => !Number.isNaN(values[row] ?? Number.NaN)),
  );
  if (known.length === 0) return undefined;
  const { epochs, steps, timesMs } = columns.telemetry;
  const { order, x } = placeRows(gather(steps, known), gather(epochs, known));
  const rows = order === null ? known : Int32Array.from(order, (i) => known[i] ?? 0);
  const series = {
    x,
    steps: gather(steps, rows),
    epochs: gather(epochs, rows),
    timesMs: gather(timesMs, rows),
  };
  return { source: name, kind: 'telemetry', series, values: gather(values, rows) };
}
