// The swift way through a block of float32: float32 lanes around a shift K, which is 0 or near the mean of the block before. A
// block whose squared mean, counted from K, is above 4 times its variance is done again around that mean; so removing K again
// costs at most a factor of 5, whatever the data.
//
// With u = 2^-24: a lane adds up 16 sums of 16 pairs, which makes sums good to 32u with the subtraction of K and sums of squares
// to 34u; the squared deviations of a block to 5 (34 + 64) u = 3e-5, its mean to 32u sqrt(5) = 4.3e-6 of its standard deviation,
// its sum of |x| to 31u = 1.9e-6. Relaxed SIMD (see relaxed.ts) adds 16 products to each of two lanes and rounds no more often.
//
// Each block is done as the one before makes likely: values without the sign need no |x|, and what has to be counted one by one (zeros,
// sizes near 0 or above the threshold) is counted on the way. A block that turns out to be of another kind is gone through again.
//
// A block with NaN or infinities, and one whose squares leave float32, is done again with those masked and with all values scaled by
// a power of two; the blocks after it start that way, until one needs neither. What is left, the last few elements, goes the
// careful way of stats-careful.ts.
import {
  blockAbsolutes,
  blockBeside,
  blockFars,
  blockHigh,
  blockLow,
  blockNearest,
  blockNears,
  blockNegatives,
  blockPositives,
  blockSquares,
  blockSum,
  blockZeros,
  countHigh,
  countLow,
  isNonNegative,
  maskedSums,
  openSums,
  plainSums,
  shiftedSums,
} from './stats-float32-sums';
import {
  addCounts,
  addNonFinite,
  addSizes,
  close,
  currentMean,
  isFarFromZero,
  join,
  open,
} from './stats-state';
import { carefulF32 } from './stats-careful';

const SWIFT_BLOCK: i32 = 2048;
const SWIFT_STEP: i32 = 64;
// NaN found, scale found, mean found, mean found again.
const ATTEMPTS: i32 = 5;
// Squared distance of the mean from the shift, in variances: above the first the block is done again, below the second the next
// block is done around 0.
const FAR_SHIFT: f64 = 4;
const NEAR_SHIFT: f64 = 2;
// Sums of float32 squares outside this range may have lost terms to overflow or underflow.
const SQUARES_MIN: f64 = 1e-26;
const SQUARES_MAX: f64 = 1e36;

// Powers of two with an exponent beyond it, and their inverse, are not normal numbers of float32.
const MOST_SCALE: i32 = 120;

let shift: f32 = 0;
let isMasked: bool = false;
let scale: f32 = 1;
// What is counted on the way through the next block, as most are like the one before.
let isCountingLow: bool = false;
let isCountingHigh: bool = false;
// What was counted in this block.
let hasLow: bool = false;
let hasHigh: bool = false;

// `epsilon` is the largest float32 not above the caller's epsilon, `threshold` the smallest float32 not below the caller's: then
// the float32 comparisons decide as float64 ones would.
export function statsF32(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  open(state);
  // Above -0, so that their bits compare as they do.
  const near = max(<f32>epsilon, 0);
  const far = max(<f32>threshold, 0);
  shift = isFarFromZero(NEAR_SHIFT) ? <f32>currentMean() : 0;
  isMasked = false;
  isCountingLow = false;
  isCountingHigh = false;
  scale = 1;
  openSums(near, far);
  while (count >= SWIFT_STEP) {
    const length = min(SWIFT_BLOCK, count & ~(SWIFT_STEP - 1));
    if (!swift(p, length, near, far)) carefulF32(p, length, epsilon, threshold);
    p += (<usize>length) << 2;
    count -= length;
  }
  carefulF32(p, count, epsilon, threshold);
  close(state);
}

// `length` is a multiple of 64, from 64 to 2,048. Changes nothing but how the next block is done and returns false when the block needs
// the careful way.
function swift(p: usize, length: i32, epsilon: f32, threshold: f32): bool {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (isMasked) {
      hasLow = false;
      hasHigh = false;
      maskedSums(p, length, shift, scale);
    } else {
      if (isNonNegative) sumUp<u32>(p, length);
      if (!isNonNegative) sumUp<i32>(p, length);
    }
    if (!isMasked && !(blockAbsolutes < Infinity)) {
      isMasked = true;
      continue;
    }
    const end = p + ((<usize>length) << 2);
    const count = <f64>(length - blockBeside);
    if (count == 0) {
      addBeside();
      return true;
    }
    const low = blockLow;
    const high = blockHigh;
    const unit = 1 / <f64>scale;
    const offset = (blockSum / count) * unit;
    const center = <f64>shift + offset;
    const around = count * offset * offset;
    const squares = blockSquares * unit * unit;
    const rest = max(0, squares - around);
    const isSafe =
      blockSquares < SQUARES_MAX && blockSquares > SQUARES_MIN && blockAbsolutes < Infinity;
    if (isSafe && around <= rest * FAR_SHIFT) {
      join(count, <f64>shift, offset, rest);
      shift = center * center * count <= rest * NEAR_SHIFT ? 0 : <f32>center;
    } else if (low == high && shift == low && blockAbsolutes < Infinity) {
      join(count, <f64>shift, 0, 0);
    } else if (!isSafe && (low != high || !(blockAbsolutes < Infinity))) {
      const next = scaleOf(max(abs(low), abs(high)));
      if (next == scale) break;
      scale = next;
      isMasked = true;
      continue;
    } else {
      const next = low == high ? low : <f32>center;
      if (next == shift) break;
      shift = next;
      continue;
    }
    addSizes(blockAbsolutes * unit, <f64>low, <f64>high);
    isCountingLow = hasLow ? blockNears > 0 : blockNearest <= epsilon;
    isCountingHigh = max(abs(low), abs(high)) >= threshold;
    if (hasLow) addCounts(<f64>blockZeros, <f64>blockNears, 0);
    else if (isCountingLow) countLow(p, end);
    if (hasHigh) addCounts(0, 0, <f64>blockFars);
    else if (isCountingHigh) countHigh(p, end);
    if (blockBeside > 0) addBeside();
    if (squares < SQUARES_MAX && squares > SQUARES_MIN) scale = 1;
    isMasked = blockBeside > 0 || scale != 1;
    return true;
  }
  shift = 0;
  scale = 1;
  return false;
}

// The sums of one block of finite values, most likely.
function sumUp<Sign>(p: usize, length: i32): void {
  const isPlain = shift == 0;
  hasLow = isPlain && isCountingLow;
  // Signed values with both counts would need more registers than there are.
  hasHigh = isPlain && isCountingHigh && !(isSigned<Sign>() && hasLow);
  if (!isPlain) shiftedSums<Sign>(p, length, shift);
  else if (hasLow && hasHigh) plainSums<u32, f64, f64>(p, length);
  else if (hasLow) plainSums<Sign, f64, i32>(p, length);
  else if (hasHigh) plainSums<Sign, i32, f64>(p, length);
  else plainSums<Sign, i32, i32>(p, length);
}

function addBeside(): void {
  const nans = blockBeside - blockPositives - blockNegatives;
  addNonFinite(<f64>nans, <f64>blockPositives, <f64>blockNegatives);
}

// A power of two that brings a size near 1.
function scaleOf(size: f32): f32 {
  const exponent = ((reinterpret<i32>(size) >> 23) & 0xff) - 127;
  return reinterpret<f32>((127 - max(-MOST_SCALE, min(MOST_SCALE, exponent))) << 23);
}
