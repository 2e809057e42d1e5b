/** Bytes as one raw DEFLATE stream (RFC 1951): in Node by one call of its zlib, elsewhere by the stream of the web; see `inflate.ts`. */
import { bytesStream } from '../../base/runtime.ts';
import { zlibOfNode } from './node-zlib.ts';

/** Sizes of parts of the output that zlib is asked for. */
const MIN_CHUNK_BYTES = 1 << 10;
const MAX_CHUNK_BYTES = 1 << 22;

/** The stream of these bytes, one after the other. */
export async function deflate(parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const zlib = zlibOfNode();
  if (zlib === undefined) {
    const stream = bytesStream(parts as Uint8Array<ArrayBuffer>[]);
    const deflated = stream.pipeThrough(new CompressionStream('deflate-raw'));
    return new Uint8Array(await new Response(deflated).arrayBuffer());
  }
  const bytes = joinBytes(parts);
  const chunkSize = Math.min(MAX_CHUNK_BYTES, Math.max(MIN_CHUNK_BYTES, bytes.byteLength));
  return new Promise((resolve, reject) => {
    zlib.deflateRaw(bytes, { chunkSize }, (error, result) => {
      if (error === null) resolve(result);
      else reject(error);
    });
  });
}

/** All parts as one. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
