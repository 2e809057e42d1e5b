/** Payloads: what they may be, how they become bytes, and back. */
import { invalidInput, SessionStoreError } from '../../base/errors.ts';
import { encodeLongJson, type JsonValue } from '../../base/json.ts';
import { ARTIFACT_PAYLOAD_FORMATS, type ArtifactPayloadFormat } from '../../records/literals.ts';

/** Bytes that come chunk by chunk: of a file, of a response, of a generator. */
export type ByteStream = Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** What an artifact may contain: JSON, text, bytes, or bytes that come chunk by chunk. */
export type ArtifactPayload = JsonValue | ArrayBuffer | ArrayBufferView | ByteStream;

/** What `ArtifactStore.load` returns, by format: a JSON value, text or bytes. */
export type LoadedPayload = JsonValue | Uint8Array<ArrayBuffer>;

/** A payload on its way to the store. */
export type PayloadSource = {
  readonly format: ArtifactPayloadFormat;
  /** The bytes in chunks of any size. */
  readonly chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
};

/** File name of each format. */
export const PAYLOAD_FILE_NAMES: Readonly<Record<ArtifactPayloadFormat, string>> = Object.freeze({
  json: 'payload.json',
  text: 'payload.txt',
  bytes: 'payload.bin',
});

/**
 * Text is `text`, bytes are `bytes`, anything else is `json`, unless `format` says otherwise.
 *
 * @throws {QuarkError} `invalid_input` when the payload does not fit the format
 */
export function openPayload(payload: unknown, format: unknown): PayloadSource {
  const asked = format === undefined || format === null ? undefined : checkFormat(format);
  const bytes = bytesOf(payload);
  if (bytes !== undefined) {
    if (asked === 'json') throw invalidInput('payload', 'bytes', 'JSON, or payloadFormat "bytes"');
    return asked === 'text'
      ? { format: asked, chunks: checkText(bytes) }
      : { format: 'bytes', chunks: bytes };
  }
  if (asked === 'bytes')
    throw invalidInput(
      'payload',
      payload,
      'bytes: an ArrayBuffer, a view, a Blob or a stream of Uint8Array',
    );
  if (asked === 'text' && typeof payload !== 'string')
    throw invalidInput('payload', payload, 'text, or payloadFormat "json"');
  const isText = asked !== 'json' && typeof payload === 'string';
  if (isText && /\p{Surrogate}/u.test(payload))
    throw invalidInput(
      'payload',
      'text with half of a surrogate pair',
      'text that UTF-8 can hold, or payloadFormat "json"',
    );
  const text = isText ? payload : encodeLongJson('payload', payload);
  return { format: isText ? 'text' : 'json', chunks: [new TextEncoder().encode(text)] };
}

/** The value of bytes that were read back. @throws {SessionStoreError} `corrupt` */
export function readPayload(
  format: ArtifactPayloadFormat,
  bytes: Uint8Array<ArrayBuffer>,
): LoadedPayload {
  if (format === 'bytes') return bytes;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return format === 'text' ? text : (JSON.parse(text) as JsonValue);
  } catch (cause) {
    throw new SessionStoreError(
      'corrupt',
      `The payload of an artifact is not ${format === 'text' ? 'UTF-8 text' : 'JSON'}.`,
      { cause },
    );
  }
}

function checkFormat(value: unknown): ArtifactPayloadFormat {
  const found = ARTIFACT_PAYLOAD_FORMATS.find((format) => format === value);
  if (found === undefined)
    throw invalidInput('payloadFormat', value, 'one of "json", "text", "bytes"');
  return found;
}

function bytesOf(payload: unknown): PayloadSource['chunks'] | undefined {
  // Copies: the caller may go on with the memory at once.
  if (payload instanceof ArrayBuffer) return [new Uint8Array(payload.slice(0))];
  if (ArrayBuffer.isView(payload))
    return [new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength).slice()];
  if (typeof Blob === 'function' && payload instanceof Blob) return readStream(payload.stream());
  if (typeof ReadableStream === 'function' && payload instanceof ReadableStream)
    return readStream(payload as ReadableStream<unknown>);
  if (typeof payload === 'object' && payload !== null && Symbol.asyncIterator in payload)
    return checkChunks(payload as AsyncIterable<unknown>);
  return undefined;
}

/** Safari's streams are no iterables. */
async function* readStream(stream: ReadableStream<unknown>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isDone = done;
      if (done) return;
      yield checkChunk(value);
    }
  } finally {
    if (!isDone) await reader.cancel();
    reader.releaseLock();
  }
}

/** Bytes that are to be read back as text have to be text. */
async function* checkText(chunks: PayloadSource['chunks']): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const check = (chunk?: Uint8Array): void => {
    try {
      decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw invalidInput('payload', 'other bytes', 'UTF-8 text, or payloadFormat "bytes"');
    }
  };
  for await (const chunk of chunks) {
    check(chunk);
    yield chunk;
  }
  check();
}

async function* checkChunks(chunks: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield checkChunk(chunk);
}

function checkChunk(chunk: unknown): Uint8Array {
  if (!(chunk instanceof Uint8Array))
    throw invalidInput('payload', chunk, 'a stream of Uint8Array');
  return chunk;
}

/** A histogram as JSON. */
export type HistogramPayload = {
  readonly bins: readonly number[];
  readonly counts: readonly number[];
};

/**
 * @param bins edges of the bins, ascending
 * @param counts one fewer than there are edges
 * @throws {QuarkError} `invalid_input`
 */
export function checkHistogram(
  bins: ArrayLike<number>,
  counts: ArrayLike<number>,
): HistogramPayload {
  const edges = listOf('bins', bins);
  const values = listOf('counts', counts);
  if (edges.length !== values.length + 1 || values.length === 0) {
    throw invalidInput(
      'bins.length',
      edges.length,
      `one more than there are counts (${values.length}), which is at least one`,
    );
  }
  edges.forEach((edge, i) => {
    if (!Number.isFinite(edge)) throw invalidInput(`bins[${i}]`, edge, 'a finite number');
    const before = edges[i - 1];
    if (before !== undefined && !(edge > before))
      throw invalidInput(`bins[${i}]`, edge, `greater than the edge before (${before})`);
  });
  values.forEach((value, i) => {
    if (!Number.isFinite(value) || value < 0)
      throw invalidInput(`counts[${i}]`, value, 'a finite number, 0 or more');
  });
  return { bins: edges, counts: values };
}

function listOf(field: string, values: unknown): number[] {
  if (typeof values !== 'object' || values === null || !('length' in values))
    throw invalidInput(field, values, 'an array of numbers');
  return Array.from(values as ArrayLike<number>, (value, i) => {
    if (typeof value !== 'number') throw invalidInput(`${field}[${i}]`, value, 'a number');
    return value;
  });
}
