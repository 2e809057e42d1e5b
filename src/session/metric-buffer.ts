/** Metric samples in memory: one typed array a column, reused from flush to flush. */
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';
import type { RowBuffer } from './writer-options.ts';
import { MetricSummaries } from '../records/metric-summaries.ts';
import type { MetricKey } from '../read/metric-record.ts';

const FIRST_CAPACITY = 1024;

export class MetricBuffer implements RowBuffer {
  rowCount = 0;
  textChars = 0;
  #capacity = FIRST_CAPACITY;
  #keys = new Int32Array(FIRST_CAPACITY);
  /** Room for the dictionary positions of a batch. */
  #indices = new Int32Array(FIRST_CAPACITY);
  #values = new Float64Array(FIRST_CAPACITY);
  #steps = new Float64Array(FIRST_CAPACITY);
  #epochs = new Float64Array(FIRST_CAPACITY);
  #times = new Float64Array(FIRST_CAPACITY);
  /** Texts by row: few samples have any. */
  #descriptions = new Map<number, string>();
  #metadata = new Map<number, string>();
  readonly #names: string[] = [];
  /** Of all rows that were taken. */
  readonly summaries = new MetricSummaries();

  /** Introduces a key before its first sample. */
  addKey(key: MetricKey): void {
    this.#names[key.id] = key.key;
    this.summaries.addSeries(key.id, key.key);
  }

  /** NaN stands for a missing step or epoch. */
  push(keyId: number, value: number, step: number, epoch: number, timeMs: number): void {
    const row = this.rowCount;
    if (row === this.#capacity) this.#grow(row + 1);
    this.#keys[row] = keyId;
    this.#values[row] = value;
    this.#steps[row] = step;
    this.#epochs[row] = epoch;
    this.#times[row] = timeMs;
    this.rowCount = row + 1;
  }

  /** Adds texts to the row pushed last. */
  annotate(description: string | null, metadata: string | null): void {
    const row = this.rowCount - 1;
    if (description !== null) this.#descriptions.set(row, description);
    if (metadata !== null) this.#metadata.set(row, metadata);
    this.textChars += (description?.length ?? 0) + (metadata?.length ?? 0);
  }

  view(): RowBatch {
    return this.#batch(0, this.rowCount);
  }

  take(maxRows: number): RowBatch[] {
    this.summaries.addRows({
      rowCount: this.rowCount,
      series: this.#keys,
      values: this.#values,
      steps: this.#steps,
      timesMs: this.#times,
    });
    const batches: RowBatch[] = [];
    for (let from = 0; from < this.rowCount; from += maxRows)
      batches.push(this.#batch(from, Math.min(this.rowCount, from + maxRows)));
    this.rowCount = 0;
    this.textChars = 0;
    this.#descriptions.clear();
    this.#metadata.clear();
    return batches;
  }

  #batch(from: number, to: number): RowBatch {
    const columns = new Map<string, Vector>([
      ['timestamp', { kind: 'number', values: this.#times.subarray(from, to) }],
      ['metric_key', this.#keyVector(from, to)],
      ['value', { kind: 'f64', values: this.#values.subarray(from, to), isNull: null }],
      ['step', { kind: 'number', values: this.#steps.subarray(from, to) }],
      ['epoch', { kind: 'number', values: this.#epochs.subarray(from, to) }],
    ]);
    if (this.#metadata.size > 0)
      columns.set('metadata', { kind: 'text', values: textsOf(this.#metadata, from, to) });
    if (this.#descriptions.size > 0) {
      const texts = textsOf(this.#descriptions, from, to);
      const dictionary = [...new Set(texts)].filter((text) => text !== null);
      const positions = new Map(dictionary.map((text, i) => [text, i]));
      const indices = Int32Array.from(texts, (text) =>
        text === null ? -1 : (positions.get(text) ?? -1),
      );
      columns.set('description', { kind: 'key', dictionary, indices });
    }
    return { rowCount: to - from, columns };
  }

  /** Key numbers of this writer turned into positions in a dictionary of the keys that occur. */
  #keyVector(from: number, to: number): Vector {
    const positions = new Int32Array(this.#names.length).fill(-1);
    const dictionary: string[] = [];
    const indices = this.#indices.subarray(from, to);
    for (let row = from; row < to; row++) {
      const id = this.#keys[row] ?? 0;
      let position = positions[id] ?? -1;
      if (position < 0) {
        position = dictionary.push(this.#names[id] ?? '') - 1;
        positions[id] = position;
      }
      indices[row - from] = position;
    }
    return { kind: 'key', dictionary, indices };
  }

  #grow(needed: number): void {
    while (this.#capacity < needed) this.#capacity *= 2;
    const grow = (old: Float64Array): Float64Array<ArrayBuffer> => {
      const grown = new Float64Array(this.#capacity);
      grown.set(old);
      return grown;
    };
    const keys = new Int32Array(this.#capacity);
    keys.set(this.#keys);
    this.#keys = keys;
    this.#indices = new Int32Array(this.#capacity);
    this.#values = grow(this.#values);
    this.#steps = grow(this.#steps);
    this.#epochs = grow(this.#epochs);
    this.#times = grow(this.#times);
  }
}

function textsOf(byRow: ReadonlyMap<number, string>, from: number, to: number): (string | null)[] {
  return Array.from({ length: to - from }, (_, i) => byRow.get(from + i) ?? null);
}
