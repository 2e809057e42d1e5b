// Exponential moving average in place, eight values at a time. With b what a value leaves over to the next and h = x - shift,
//
//   y = b y + h,   weight = b weight + 1,   result = shift + y / weight
//
// where the shift is the first value, so that rounding is relative to the spread of the values and not to their size. In the end the weight
// is 1 / (1 - b). Within a block y is a sum over pairs; only the last of eight is waited for.
import { SMOOTH_LIMIT, SMOOTH_STATE_BYTES } from '../../src/kernel/series/curve/curve-layout';

// Offsets of the state, all float64.
const Y: usize = 0;
const WEIGHT: usize = 8;
const SHIFT: usize = 16;
const DECAY: usize = 24;
const LAST: usize = 32;
// 1 once a finite value has come.
const STARTED: usize = 40;
// 1 when gaps are filled with the last result.
const FILL: usize = 48;
// 1 when the weight has reached its limit, or counts as if it had.
const STEADY: usize = 56;

/** Makes the state of a series that has not begun. */
export function curveSmoothStart(state: usize, decay: f64, isSteady: bool, isFilled: bool): void {
  memory.fill(state, 0, SMOOTH_STATE_BYTES);
  store<f64>(state, decay, DECAY);
  store<f64>(state, NaN, LAST);
  store<f64>(state, isSteady ? 1 : 0, STEADY);
  store<f64>(state, isFilled ? 1 : 0, FILL);
}

/** Smooths `count` values at `p`; `state` carries over to the next piece. False: a finite value is above the limit, and nothing counts. */
export function curveSmooth(p: usize, count: i32, state: usize): bool {
  const end = p + ((<usize>count) << 3);
  while (p < end && load<f64>(state, STARTED) == 0) {
    if (!smoothOne(p, state)) return false;
    p += 8;
  }
  const b = load<f64>(state, DECAY);
  const share = f64x2.splat(1 - b);
  const inner = f64x2.replace_lane(f64x2.splat(0), 1, b);
  const squared = f64x2.splat(b * b);
  const carry0 = f64x2.replace_lane(f64x2.splat(b), 1, b * b);
  const carry1 = f64x2.mul(carry0, squared);
  const carry2 = f64x2.mul(carry1, squared);
  const carry3 = f64x2.mul(carry2, squared);
  // Weights of eight values with nothing before them.
  const weight0 = f64x2.replace_lane(f64x2.splat(1), 1, 1 + b);
  const weight1 = f64x2.add(weight0, f64x2.mul(carry0, high(weight0)));
  const weight2 = f64x2.add(weight0, f64x2.mul(carry0, high(weight1)));
  const weight3 = f64x2.add(weight0, f64x2.mul(carry0, high(weight2)));
  const shift = f64x2.splat(load<f64>(state, SHIFT));
  const limit = f64x2.splat(SMOOTH_LIMIT);
  let y = f64x2.splat(load<f64>(state, Y));
  for (; p + 64 <= end; p += 64) {
    const x0 = v128.load(p);
    const x1 = v128.load(p, 16);
    const x2 = v128.load(p, 32);
    const x3 = v128.load(p, 48);
    // False for NaN and infinities, too.
    const isUsual = v128.and(
      v128.and(f64x2.le(f64x2.abs(x0), limit), f64x2.le(f64x2.abs(x1), limit)),
      v128.and(f64x2.le(f64x2.abs(x2), limit), f64x2.le(f64x2.abs(x3), limit)),
    );
    if (!i64x2.all_true(isUsual)) {
      store<f64>(state, f64x2.extract_lane(y, 0), Y);
      for (let i: usize = 0; i < 64; i += 8) if (!smoothOne(p + i, state)) return false;
      y = f64x2.splat(load<f64>(state, Y));
      continue;
    }
    const s0 = pair(f64x2.sub(x0, shift), inner);
    const s1 = f64x2.add(pair(f64x2.sub(x1, shift), inner), f64x2.mul(carry0, high(s0)));
    const s2 = f64x2.add(pair(f64x2.sub(x2, shift), inner), f64x2.mul(carry0, high(s1)));
    const s3 = f64x2.add(pair(f64x2.sub(x3, shift), inner), f64x2.mul(carry0, high(s2)));
    let y0 = f64x2.add(s0, f64x2.mul(carry0, y));
    let y1 = f64x2.add(s1, f64x2.mul(carry1, y));
    let y2 = f64x2.add(s2, f64x2.mul(carry2, y));
    let y3 = f64x2.add(s3, f64x2.mul(carry3, y));
    y = high(y3);
    if (load<f64>(state, STEADY) != 0) {
      y0 = f64x2.mul(y0, share);
      y1 = f64x2.mul(y1, share);
      y2 = f64x2.mul(y2, share);
      y3 = f64x2.mul(y3, share);
    } else {
      const past = load<f64>(state, WEIGHT);
      const past2 = f64x2.splat(past);
      const weight = f64x2.add(weight3, f64x2.mul(carry3, past2));
      y0 = f64x2.div(y0, f64x2.add(weight0, f64x2.mul(carry0, past2)));
      y1 = f64x2.div(y1, f64x2.add(weight1, f64x2.mul(carry1, past2)));
      y2 = f64x2.div(y2, f64x2.add(weight2, f64x2.mul(carry2, past2)));
      y3 = f64x2.div(y3, weight);
      keepWeight(state, past, f64x2.extract_lane(weight, 1));
    }
    v128.store(p, f64x2.add(shift, y0));
    v128.store(p, f64x2.add(shift, y1), 16);
    v128.store(p, f64x2.add(shift, y2), 32);
    const result = f64x2.add(shift, y3);
    v128.store(p, result, 48);
    store<f64>(state, f64x2.extract_lane(result, 1), LAST);
  }
  store<f64>(state, f64x2.extract_lane(y, 0), Y);
  for (; p < end; p += 8) if (!smoothOne(p, state)) return false;
  return true;
}

// Once it grows no more, it is at its limit.
function keepWeight(state: usize, past: f64, weight: f64): void {
  store<f64>(state, weight, WEIGHT);
  if (weight == past) store<f64>(state, 1, STEADY);
}

// Both of a pair, as if nothing came before it.
function pair(h: v128, inner: v128): v128 {
  return f64x2.add(h, f64x2.mul(inner, i64x2.shuffle(h, h, 0, 0)));
}

function high(v: v128): v128 {
  return i64x2.shuffle(v, v, 1, 1);
}

function smoothOne(p: usize, state: usize): bool {
  const x = load<f64>(p);
  if (!isFinite(x)) {
    const isFilled = load<f64>(state, FILL) != 0;
    store<f64>(p, isFilled ? load<f64>(state, LAST) : NaN);
    return true;
  }
  if (Math.abs(x) > SMOOTH_LIMIT) return false;
  if (load<f64>(state, STARTED) == 0) {
    store<f64>(state, x, SHIFT);
    store<f64>(state, 1, STARTED);
  }
  const b = load<f64>(state, DECAY);
  const shift = load<f64>(state, SHIFT);
  const y = b * load<f64>(state, Y) + (x - shift);
  let result = shift;
  if (load<f64>(state, STEADY) != 0) result += y * (1 - b);
  else {
    const past = load<f64>(state, WEIGHT);
    const weight = b * past + 1;
    result += y / weight;
    keepWeight(state, past, weight);
  }
  store<f64>(state, y, Y);
  store<f64>(state, result, LAST);
  store<f64>(p, result);
  return true;
}
