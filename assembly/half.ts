// float16 and bfloat16: bit patterns of 16 bits, each of which float32 holds exactly. A block is widened into scratch memory, which
// stays in the first-level cache, and goes the way of float32 from there. Where speed matters less, int32 becomes float64 and uint8
// float32 in the same way.
import { scratch, SCRATCH_HALF, SCRATCH_HALF_CONSTANTS } from './memory';
import { statsF32 } from './stats-float32';

const BLOCK: i32 = 2048;
// Vectors of one number, in memory, because engines build a constant anew in every turn of a loop.
const SIZE: usize = SCRATCH_HALF_CONSTANTS;
const SIGN: usize = SCRATCH_HALF_CONSTANTS + 16;
const BIAS: usize = SCRATCH_HALF_CONSTANTS + 32;
const LARGEST: usize = SCRATCH_HALF_CONSTANTS + 48;
const SMALLEST: usize = SCRATCH_HALF_CONSTANTS + 64;
const NORMAL: usize = SCRATCH_HALF_CONSTANTS + 80;
v128.store(scratch, i32x4.splat(0x7fff), SIZE);
v128.store(scratch, i32x4.splat(0x8000), SIGN);
v128.store(scratch, i32x4.splat(0x38000000), BIAS);
v128.store(scratch, i32x4.splat(0x0f7fffff), LARGEST);
v128.store(scratch, i32x4.splat(0x38800000), SMALLEST);
v128.store(scratch, i32x4.splat(0x00800000), NORMAL);

export function statsF16(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  for (; count > 0; count -= BLOCK, p += BLOCK << 1) {
    const length = min(BLOCK, count);
    const wide = scratch + SCRATCH_HALF;
    widenF16(p, length, wide);
    statsF32(wide, length, epsilon, threshold, state);
  }
}

export function statsBF16(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  for (; count > 0; count -= BLOCK, p += BLOCK << 1) {
    const length = min(BLOCK, count);
    const wide = scratch + SCRATCH_HALF;
    widenBF16(p, length, wide);
    statsF32(wide, length, epsilon, threshold, state);
  }
}

export function widenF16(p: usize, length: i32, at: usize): void {
  const size = v128.load(scratch, SIZE);
  const sign = v128.load(scratch, SIGN);
  const bias = v128.load(scratch, BIAS);
  const largest = v128.load(scratch, LARGEST);
  const smallest = v128.load(scratch, SMALLEST);
  const normal = v128.load(scratch, NORMAL);
  for (const end = p + ((<usize>(length & ~7)) << 1); p < end; p += 16, at += 32) {
    const bits = v128.load(p);
    const low = i32x4.extend_low_i16x8_u(bits);
    const high = i32x4.extend_high_i16x8_u(bits);
    v128.store(at, wideF16(low, size, sign, bias, largest, smallest, normal));
    v128.store(at, wideF16(high, size, sign, bias, largest, smallest, normal), 16);
  }
  for (let rest = length & 7; rest > 0; rest--, p += 2, at += 4)
    store<i32>(
      at,
      i32x4.extract_lane(
        wideF16(i32x4.splat(<i32>load<u16>(p)), size, sign, bias, largest, smallest, normal),
        0,
      ),
    );
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
function wideF16(
  bits: v128,
  sizeMask: v128,
  signMask: v128,
  bias: v128,
  largest: v128,
  smallest: v128,
  normal: v128,
): v128 {
  const size = i32x4.shl(v128.and(bits, sizeMask), 13);
  let wide = i32x4.add(size, bias);
  // NaN and infinities: the largest exponent of float16 becomes that of float32.
  wide = i32x4.add(wide, v128.and(bias, i32x4.gt_s(size, largest)));
  // Subnormals and zeros: fraction times 2^-24, from the fraction of a number in [2^-14, 2^-13).
  const fraction = f32x4.sub(i32x4.add(size, smallest), smallest);
  wide = v128.bitselect(fraction, wide, i32x4.gt_s(normal, size));
  return v128.or(wide, i32x4.shl(v128.and(bits, signMask), 16));
}
