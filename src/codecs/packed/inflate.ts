/**
 * Raw DEFLATE streams (RFC 1951) of known length. In Node by one call of its zlib, on its threads: the stream of the web is cut into
 * thousands of small parts there, each with a turn of the event loop, which took ten times as long.
 */
import { bytesStream } from '../../base/runtime.ts';
import { isQuarkError } from '../../base/errors.ts';
import { damaged } from '../arrow/flatbuffer.ts';
import { zlibOfNode, type Zlib } from './node-zlib.ts';

/** What zlib takes for the size of its output at least. */
const MIN_CHUNK_BYTES = 64;

/**
 * The `length` bytes that a stream holds.
 *
 * @throws {QuarkError} `segment_damaged` when it is broken, or holds more or less
 */
export async function inflate(bytes: Uint8Array<ArrayBuffer>, length: number): Promise<Uint8Array> {
  const zlib = zlibOfNode();
  return zlib === undefined ? inflateStream(bytes, length) : inflateAtOnce(zlib, bytes, length);
}

function inflateAtOnce(zlib: Zlib, bytes: Uint8Array, length: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    // Room for one byte more than there is to be: a part that is full would make it ask for another.
    const chunkSize = Math.max(MIN_CHUNK_BYTES, length + 1);
    zlib.inflateRaw(bytes, { chunkSize, maxOutputLength: chunkSize }, (error, result) => {
      const code = error === null ? undefined : (error as { readonly code?: unknown }).code;
      if (code === 'ERR_BUFFER_TOO_LARGE') reject(holdsMore());
      else if (error !== null) reject(isBroken());
      else if (result.byteLength !== length)
        reject(result.byteLength > length ? holdsMore() : holdsLess());
      else resolve(result);
    });
  });
}

/** The same by what every engine has. */
export async function inflateStream(
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
): Promise<Uint8Array> {
  const reader = bytesStream([bytes])
    .pipeThrough(new DecompressionStream('deflate-raw'))
    .getReader();
  const out = new Uint8Array(length);
  let at = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (at + value.byteLength > length) throw holdsMore();
      out.set(value, at);
      at += value.byteLength;
    }
  } catch (error) {
    await reader.cancel().catch(() => undefined);
    // A TypeError by the standard, an error of zlib in Node.
    throw isQuarkError(error) ? error : isBroken();
  }
  if (at !== length) throw holdsLess();
  return out;
}

/** The error of a stream that inflates to more than it is said to. */
export function holdsMore(): Error {
  return damaged('it holds more than it says');
}

/** The error of a stream that inflates to less than it is said to. */
export function holdsLess(): Error {
  return damaged('it holds less than it says');
}

/** The error of a stream that cannot be inflated. */
export function isBroken(): Error {
  return damaged('its compressed part is broken');
}
