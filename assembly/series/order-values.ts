// What order.ts does with float64 values one by one.
/** All bits of it are set in what is not finite. */
export const EXPONENT: u64 = 0x7ff0000000000000;

/** Copies the finite values of p to q, which may be p, and returns how many they are. */
export function finiteValues(p: usize, count: i32, q: usize): i32 {
  const start = q;
  for (const end = p + ((<usize>count) << 3); p < end; p += 8) {
    const bits = load<u64>(p);
    store<u64>(q, bits);
    q += (<usize>((bits & EXPONENT) != EXPONENT)) << 3;
  }
  return <i32>((q - start) >> 3);
}

/** Stores |x * factor - center| of every value, in place. */
export function orderDeviations(p: usize, count: i32, center: f64, factor: f64): void {
  for (const end = p + ((<usize>count) << 3); p < end; p += 8)
    store<f64>(p, Math.abs(load<f64>(p) * factor - center));
}

export function isAllFinite(p: usize, count: i32): bool {
  for (const end = p + ((<usize>count) << 3); p < end; p += 8) {
    if ((load<u64>(p) & EXPONENT) == EXPONENT) return false;
  }
  return true;
}

export function sortFew(p: usize, end: usize): void {
  for (let q = p + 8; q < end; q += 8) {
    const value = load<f64>(q);
    let at = q;
    while (at > p && load<f64>(at - 8) > value) {
      store<f64>(at, load<f64>(at - 8));
      at -= 8;
    }
    store<f64>(at, value);
  }
}

/** Signed integers in the order of the float64 they stand for; its own inverse. */
export function keyOf(bits: i64): i64 {
  return bits ^ ((bits >> 63) & 0x7fffffffffffffff);
}

/** How far keys have to be shifted for a range of them to make at most 2^bits buckets. */
export function shiftFor(range: u64, bits: i32): i32 {
  return max(0, 64 - <i32>clz(range) - bits);
}
