// Order statistics by selection. Values are counted in buckets, and only the buckets that hold a wanted rank are looked at again, by
// bits of their order-preserving integers ("keys"), so that no input makes the work more than linear: each round over a group either
// ends it or takes at least 3 bits (10 for 2,048 values or more) off the range of its keys, which has 64.
//
// A long series is first cut into buckets of equal width between two values of a sample; where the sample says that this would put
// too much into one bucket (heavy tails), into buckets of keys, whose width grows with the value. A bucket crowded by one value is not
// gathered: the value is counted instead (order-ties.ts).
import { countTie, isTied } from './order-ties';
import { inSample, SAMPLES, sampleAt, setSample, sortSample } from './order-sample';
import { EXPONENT, isAllFinite, keyOf, shiftFor, sortFew } from './order-values';

const BUCKETS: i32 = 2048;
const SHORT: i32 = 4096;
const TINY: i32 = 24;
const SAMPLES_OF_SHORTER: i32 = 256;
const LONG: i32 = 1 << 18;
// Of the sample, the most that one wanted bucket of equal width may hold.
const CROWD: i32 = 16;
// The first and the last bucket take everything beyond the range: this share of the sample at each end, so that far values do not widen
// it. A range around the wanted ranks alone would make most values add to the same two counts, one waiting for the other.
const TAIL: i32 = 128;
// Adding 2^52 rounds a float64 below 2^31 to an integer in its low 32 bits.
const ROUND: f64 = 4503599627370496;

const TASK_BYTES: usize = 24;

const BY_COPY: i32 = 0;
const BY_WIDTH: i32 = 1;
const BY_KEY: i32 = 2;

const counts: usize = memory.data(BUCKETS * 4, 16);
const wanted: usize = memory.data(BUCKETS, 16);
// Low end, scale, last bucket and ROUND as vectors, by way of memory: V8 makes a vector anew in every turn of a loop that uses it, with
// what leads to it, but not one that was loaded.
const constants: usize = memory.data(64, 16);

let mode: i32 = 0;
let tie: f64 = 0;
let low: f64 = 0;
let scale: f64 = 0;
let lowKey: i64 = 0;
let shift: i32 = 0;
let ranks: usize = 0;
let results: usize = 0;
let tasks: usize = 0;
let taskCount: i32 = 0;
// The whole series, while its buckets are looked through.
let values: usize = 0;
let valueCount: i32 = 0;

function rankAt(i: i32): i32 {
  return load<i32>(ranks + ((<usize>i) << 2));
}

function setResults(from: i32, to: i32, value: f64): void {
  for (let i = from; i < to; i++) store<f64>(results + ((<usize>i) << 3), value);
}

function pushTask(side: i32, start: i32, count: i32, base: i32, from: i32, to: i32): void {
  const task = tasks + <usize>taskCount * TASK_BYTES;
  store<i32>(task, side);
  store<i32>(task, start, 4);
  store<i32>(task, count, 8);
  store<i32>(task, base, 12);
  store<i32>(task, from, 16);
  store<i32>(task, to, 20);
  taskCount += 1;
}

/**
 * Counts the values and finds what has to be looked at again for the ranks, which are ascending and below `count`; for the results of
 * a rank there is room at `out`, and at `room` 24 bytes a rank. Returns how many values orderSelect will gather, or -1 when a
 * value is not finite.
 */
export function orderPlan(
  p: usize,
  count: i32,
  rankList: usize,
  rankCount: i32,
  out: usize,
  room: usize,
): i32 {
  ranks = rankList;
  results = out;
  tasks = room;
  taskCount = 0;
  mode = BY_COPY;
  if (count < SHORT) {
    if (!isAllFinite(p, count)) return -1;
    pushTask(0, 0, count, 0, 0, rankCount);
    return count;
  }
  if (!chooseBuckets(p, count, rankCount)) return -1;
  memory.fill(counts, 0, BUCKETS * 4);
  memory.fill(wanted, 0, BUCKETS);
  if (!(mode == BY_WIDTH ? countByWidth(p, count) : countByKey(p, count))) return -1;
  values = p;
  valueCount = count;
  const found = locate(BUCKETS, 0, 0, 0, 0, rankCount, 1);
  values = 0;
  return found;
}

/** Does what orderPlan has planned, with the same arguments; a and b have room for as many values as it returned. */
export function orderSelect(p: usize, count: i32, a: usize, b: usize): void {
  if (mode == BY_COPY) memory.copy(a, p, (<usize>count) << 3);
  else if (taskCount > 0) {
    if (mode == BY_WIDTH) gatherByWidth(p, count, a);
    else gatherByKey(p, p + ((<usize>count) << 3), a);
  }
  while (taskCount > 0) {
    taskCount -= 1;
    const task = tasks + <usize>taskCount * TASK_BYTES;
    const side = load<i32>(task);
    split(
      side == 0 ? a : b,
      side == 0 ? b : a,
      side ^ 1,
      load<i32>(task, 4),
      load<i32>(task, 8),
      load<i32>(task, 12),
      load<i32>(task, 16),
      load<i32>(task, 20),
    );
  }
}

/** Sets mode and buckets from a sample; false when a sampled value is not finite. */
function chooseBuckets(p: usize, count: i32, rankCount: i32): bool {
  const size = count < LONG ? SAMPLES_OF_SHORTER : SAMPLES;
  const stride = count / size;
  let state: u32 = 0x9e3779b9;
  for (let i = 0; i < size; i++) {
    // Within each stride at random, the same in every run: a stride alone would beat with a series that repeats.
    state = state * 1664525 + 1013904223;
    const at = i * stride + <i32>((<u64>state * <u64>stride) >>> 32);
    const bits = load<u64>(p + ((<usize>at) << 3));
    if ((bits & EXPONENT) == EXPONENT) return false;
    setSample(i, bits);
  }
  sortSample(size);
  const tail = size / TAIL;
  low = sampleAt(tail, size);
  const high = sampleAt(size - 1 - tail, size);
  scale = <f64>(BUCKETS - 2) / (high - low);
  mode = scale > 0 && scale < Infinity && !isCrowded(count, size, rankCount) ? BY_WIDTH : BY_KEY;
  v128.store(constants, f64x2.splat(low));
  v128.store(constants, f64x2.splat(scale), 16);
  v128.store(constants, f64x2.splat(<f64>(BUCKETS - 1)), 32);
  v128.store(constants, f64x2.splat(ROUND), 48);
  lowKey = keyOf(reinterpret<i64>(low));
  shift = shiftFor(<u64>(keyOf(reinterpret<i64>(high)) - lowKey), 10);
  return true;
}

function isCrowded(count: i32, size: i32, rankCount: i32): bool {
  let end = 0;
  for (let r = 0; r < rankCount; r++) {
    const at = inSample(rankAt(r), count, size);
    if (at < end) continue;
    const bucket = bucketByWidth(sampleAt(at, size));
    let first = at;
    while (first > 0 && bucketByWidth(sampleAt(first - 1, size)) == bucket) first -= 1;
    end = at + 1;
    while (end < size && bucketByWidth(sampleAt(end, size)) == bucket) end += 1;
    // Values that are all the same cost nothing: see hasTie.
    const isSame = sampleAt(first, size) == sampleAt(end - 1, size);
    if (!isSame && (end - first) * CROWD > size) return true;
  }
  return false;
}

// NaN and everything below go to bucket 0 (the order of the operands matters), everything above to the last.
function bucketByWidth(value: f64): i32 {
  const scaled = (value - low) * scale;
  const floor = scaled > 0 ? scaled : 0;
  const capped = floor < <f64>(BUCKETS - 1) ? floor : <f64>(BUCKETS - 1);
  return <i32>reinterpret<i64>(capped + ROUND);
}

function bucketsByWidth(v: v128, low2: v128, scale2: v128, last2: v128, round2: v128): v128 {
  const floor = f64x2.pmax(f64x2.splat(0), f64x2.mul(f64x2.sub(v, low2), scale2));
  return f64x2.add(f64x2.pmin(last2, floor), round2);
}

function bucketByKey(key: i64): i32 {
  if (key < lowKey) return 0;
  return 1 + <i32>min(<u64>(BUCKETS - 2), <u64>(key - lowKey) >>> shift);
}

function addOne(bucket: i32): void {
  const slot = counts + ((<usize>(<u32>bucket)) << 2);
  store<i32>(slot, load<i32>(slot) + 1);
}

function countByWidth(p: usize, count: i32): bool {
  const end = p + ((<usize>count) << 3);
  const end4 = p + ((<usize>(count & ~3)) << 3);
  const low2 = v128.load(constants);
  const scale2 = v128.load(constants, 16);
  const last2 = v128.load(constants, 32);
  const round2 = v128.load(constants, 48);
  // x - x is 0, or NaN for what is not finite.
  let check = f64x2.splat(0);
  for (; p < end4; p += 32) {
    const v = v128.load(p);
    const w = v128.load(p, 16);
    check = f64x2.add(check, f64x2.add(f64x2.sub(v, v), f64x2.sub(w, w)));
    const a = bucketsByWidth(v, low2, scale2, last2, round2);
    const b = bucketsByWidth(w, low2, scale2, last2, round2);
    addOne(i32x4.extract_lane(a, 0));
    addOne(i32x4.extract_lane(a, 2));
    addOne(i32x4.extract_lane(b, 0));
    addOne(i32x4.extract_lane(b, 2));
  }
  let rest = f64x2.extract_lane(check, 0) + f64x2.extract_lane(check, 1);
  for (; p < end; p += 8) {
    const value = load<f64>(p);
    rest += value - value;
    addOne(bucketByWidth(value));
  }
  return rest == 0;
}

function countByKey(p: usize, count: i32): bool {
  let found: u64 = 0;
  for (const end = p + ((<usize>count) << 3); p < end; p += 8) {
    const bits = load<u64>(p);
    found |= <u64>((bits & EXPONENT) == EXPONENT);
    addOne(bucketByKey(keyOf(bits)));
  }
  return found == 0;
}

/**
 * Finds the buckets with ranks `from` to `to` of a group that begins at rank `base`, makes tasks of them that will lie from `start` on
 * `side`, and returns how many values they hold. When keys are not shifted, a bucket is one value, but for the outer `offset`.
 */
function locate(
  buckets: i32,
  side: i32,
  start: i32,
  base: i32,
  from: i32,
  to: i32,
  offset: i32,
): i32 {
  let at = start;
  let rank = base;
  for (let bucket = 0; from < to; bucket++) {
    const slot = counts + ((<usize>bucket) << 2);
    const count = load<i32>(slot);
    const next = rank + count;
    if (rankAt(from) < next) {
      let end = from + 1;
      while (end < to && rankAt(end) < next) end += 1;
      if (mode == BY_KEY && shift == 0 && bucket >= offset && bucket < buckets - offset) {
        setResults(from, end, reinterpret<f64>(keyOf(lowKey + <i64>(bucket - offset))));
      } else {
        let first = from;
        let last = end;
        if (values != 0 && hasTie(bucket, count)) {
          for (; first < end && isTied(rankAt(first)); first++) setResults(first, first + 1, tie);
          for (; last > first && isTied(rankAt(last - 1)); last--) setResults(last - 1, last, tie);
        }
        if (first < last) {
          store<u8>(wanted + <usize>bucket, 1);
          store<i32>(slot, at);
          pushTask(side, at, count, rank, first, last);
          at += count;
        }
      }
      from = end;
    }
    rank = next;
  }
  return at - start;
}

/**
 * Whether one value, then in `tie`, is most of what a crowded bucket holds: the sample guesses it, and it is counted in the series,
 * which is much faster than to gather so many.
 */
function hasTie(bucket: i32, count: i32): bool {
  if (count < valueCount / CROWD) return false;
  const size = valueCount < LONG ? SAMPLES_OF_SHORTER : SAMPLES;
  let guess: i64 = 0;
  let seen = 0;
  for (let i = 0; i < size; i++) {
    const value = sampleAt(i, size);
    const bits = reinterpret<i64>(value);
    if ((mode == BY_WIDTH ? bucketByWidth(value) : bucketByKey(keyOf(bits))) != bucket) continue;
    if (seen > 0 && bits != guess) return false;
    guess = bits;
    seen += 1;
  }
  if (seen == 0) return false;
  tie = reinterpret<f64>(guess);
  countTie(values, valueCount, tie);
  return true;
}

function gatherByWidth(p: usize, count: i32, q: usize): void {
  const low2 = v128.load(constants);
  const scale2 = v128.load(constants, 16);
  const last2 = v128.load(constants, 32);
  const round2 = v128.load(constants, 48);
  const end = p + ((<usize>count) << 3);
  const end4 = p + ((<usize>(count & ~3)) << 3);
  for (; p < end4; p += 32) {
    const a = bucketsByWidth(v128.load(p), low2, scale2, last2, round2);
    const b = bucketsByWidth(v128.load(p, 16), low2, scale2, last2, round2);
    const i = i32x4.extract_lane(a, 0);
    const j = i32x4.extract_lane(a, 2);
    const k = i32x4.extract_lane(b, 0);
    const l = i32x4.extract_lane(b, 2);
    if (isWanted(i) | isWanted(j) | isWanted(k) | isWanted(l)) {
      if (isWanted(i)) put(p, i, q);
      if (isWanted(j)) put(p + 8, j, q);
      if (isWanted(k)) put(p + 16, k, q);
      if (isWanted(l)) put(p + 24, l, q);
    }
  }
  for (; p < end; p += 8) {
    const bucket = bucketByWidth(load<f64>(p));
    if (isWanted(bucket)) put(p, bucket, q);
  }
}

function gatherByKey(p: usize, end: usize, q: usize): void {
  for (; p < end; p += 8) {
    const bucket = bucketByKey(keyOf(load<i64>(p)));
    if (isWanted(bucket)) put(p, bucket, q);
  }
}

function isWanted(bucket: i32): i32 {
  return load<u8>(wanted + <usize>(<u32>bucket));
}

/** Copies the value at p to the next place of its bucket in q. */
function put(p: usize, bucket: i32, q: usize): void {
  const slot = counts + ((<usize>(<u32>bucket)) << 2);
  const at = load<i32>(slot);
  store<i32>(slot, at + 1);
  store<u64>(q + ((<usize>at) << 3), load<u64>(p));
}

/** Settles the ranks of a group of `count` values at `source`, or makes smaller groups of it at `target`. */
function split(
  source: usize,
  target: usize,
  targetSide: i32,
  start: i32,
  count: i32,
  base: i32,
  from: i32,
  to: i32,
): void {
  const p = source + ((<usize>start) << 3);
  const end = p + ((<usize>count) << 3);
  if (count <= TINY) {
    sortFew(p, end);
    for (let r = from; r < to; r++)
      setResults(r, r + 1, load<f64>(p + ((<usize>(rankAt(r) - base)) << 3)));
    return;
  }
  let least: i64 = i64.MAX_VALUE;
  let most: i64 = i64.MIN_VALUE;
  for (let q = p; q < end; q += 8) {
    const key = keyOf(load<i64>(q));
    least = key < least ? key : least;
    most = key > most ? key : most;
  }
  if (least == most) {
    setResults(from, to, reinterpret<f64>(keyOf(least)));
    return;
  }
  mode = BY_KEY;
  lowKey = least;
  shift = shiftFor(<u64>(most - least), min(11, 31 - <i32>clz(count)));
  const buckets = 1 + <i32>(<u64>(most - least) >>> shift);
  memory.fill(counts, 0, (<usize>buckets) << 2);
  memory.fill(wanted, 0, <usize>buckets);
  for (let q = p; q < end; q += 8) addOne(bucketInGroup(q));
  if (locate(buckets, targetSide, start, base, from, to, 0) == 0) return;
  for (let q = p; q < end; q += 8) {
    const bucket = bucketInGroup(q);
    if (isWanted(bucket)) put(q, bucket, target);
  }
}

function bucketInGroup(q: usize): i32 {
  return <i32>(<u64>(keyOf(load<i64>(q)) - lowKey) >>> shift);
}
