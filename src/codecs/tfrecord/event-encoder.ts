/**
 * Event files of TensorBoard: TFRecord with masked CRC-32C, event.proto, summary.proto, tensor.proto, and plugin_data.proto of the hparams
 * plugin, as TensorFlow's documentation has them.
 */
import { maskedCrc32c } from '../../base/crc32.ts';
import { ByteWriter } from '../protobuf/writer.ts';

/** SummaryMetadata.data_class. */
const SCALAR = 1;
const TENSOR = 2;
const BLOBS = 3;
/** DataType. */
const DT_FLOAT = 1;
const DT_DOUBLE = 2;
const DT_STRING = 7;
/** AudioPluginData.Encoding. */
const WAV = 11;
/** Status of the hparams plugin: success, failure, running. */
const STATUS = { completed: 1, failed: 2, interrupted: 2, running: 3 } as const;

/** How a run ended, or that it goes on. */
export type EventStatus = keyof typeof STATUS;

/** An encoded image: PNG, JPEG or GIF. */
export type EventImage = {
  readonly bytes: Uint8Array;
  readonly width: number;
  readonly height: number;
};

/** What is no number: a text in UTF-8, a WAV file, an image, or rows of left edge, right edge and count. */
export type EventMedium =
  | { readonly kind: 'text' | 'audio'; readonly bytes: Uint8Array }
  | { readonly kind: 'histogram'; readonly rows: readonly number[] }
  | ({ readonly kind: 'image' } & EventImage);

/** Writes events into memory; `take` gives what was written since the last call. Times are UTC epoch milliseconds. */
export class EventEncoder {
  readonly #out = new ByteWriter();
  readonly #event = new ByteWriter();
  readonly #value = new ByteWriter();
  readonly #summary = new ByteWriter();
  readonly #inner = new ByteWriter();
  /** Tags whose metadata has been written, by plugin and tag. */
  readonly #described = new Set<string>();
  readonly #tags = new Map<string, Uint8Array>();

  get size(): number {
    return this.#out.size;
  }

  take(): Uint8Array<ArrayBuffer> {
    const bytes = this.#out.bytes.slice();
    this.#out.clear();
    return bytes;
  }

  /** The first event of a file. */
  version(atMs: number): void {
    const source = this.#inner.clear().text(1, 'quark-sdk');
    this.#event
      .clear()
      .double(1, atMs / 1000)
      .text(3, 'brain.Event:2')
      .part(10, source);
    this.#record();
  }

  /** A number; TensorBoard's loader passes over tensors of doubles, so it is rounded to float32. */
  scalar(tag: string, value: number, step: number, timeMs: number): void {
    this.#begin(tag, 'scalars', SCALAR);
    this.#value.float(2, value);
    this.#finish(step, timeMs);
  }

  /** A text, as UTF-8. */
  text(tag: string, text: Uint8Array, step: number, timeMs: number): void {
    this.#begin(tag, 'text', TENSOR);
    // A tensor of texts without dimensions.
    const tensor = this.#inner.clear().integer(1, DT_STRING).part(2, new Uint8Array(0));
    this.#value.part(8, tensor.part(8, text));
    this.#finish(step, timeMs);
  }

  /** A histogram: left edge, right edge and count of each bucket, one after the other. */
  histogram(tag: string, rows: readonly number[], step: number, timeMs: number): void {
    this.#begin(tag, 'histograms', TENSOR);
    this.#tensor(DT_DOUBLE, [rows.length / 3, 3], rows);
    this.#finish(step, timeMs);
  }

  /** An encoded image: PNG, JPEG or GIF. */
  image(tag: string, { bytes, height, width }: EventImage, step: number, timeMs: number): void {
    this.#begin(tag, 'images', BLOBS, new ByteWriter());
    const sizes = [width, height].map((size) => new TextEncoder().encode(String(size)));
    this.#texts([3], [...sizes, bytes]);
    this.#finish(step, timeMs);
  }

  /** A WAV file. */
  audio(tag: string, bytes: Uint8Array, step: number, timeMs: number): void {
    this.#begin(tag, 'audio', BLOBS, new ByteWriter().integer(2, WAV));
    // One sound and its label, which TensorBoard shows no more.
    this.#texts([1, 2], [bytes, new Uint8Array(0)]);
    this.#finish(step, timeMs);
  }

  /** Any of these. */
  medium(tag: string, medium: EventMedium, step: number, timeMs: number): void {
    if (medium.kind === 'histogram') this.histogram(tag, medium.rows, step, timeMs);
    else if (medium.kind === 'image') this.image(tag, medium, step, timeMs);
    else if (medium.kind === 'audio') this.audio(tag, medium.bytes, step, timeMs);
    else this.text(tag, medium.bytes, step, timeMs);
  }

  /** Hyperparameters of a run, for the hparams plugin. */
  hparams(
    group: string,
    startedAtMs: number,
    entries: readonly (readonly [string, number | string | boolean])[],
  ): void {
    if (entries.length === 0) return;
    const start = new ByteWriter();
    const entry = new ByteWriter();
    const value = new ByteWriter();
    for (const [name, found] of entries) {
      value.clear();
      if (typeof found === 'number') value.double(2, found);
      else if (typeof found === 'string') value.text(3, found);
      else value.integer(4, found ? 1 : 0);
      start.part(1, entry.clear().text(1, name).part(2, value));
    }
    start.text(4, group).double(5, startedAtMs / 1000);
    this.#session('_hparams_/session_start_info', new ByteWriter().part(3, start), startedAtMs);
  }

  /** How the run ended, for the hparams plugin. */
  end(status: EventStatus, atMs: number): void {
    const end = new ByteWriter().integer(1, STATUS[status]).double(2, atMs / 1000);
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

  /** A tensor of texts or other bytes. */
  #texts(sizes: readonly number[], values: readonly Uint8Array[]): void {
    const shape = new ByteWriter();
    for (const size of sizes) shape.part(2, new ByteWriter().integer(1, size));
    const tensor = this.#inner.clear().integer(1, DT_STRING).part(2, shape);
    for (const value of values) tensor.part(8, value);
    this.#value.part(8, tensor);
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
