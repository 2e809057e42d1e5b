// One step of a subspace iteration over rows of float64: sums[j] += row * (row . basis[j]), row by row. Four sums a scalar product, as
// the twin in JavaScript has them, so that both round alike.

/** Adds what `count` rows of `size` values at `rows` make of `width` vectors at `basis` to as many at `sums`. */
export function projectGram(
  rows: usize,
  count: i32,
  size: i32,
  basis: usize,
  width: i32,
  sums: usize,
): void {
  const bytes = (<usize>size) << 3;
  for (let i = 0; i < count; i++, rows += bytes) {
    let vector = basis;
    let sum = sums;
    for (let j = 0; j < width; j++, vector += bytes, sum += bytes)
      addScaled(rows, dot(rows, vector, size), sum, size);
  }
}

function dot(a: usize, b: usize, size: i32): f64 {
  let low = f64x2.splat(0);
  let high = f64x2.splat(0);
  let at = 0;
  for (const end = size & ~3; at < end; at += 4) {
    const offset = (<usize>at) << 3;
    low = f64x2.add(low, f64x2.mul(v128.load(a + offset), v128.load(b + offset)));
    high = f64x2.add(high, f64x2.mul(v128.load(a + offset, 16), v128.load(b + offset, 16)));
  }
  const pair = f64x2.add(low, high);
  let sum = f64x2.extract_lane(pair, 0) + f64x2.extract_lane(pair, 1);
  for (; at < size; at++) {
    const offset = (<usize>at) << 3;
    sum += load<f64>(a + offset) * load<f64>(b + offset);
  }
  return sum;
}

function addScaled(a: usize, factor: f64, sum: usize, size: i32): void {
  const factors = f64x2.splat(factor);
  let at = 0;
  for (const end = size & ~1; at < end; at += 2) {
    const offset = (<usize>at) << 3;
    const product = f64x2.mul(v128.load(a + offset), factors);
    v128.store(sum + offset, f64x2.add(v128.load(sum + offset), product));
  }
  for (; at < size; at++) {
    const offset = (<usize>at) << 3;
    store<f64>(sum + offset, load<f64>(sum + offset) + load<f64>(a + offset) * factor);
  }
}
