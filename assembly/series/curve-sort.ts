// Stable merge sort of indices by float64 keys: records of 16 bytes (key, index), which travel together so that a comparison waits for
// one load. Worst case O(n log n), without a branch that depends on the data.
const RUN: i32 = 8;

/** Sorts `count` records at `a`, with as much room at `b`; returns where the sorted records are, `a` or `b`. */
export function sortRecords(a: usize, b: usize, count: i32): usize {
  for (let i = 0; i < count; i += RUN) insertRun(a + ((<usize>i) << 4), min(RUN, count - i));
  for (let width = RUN; width < count; width <<= 1) {
    for (let i = 0; i < count; i += 2 * width) {
      const middle = min(i + width, count);
      const end = min(i + 2 * width, count);
      mergeRuns(
        a + ((<usize>i) << 4),
        a + ((<usize>middle) << 4),
        a + ((<usize>end) << 4),
        b + ((<usize>i) << 4),
      );
    }
    const other = a;
    a = b;
    b = other;
  }
  return a;
}

function insertRun(p: usize, count: i32): void {
  const end = p + ((<usize>count) << 4);
  for (let q = p + 16; q < end; q += 16) {
    const record = v128.load(q);
    const key = f64x2.extract_lane(record, 0);
    let hole = q;
    while (hole > p && load<f64>(hole - 16) > key) {
      v128.store(hole, v128.load(hole - 16));
      hole -= 16;
    }
    v128.store(hole, record);
  }
}

function mergeRuns(left: usize, right: usize, end: usize, out: usize): void {
  const middle = right;
  while (left < middle && right < end) {
    const isRight = <usize>(load<f64>(right) < load<f64>(left));
    v128.store(out, v128.load(isRight ? right : left));
    right += isRight << 4;
    left += 16 - (isRight << 4);
    out += 16;
  }
  if (left < middle) memory.copy(out, left, middle - left);
  else memory.copy(out, right, end - right);
}
