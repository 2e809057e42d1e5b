/** float16 and bfloat16 bit patterns in plain JavaScript. */
import type { TensorData } from '../kernel.ts';

/** The values of float16 bit patterns, exactly, as float32. The array is the caller's. */
export function widenFloat16(bits: TensorData): Float32Array<ArrayBuffer> {
  const values = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) {
    const pattern = bits[i] ?? 0;
    const exponent = (pattern >> 10) & 31;
    const fraction = pattern & 1023;
    let size: number;
    if (exponent === 0) size = fraction * 2 ** -24;
    else if (exponent < 31) size = (1024 + fraction) * 2 ** (exponent - 25);
    else size = fraction === 0 ? Infinity : Number.NaN;
    values[i] = pattern >= 0x8000 ? -size : size;
  }
  return values;
}

/** The values of bfloat16 bit patterns, exactly, as float32. The array is the caller's. */
export function widenBfloat16(bits: TensorData): Float32Array<ArrayBuffer> {
  const words = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = (bits[i] ?? 0) << 16;
  return new Float32Array(words.buffer);
}
