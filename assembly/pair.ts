// Two tensors side by side: squared norms of both and of their difference, and their product, over the places where both are
// finite. In float64 lanes for every type, so that squares of float32 neither overflow nor underflow.
import {
  PAIR_DIFFERENCE,
  PAIR_DOT,
  PAIR_FINITE,
  PAIR_FIRST,
  PAIR_SECOND,
  PAIR_SLOTS,
} from '../src/kernel/tensor/layout';
import { firstPair, secondPair, sumF64x2 } from './lanes';

const BLOCK: i32 = 1024;

let finite: f64 = 0;
let first: f64 = 0;
let second: f64 = 0;
let dot: f64 = 0;
let difference: f64 = 0;

export function pairF32(p: usize, q: usize, count: i32, out: usize): void {
  all<f32>(p, q, count, out);
}

export function pairF64(p: usize, q: usize, count: i32, out: usize): void {
  all<f64>(p, q, count, out);
}

function all<T>(p: usize, q: usize, count: i32, out: usize): void {
  finite = 0;
  first = 0;
  second = 0;
  dot = 0;
  difference = 0;
  while (count >= 4) {
    const length = min(BLOCK, count & ~3);
    if (!swift<T>(p, q, length)) each<T>(p, q, length);
    p += <usize>length * sizeof<T>();
    q += <usize>length * sizeof<T>();
    count -= length;
  }
  each<T>(p, q, count);
  memory.fill(out, 0, PAIR_SLOTS << 3);
  store<f64>(out + (PAIR_FINITE << 3), finite);
  store<f64>(out + (PAIR_FIRST << 3), first);
  store<f64>(out + (PAIR_SECOND << 3), second);
  store<f64>(out + (PAIR_DOT << 3), dot);
  store<f64>(out + (PAIR_DIFFERENCE << 3), difference);
}

// Changes nothing and returns false when the block may hold NaN or an infinity.
function swift<T>(p: usize, q: usize, length: i32): bool {
  const zero = f64x2.splat(0);
  let a2 = zero;
  let b2 = zero;
  let ab = zero;
  let d2 = zero;
  let c2 = zero;
  let e2 = zero;
  let cd = zero;
  let v2 = zero;
  const step = 4 * sizeof<T>();
  for (const end = p + <usize>length * sizeof<T>(); p < end; p += step, q += step) {
    const a = firstPair<T>(p);
    const b = firstPair<T>(q);
    const c = secondPair<T>(p);
    const d = secondPair<T>(q);
    const u = f64x2.sub(a, b);
    const v = f64x2.sub(c, d);
    if (ASC_FEATURE_RELAXED_SIMD) {
      // Two accumulators each: one would wait for its own last result.
      a2 = f64x2.relaxed_madd(a, a, a2);
      c2 = f64x2.relaxed_madd(c, c, c2);
      b2 = f64x2.relaxed_madd(b, b, b2);
      e2 = f64x2.relaxed_madd(d, d, e2);
      ab = f64x2.relaxed_madd(a, b, ab);
      cd = f64x2.relaxed_madd(c, d, cd);
      d2 = f64x2.relaxed_madd(u, u, d2);
      v2 = f64x2.relaxed_madd(v, v, v2);
    } else {
      a2 = f64x2.add(a2, f64x2.add(f64x2.mul(a, a), f64x2.mul(c, c)));
      b2 = f64x2.add(b2, f64x2.add(f64x2.mul(b, b), f64x2.mul(d, d)));
      ab = f64x2.add(ab, f64x2.add(f64x2.mul(a, b), f64x2.mul(c, d)));
      d2 = f64x2.add(d2, f64x2.add(f64x2.mul(u, u), f64x2.mul(v, v)));
    }
  }
  if (ASC_FEATURE_RELAXED_SIMD) {
    a2 = f64x2.add(a2, c2);
    b2 = f64x2.add(b2, e2);
    ab = f64x2.add(ab, cd);
    d2 = f64x2.add(d2, v2);
  }
  const firsts = sumF64x2(a2);
  const seconds = sumF64x2(b2);
  if (!(firsts < Infinity && seconds < Infinity)) return false;
  finite += <f64>length;
  first += firsts;
  second += seconds;
  dot += sumF64x2(ab);
  difference += sumF64x2(d2);
  return true;
}

function each<T>(p: usize, q: usize, length: i32): void {
  let a2: f64 = 0;
  let b2: f64 = 0;
  let ab: f64 = 0;
  let d2: f64 = 0;
  const end = p + <usize>length * sizeof<T>();
  for (; p < end; p += sizeof<T>(), q += sizeof<T>()) {
    const a = <f64>load<T>(p);
    const b = <f64>load<T>(q);
    if (!(abs(a) < Infinity && abs(b) < Infinity)) continue;
    finite += 1;
    a2 += a * a;
    b2 += b * b;
    ab += a * b;
    d2 += (a - b) * (a - b);
  }
  first += a2;
  second += b2;
  dot += ab;
  difference += d2;
}
