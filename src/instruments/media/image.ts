/** Images, from what programs have: pixels, tensors, `ImageData`, or the bytes of an encoded file. */
import { invalidInput } from '../../base/errors.ts';
import { describeImage, encodePng, type Pixels } from './png.ts';

/** Longest side of an image, and most pixels: 64 MiB as RGBA. */
export const MAX_IMAGE_SIDE = 16_384;
const MAX_PIXELS = 1 << 24;
/** Most bytes of an image that comes encoded. */
const MAX_ENCODED_BYTES = 1 << 26;

/**
 * Pixels, row-major, `[height, width, channels]`: integers from 0 to 255 in a `Uint8Array`, a `Uint8ClampedArray` or an `Int32Array`, or
 * numbers from 0 to 1 in a `Float32Array` or `Float64Array`. `ImageData` is one.
 */
export type ImagePixels = {
  readonly data: Uint8Array | Uint8ClampedArray | Int32Array | Float32Array | Float64Array;
  readonly width: number;
  readonly height: number;
  /** 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA. Default: what the length of `data` says. */
  readonly channels?: number;
};

/** A tensor, `[height, width]` or `[height, width, channels]`, with values as {@link ImagePixels}. It is read, not disposed of. */
export interface ImageTensor {
  readonly shape: readonly number[];
  data(): Promise<unknown>;
}

/** What can be logged as an image. Bytes are those of a PNG, JPEG or GIF file. */
export type ImageInput = ImagePixels | ImageTensor | Uint8Array | Blob;

/** An image that is encoded. */
export type EncodedImage = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly metadata: {
    readonly mimeType: 'image/png' | 'image/jpeg' | 'image/gif';
    readonly width: number;
    readonly height: number;
  };
};

/** Reads what is given before it returns, where that is in memory. @throws {QuarkError} `invalid_input` */
export async function encodeImage(image: unknown): Promise<EncodedImage> {
  if (typeof Blob === 'function' && image instanceof Blob) {
    if (image.size > MAX_ENCODED_BYTES) throw tooLarge(image.size);
    return encoded(new Uint8Array(await image.arrayBuffer()));
  }
  if (image instanceof Uint8Array) return encoded(image.slice());
  if (typeof image !== 'object' || image === null)
    throw invalidInput('image', image, 'pixels, a tensor, or the bytes of a PNG, JPEG or GIF file');
  const pixels = isTensor(image) ? await tensorPixels(image) : pixelsOf(image);
  const { height, width } = pixels;
  return { bytes: await encodePng(pixels), metadata: { mimeType: 'image/png', width, height } };
}

function encoded(bytes: Uint8Array<ArrayBuffer>): EncodedImage {
  if (bytes.byteLength > MAX_ENCODED_BYTES) throw tooLarge(bytes.byteLength);
  const metadata = describeImage(bytes);
  if (metadata === undefined || metadata.width === 0 || metadata.height === 0)
    throw invalidInput('image', 'other bytes', 'the bytes of a PNG, JPEG or GIF file');
  return { bytes, metadata };
}

function tooLarge(size: number): Error {
  return invalidInput('image.size', size, `at most ${MAX_ENCODED_BYTES} bytes`);
}

function isTensor(image: object): image is ImageTensor {
  return 'shape' in image && 'data' in image && typeof image.data === 'function';
}

async function tensorPixels(tensor: ImageTensor): Promise<Pixels> {
  const { shape } = tensor;
  if (!Array.isArray(shape) || (shape.length !== 2 && shape.length !== 3))
    throw invalidInput('image.shape', shape, '[height, width] or [height, width, channels]');
  const [height, width, channels = 1]: unknown[] = shape;
  return pixelsOf({ data: await tensor.data(), width, height, channels });
}

function pixelsOf(image: object): Pixels {
  const data: unknown = Reflect.get(image, 'data');
  const width = sideOf('image.width', Reflect.get(image, 'width'));
  const height = sideOf('image.height', Reflect.get(image, 'height'));
  if (width * height > MAX_PIXELS)
    throw invalidInput('image', `${width} x ${height}`, `at most ${MAX_PIXELS} pixels`);
  const isWhole =
    data instanceof Uint8Array || data instanceof Uint8ClampedArray || data instanceof Int32Array;
  if (!isWhole && !(data instanceof Float32Array) && !(data instanceof Float64Array))
    throw invalidInput('image.data', data, 'a typed array of bytes, int32, float32 or float64');
  const given: unknown = Reflect.get(image, 'channels');
  const channels = given === undefined ? data.length / (width * height) : given;
  if (channels !== 1 && channels !== 2 && channels !== 3 && channels !== 4)
    throw invalidInput(
      'image.channels',
      channels,
      '1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA)',
    );
  if (data.length !== width * height * channels)
    throw invalidInput(
      'image.data.length',
      data.length,
      `height x width x channels, ${width * height * channels}`,
    );
  const bytes = isWhole ? wholeBytes(data) : scaledBytes(data);
  return { data: bytes, width, height, channels };
}

function sideOf(field: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > MAX_IMAGE_SIDE)
    throw invalidInput(field, value, `an integer from 1 to ${MAX_IMAGE_SIDE}`);
  return value;
}

function wholeBytes(data: Uint8Array | Uint8ClampedArray | Int32Array): Uint8Array {
  if (!(data instanceof Int32Array)) return new Uint8Array(data);
  for (let i = 0; i < data.length; i++) {
    const value = data[i] ?? 0;
    if (value < 0 || value > 255)
      throw invalidInput(`image.data[${i}]`, value, 'an integer from 0 to 255');
  }
  return new Uint8Array(data);
}

function scaledBytes(data: Float32Array | Float64Array): Uint8Array {
  const bytes = new Uint8Array(data.length);
  for (let i = 0; i < data.length; i++) {
    const value = data[i] ?? 0;
    // A little beyond the ends is rounding; NaN fails both.
    if (!(value >= -1e-3 && value <= 1.001))
      throw invalidInput(`image.data[${i}]`, value, 'a number from 0 to 1, or bytes');
    bytes[i] = Math.round(Math.min(1, Math.max(0, value)) * 255);
  }
  return bytes;
}
