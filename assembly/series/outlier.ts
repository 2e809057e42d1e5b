// The positions of finite values outside two fences.
const EXPONENT: u64 = 0x7ff0000000000000;
// The fences as vectors, in memory: engines build a vector anew in every turn of a loop, but not one that was loaded.
const fences: usize = memory.data(32, 16);

/** Writes the positions of what is below `low` or above `high` and finite to `out`, which has room for all, and returns their number. */
export function valuesBeyond(p: usize, count: i32, low: f64, high: f64, out: usize): i32 {
  v128.store(fences, f64x2.splat(low));
  v128.store(fences, f64x2.splat(high), 16);
  const lows = v128.load(fences);
  const highs = v128.load(fences, 16);
  const start = out;
  let at = 0;
  for (const end = count & ~3; at < end; at += 4) {
    const q = p + ((<usize>at) << 3);
    const a = v128.load(q);
    const b = v128.load(q, 16);
    const isBeyond = v128.or(
      v128.or(f64x2.lt(a, lows), f64x2.gt(a, highs)),
      v128.or(f64x2.lt(b, lows), f64x2.gt(b, highs)),
    );
    if (!v128.any_true(isBeyond)) continue;
    for (let i = at; i < at + 4; i++) out = addIfBeyond(p, i, low, high, out);
  }
  for (; at < count; at++) out = addIfBeyond(p, at, low, high, out);
  return <i32>((out - start) >> 2);
}

function addIfBeyond(p: usize, at: i32, low: f64, high: f64, out: usize): usize {
  const q = p + ((<usize>at) << 3);
  const value = load<f64>(q);
  if (!(value < low || value > high) || (load<u64>(q) & EXPONENT) == EXPONENT) return out;
  store<i32>(out, at);
  return out + 4;
}
