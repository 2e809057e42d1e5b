/** A run in bounded memory: what rules judge while it goes on. */
import type { RecordedSeries } from '../../read/columns/growing-series.ts';
import { columnsOfRows, rowsOfBatches, type BatchRow } from '../columns/batch-columns.ts';
import { placeSeries } from '../columns/metric-series.ts';
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
  readonly #batches = new LiveBatches();

  constructor(limits: SpikeLimits) {
    this.#limits = limits;
  }

  addMetrics(recorded: readonly RecordedSeries[]): void {
    for (const [key, piece] of placeSeries(recorded)) {
      let live = this.metrics.get(key);
      if (live === undefined) {
        if (this.metrics.size >= MAX_METRICS) continue;
        live = new LiveSeries(key, this.#limits.threshold, this.#limits.ratio);
        this.metrics.set(key, live);
      }
      live.add(piece);
    }
  }

  /** Spikes of what was known before are old news. */
  forgetSpikes(): void {
    for (const series of this.metrics.values()) series.takeSpikes();
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
    this.#batches.add(piece);
  }

  /** What there is of the run so far. */
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
      batches: this.#batches.columns(),
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

/** Every column of both, downsampled to `max` rows: of the older half every second row goes, as often as it takes. */
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

/** Batches as rows: they come at every look, and are asked for now and then. */
class LiveBatches {
  #rows: BatchRow[] = [];
  #columns: BatchColumns | undefined;

  add(piece: BatchColumns): void {
    this.#columns = undefined;
    this.#rows.push(...rowsOfBatches(piece));
    while (this.#rows.length > MAX_BATCHES) {
      const half = this.#rows.length >> 1;
      this.#rows = this.#rows.filter((_, i) => i >= half || i % 2 === 0);
    }
  }

  columns(): BatchColumns {
    this.#columns ??= columnsOfRows(this.#rows);
    return this.#columns;
  }
}
