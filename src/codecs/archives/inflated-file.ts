/** A compressed file as the file that is in it: read front to back, with the parts before and between taken from memory where they fit. */
import { QuarkError, messageOf } from '../../base/errors.ts';
import type { InputFile } from '../input.ts';

/** What is compressed, or text in another encoding than UTF-8: its bytes, and how. */
export type CompressedBytes = {
  /** The name that the content gets. */
  readonly path: string;
  readonly modifiedAtMs: number | null;
  readonly format: 'gzip' | 'deflate-raw' | Utf16;
  readonly compressed: () => AsyncIterable<Uint8Array<ArrayBuffer>>;
};

/** Text that becomes UTF-8, by the labels of `TextDecoder`. */
export type Utf16 = 'utf-16le' | 'utf-16be';

/** How much may come out. */
export type InflateLimits = {
  /** Bytes of the content; what has more is refused. */
  readonly maxBytes: number;
  /** Bytes of the content that are taken into memory; longer ones are inflated again for each reader. */
  readonly maxMemoryBytes: number;
};

/** The content of a compressed file, and why it ends before its end, where it does. */
export type InflatedFile = { readonly file: InputFile; readonly damage: string | undefined };

/**
 * Inflates a file once: what is in it, how long it is, whether it is whole. Of a file that is cut off or damaged the bytes before count.
 *
 * @throws {QuarkError} `invalid_input` when it holds more than it may, or nothing can be read of it
 */
export async function inflateFile(
  source: CompressedBytes,
  { maxBytes, maxMemoryBytes }: InflateLimits,
): Promise<InflatedFile> {
  let sizeBytes = 0;
  let damage: string | undefined;
  let chunks: Uint8Array<ArrayBuffer>[] | undefined = [];
  try {
    for await (const chunk of inflated(source)) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > maxBytes) throw tooLarge(maxBytes);
      if (sizeBytes > maxMemoryBytes) chunks = undefined;
      chunks?.push(chunk);
    }
  } catch (error) {
    if (error instanceof QuarkError || sizeBytes === 0) throw error;
    damage = messageOf(error);
  }
  const whole = chunks === undefined ? undefined : joined(chunks, sizeBytes);
  return { file: fileOf(source, sizeBytes, whole), damage };
}

function fileOf(
  source: CompressedBytes,
  sizeBytes: number,
  whole: Uint8Array<ArrayBuffer> | undefined,
): InputFile {
  const { path, modifiedAtMs } = source;
  const stream = (start = 0): AsyncIterable<Uint8Array<ArrayBuffer>> =>
    whole === undefined ? span(inflated(source), start, sizeBytes) : inOne(whole, start);
  const forward = new ForwardReader(() => span(inflated(source), 0, sizeBytes));
  return {
    path,
    sizeBytes,
    modifiedAtMs,
    stream,
    slice: (start, end) =>
      whole === undefined
        ? forward.slice(start, Math.min(end, sizeBytes))
        : Promise.resolve(whole.slice(start, Math.max(start, end))),
  };
}

/** Answers slices out of a stream: those that come in order take one pass, one that goes back begins another. */
class ForwardReader {
  readonly #open: () => AsyncIterable<Uint8Array<ArrayBuffer>>;
  #chunks: AsyncIterator<Uint8Array<ArrayBuffer>> | undefined;
  #chunk = new Uint8Array(0);
  #at = 0;
  /** Slices are answered one after another: they share the stream. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(open: () => AsyncIterable<Uint8Array<ArrayBuffer>>) {
    this.#open = open;
  }

  slice(start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    const next = this.#last.then(() => this.#read(start, end));
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #read(start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#chunks === undefined || start < this.#at) {
      await this.#chunks?.return?.();
      this.#chunks = this.#open()[Symbol.asyncIterator]();
      this.#chunk = new Uint8Array(0);
      this.#at = 0;
    }
    const bytes = new Uint8Array(Math.max(0, end - start));
    let used = 0;
    while (used < bytes.byteLength) {
      const from = start + used - this.#at;
      if (from < this.#chunk.byteLength) {
        const part = this.#chunk.subarray(from, from + bytes.byteLength - used);
        bytes.set(part, used);
        used += part.byteLength;
        continue;
      }
      const next = await this.#chunks.next();
      if (next.done === true) break;
      this.#at += this.#chunk.byteLength;
      this.#chunk = next.value;
    }
    return bytes.subarray(0, used);
  }
}

/** The content, as it comes. */
function inflated({ compressed, format }: CompressedBytes): AsyncIterable<Uint8Array<ArrayBuffer>> {
  return format === 'gzip' || format === 'deflate-raw'
    ? decompressed(compressed, format)
    : transcoded(compressed, format);
}

/** Text as UTF-8, without its byte order mark. */
async function* transcoded(
  text: CompressedBytes['compressed'],
  encoding: Utf16,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const decoder = new TextDecoder(encoding);
  const encoder = new TextEncoder();
  for await (const chunk of text()) yield encoder.encode(decoder.decode(chunk, { stream: true }));
  const rest = encoder.encode(decoder.decode());
  if (rest.byteLength > 0) yield rest;
}

async function* decompressed(
  compressed: CompressedBytes['compressed'],
  format: CompressionFormat,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { readable, writable } = new DecompressionStream(format);
  const reader = readable.getReader();
  const writer = writable.getWriter();
  let failure: unknown;
  const feed = async (): Promise<void> => {
    try {
      for await (const chunk of compressed()) {
        await writer.ready;
        await writer.write(chunk);
      }
      await writer.close();
    } catch (error) {
      // What is wrong with the bytes is told to the reader; what is wrong with reading them only here.
      failure = error;
      await writer.abort(error).catch(() => undefined);
    }
  };
  const fed = feed();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield new Uint8Array(value);
    }
    if (failure !== undefined) throw failure;
  } finally {
    await reader.cancel().catch(() => undefined);
    await writer.abort().catch(() => undefined);
    await fed;
  }
}

/** The bytes from `start` to `end` of a stream. */
async function* span(
  chunks: AsyncIterable<Uint8Array<ArrayBuffer>>,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let at = 0;
  for await (const chunk of chunks) {
    const from = Math.max(0, start - at);
    const part = chunk.subarray(from, Math.max(from, end - at));
    at += chunk.byteLength;
    if (part.byteLength > 0) yield part;
    // What comes behind was damaged when the length was found.
    if (at >= end) return;
  }
}

async function* inOne(
  bytes: Uint8Array<ArrayBuffer>,
  start: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (start < bytes.byteLength) yield bytes.slice(start);
}

function joined(
  chunks: readonly Uint8Array<ArrayBuffer>[],
  sizeBytes: number,
): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

/** The refusal of what becomes more than it may. */
export function tooLarge(maxBytes: number): QuarkError {
  return new QuarkError(
    'invalid_input',
    `It holds more than ${maxBytes} bytes (limits.maxUnpackedBytes).`,
  );
}
