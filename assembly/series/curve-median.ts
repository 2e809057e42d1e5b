// Moving median (Suomela, "Median filtering is equivalent to sorting", 2014). The series is cut into blocks as long as the window, so a
// window is the end of one block and the beginning of the next. Each block is sorted once into a doubly linked list and then emptied from
// its last element to its first; going forward, elements of the later block come back in the reverse order, which needs no search
// (Knuth's dancing links), while those of the earlier one leave.
//
// A block: boundary (i32: first element that is not small), smallCount (i32), 8 bytes free, (window + 1) values, (window + 1) links of
// (previous, next). Index `window` is head and tail, with value +Infinity. Values that are not finite are never linked. All that are small
// in either block are at most as large as all that are not; half of the elements of the window, rounded down, are small.
import { sortRecords } from './curve-sort';

const VALUES: usize = 16;

/** Bytes of scratch for a window. */
export function curveMedianBytes(window: i32): f64 {
  return 2.0 * <f64>blockBytes(window) + 32.0 * <f64>window;
}

/**
 * Medians of the windows around the values `first` to `first + outCount` of the `count` values at `p`. A window has `before` values before
 * its own and `after` behind it; what lies beyond the series is missing.
 */
export function curveMedian(
  p: usize,
  count: i32,
  first: i32,
  outCount: i32,
  before: i32,
  after: i32,
  out: usize,
  scratch: usize,
): void {
  const window = before + after + 1;
  let earlier = scratch;
  let later = earlier + blockBytes(window);
  const room = later + blockBytes(window);
  clear(earlier, window);
  let position = first - before;
  fill(later, window, p, count, position, room);
  let present = 0;
  for (let i = 0; i < window; i++) {
    present += bring(later, window, i);
    balance(earlier, later, window, present >>> 1);
  }
  store<f64>(out, median(earlier, later, window, present));
  let done = 1;
  while (done < outCount) {
    const emptied = earlier;
    earlier = later;
    later = emptied;
    position += window;
    fill(later, window, p, count, position, room);
    const steps = min(window, outCount - done);
    for (let i = 0; i < steps; i++) {
      present += bring(later, window, i) - take(earlier, window, i);
      balance(earlier, later, window, present >>> 1);
      store<f64>(out + ((<usize>(done + i)) << 3), median(earlier, later, window, present));
    }
    done += steps;
  }
}

function blockBytes(window: i32): usize {
  return VALUES + ((<usize>(window + 1)) << 4);
}

function linksOf(block: usize, window: i32): usize {
  return block + VALUES + ((<usize>(window + 1)) << 3);
}

function valueOf(block: usize, i: i32): f64 {
  return load<f64>(block + ((<usize>i) << 3), VALUES);
}

// Without elements; its boundary is the tail.
function clear(block: usize, window: i32): void {
  store<i32>(block, window);
  store<i32>(block, 0, 4);
  store<f64>(block + ((<usize>window) << 3), Infinity, VALUES);
  const tail = linksOf(block, window) + ((<usize>window) << 3);
  store<i32>(tail, window);
  store<i32>(tail, window, 4);
  for (let i = 0; i < window; i++) store<f64>(block + ((<usize>i) << 3), NaN, VALUES);
}

// The values from `position` on, sorted, linked and taken out again.
function fill(block: usize, window: i32, p: usize, count: i32, position: i32, room: usize): void {
  clear(block, window);
  const from = max(0, -position);
  const to = min(window, count - position);
  let found = 0;
  for (let i = from; i < to; i++) {
    const x = load<f64>(p + ((<usize>(position + i)) << 3));
    if (!isFinite(x)) continue;
    store<f64>(block + ((<usize>i) << 3), x, VALUES);
    const record = room + ((<usize>found) << 4);
    store<f64>(record, x);
    store<i32>(record, i, 8);
    found++;
  }
  const links = linksOf(block, window);
  const sorted = sortRecords(room, room + ((<usize>window) << 4), found);
  let previous = window;
  for (let k = 0; k < found; k++) {
    const i = load<i32>(sorted + ((<usize>k) << 4), 8);
    store<i32>(links + ((<usize>previous) << 3), i, 4);
    store<i32>(links + ((<usize>i) << 3), previous);
    previous = i;
  }
  store<i32>(links + ((<usize>previous) << 3), window, 4);
  store<i32>(links + ((<usize>window) << 3), previous);
  for (let i = to - 1; i >= from; i--) {
    const x = valueOf(block, i);
    if (x == x) unlink(links, i);
  }
}

function unlink(links: usize, i: i32): void {
  const previous = load<i32>(links + ((<usize>i) << 3));
  const next = load<i32>(links + ((<usize>i) << 3), 4);
  store<i32>(links + ((<usize>previous) << 3), next, 4);
  store<i32>(links + ((<usize>next) << 3), previous);
}

// Whether element i comes before the boundary in the order of the block, ties by index.
function isSmall(block: usize, i: i32, x: f64): bool {
  const boundary = load<i32>(block);
  const limit = valueOf(block, boundary);
  return x < limit || (x == limit && i < boundary);
}

// Puts element i back; the number of elements that came.
function bring(block: usize, window: i32, i: i32): i32 {
  const x = valueOf(block, i);
  if (x != x) return 0;
  const links = linksOf(block, window);
  const previous = load<i32>(links + ((<usize>i) << 3));
  const next = load<i32>(links + ((<usize>i) << 3), 4);
  store<i32>(links + ((<usize>previous) << 3), i, 4);
  store<i32>(links + ((<usize>next) << 3), i);
  store<i32>(block, load<i32>(block, 4) + <i32>isSmall(block, i, x), 4);
  return 1;
}

// Takes element i out; the number of elements that went.
function take(block: usize, window: i32, i: i32): i32 {
  const x = valueOf(block, i);
  if (x != x) return 0;
  const links = linksOf(block, window);
  if (load<i32>(block) == i) store<i32>(block, load<i32>(links + ((<usize>i) << 3), 4));
  else store<i32>(block, load<i32>(block, 4) - <i32>isSmall(block, i, x), 4);
  unlink(links, i);
  return 1;
}

function largestSmall(block: usize, window: i32): f64 {
  if (load<i32>(block, 4) == 0) return -Infinity;
  const boundary = load<i32>(block);
  return valueOf(block, load<i32>(linksOf(block, window) + ((<usize>boundary) << 3)));
}

function smallestLarge(block: usize): f64 {
  return valueOf(block, load<i32>(block));
}

function advance(block: usize, window: i32): void {
  const boundary = load<i32>(block);
  store<i32>(block, load<i32>(linksOf(block, window) + ((<usize>boundary) << 3), 4));
  store<i32>(block, load<i32>(block, 4) + 1, 4);
}

function retreat(block: usize, window: i32): void {
  const boundary = load<i32>(block);
  store<i32>(block, load<i32>(linksOf(block, window) + ((<usize>boundary) << 3)));
  store<i32>(block, load<i32>(block, 4) - 1, 4);
}

// Moves the boundaries, by a step or two for an element that came and one that went, until `target` elements are small and rightly so.
function balance(one: usize, two: usize, window: i32, target: i32): void {
  while (true) {
    const small = load<i32>(one, 4) + load<i32>(two, 4);
    const above1 = smallestLarge(one);
    const above2 = smallestLarge(two);
    const below1 = largestSmall(one, window);
    const below2 = largestSmall(two, window);
    if (small == target && max(below1, below2) <= min(above1, above2)) return;
    if (small >= target) retreat(below1 >= below2 ? one : two, window);
    if (small <= target) advance(above1 <= above2 ? one : two, window);
  }
}

function median(one: usize, two: usize, window: i32, present: i32): f64 {
  if (present == 0) return NaN;
  const high = min(smallestLarge(one), smallestLarge(two));
  // Adding 0 turns -0 into 0: which of two equal zeros is found depends on the way.
  if (present & 1) return high + 0;
  const low = max(largestSmall(one, window), largestSmall(two, window));
  const sum = low + high;
  return (isFinite(sum) ? 0.5 * sum : 0.5 * low + 0.5 * high) + 0;
}
