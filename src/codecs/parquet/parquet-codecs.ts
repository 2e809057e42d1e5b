/** Compressed pages. The length of what comes out is known before; whatever makes more, or takes more to be made, is refused. */
import { bytesStream } from '../../base/runtime.ts';
import { snappyUncompress } from 'hyparquet';
import type { Codec } from './parquet-footer.ts';

/** What hyparquet-compressors has: half of it is the dictionary of Brotli, so it is loaded by files that need it. */
type Decompressors = typeof import('hyparquet-compressors');
let decompressors: Promise<Decompressors> | undefined;

/** Beyond this a codec has made more of its input than it was: room for headers and for what cannot be compressed. */
const SLACK_BYTES = 4096;
/** A longer window than a page has would be memory for nothing. */
const MAX_WINDOW_BYTES = 1 << 27;

/** The bytes of a page. @throws {Error} saying what is wrong */
export async function decompressPage(
  codec: Codec | undefined,
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (codec === 'UNCOMPRESSED') {
    if (bytes.length !== length)
      throw new Error(`it has ${bytes.length} bytes instead of ${length}`);
    return bytes;
  }
  if (length === 0) return new Uint8Array(0);
  if (bytes.length > length * 2 + SLACK_BYTES)
    throw new Error(`${bytes.length} compressed bytes say that they are ${length}`);
  const out = await decompress(codec, bytes, length);
  if (out.length !== length) throw new Error(`it becomes ${out.length} bytes instead of ${length}`);
  return out;
}

async function decompress(
  codec: Codec | undefined,
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const out = new Uint8Array(length);
  switch (codec) {
    case 'SNAPPY':
      // It writes past the end of nothing: what does not fit is dropped, and the length is compared.
      snappyUncompress(bytes, out);
      return out;
    case 'GZIP':
      return gunzip(bytes, out);
    case 'ZSTD': {
      checkZstd(bytes, length);
      const { decompressZstd } = await load();
      decompressZstd(bytes, out);
      return out;
    }
    case 'BROTLI': {
      const { decompressBrotli } = await load();
      out.set(decompressBrotli(bytes, length));
      return out;
    }
    case 'LZ4':
    case 'LZ4_RAW':
      unpackLz4(codec === 'LZ4' ? withoutHadoopFrame(bytes, length) : [bytes], out);
      return out;
    default:
      throw new Error(`its codec ${codec ?? ''} is not known`);
  }
}

function load(): Promise<Decompressors> {
  return (decompressors ??= import('hyparquet-compressors'));
}

/** By the platform, and no further than the page is long. */
async function gunzip(
  bytes: Uint8Array<ArrayBuffer>,
  out: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = bytesStream([bytes]).pipeThrough(new DecompressionStream('gzip')).getReader();
  let at = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (at + value.byteLength > out.length) throw new Error('it becomes more than it says');
      out.set(value, at);
      at += value.byteLength;
    }
  } catch (error) {
    await reader.cancel().catch(() => undefined);
    throw error;
  }
  return out.subarray(0, at);
}

/** A frame's header may ask for any amount of memory, and a block of four bytes may stand for 128 KiB. */
function checkZstd(bytes: Uint8Array, length: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 6 || view.getUint32(0, true) !== 0xfd2fb528)
    throw new Error('it is no Zstandard frame');
  const flags = bytes[4] ?? 0;
  const isSingle = (flags & 0x20) !== 0;
  const idBytes = [0, 1, 2, 4][flags & 3] ?? 0;
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >>> 6] ?? 0;
  const at = (isSingle ? 5 : 6) + idBytes;
  if (at + sizeBytes > bytes.length) throw new Error('its Zstandard frame is cut off');
  let size = 0;
  for (let i = sizeBytes - 1; i >= 0; i--) size = size * 256 + (bytes[at + i] ?? 0);
  if (sizeBytes === 2) size += 256;
  if (sizeBytes > 0 && size > length) throw new Error(`its frame says ${size} bytes`);
  const exponent = 10 + ((bytes[5] ?? 0) >>> 3);
  const window = isSingle ? size : 2 ** exponent * (1 + ((bytes[5] ?? 0) & 7) / 8);
  if (window > MAX_WINDOW_BYTES) throw new Error(`its window has ${window} bytes`);
}

/** Hadoop put lengths before each block; other writers of the same codec did not. */
function withoutHadoopFrame(bytes: Uint8Array, length: number): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const blocks: Uint8Array[] = [];
  let total = 0;
  let at = 0;
  while (at + 8 <= bytes.length) {
    const unpacked = view.getUint32(at);
    const packed = view.getUint32(at + 4);
    total += unpacked;
    if (total > length || packed > bytes.length - at - 8) return [bytes];
    blocks.push(bytes.subarray(at + 8, at + 8 + packed));
    at += 8 + packed;
  }
  return at === bytes.length && total === length ? blocks : [bytes];
}

/** The LZ4 block format; matches may reach back into blocks before. */
function unpackLz4(blocks: readonly Uint8Array[], out: Uint8Array): void {
  let to = 0;
  for (const block of blocks) {
    let at = 0;
    const more = (count: number): number => {
      let sum = count;
      if (count < 15) return sum;
      for (let byte = 255; byte === 255;) {
        if (at >= block.length) throw new Error('it ends in the middle');
        byte = block[at++] ?? 0;
        sum += byte;
      }
      return sum;
    };
    while (at < block.length) {
      const token = block[at++] ?? 0;
      const literals = more(token >>> 4);
      if (literals > block.length - at || literals > out.length - to)
        throw new Error('it becomes more than it says');
      out.set(block.subarray(at, at + literals), to);
      at += literals;
      to += literals;
      if (at >= block.length) break;
      const distance = (block[at] ?? 0) | ((block[at + 1] ?? 0) << 8);
      at += 2;
      const count = more(token & 15) + 4;
      if (distance === 0 || distance > to || count > out.length - to)
        throw new Error('a match lies outside of it');
      for (let i = 0; i < count; i++, to++) out[to] = out[to - distance] ?? 0;
    }
  }
  if (to !== out.length) throw new Error(`it becomes ${to} bytes instead of ${out.length}`);
}
