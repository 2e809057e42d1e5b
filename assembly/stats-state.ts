// The running statistics of one tensor, and how a block joins them: by the pairwise update of Chan, Golub and LeVeque (1979), in
// float64, around an origin taken from the first block.
import {
  STATS_FINITE,
  STATS_L1,
  STATS_M2,
  STATS_MAX,
  STATS_MEAN,
  STATS_MIN,
  STATS_NAN,
  STATS_NEAR_ZERO,
  STATS_NEGATIVE_INFINITY,
  STATS_ORIGIN,
  STATS_POSITIVE_INFINITY,
  STATS_SATURATED,
  STATS_SLOTS,
  STATS_ZERO,
} from '../src/kernel/tensor/layout';
let finite: f64 = 0;
let mean: f64 = 0;
let m2: f64 = 0;
let l1: f64 = 0;
let smallest: f64 = Infinity;
let largest: f64 = -Infinity;
let nans: f64 = 0;
let positiveInfinities: f64 = 0;
let negativeInfinities: f64 = 0;
let zeros: f64 = 0;
let nearZeros: f64 = 0;
let saturated: f64 = 0;
let origin: f64 = 0;

export function statsReset(state: usize): void {
  memory.fill(state, 0, STATS_SLOTS << 3);
  put(state, STATS_MIN, Infinity);
  put(state, STATS_MAX, -Infinity);
}

/** Whether the squared mean is above so many variances. */
export function isFarFromZero(variances: f64): bool {
  const center = origin + mean;
  return center * center * finite > m2 * variances;
}

export function currentMean(): f64 {
  return origin + mean;
}

export function addSizes(absolutes: f64, low: f64, high: f64): void {
  l1 += absolutes;
  smallest = min(smallest, low);
  largest = max(largest, high);
}

export function addCounts(zeroCount: f64, nearCount: f64, saturatedCount: f64): void {
  zeros += zeroCount;
  nearZeros += nearCount;
  saturated += saturatedCount;
}

export function addNonFinite(nanCount: f64, positive: f64, negative: f64): void {
  nans += nanCount;
  positiveInfinities += positive;
  negativeInfinities += negative;
}

export function single(x: f64, epsilon: f64, threshold: f64): void {
  const size = abs(x);
  if (size < Infinity) {
    join(1, x, 0, 0);
    l1 += size;
    smallest = min(smallest, x);
    largest = max(largest, x);
    if (size == 0) zeros += 1;
    if (size <= epsilon) nearZeros += 1;
    if (size >= threshold) saturated += 1;
  } else if (x == Infinity) positiveInfinities += 1;
  else if (x == -Infinity) negativeInfinities += 1;
  else nans += 1;
}

/** Takes in a block with mean `center + offset`, the offset being the small part. */
export function join(count: f64, center: f64, offset: f64, blockM2: f64): void {
  if (finite == 0) origin = center;
  const total = finite + count;
  const delta = center - origin + offset - mean;
  const weight = count / total;
  m2 += blockM2 + delta * delta * (finite * weight);
  mean += delta * weight;
  finite = total;
}

export function open(state: usize): void {
  finite = get(state, STATS_FINITE);
  mean = get(state, STATS_MEAN);
  m2 = get(state, STATS_M2);
  l1 = get(state, STATS_L1);
  smallest = get(state, STATS_MIN);
  largest = get(state, STATS_MAX);
  nans = get(state, STATS_NAN);
  positiveInfinities = get(state, STATS_POSITIVE_INFINITY);
  negativeInfinities = get(state, STATS_NEGATIVE_INFINITY);
  zeros = get(state, STATS_ZERO);
  nearZeros = get(state, STATS_NEAR_ZERO);
  saturated = get(state, STATS_SATURATED);
  origin = get(state, STATS_ORIGIN);
}

export function close(state: usize): void {
  put(state, STATS_FINITE, finite);
  put(state, STATS_MEAN, mean);
  put(state, STATS_M2, m2);
  put(state, STATS_L1, l1);
  put(state, STATS_MIN, smallest);
  put(state, STATS_MAX, largest);
  put(state, STATS_NAN, nans);
  put(state, STATS_POSITIVE_INFINITY, positiveInfinities);
  put(state, STATS_NEGATIVE_INFINITY, negativeInfinities);
  put(state, STATS_ZERO, zeros);
  put(state, STATS_NEAR_ZERO, nearZeros);
  put(state, STATS_SATURATED, saturated);
  put(state, STATS_ORIGIN, origin);
}

function get(state: usize, slot: i32): f64 {
  return load<f64>(state + ((<usize>slot) << 3));
}

function put(state: usize, slot: i32, value: f64): void {
  store<f64>(state + ((<usize>slot) << 3), value);
}
