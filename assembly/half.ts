// float16 and bfloat16: bit patterns of 16 bits, each of which float32 holds exactly. A block is widened into scratch memory, which
// stays in the first-level cache, and goes the way of float32 from there. Where speed matters less, int32 becomes float64 and uint8
// float32 in the same way.
import { statsF32 } from './stats-float32';

const BLOCK: i32 = 2048;
const scratch: usize = memory.data(8192, 16);

export function statsF16(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  for (; count > 0; count -= BLOCK, p += BLOCK << 1) {
    const length = min(BLOCK, count);
    widenF16(p, length, scratch);
    statsF32(scratch, length, epsilon, threshold, state);
  }
}

export function statsBF16(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  for (; count > 0; count -= BLOCK, p += BLOCK << 1) {
    const length = min(BLOCK, count);
    widenBF16(p, length, scratch);
    statsF32(scratch, length, epsilon, threshold, state);
  }
}

export function widenF16(p: usize, length: i32, at: usize): void {
  for (const end = p + ((<usize>(length & ~7)) << 1); p < end; p += 16, at += 32) {
    const bits = v128.load(p);
    v128.store(at, wideF16(i32x4.extend_low_i16x8_u(bits)));
    v128.store(at, wideF16(i32x4.extend_high_i16x8_u(bits)), 16);
  }
  for (let rest = length & 7; rest > 0; rest--, p += 2, at += 4)
    store<i32>(at, i32x4.extract_lane(wideF16(i32x4.splat(<i32>load<u16>(p))), 0));
}

export function widenBF16(p: usize, length: i32, at: usize): void {
  for (const end = p + ((<usize>(length & ~7)) << 1); p < end; p += 16, at += 32) {
    const bits = v128.load(p);
    v128.store(at, i32x4.shl(i32x4.extend_low_i16x8_u(bits), 16));
    v128.store(at, i32x4.shl(i32x4.extend_high_i16x8_u(bits), 16), 16);
  }
  for (let rest = length & 7; rest > 0; rest--, p += 2, at += 4)
    store<i32>(at, (<i32>load<u16>(p)) << 16);
}

export function widenU8(p: usize, length: i32, at: usize): void {
  for (const end = p + <usize>length; p < end; p++, at += 4) store<f32>(at, <f32>load<u8>(p));
}

export function widenI32(p: usize, length: i32, at: usize): void {
  for (const end = p + ((<usize>length) << 2); p < end; p += 4, at += 8)
    store<f64>(at, <f64>load<i32>(p));
}

// Four float16 patterns, one a lane, as float32. 112 is the difference of the exponent biases.
function wideF16(bits: v128): v128 {
  const size = i32x4.shl(v128.and(bits, i32x4.splat(0x7fff)), 13);
  const bias = i32x4.splat(112 << 23);
  const smallest = i32x4.splat(113 << 23);
  let wide = i32x4.add(size, bias);
  // NaN and infinities: the largest exponent of float16 becomes that of float32.
  wide = i32x4.add(wide, v128.and(bias, i32x4.gt_s(size, i32x4.splat(0x0f7fffff))));
  // Subnormals and zeros: fraction times 2^-24, from the fraction of a number in [2^-14, 2^-13).
  const fraction = f32x4.sub(i32x4.add(size, smallest), smallest);
  wide = v128.bitselect(fraction, wide, i32x4.gt_s(i32x4.splat(0x00800000), size));
  return v128.or(wide, i32x4.shl(v128.and(bits, i32x4.splat(0x8000)), 16));
}
