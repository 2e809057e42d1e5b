/** Samples of tensors too large to be counted in full. */
import type { HistogramSettings } from './checks.ts';
import type { Histogram, TensorData } from '../kernel.ts';

/**
 * `most` values of a tensor that has more of them, in order; the tensor itself otherwise. Element `k` is taken for part `i` when it is
 * the one at `(i + u) * length / most`, with `u` in [0, 1) from the number `i` alone: one index, uniform, in each of `most` equal parts.
 * So each element is expected to be taken `most / length` times, exactly.
 */
export function sampleTensor(data: TensorData, most: number | null | undefined): TensorData {
  if (most === null || most === undefined || data.length <= most) return data;
  if (data instanceof Float32Array) return sampleInto(new Float32Array(most), data);
  if (data instanceof Float64Array) return sampleInto(new Float64Array(most), data);
  if (data instanceof Int32Array) return sampleInto(new Int32Array(most), data);
  return data instanceof Uint8Array
    ? sampleInto(new Uint8Array(most), data)
    : sampleInto(new Uint16Array(most), data);
}

function sampleInto<T extends TensorData>(sample: T, data: T): T {
  for (let i = 0; i < sample.length; i++)
    sample[i] = data[sampleIndex(i, sample.length, data.length)] ?? 0;
  return sample;
}

/** Where value `part` of `most` lies in a tensor of so many; ascending with the part. All of them where there are no more. */
export function sampleIndex(part: number, most: number, length: number): number {
  if (length <= most) return part;
  // The product may be rounded up to the length.
  return Math.min(length - 1, Math.floor((part + offsetOf(part)) * (length / most)));
}

/** A number in [0, 1) that looks random: the last steps of MurmurHash3 (Appleby 2011), which change half of the bits for any change. */
function offsetOf(part: number): number {
  let bits = part ^ 0x9e3779b9;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
}

/** The histogram of the sample that settings ask for, which says what it is a sample of. */
export function countSample(
  data: TensorData,
  { maxHistogramValues, ...settings }: HistogramSettings,
  count: (sample: TensorData, settings: HistogramSettings) => Histogram,
): Histogram {
  const found = count(sampleTensor(data, maxHistogramValues), settings);
  return { ...found, elementCount: data.length };
}
