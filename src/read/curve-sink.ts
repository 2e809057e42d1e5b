/** Reads the segments of a run one after the other, and chooses the samples of each metric that its curve needs. */
import { metricTable } from '../records/metric.ts';
import { decodeSegment, type OpenedSegment, type ReadySegment } from '../segment/open-segment.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';
import type { Curve, CurveQuery, RunCurves } from '../store/curves.ts';
import type { SegmentManifest } from '../store/store.ts';
import { Scratch } from './columns/scratch.ts';
import {
  CurveGrid,
  divideAxis,
  type AxisGrid,
  type ChosenSamples,
  type PositionRange,
  type SampleColumns,
} from './curves/curve-grid.ts';
import { keyColumn } from './metric-columns.ts';
import type { SegmentVisitor } from './scan.ts';

/** Metrics in one answer. */
export const MAX_CURVES = 64;
/** Parts of all curves of an answer together: some 350 bytes each while they are read. */
const MAX_BUCKETS_IN_ALL = 131_072;

/** How many metrics an answer takes. */
export function curveLimit(buckets: number): number {
  return Math.min(MAX_CURVES, Math.floor(MAX_BUCKETS_IN_ALL / buckets));
}

/** Row count and last sequence number of segments, by their manifests. */
export function extentOf(
  manifests: readonly SegmentManifest[],
): Pick<RunCurves, 'rowCount' | 'lastSequence'> {
  return {
    rowCount: manifests.reduce((sum, one) => sum + one.rowCount, 0),
    lastSequence: manifests.reduce((last, one) => Math.max(last, one.lastSequence), -1),
  };
}

/** Counts of all samples of a metric, chosen or not. */
export type MetricCounts = {
  readonly key: string;
  readonly sampleCount: number;
  readonly nonFiniteCount: number;
  /** Sequence number of its first sample: metrics stand in this order. */
  readonly firstSequence: number;
};

/** Samples that stand for all samples of some segments on any grid that is as fine or coarser. */
export type DownsampledRows = {
  readonly metrics: readonly MetricCounts[];
  readonly stepExponent: number;
  readonly timeExponent: number;
  /** Metric key, value, step, epoch, time; nothing else. */
  readonly batch: RowBatch;
  readonly sequences: Float64Array;
};

/** One metric: samples without a step are on the axis of time. */
type Metric = {
  byStep: CurveGrid | undefined;
  byTime: CurveGrid | undefined;
  sampleCount: number;
  nonFiniteCount: number;
  firstSequence: number;
};

/** See the top of this file. */
export class CurveSink implements SegmentVisitor {
  /** All segments that the curves are about. */
  readonly manifests: readonly SegmentManifest[];
  readonly #wanted: ReadonlySet<string> | undefined;
  readonly #buckets: number;
  readonly #steps: AxisGrid;
  readonly #times: AxisGrid;
  readonly #stepMin: number;
  readonly #stepMax: number;
  readonly #isCut: boolean;
  readonly #metrics = new Map<string, Metric>();
  readonly #leftOut = new Set<string>();
  /** Memory that segments are unpacked into, one after the other. */
  readonly #scratch = new Scratch();

  constructor(query: Omit<CurveQuery, 'runId'>, manifests: readonly SegmentManifest[]) {
    const { buckets, metricKeys, stepMax, stepMin } = query;
    this.manifests = manifests;
    this.#wanted = metricKeys === undefined ? undefined : new Set(metricKeys);
    this.#buckets = buckets;
    this.#stepMin = stepMin ?? Number.NEGATIVE_INFINITY;
    this.#stepMax = stepMax ?? Number.POSITIVE_INFINITY;
    this.#isCut = stepMin !== undefined || stepMax !== undefined;
    const steps = rangeOf(manifests, 'stepMin', 'stepMax');
    const shown = { min: stepMin ?? steps.min, max: stepMax ?? steps.max };
    this.#steps = divideAxis(shown, buckets);
    this.#times = divideAxis(rangeOf(manifests, 'timeMinMs', 'timeMaxMs'), buckets);
  }

  /** Whether these rows can be taken for the samples that they stand for. */
  fits({ stepExponent, timeExponent }: DownsampledRows): boolean {
    return (
      !this.#isCut && this.#steps.exponent >= stepExponent && this.#times.exponent >= timeExponent
    );
  }

  visit(ready: ReadySegment): void {
    this.#scratch.reset();
    const room = this.#scratch.take;
    this.#add(decodeSegment(metricTable, ready, { names: COLUMNS, room }), true);
  }

  /** Adds rows for which {@link fits} is true, before any other. */
  take(downsampled: DownsampledRows): void {
    for (const { key, ...counts } of downsampled.metrics) {
      const metric = this.#metric(key);
      if (metric !== undefined) Object.assign(metric, counts);
    }
    this.#add(downsampled, false);
  }

  #add({ batch, sequences }: Pick<OpenedSegment, 'batch' | 'sequences'>, isCounted: boolean): void {
    const value = batch.columns.get('value');
    if (value?.kind !== 'f64' && value?.kind !== 'number') return;
    const numbers = (name: string): Float64Array | undefined => {
      const column = batch.columns.get(name);
      return column?.kind === 'number' ? column.values : undefined;
    };
    const columns: SampleColumns = {
      values: value.values,
      steps: numbers('step'),
      epochs: numbers('epoch'),
      timesMs: numbers('timestamp'),
      sequences,
    };
    const { dictionary } = keyColumn(batch);
    const { rowCount } = batch;
    const { steps, timesMs } = columns;
    const addRows = (
      key: string,
      by: 'byStep' | 'byTime',
      positions: Float64Array,
      rows: Int32Array | number,
    ): void => {
      const metric = this.#metric(key);
      if (metric === undefined) return;
      const axis = by === 'byStep' ? this.#steps : this.#times;
      const grid = (metric[by] ??= new CurveGrid(axis, this.#buckets));
      const nonFiniteCount = grid.add(columns, positions, rows);
      if (!isCounted) return;
      const first = typeof rows === 'number' ? 0 : (rows[0] ?? 0);
      metric.sampleCount += typeof rows === 'number' ? rows : rows.length;
      metric.nonFiniteCount += nonFiniteCount;
      metric.firstSequence = Math.min(metric.firstSequence, sequences[first] ?? 0);
    };
    // Merged segments hold one metric, and most metrics have a step everywhere: nothing is sorted out then.
    if (
      dictionary.length === 1 &&
      !this.#isCut &&
      steps !== undefined &&
      rowCount > 0 &&
      isWhole(steps, rowCount)
    ) {
      addRows(dictionary[0] ?? '', 'byStep', steps, rowCount);
      return;
    }
    const rowsOf = this.#rowsByKey(batch, steps);
    for (const [at, key] of dictionary.entries()) {
      const stepRows = rowsOf(2 * at);
      const timeRows = rowsOf(2 * at + 1);
      if (stepRows.length > 0 && steps !== undefined) addRows(key, 'byStep', steps, stepRows);
      if (timeRows.length > 0) addRows(key, 'byTime', timesMs ?? sequences, timeRows);
    }
  }

  /** Rows of each key of the batch that is wanted: under twice its index those with a step, after it those that have only a time. */
  #rowsByKey(batch: RowBatch, steps: Float64Array | undefined): (slot: number) => Int32Array {
    const { dictionary, indices } = keyColumn(batch);
    const { rowCount } = batch;
    const isWanted = Uint8Array.from(dictionary, (key) =>
      this.#wanted?.has(key) === false ? 0 : 1,
    );
    const slots = new Int32Array(rowCount).fill(-1);
    const starts = new Int32Array(2 * dictionary.length + 1);
    for (let row = 0; row < rowCount; row++) {
      const index = indices[row] ?? 0;
      if (isWanted[index] !== 1) continue;
      const step = steps?.[row] ?? Number.NaN;
      const hasStep = !Number.isNaN(step);
      if (this.#isCut && !(hasStep && step >= this.#stepMin && step <= this.#stepMax)) continue;
      const slot = 2 * index + (hasStep ? 0 : 1);
      slots[row] = slot;
      starts[slot + 1] = (starts[slot + 1] ?? 0) + 1;
    }
    for (let slot = 0; slot + 1 < starts.length; slot++)
      starts[slot + 1] = (starts[slot + 1] ?? 0) + (starts[slot] ?? 0);
    const rows = new Int32Array(starts.at(-1) ?? 0);
    const next = starts.slice();
    for (let row = 0; row < rowCount; row++) {
      const slot = slots[row] ?? -1;
      if (slot < 0) continue;
      const at = next[slot] ?? 0;
      rows[at] = row;
      next[slot] = at + 1;
    }
    return (slot) => rows.subarray(starts[slot] ?? 0, starts[slot + 1] ?? 0);
  }

  /** The metrics that are left out because there is no room for more. */
  get leftOutCount(): number {
    return this.#leftOut.size;
  }

  curves(): Omit<RunCurves, 'damagedCount'> {
    const curves = this.#chosen().map(
      ([metricKey, { nonFiniteCount, sampleCount }, samples]): Curve => {
        const { epochs, steps, timesMs, values } = samples;
        return {
          metricKey,
          sampleCount,
          nonFiniteCount,
          values,
          steps,
          epochs,
          timesMs,
          timestampsMs: timesMs,
        };
      },
    );
    return { ...extentOf(this.manifests), curves, leftOutCount: this.leftOutCount };
  }

  /** The chosen samples, for {@link CurveSink.take} of another sink. */
  downsampled(): DownsampledRows {
    const chosen = this.#chosen();
    const joined = (pick: (samples: ChosenSamples) => Float64Array): Float64Array =>
      joinColumns(chosen.map(([, , samples]) => pick(samples)));
    const values = joined((one) => one.values);
    const indices = new Int32Array(values.length);
    let at = 0;
    for (const [index, [, , samples]] of chosen.entries())
      indices.fill(index, at, (at += samples.values.length));
    const number = (pick: (samples: ChosenSamples) => Float64Array): Vector => ({
      kind: 'number',
      values: joined(pick),
    });
    return {
      metrics: chosen.map(([key, { firstSequence, nonFiniteCount, sampleCount }]) => ({
        key,
        sampleCount,
        nonFiniteCount,
        firstSequence,
      })),
      stepExponent: this.#steps.exponent,
      timeExponent: this.#times.exponent,
      batch: {
        rowCount: values.length,
        columns: new Map<string, Vector>([
          ['metric_key', { kind: 'key', dictionary: chosen.map(([key]) => key), indices }],
          ['value', { kind: 'f64', values, isNull: null }],
          ['step', number((one) => one.steps)],
          ['epoch', number((one) => one.epochs)],
          ['timestamp', number((one) => one.timesMs)],
        ]),
      },
      sequences: joined((one) => one.sequences),
    };
  }

  /** Metrics that have samples, in their order: for each those without a step, then the others. */
  #chosen(): (readonly [string, Metric, ChosenSamples])[] {
    return [...this.#metrics]
      .filter(([, metric]) => metric.sampleCount > 0)
      .sort(([, a], [, b]) => a.firstSequence - b.firstSequence)
      .map(([key, metric]) => {
        const [one, other] = [metric.byTime, metric.byStep].flatMap(
          (grid) => grid?.samples() ?? [],
        );
        if (one === undefined || other === undefined) return [key, metric, one ?? NOTHING] as const;
        const both = (pick: (samples: ChosenSamples) => Float64Array) =>
          joinColumns([pick(one), pick(other)]);
        return [
          key,
          metric,
          {
            values: both((samples) => samples.values),
            steps: both((samples) => samples.steps),
            epochs: both((samples) => samples.epochs),
            timesMs: both((samples) => samples.timesMs),
            sequences: both((samples) => samples.sequences),
          },
        ] as const;
      });
  }

  #metric(key: string): Metric | undefined {
    if (this.#wanted?.has(key) === false) return undefined;
    const known = this.#metrics.get(key);
    if (known !== undefined) return known;
    if (this.#metrics.size >= curveLimit(this.#buckets)) {
      this.#leftOut.add(key);
      return undefined;
    }
    const metric = {
      byStep: undefined,
      byTime: undefined,
      sampleCount: 0,
      nonFiniteCount: 0,
      firstSequence: Number.POSITIVE_INFINITY,
    };
    this.#metrics.set(key, metric);
    return metric;
  }
}

/** What of a segment is decoded. */
const COLUMNS: ReadonlySet<string> = new Set(['metric_key', 'value', 'step', 'epoch', 'timestamp']);

const NOTHING: ChosenSamples = {
  values: new Float64Array(0),
  steps: new Float64Array(0),
  epochs: new Float64Array(0),
  timesMs: new Float64Array(0),
  sequences: new Float64Array(0),
};

function joinColumns(columns: readonly Float64Array[]): Float64Array<ArrayBuffer> {
  const joined = new Float64Array(columns.reduce((sum, one) => sum + one.length, 0));
  let at = 0;
  for (const column of columns) {
    joined.set(column, at);
    at += column.length;
  }
  return joined;
}

function isWhole(column: Float64Array, length: number): boolean {
  for (let row = 0; row < length; row++) if (Number.isNaN(column[row])) return false;
  return true;
}

function rangeOf(
  manifests: readonly SegmentManifest[],
  low: 'stepMin' | 'timeMinMs',
  high: 'stepMax' | 'timeMaxMs',
): PositionRange {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const manifest of manifests) {
    min = Math.min(min, manifest[low] ?? min);
    max = Math.max(max, manifest[high] ?? max);
  }
  return { min, max };
}
