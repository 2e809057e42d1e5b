/** A run in bounded memory: what rules look at while it goes on. */
import type { MetricColumns } from '../../read/metric-columns.ts';
import { seriesByKey } from '../columns/metric-series.ts';
import {
  axisOf,
  type BatchColumns,
  type LayerSeries,
  type ParameterSeries,
  type PlacedColumns,
  type RunColumns,
  type RunInfo,
  type TelemetryColumns,
} from '../columns/run-columns.ts';
import { emptyColumns } from '../columns/empty-columns.ts';
import { LiveSeries } from './live-series.ts';

/** Metrics that are followed, in the order they come. */
const MAX_METRICS = 256;
/** Rows of one layer or parameter, of telemetry, of batches. */
const MAX_PROBES = 64;
const MAX_TELEMETRY = 360;
const MAX_BATCHES = 400;

/** Heights from which a value is a spike. */
export type SpikeLimits = { readonly threshold: number; readonly ratio: number };

export class LiveColumns {
  readonly metrics = new Map<string, LiveSeries>();
  /** Probes so far, of the layer or parameter that has most. */
  probes = 0;
  readonly #probes = new Map<string, number>();
  readonly #limits: SpikeLimits;
  readonly #layers = new Map<string, LayerSeries>();
  readonly #parameters = new Map<string, ParameterSeries>();
  #telemetry: TelemetryColumns = emptyColumns().telemetry;
  #batches: BatchColumns = emptyColumns().batches;

  constructor(limits: SpikeLimits) {
    this.#limits = limits;
  }

  addMetrics(columns: MetricColumns): void {
    for (const [key, piece] of seriesByKey(columns)) {
      let live = this.metrics.get(key);
      if (live === undefined) {
        if (this.metrics.size >= MAX_METRICS) continue;
        live = new LiveSeries(key, this.#limits.threshold, this.#limits.ratio);
        this.metrics.set(key, live);
      }
      live.add(piece);
    }
  }

  addLayers(pieces: readonly LayerSeries[]): void {
    for (const piece of pieces) {
      const { callIndex, isEvaluation, moduleName, summaryType } = piece;
      const key = JSON.stringify([moduleName, summaryType, callIndex, isEvaluation]);
      this.#layers.set(key, joinPlaced(this.#layers.get(key), piece));
      this.#count(key, piece);
    }
  }

  addParameters(pieces: readonly ParameterSeries[]): void {
    for (const piece of pieces) {
      const key = piece.parameterName;
      this.#parameters.set(key, joinPlaced(this.#parameters.get(key), piece));
      this.#count(key, piece);
    }
  }

  #count(key: string, { steps }: PlacedColumns): void {
    const count = (this.#probes.get(key) ?? 0) + steps.length;
    this.#probes.set(key, count);
    this.probes = Math.max(this.probes, count);
  }

  addTelemetry(piece: TelemetryColumns): void {
    const joined = joinColumns(this.#telemetry, piece, MAX_TELEMETRY);
    this.#telemetry = { ...joined, rowCount: joined.steps.length };
  }

  addBatches(piece: BatchColumns): void {
    this.#batches = joinBatches(this.#batches, piece);
  }

  /** What the run looks like so far. */
  snapshot(run: RunInfo): RunColumns {
    return {
      ...emptyColumns(),
      run,
      metrics: new Map(
        [...this.metrics.keys()]
          .toSorted()
          .map((key) => [key, this.metrics.get(key)?.snapshot()] as const)
          .filter((entry) => entry[1] !== undefined),
      ) as RunColumns['metrics'], // the filter above leaves no entry without a series
      layers: [...this.#layers.values()],
      parameters: [...this.#parameters.values()],
      telemetry: this.#telemetry,
      batches: this.#batches,
    };
  }
}

/** Rows behind rows. Those of places that had been passed are left out. */
function joinPlaced<T extends PlacedColumns>(before: T | undefined, piece: T): T {
  if (before === undefined) return joinColumns(piece, undefined, MAX_PROBES);
  if (before.x !== piece.x) return before;
  const last = axisOf(before).at(-1) ?? Number.NEGATIVE_INFINITY;
  const places = axisOf(piece);
  let from = 0;
  while (from < places.length && (places[from] ?? 0) <= last) from++;
  return joinColumns(before, sliceColumns(piece, from), MAX_PROBES);
}

/** Every column of both, thinned to `max` rows: of the older half every second row goes, as often as it takes. */
function joinColumns<T extends object>(before: T, piece: T | undefined, max: number): T {
  const joined: Record<string, unknown> = {};
  for (const [name, own] of Object.entries(before)) {
    const more: unknown = piece === undefined ? undefined : Reflect.get(piece, name);
    if (!(own instanceof Float64Array)) joined[name] = own;
    else joined[name] = more instanceof Float64Array ? concat(own, more) : own;
  }
  let rows = Object.values(joined).find((value) => value instanceof Float64Array)?.length ?? 0;
  while (rows > max) {
    const half = rows >> 1;
    const kept = Int32Array.from(
      Array.from({ length: rows }, (_, i) => i).filter((i) => i >= half || i % 2 === 0),
    );
    for (const [name, value] of Object.entries(joined))
      if (value instanceof Float64Array)
        joined[name] = Float64Array.from(kept, (row) => value[row] ?? Number.NaN);
    rows = kept.length;
  }
  return joined as T; // the same names, each with a column of its kind
}

function sliceColumns<T extends object>(columns: T, from: number): T {
  if (from === 0) return columns;
  const entries = Object.entries(columns).map(([name, value]) => [
    name,
    value instanceof Float64Array ? value.subarray(from) : value,
  ]);
  return Object.fromEntries(entries) as T; // the same names, each with a column of its kind
}

function concat(a: Float64Array, b: Float64Array): Float64Array {
  const out = new Float64Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

function joinBatches(before: BatchColumns, piece: BatchColumns): BatchColumns {
  const classNames = [...new Set([...before.classNames, ...piece.classNames])];
  const rows = [...rowsOf(before), ...rowsOf(piece)];
  let kept = rows;
  while (kept.length > MAX_BATCHES) {
    const half = kept.length >> 1;
    kept = kept.filter((_, i) => i >= half || i % 2 === 0);
  }
  const column = (read: (row: BatchRow) => number): Float64Array => Float64Array.from(kept, read);
  const classOffsets = new Int32Array(kept.length + 1);
  kept.forEach(({ classes }, i) => (classOffsets[i + 1] = (classOffsets[i] ?? 0) + classes.length));
  const classes = kept.flatMap((row) => row.classes);
  return {
    rowCount: kept.length,
    steps: column(({ step }) => step),
    epochs: column(({ epoch }) => epoch),
    timesMs: column(({ timeMs }) => timeMs),
    losses: column(({ loss }) => loss),
    batchSizes: column(({ size }) => size),
    classNames,
    classOffsets,
    classIndex: Int32Array.from(classes, ([name]) => classNames.indexOf(name)),
    classCounts: Float64Array.from(classes, ([, count]) => count),
    metadata: kept.map(({ metadata }) => metadata),
  };
}

type BatchRow = {
  readonly step: number;
  readonly epoch: number;
  readonly timeMs: number;
  readonly loss: number;
  readonly size: number;
  readonly classes: readonly (readonly [name: string, count: number])[];
  readonly metadata: string | null;
};

function rowsOf(batches: BatchColumns): BatchRow[] {
  return Array.from({ length: batches.rowCount }, (_, row) => {
    const from = batches.classOffsets[row] ?? 0;
    const to = batches.classOffsets[row + 1] ?? from;
    return {
      step: batches.steps[row] ?? Number.NaN,
      epoch: batches.epochs[row] ?? Number.NaN,
      timeMs: batches.timesMs[row] ?? Number.NaN,
      loss: batches.losses[row] ?? Number.NaN,
      size: batches.batchSizes[row] ?? Number.NaN,
      classes: Array.from({ length: to - from }, (_none, i) => [
        batches.classNames[batches.classIndex[from + i] ?? 0] ?? '',
        batches.classCounts[from + i] ?? 0,
      ]),
      metadata: batches.metadata[row] ?? null,
    };
  });
}
