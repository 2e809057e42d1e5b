/**
 * Runs for TensorBoard: one event file with scalars, histograms, texts and hyperparameters. The formats are those of TensorFlow's
 * documentation: TFRecord with masked CRC-32C, event.proto, summary.proto, tensor.proto, and plugin_data.proto of the hparams plugin.
 */
import { getPayload } from '../../instruments/artifacts/parts.ts';
import { maskedCrc32c } from '../../base/crc32.ts';
import type { JsonValue } from '../../base/json.ts';
import { readArtifacts } from '../../read/tables.ts';
import type { MetricColumns, MetricFilter } from '../../read/metric-columns.ts';
import type { RunReader } from '../../read/run-reader.ts';
import type { ArtifactRecord } from '../../records/artifact.ts';
import type { RunRecord } from '../../records/run.ts';
import { fileNameOf } from './file-names.ts';
import { ByteWriter } from '../../codecs/protobuf/writer.ts';

const BYTES_PER_PIECE = 1 << 18;
/** Larger histograms and texts are left out: TensorBoard keeps whole records in memory. */
const MAX_PAYLOAD_BYTES = 1 << 24;
const MAX_HPARAMS = 1000;
/** SummaryMetadata.data_class. */
const SCALAR = 1;
const TENSOR = 2;
/** DataType. */
const DT_FLOAT = 1;
const DT_DOUBLE = 2;
const DT_STRING = 7;
/** Status of the hparams plugin: success, failure, running. */
const STATUS = { completed: 1, failed: 2, interrupted: 2, running: 3 } as const;

/**
 * The name of the file: TensorBoard looks for `tfevents` in it, and takes files of a folder as one run in the order of their names.
 *
 * @returns `events.out.tfevents.<seconds>.<run id>`
 */
export function tensorBoardFileName(run: RunRecord): string {
  const seconds = Math.floor(Date.parse(run.startedAt) / 1000);
  return `events.out.tfevents.${String(seconds).padStart(10, '0')}.${fileNameOf(run.id)}`;
}

/**
 * A run as one event file of TensorBoard, in pieces of about 256 kB; the numbers of the run are held in memory, 44 bytes a sample. Put it into
 * a folder of its own under the name that {@link tensorBoardFileName} gives.
 *
 * - Metrics become scalars under their keys, rounded to float32: TensorBoard reads no others. NaN and infinities stay. A sample without a
 *   step gets its epoch, one without either its position among the samples of its key.
 * - Artifacts of type `histogram` become histograms, text artifacts of type `text` texts, where they are at most 16 MiB.
 * - The configuration becomes hyperparameters: numbers, texts and booleans; nested names are joined by ".". At most 1,000.
 *
 * Events, alerts, telemetry and other artifacts have no place in the format.
 *
 * @param filter which metrics; `stepMin` and the like hold for artifacts too
 * @yields bytes of the file, in order
 * @throws {QuarkError} `invalid_input` naming the filter
 * @throws {SessionStoreError} when an artifact cannot be read
 */
export async function* exportTensorBoard(
  reader: RunReader,
  filter: MetricFilter = {},
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const points = await reader.readMetricColumns(filter);
  const file = new EventWriter(Date.parse(reader.run.startedAt));
  file.version();
  file.hparams(reader.run);
  for (let row = 0; row < points.rowCount; row++) {
    file.scalar(points, row);
    if (file.size >= BYTES_PER_PIECE) yield file.take();
  }
  const { metricKey: _key, namespace: _namespace, metricName: _name, ...position } = filter;
  const { records } = await readArtifacts(reader, {
    ...position,
    artifactTypes: ['histogram', 'text'],
  });
  for (const record of records) {
    if (record.sizeBytes > MAX_PAYLOAD_BYTES) continue;
    file.artifact(record, await payloadOf(reader, record));
    if (file.size >= BYTES_PER_PIECE) yield file.take();
  }
  if (reader.run.endedAt !== null) file.end(reader.run);
  yield file.take();
}

class EventWriter {
  readonly #out = new ByteWriter();
  readonly #event = new ByteWriter();
  readonly #value = new ByteWriter();
  readonly #summary = new ByteWriter();
  readonly #inner = new ByteWriter();
  readonly #startedAtMs: number;
  /** Tags whose metadata has been written, by plugin and tag. */
  readonly #described = new Set<string>();
  readonly #tags = new Map<string, Uint8Array>();
  readonly #positions = new Map<string, number>();

  constructor(startedAtMs: number) {
    this.#startedAtMs = startedAtMs;
  }

  get size(): number {
    return this.#out.size;
  }

  take(): Uint8Array<ArrayBuffer> {
    const bytes = this.#out.bytes.slice();
    this.#out.clear();
    return bytes;
  }

  version(): void {
    const source = this.#inner.clear().text(1, 'quark-sdk');
    this.#event
      .clear()
      .double(1, this.#startedAtMs / 1000)
      .text(3, 'brain.Event:2')
      .part(10, source);
    this.#record();
  }

  scalar(points: MetricColumns, row: number): void {
    const key = points.keys[points.keyIndex[row] ?? 0] ?? '';
    const value = points.values[row] ?? Number.NaN;
    const count = this.#positions.get(key) ?? 0;
    this.#positions.set(key, count + 1);
    const step = firstNumber(points.steps[row], points.epochs[row], count);
    this.#begin(key, 'scalars', SCALAR);
    // TensorBoard's loader passes over tensors of doubles.
    this.#value.float(2, value);
    this.#finish(step, points.timesMs[row] ?? Number.NaN);
  }

  artifact(record: ArtifactRecord, payload: Uint8Array<ArrayBuffer>): void {
    const { artifactKey, step, epoch, timestamp } = record;
    const position = step ?? epoch ?? 0;
    if (record.artifactType === 'text') {
      if (record.payloadFormat !== 'text') return;
      this.#begin(artifactKey, 'text', TENSOR);
      // A tensor of texts without dimensions.
      const tensor = this.#inner.clear().integer(1, DT_STRING).part(2, new Uint8Array(0));
      this.#value.part(8, tensor.part(8, payload));
    } else {
      const rows = record.payloadFormat === 'json' ? bucketsOf(payload) : undefined;
      if (rows === undefined) return;
      this.#begin(artifactKey, 'histograms', TENSOR);
      this.#tensor(DT_DOUBLE, [rows.length / 3, 3], rows);
    }
    this.#finish(position, Date.parse(timestamp));
  }

  hparams(run: RunRecord): void {
    const start = new ByteWriter();
    const entry = new ByteWriter();
    const value = new ByteWriter();
    const hparams = [...scalarsOf(run.config, '')].slice(0, MAX_HPARAMS);
    if (hparams.length === 0) return;
    for (const [name, found] of hparams) {
      value.clear();
      if (typeof found === 'number') value.double(2, found);
      else if (typeof found === 'string') value.text(3, found);
      else value.integer(4, found ? 1 : 0);
      start.part(1, entry.clear().text(1, name).part(2, value));
    }
    start.text(4, run.id).double(5, this.#startedAtMs / 1000);
    this.#session(
      '_hparams_/session_start_info',
      new ByteWriter().part(3, start),
      this.#startedAtMs,
    );
  }

  /** How the run ended, for the hparams plugin. */
  end(run: RunRecord): void {
    const atMs = Date.parse(run.endedAt ?? run.startedAt);
    const end = new ByteWriter().integer(1, STATUS[run.status]).double(2, atMs / 1000);
    this.#session('_hparams_/session_end_info', new ByteWriter().part(4, end), atMs);
  }

  /** The plugin reads its data from the metadata; the value is a zero that has to be there. */
  #session(tag: string, content: ByteWriter, timeMs: number): void {
    this.#begin(tag, 'hparams', TENSOR, content);
    this.#tensor(DT_FLOAT, [], [0]);
    this.#finish(0, timeMs);
  }

  /** Begins a value; its metadata goes with the first of a tag. */
  #begin(tag: string, plugin: string, dataClass: number, content?: ByteWriter): void {
    let bytes = this.#tags.get(tag);
    if (bytes === undefined) this.#tags.set(tag, (bytes = new TextEncoder().encode(tag)));
    this.#value.clear().part(1, bytes);
    const name = `${plugin}\n${tag}`;
    if (this.#described.has(name)) return;
    this.#described.add(name);
    const data = new ByteWriter().text(1, plugin);
    if (content !== undefined) data.part(2, content);
    this.#value.part(9, new ByteWriter().part(1, data).integer(4, dataClass));
  }

  #tensor(type: number, sizes: readonly number[], values: readonly number[]): void {
    const shape = new ByteWriter();
    for (const size of sizes) shape.part(2, new ByteWriter().integer(1, size));
    const content = new ByteWriter();
    for (const value of values) {
      if (type === DT_DOUBLE) content.float64(value);
      else content.uint32(0);
    }
    this.#value.part(8, this.#inner.clear().integer(1, type).part(2, shape).part(4, content));
  }

  #finish(step: number, timeMs: number): void {
    this.#summary.clear().part(1, this.#value);
    this.#event.clear().double(1, timeMs / 1000);
    if (step !== 0) this.#event.integer(2, step);
    this.#event.part(5, this.#summary);
    this.#record();
  }

  #record(): void {
    const out = this.#out;
    const start = out.size;
    out.uint32(this.#event.size).uint32(0);
    out.uint32(maskedCrc32c(out.bytes, start, start + 8));
    out.raw(this.#event.bytes);
    out.uint32(maskedCrc32c(out.bytes, start + 12, out.size));
  }
}

function firstNumber(...values: readonly (number | undefined)[]): number {
  return values.find((value) => value !== undefined && value === value) ?? 0;
}

/** The buckets of a histogram artifact as rows of left edge, right edge and count; undefined when it is none. */
function bucketsOf(payload: Uint8Array): number[] | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder().decode(payload));
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const bins: unknown = Reflect.get(parsed, 'bins');
  const counts: unknown = Reflect.get(parsed, 'counts');
  if (!Array.isArray(bins) || !Array.isArray(counts) || bins.length !== counts.length + 1)
    return undefined;
  if (![...bins, ...counts].every((value) => typeof value === 'number')) return undefined;
  return counts.flatMap((count: number, i) => [Number(bins[i]), Number(bins[i + 1]), count]);
}

/** Numbers, texts and booleans of a configuration, by path. */
function* scalarsOf(
  value: JsonValue,
  path: string,
): Generator<readonly [string, number | string | boolean]> {
  if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean')
    yield [path, value];
  else if (Array.isArray(value)) yield [path, JSON.stringify(value)];
  else if (value !== null)
    for (const [key, item] of Object.entries(value))
      yield* scalarsOf(item, path === '' ? key : `${path}.${key}`);
}

async function payloadOf(
  reader: RunReader,
  record: ArtifactRecord,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(record.sizeBytes);
  let at = 0;
  for await (const piece of getPayload(reader.store, record)) {
    bytes.set(piece.subarray(0, bytes.byteLength - at), at);
    at += piece.byteLength;
  }
  return bytes;
}
