/** How long steps took, from metrics or from telemetry. */
import type { PlacedColumns, RunColumns } from '../columns/run-columns.ts';
import { placeRows, gather } from '../columns/place-rows.ts';
import type { Signals } from './signals.ts';

/** A time a step, in milliseconds; NaN where it is not known. */
export type StepDurations = {
  /** A metric key, or the name of the telemetry field. */
  readonly source: string;
  readonly kind: 'metric' | 'telemetry';
  readonly series: PlacedColumns;
  readonly values: Float64Array;
};

/** Times of steps; undefined when none are known. */
export function stepDurations(columns: RunColumns, signals: Signals): StepDurations | undefined {
  const metric = signals.stepTime;
  if (metric !== undefined)
    return { source: metric.key, kind: 'metric', series: metric, values: metric.values };
  return ofTelemetry(columns, 'stepTimeMs');
}

/** Share of each step that was spent waiting for data, 0 to 1; undefined when it is not known. */
export function dataShares(columns: RunColumns, signals: Signals): StepDurations | undefined {
  const { dataTime, stepTime } = signals;
  if (dataTime !== undefined && stepTime !== undefined) {
    const times = new Map<number, number>();
    stepTime.steps.forEach((step, row) => times.set(step, stepTime.values[row] ?? Number.NaN));
    const values = dataTime.values.map((value, row) =>
      share(value, times.get(dataTime.steps[row] ?? Number.NaN)),
    );
    if (values.some((value) => !Number.isNaN(value)))
      return { source: dataTime.key, kind: 'metric', series: dataTime, values };
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
