// Changes of a line by pruned optimal partitioning (PELT; Killick, Fearnhead and Eckley 2012). Every open segment is a least-squares
// line: mean, slope and sum of squared residuals. An item is joined to it by what it leaves against that line, so that nothing cancels
// however steep the line or long the segment.
//
// An item is three f64: mean, slope, squared residuals of its own line; its positions are known from where it starts.

const ITEM: usize = 24;
/** Points whose line is found in one go: small enough to be read twice from the cache. */
const RUN: i32 = 1024;

let runMean: f64 = 0;
let runSlope: f64 = 0;
let runRest: f64 = 0;

/** Mean, slope and squared residuals of the runs that begin at `starts`. */
export function changeLineItems(
  points: usize,
  count: i32,
  starts: usize,
  runs: i32,
  items: usize,
): void {
  for (let i = 0; i < runs; i++) {
    const start = load<i32>(starts + ((<usize>i) << 2));
    const end = i + 1 < runs ? load<i32>(starts + ((<usize>(i + 1)) << 2)) : count;
    let n: f64 = 0;
    let mean: f64 = 0;
    let slope: f64 = 0;
    let rest: f64 = 0;
    for (let at = start; at < end; at += RUN) {
      const size = min(RUN, end - at);
      fitRun(points + ((<usize>at) << 3), size);
      const w = <f64>size;
      if (n == 0) {
        mean = runMean;
        slope = runSlope;
        rest = runRest;
      } else {
        const all = n + w;
        const own = squares(w);
        const away = all * 0.5;
        const off = runMean - mean - slope * away;
        const turn = runSlope - slope;
        const share = (n * w) / all;
        const product = turn * own + share * off * away;
        const total = squares(all);
        const more = turn * turn * own + share * off * off - (product * product) / total;
        mean += ((runMean - mean) * w) / all;
        slope += product / total;
        rest += runRest + max(0, more);
      }
      n += w;
    }
    const item = items + <usize>i * ITEM;
    store<f64>(item, mean);
    store<f64>(item, slope, 8);
    store<f64>(item, rest, 16);
  }
}

/** Sum of squared deviations of n consecutive positions from their centre. */
function squares(n: f64): f64 {
  return (n * (n * n - 1)) / 12;
}

function fitRun(p: usize, size: i32): void {
  const n = <f64>size;
  let sum: f64 = 0;
  const pairs = size & ~1;
  let sums = f64x2.splat(0);
  for (let i = 0; i < pairs; i += 2) sums = f64x2.add(sums, v128.load(p + ((<usize>i) << 3)));
  sum = f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1);
  if (size & 1) sum += load<f64>(p + ((<usize>pairs) << 3));
  const mean = sum / n;
  const middle = (n - 1) * 0.5;
  let x = f64x2.replace_lane(f64x2.splat(-middle), 1, 1 - middle);
  const two = f64x2.splat(2);
  const means = f64x2.splat(mean);
  let products = f64x2.splat(0);
  for (let i = 0; i < pairs; i += 2) {
    const y = f64x2.sub(v128.load(p + ((<usize>i) << 3)), means);
    products = f64x2.add(products, f64x2.mul(x, y));
    x = f64x2.add(x, two);
  }
  let product = f64x2.extract_lane(products, 0) + f64x2.extract_lane(products, 1);
  if (size & 1) product += middle * (load<f64>(p + ((<usize>pairs) << 3)) - mean);
  const slope = size > 1 ? product / squares(n) : 0;
  const slopes = f64x2.splat(slope);
  let rests = f64x2.splat(0);
  x = f64x2.replace_lane(f64x2.splat(-middle), 1, 1 - middle);
  for (let i = 0; i < pairs; i += 2) {
    const y = f64x2.sub(v128.load(p + ((<usize>i) << 3)), means);
    const off = f64x2.sub(y, f64x2.mul(x, slopes));
    rests = f64x2.add(rests, f64x2.mul(off, off));
    x = f64x2.add(x, two);
  }
  let rest = f64x2.extract_lane(rests, 0) + f64x2.extract_lane(rests, 1);
  if (size & 1) {
    const off = load<f64>(p + ((<usize>pairs) << 3)) - mean - middle * slope;
    rest += off * off;
  }
  runMean = mean;
  runSlope = slope;
  runRest = rest;
}

/**
 * Finds, for every item, where the segment that ends with it best begins: `last[t]` is the number of items before it, t = 1 .. runs.
 * A segment has at least `least` points. `room` holds (runs + 2) * 8 f64.
 */
export function changeLines(
  count: i32,
  starts: usize,
  runs: i32,
  items: usize,
  penalty: f64,
  least: f64,
  last: usize,
  room: usize,
): void {
  // One array each: first position, mean, slope, residuals, cost before, value now, the position from which it is out, item.
  const stride = ((<usize>(runs + 2)) << 3) & ~15;
  const firsts = room;
  const means = firsts + stride;
  const slopes = means + stride;
  const rests = slopes + stride;
  const costs = rests + stride;
  const values = costs + stride;
  const outs = values + stride;
  const taus = outs + stride;
  const half = f64x2.splat(0.5);
  const twelfth = f64x2.splat(12);
  const one = f64x2.splat(1);
  const zero = f64x2.splat(0);
  let n: usize = 0;
  // Costs are kept less the least one of the last item, so that one huge residual leaves those after it as they are.
  let cost: f64 = 0;
  let lowest: f64 = 0;
  for (let t = 1; t <= runs; t++) {
    const item = items + <usize>(t - 1) * ITEM;
    const start = <f64>load<i32>(starts + ((<usize>(t - 1)) << 2));
    const end = t < runs ? <f64>load<i32>(starts + ((<usize>t) << 2)) : <f64>count;
    const weight = end - start;
    const itemMean = f64x2.splat(load<f64>(item));
    const itemSlope = f64x2.splat(load<f64>(item, 8));
    const itemRest = f64x2.splat(load<f64>(item, 16));
    const itemSquares = f64x2.splat(squares(weight));
    const w = f64x2.splat(weight);
    const from = f64x2.splat(start);
    const base = f64x2.splat(lowest);
    for (let i: usize = 0; i < n << 3; i += 16) {
      const before = f64x2.sub(from, v128.load(firsts + i));
      const mean = v128.load(means + i);
      const slope = v128.load(slopes + i);
      const all = f64x2.add(before, w);
      const away = f64x2.mul(all, half);
      const gap = f64x2.sub(itemMean, mean);
      const off = f64x2.sub(gap, f64x2.mul(slope, away));
      const turn = f64x2.sub(itemSlope, slope);
      const part = f64x2.div(w, all);
      const share = f64x2.mul(before, part);
      const pull = f64x2.mul(share, off);
      const bend = f64x2.mul(turn, itemSquares);
      const product = f64x2.add(bend, f64x2.mul(pull, away));
      const total = f64x2.div(f64x2.mul(all, f64x2.sub(f64x2.mul(all, all), one)), twelfth);
      const lift = f64x2.div(product, total);
      const more = f64x2.sub(
        f64x2.add(f64x2.mul(turn, bend), f64x2.mul(pull, off)),
        f64x2.mul(product, lift),
      );
      const rest = f64x2.add(v128.load(rests + i), f64x2.add(itemRest, f64x2.pmax(zero, more)));
      v128.store(means + i, f64x2.add(mean, f64x2.mul(gap, part)));
      v128.store(slopes + i, f64x2.add(slope, lift));
      v128.store(rests + i, rest);
      const cost = f64x2.sub(v128.load(costs + i), base);
      v128.store(costs + i, cost);
      v128.store(values + i, f64x2.add(cost, rest));
    }
    // The segment that begins with this item.
    const fresh = n << 3;
    store<f64>(firsts + fresh, start);
    store<f64>(means + fresh, load<f64>(item));
    store<f64>(slopes + fresh, load<f64>(item, 8));
    store<f64>(rests + fresh, load<f64>(item, 16));
    store<f64>(costs + fresh, cost);
    store<f64>(values + fresh, cost + load<f64>(item, 16));
    store<f64>(outs + fresh, Infinity);
    store<f64>(taus + fresh, <f64>(t - 1));
    n++;
    let best = Infinity;
    let tau: f64 = 0;
    let i: usize = 0;
    for (; i < n << 3; i += 8) {
      if (end - load<f64>(firsts + i) < least) break;
      const value = load<f64>(values + i);
      if (value < best) {
        best = value;
        tau = load<f64>(taus + i);
      }
    }
    store<i32>(last + ((<usize>t) << 2), <i32>tau);
    cost = best < Infinity ? penalty : Infinity;
    lowest = best < Infinity ? best : 0;
    // A beginning that another change, here, would beat is out once that one may be used: `least` points from here.
    const limit = best + penalty;
    const out = end + least;
    let o: usize = 0;
    for (i = 0; i < n << 3; i += 8) {
      let until = load<f64>(outs + i);
      if (load<f64>(values + i) > limit && out < until && end - load<f64>(firsts + i) >= least) {
        until = out;
      }
      if (end >= until || load<f64>(costs + i) == Infinity) continue;
      if (o != i) {
        store<f64>(firsts + o, load<f64>(firsts + i));
        store<f64>(means + o, load<f64>(means + i));
        store<f64>(slopes + o, load<f64>(slopes + i));
        store<f64>(rests + o, load<f64>(rests + i));
        store<f64>(costs + o, load<f64>(costs + i));
        store<f64>(taus + o, load<f64>(taus + i));
      }
      store<f64>(outs + o, until);
      o += 8;
    }
    n = o >> 3;
  }
}
