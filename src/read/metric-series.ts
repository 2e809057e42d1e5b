/**
 * Metrics as one series a key, straight from the segments: the way to read a whole run, and what came since. A value is copied once,
 * from the bytes of its segment to its index in the series. Sequence numbers are stored only where segments overlap.
 */
import { checkOptionNames } from '../base/assert.ts';
import { metricTable } from '../records/metric.ts';
import type { ArrowBatch, ArrowColumn, ArrowNumbers } from '../codecs/arrow/arrow-reader.ts';
import { numbersOf, readStored, toKeyVector } from '../segment/decode.ts';
import { SEQUENCE_COLUMN } from '../segment/encode.ts';
import { checkRowCount, type DamageReport, type ReadySegment } from '../segment/open-segment.ts';
import type { KeyVector } from '../codecs/arrow/vectors.ts';
import type { SegmentManifest } from '../store/store.ts';
import { checkFilter, segmentFilter } from './filters.ts';
import { Scratch } from './columns/scratch.ts';
import { GrowingSeries, type RecordedSeries } from './columns/growing-series.ts';
import { runIdOf, scanSegments, type RunSource, type SegmentVisitor } from './scan.ts';

/** Which samples to read. */
export type SeriesQuery = {
  /** Only these metrics. Default: all. */
  readonly metricKeys?: readonly string[] | undefined;
  /** Only samples from this sequence number on: what has come since `lastSequence`. Default 0. */
  readonly sequenceMin?: number | undefined;
};

/** Metrics of a run, one series a key. */
export type SeriesRead = {
  /** In the order in which the metrics first appear. A metric without a sample is not listed. */
  readonly series: readonly RecordedSeries[];
  /** Samples of all series together. */
  readonly rowCount: number;
  /**
   * Largest sequence number; without a sample, the one before `sequenceMin`. Ask for `sequenceMin: lastSequence + 1`
   * next time.
   */
  readonly lastSequence: number;
  /** Segments that could not be read and are missing here. */
  readonly damage: readonly DamageReport[];
};

/** @throws {QuarkError} `invalid_input` naming the option */
export async function readSeries(source: RunSource, query: SeriesQuery = {}): Promise<SeriesRead> {
  checkOptionNames('query', query, ['metricKeys', 'sequenceMin']);
  const { conditions, position } = checkFilter(metricTable, query, FILTERS);
  const { metricKey: keys } = conditions;
  const { sequenceMin } = position;
  if (keys?.length === 0)
    return { series: [], rowCount: 0, lastSequence: sequenceMin - 1, damage: [] };
  const { damage, visitor } = await scanSegments(
    source.store,
    segmentFilter(runIdOf(source), metricTable.table, position, keys),
    (manifests) => new SeriesBuilder(manifests, keys, sequenceMin),
  );
  return { ...visitor.finish(), damage };
}

const FILTERS = { lists: { metricKeys: 'metricKey' } };

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
  readonly #sequenceMin: number;
  readonly #expected: ReadonlyMap<string, number>;
  readonly #series = new Map<string, GrowingSeries>();
  /** Memory that segments are unpacked into, one after the other. */
  readonly #scratch = new Scratch();
  #sequences = new Float64Array(0);
  #column = new Float64Array(0);

  constructor(
    manifests: readonly SegmentManifest[],
    keys: readonly string[] | undefined,
    sequenceMin: number,
  ) {
    this.#sequenceMin = sequenceMin;
    this.#wanted = keys === undefined ? null : new Set(keys);
    this.#expected = expectedRows(manifests);
  }

  visit({ manifest, toArrow }: ReadySegment): void {
    this.#scratch.reset();
    const arrow = toArrow(this.#scratch.take);
    // All of it is read before a row is added: a damaged segment leaves nothing behind.
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

  finish(): Omit<SeriesRead, 'damage'> {
    const all = [...this.#series.values()].toSorted((a, b) => a.firstSequence - b.firstSequence);
    return {
      series: all.map((series) => series.finish()),
      rowCount: all.reduce((sum, { rowCount }) => sum + rowCount, 0),
      lastSequence: all.reduce(
        (last, { lastSequence }) => Math.max(last, lastSequence),
        this.#sequenceMin - 1,
      ),
    };
  }

  #add(batch: Rows, firstSequence: number): void {
    const { keys, rowCount, sequences } = batch;
    if (rowCount === 0) return;
    if (this.#sequenceMin > 0 || typeof keys !== 'string') {
      const all = this.#sequencesOf(batch, firstSequence);
      const newer = this.#newerRows(keys, all.subarray(0, rowCount));
      if (newer !== null || typeof keys !== 'string') {
        this.#addByKey(batch, newer ?? keyVectorOf(keys, rowCount), all);
        return;
      }
    }
    if (this.#wanted?.has(keys) === false) return;
    const series = this.#seriesOf(keys);
    const at = series.reserve(rowCount);
    if (sequences === null) series.numberFrom(firstSequence, rowCount);
    else series.number(sequences);
    write(series.values, batch.values, at, rowCount);
    write(series.timesMs, batch.timestamps, at, rowCount);
    if (batch.steps !== null || series.hasSteps)
      write(series.writeSteps(), batch.steps, at, rowCount);
    if (batch.epochs !== null || series.hasEpochs)
      write(series.writeEpochs(), batch.epochs, at, rowCount);
  }

  /** The keys of rows from the position on, older rows without one, which leaves them out; null where no row is older. */
  #newerRows(keys: string | KeyVector, sequences: Float64Array): KeyVector | null {
    const sequenceMin = this.#sequenceMin;
    if (sequenceMin === 0 || !sequences.some((sequence) => sequence < sequenceMin)) return null;
    const { dictionary, indices } = keyVectorOf(keys, sequences.length);
    const newer = indices.map((index, row) => ((sequences[row] ?? 0) < sequenceMin ? -1 : index));
    return { kind: 'key', dictionary, indices: newer };
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
      const rows = order.subarray(from, to);
      const own = this.#column.subarray(0, to - from);
      gather(own, sequences, rows, 0);
      series.number(own);
      return { series, at, rows };
    });
    const { epochs, steps, timestamps, values } = batch;
    const timesMs = this.#asColumn(timestamps, batch.rowCount);
    for (const { at, rows, series } of groups) gather(series.timesMs, timesMs, rows, at);
    const ofValues = this.#asColumn(values, batch.rowCount);
    for (const { at, rows, series } of groups) gather(series.values, ofValues, rows, at);
    const ofSteps = this.#asColumn(steps, batch.rowCount);
    for (const { at, rows, series } of groups)
      if (steps !== null || series.hasSteps) gather(series.writeSteps(), ofSteps, rows, at);
    const ofEpochs = this.#asColumn(epochs, batch.rowCount);
    for (const { at, rows, series } of groups)
      if (epochs !== null || series.hasEpochs) gather(series.writeEpochs(), ofEpochs, rows, at);
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

  /** As doubles, so that one loop serves all types; valid until the next call. */
  #asColumn(numbers: ArrowNumbers | null, rowCount: number): Float64Array {
    if (numbers instanceof Float64Array) return numbers;
    if (this.#column.length < rowCount) this.#column = new Float64Array(rowCount);
    write(this.#column, numbers, 0, rowCount);
    return this.#column;
  }
}

function keyVectorOf(keys: string | KeyVector, rowCount: number): KeyVector {
  if (typeof keys !== 'string') return keys;
  return { kind: 'key', dictionary: [keys], indices: new Int32Array(rowCount) };
}

/** Rows that each key will have, by the manifests: exact where a segment has one key, as after merging. */
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

function write(
  target: Float64Array,
  numbers: ArrowNumbers | null,
  at: number,
  count: number,
): void {
  if (numbers === null) target.fill(Number.NaN, at, at + count);
  else target.set(numbers, at);
}

function gather(target: Float64Array, source: Float64Array, rows: Int32Array, at: number): void {
  for (let i = 0; i < rows.length; i++) target[at + i] = source[rows[i] ?? 0] ?? Number.NaN;
}
