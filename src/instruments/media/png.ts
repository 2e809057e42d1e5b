/**
 * PNG (ISO/IEC 15948), written: 8 bits a channel, no interlacing, no filters. The platform compresses (`CompressionStream`, whose format
 * `deflate` is the zlib stream that PNG asks for), so that no library is needed in pages.
 */
import { crc32 } from '../../base/crc32.ts';

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Colour type for each number of channels: grey, grey with alpha, RGB, RGBA. */
const COLOR_TYPES = [0, 4, 2, 6];

/** Pixels, `[height, width, channels]`, 0 to 255. */
export type Pixels = {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  /** 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA. */
  readonly channels: number;
};

/** An image as the bytes of a PNG file. */
export async function encodePng(pixels: Pixels): Promise<Uint8Array<ArrayBuffer>> {
  const { channels, data, height, width } = pixels;
  const rowBytes = width * channels;
  const rows = new Uint8Array(height * (rowBytes + 1));
  for (let y = 0; y < height; y++)
    rows.set(data.subarray(y * rowBytes, (y + 1) * rowBytes), y * (rowBytes + 1) + 1);
  const compressed = await new Response(
    new Blob([rows]).stream().pipeThrough(new CompressionStream('deflate')),
  ).arrayBuffer();
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header[8] = 8;
  header[9] = COLOR_TYPES[channels - 1] ?? 0;
  const chunks = [
    chunk('IHDR', header),
    chunk('IDAT', new Uint8Array(compressed)),
    chunk('IEND', new Uint8Array(0)),
  ];
  const size = chunks.reduce((sum, { byteLength }) => sum + byteLength, SIGNATURE.length);
  const file = new Uint8Array(size);
  file.set(SIGNATURE);
  let at = SIGNATURE.length;
  for (const bytes of chunks) {
    file.set(bytes, at);
    at += bytes.byteLength;
  }
  return file;
}

function chunk(type: string, content: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(content.byteLength + 12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, content.byteLength);
  for (let i = 0; i < 4; i++) bytes[4 + i] = type.charCodeAt(i);
  bytes.set(content, 8);
  view.setUint32(8 + content.byteLength, crc32(bytes, 4, 8 + content.byteLength));
  return bytes;
}

/**
 * Kind and size in pixels of an encoded image, as its first bytes say; undefined for what is no PNG, JPEG or GIF file. Nothing is decoded.
 *
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { describeImage, loadMedia, MediaLogger, readMedia } from 'quark-sdk/media';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   await new MediaLogger(session).logImage('first', { data: new Uint8Array(28 * 28), width: 28, height: 28 });
 *   const { items } = await readMedia(session, { kinds: ['image'] });
 *   const bytes = await loadMedia(session, items[0]);
 *   console.log(describeImage(bytes)); // { mimeType: 'image/png', width: 28, height: 28 }
 * });
 * ```
 */
export function describeImage(bytes: Uint8Array):
  | {
      readonly mimeType: 'image/png' | 'image/jpeg' | 'image/gif';
      readonly width: number;
      readonly height: number;
    }
  | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength >= 24 && SIGNATURE.every((byte, i) => bytes[i] === byte))
    return { mimeType: 'image/png', width: view.getUint32(16), height: view.getUint32(20) };
  if (bytes.byteLength >= 10 && String.fromCharCode(...bytes.subarray(0, 4)) === 'GIF8')
    return {
      mimeType: 'image/gif',
      width: view.getUint16(6, true),
      height: view.getUint16(8, true),
    };
  return jpegSize(view);
}

/** Size in the frame header (SOF) of a JPEG file. */
function jpegSize(
  view: DataView,
):
  | { readonly mimeType: 'image/jpeg'; readonly width: number; readonly height: number }
  | undefined {
  if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8) return undefined;
  for (let at = 2; at + 9 <= view.byteLength;) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    const isFrame =
      marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame)
      return {
        mimeType: 'image/jpeg',
        height: view.getUint16(at + 5),
        width: view.getUint16(at + 7),
      };
    at += 2 + Math.max(2, view.getUint16(at + 2));
  }
  return undefined;
}
