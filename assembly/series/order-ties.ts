// Values that occur many times: their ranks, by counting them and what is less.
const wanted: usize = memory.data(16, 16);

let tieFrom: i32 = 0;
let tieTo: i32 = 0;

/** Finds the ranks of a value. */
export function countTie(values: usize, valueCount: i32, value: f64): void {
  const bits = reinterpret<i64>(value);
  tieFrom = countBelow(values, valueCount, value);
  // In the order of keys -0 lies below 0.
  if (bits == 0) tieFrom += countOf(values, valueCount, i64.MIN_VALUE);
  tieTo = tieFrom + countOf(values, valueCount, bits);
}

/** Whether it is the value of this rank. */
export function isTied(rank: i32): bool {
  return rank >= tieFrom && rank < tieTo;
}

/** How many values have these bits. */
function countOf(values: usize, valueCount: i32, bits: i64): i32 {
  const end = values + ((<usize>valueCount) << 3);
  const end4 = values + ((<usize>(valueCount & ~3)) << 3);
  // By way of memory: see `constants` in order.ts.
  v128.store(wanted, i64x2.splat(bits));
  const wanted2 = v128.load(wanted);
  let counts2 = i64x2.splat(0);
  let p = values;
  for (; p < end4; p += 32) {
    const a = i64x2.eq(v128.load(p), wanted2);
    counts2 = i64x2.add(counts2, i64x2.add(a, i64x2.eq(v128.load(p, 16), wanted2)));
  }
  let count = -(<i32>(i64x2.extract_lane(counts2, 0) + i64x2.extract_lane(counts2, 1)));
  for (; p < end; p += 8) count += <i32>(load<i64>(p) == bits);
  return count;
}

/** How many values are less. */
function countBelow(values: usize, valueCount: i32, limit: f64): i32 {
  const end = values + ((<usize>valueCount) << 3);
  const end4 = values + ((<usize>(valueCount & ~3)) << 3);
  v128.store(wanted, f64x2.splat(limit));
  const limit2 = v128.load(wanted);
  let counts2 = i64x2.splat(0);
  let p = values;
  for (; p < end4; p += 32) {
    const a = f64x2.lt(v128.load(p), limit2);
    counts2 = i64x2.add(counts2, i64x2.add(a, f64x2.lt(v128.load(p, 16), limit2)));
  }
  let count = -(<i32>(i64x2.extract_lane(counts2, 0) + i64x2.extract_lane(counts2, 1)));
  for (; p < end; p += 8) count += <i32>(load<f64>(p) < limit);
  return count;
}
