/**
 * Metrics as one series a key, straight from the segments: the way to read a whole run. Values go from the bytes of a segment to their
 * place in the series and nowhere in between, and sequence numbers are looked at but not kept while segments lie one after the other.
 */
import { metricTable } from '../records/metric.ts';
import type { ArrowBatch, ArrowColumn, ArrowNumbers } from '../codecs/arrow/arrow-reader.ts';
import { numbersOf, readStored, toKeyVector } from '../segment/decode.ts';
import { SEQUENCE_COLUMN } from '../segment/encode.ts';
import { checkRowCount, type DamageReport, type ReadySegment } from '../segment/open-segment.ts';
import type { KeyVector } from '../codecs/arrow/vectors.ts';
import type { SegmentManifest, Store } from '../store/store.ts';
import { checkPosition, segmentFilter } from './filters.ts';
import { GrowingSeries, type RecordedSeries } from './growing-series.ts';
import { scanSegments, type SegmentVisitor } from './scan.ts';

/** What {@link readMetricSeries} found. */
export type MetricSeriesRead = {
  /** By key, in alphabetical order. */
  readonly series: readonly RecordedSeries[];
  /** Segments that could not be read and are missing here. */
  readonly damage: readonly DamageReport[];
};

/** All samples of the metrics with these keys, or of all. */
export async function readMetricSeries(
  store: Store,
  runId: string,
  keys?: readonly string[],
): Promise<MetricSeriesRead> {
  if (keys?.length === 0) return { series: [], damage: [] };
  const filter = segmentFilter(runId, metricTable.table, checkPosition({}, []), keys);
  const { damage, visitor } = await scanSegments(
    store,
    filter,
    (manifests) => new SeriesBuilder(manifests, keys),
  );
  return { series: visitor.finish(), damage };
}

/** The columns of one record batch, all of which could be read. */
type Rows = {
  readonly rowCount: number;
  /** The key of all rows, or that of each. */
  readonly keys: string | KeyVector;
  readonly values: ArrowNumbers | null;
  readonly steps: ArrowNumbers | null;
  readonly epochs: ArrowNumbers | null;
  readonly timestamps: ArrowNumbers | null;
  readonly sequences: ArrowNumbers | null;
};

class SeriesBuilder implements SegmentVisitor {
  readonly #wanted: ReadonlySet<string> | null;
  readonly #expected: ReadonlyMap<string, number>;
  readonly #series = new Map<string, GrowingSeries>();
  /** Memory that segments are unpacked into, one after the other: it stays in the cache. */
  #arrow = new Uint8Array(0);
  #sequences = new Float64Array(0);
  #column = new Float64Array(0);

  constructor(manifests: readonly SegmentManifest[], keys: readonly string[] | undefined) {
    this.#wanted = keys === undefined ? null : new Set(keys);
    this.#expected = expectedRows(manifests);
  }

  visit({ manifest, toArrow }: ReadySegment): void {
    const arrow = toArrow((byteLength) => {
      if (this.#arrow.byteLength < byteLength) this.#arrow = new Uint8Array(byteLength);
      return this.#arrow.subarray(0, byteLength);
    });
    // All of it before anything is taken: a damaged segment leaves nothing behind.
    const batches = readStored(metricTable, arrow, manifest.schemaVersion).map(rowsOf);
    checkRowCount(
      manifest,
      batches.reduce((sum, { rowCount }) => sum + rowCount, 0),
    );
    let first = manifest.firstSequence;
    for (const batch of batches) {
      this.#add(batch, first);
      first += batch.rowCount;
    }
  }

  finish(): readonly RecordedSeries[] {
    return [...this.#series.values()]
      .map((series) => series.finish())
      .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  #add(batch: Rows, firstSequence: number): void {
    const { keys, rowCount } = batch;
    if (rowCount === 0) return;
    const sequences = this.#sequencesOf(batch, firstSequence);
    if (typeof keys === 'string') {
      if (this.#wanted?.has(keys) === false) return;
      const series = this.#seriesOf(keys);
      const at = series.reserve(rowCount);
      series.note(sequences.subarray(0, rowCount));
      place(series.values, batch.values, at, rowCount);
      place(series.timestampsMs, batch.timestamps, at, rowCount);
      if (batch.steps !== null || series.hasSteps)
        place(series.writeSteps(), batch.steps, at, rowCount);
      if (batch.epochs !== null || series.hasEpochs)
        place(series.writeEpochs(), batch.epochs, at, rowCount);
      return;
    }
    this.#addByKey(batch, keys, sequences);
  }

  /** Rows of several keys: in groups by key first, then column by column. */
  #addByKey(batch: Rows, { dictionary, indices }: KeyVector, sequences: Float64Array): void {
    const { starts, order } = groupByKey(dictionary.length, indices);
    if (this.#column.length < batch.rowCount) this.#column = new Float64Array(batch.rowCount);
    const groups = dictionary.flatMap((key, i) => {
      const from = starts[i] ?? 0;
      const to = starts[i + 1] ?? 0;
      if (from === to || this.#wanted?.has(key) === false) return [];
      const series = this.#seriesOf(key);
      const at = series.reserve(to - from);
      const own = this.#column.subarray(0, to - from);
      gather(own, sequences, order, 0, from, to);
      series.note(own);
      return { series, at, from, to };
    });
    const { epochs, steps, timestamps, values } = batch;
    const timesMs = this.#asColumn(timestamps, batch.rowCount);
    for (const { at, from, series, to } of groups)
      gather(series.timestampsMs, timesMs, order, at, from, to);
    const ofValues = this.#asColumn(values, batch.rowCount);
    for (const { at, from, series, to } of groups)
      gather(series.values, ofValues, order, at, from, to);
    const ofSteps = this.#asColumn(steps, batch.rowCount);
    for (const { at, from, series, to } of groups)
      if (steps !== null || series.hasSteps)
        gather(series.writeSteps(), ofSteps, order, at, from, to);
    const ofEpochs = this.#asColumn(epochs, batch.rowCount);
    for (const { at, from, series, to } of groups)
      if (epochs !== null || series.hasEpochs)
        gather(series.writeEpochs(), ofEpochs, order, at, from, to);
  }

  #seriesOf(key: string): GrowingSeries {
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const series = new GrowingSeries(key, this.#expected.get(key) ?? 0);
    this.#series.set(key, series);
    return series;
  }

  #sequencesOf({ rowCount, sequences }: Rows, first: number): Float64Array {
    if (this.#sequences.length < rowCount) this.#sequences = new Float64Array(rowCount);
    if (sequences !== null) this.#sequences.set(sequences);
    else for (let row = 0; row < rowCount; row++) this.#sequences[row] = first + row;
    return this.#sequences;
  }

  /** As doubles, which keeps the loop over them one loop; valid until the next call. */
  #asColumn(numbers: ArrowNumbers | null, rowCount: number): Float64Array {
    if (numbers instanceof Float64Array) return numbers;
    if (this.#column.length < rowCount) this.#column = new Float64Array(rowCount);
    place(this.#column, numbers, 0, rowCount);
    return this.#column;
  }
}

/** Rows that each key will have, as far as manifests tell: exact where segments hold one key, as after merging. */
function expectedRows(manifests: readonly SegmentManifest[]): ReadonlyMap<string, number> {
  const expected = new Map<string, number>();
  for (const { keys, rowCount } of manifests)
    for (const key of keys ?? [])
      expected.set(key, (expected.get(key) ?? 0) + Math.ceil(rowCount / (keys?.length ?? 1)));
  return expected;
}

function rowsOf({ columns, rowCount }: ArrowBatch): Rows {
  const numbers = (name: string): ArrowNumbers | null => {
    const column = columns.get(name);
    return column === undefined ? null : numbersOf(name, column);
  };
  const keys = columns.get('metric_key');
  const values = columns.get('value');
  return {
    rowCount,
    keys: keys === undefined ? '' : (onlyKey(keys) ?? toKeyVector('metric_key', keys)),
    // Null and NaN are the same in a series.
    values: values === undefined ? null : numbersOf('value', values),
    steps: numbers('step'),
    epochs: numbers('epoch'),
    timestamps: numbers('timestamp'),
    sequences: numbers(SEQUENCE_COLUMN),
  };
}

/** The key that all rows have; undefined when they have several, or some none. */
function onlyKey({ data, dictionary, validity }: ArrowColumn): string | undefined {
  const [only] = dictionary ?? [];
  if (dictionary?.length !== 1 || validity !== null || data.kind !== 'number') return undefined;
  const { values } = data;
  for (let row = 0; row < values.length; row++) if (values[row] !== 0) return undefined;
  return only ?? undefined;
}

/** Rows in the order of their keys, those of one key as they were: those of key `i` begin at `starts[i]`. Rows without a key are left out. */
function groupByKey(
  keyCount: number,
  indices: Int32Array,
): { readonly starts: Int32Array; readonly order: Int32Array } {
  const starts = new Int32Array(keyCount + 1);
  for (let row = 0; row < indices.length; row++) {
    const next = (indices[row] ?? -1) + 1;
    if (next > 0) starts[next] = (starts[next] ?? 0) + 1;
  }
  for (let i = 1; i <= keyCount; i++) starts[i] = (starts[i] ?? 0) + (starts[i - 1] ?? 0);
  const at = starts.slice();
  const order = new Int32Array(starts[keyCount] ?? 0);
  for (let row = 0; row < indices.length; row++) {
    const key = indices[row] ?? -1;
    if (key < 0) continue;
    const slot = at[key] ?? 0;
    order[slot] = row;
    at[key] = slot + 1;
  }
  return { starts, order };
}

function place(
  target: Float64Array,
  numbers: ArrowNumbers | null,
  at: number,
  count: number,
): void {
  if (numbers === null) target.fill(Number.NaN, at, at + count);
  else target.set(numbers, at);
}

function gather(
  target: Float64Array,
  source: Float64Array,
  order: Int32Array,
  at: number,
  from: number,
  to: number,
): void {
  for (let i = from; i < to; i++) target[at + i - from] = source[order[i] ?? 0] ?? Number.NaN;
}
