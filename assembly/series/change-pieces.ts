// Changes of the mean by functional pruning (FPOP; Maidstone, Hocking, Rigaill and Fearnhead 2017; with a bounded loss, Fearnhead and
// Rigaill 2019). The least cost of the items so far, as a function of the level u of the segment that is still open, is kept as
// pieces from the lowest level to the highest:
//
//   value(u) = v + n (u - m)^2 on [end of the piece before, end],  opened after item `tau`
//
// Kept this way (n, mean, minimum), and with the least cost of the last item taken off, no piece grows with the length of the series:
// nothing cancels, whatever the mean and however long the segment. Costs are squared deviations in the unit of the items.
//
// An item is three f64: weight, mean, sum of squared deviations from that mean. A piece is five: n, m, v, end, tau.

/** Bytes of an item and of a piece, and where their parts lie after the first. */
export const ITEM: usize = 24;
export const PIECE: usize = 40;
export const M: usize = 8;
export const V: usize = 16;
export const END: usize = 24;
export const TAU: usize = 32;
/** Pieces left when the work allowed has been spent. */
export const FEW: i32 = 64;

/** The least value of all pieces, where it is, and the item that its segment begins after. */
export let foundValue: f64 = 0;
export let foundAt: f64 = 0;
export let foundTau: i32 = 0;

/** Adds an item to every piece and finds the least value. */
export function addSquared(
  pieces: usize,
  n: i32,
  low: f64,
  weight: f64,
  mean: f64,
  rest: f64,
): void {
  let best = Infinity;
  let at = low;
  let tau = 0;
  let left = low;
  const stop = pieces + <usize>n * PIECE;
  for (let p = pieces; p < stop; p += PIECE) {
    const before = load<f64>(p);
    const all = before + weight;
    const off = mean - load<f64>(p, M);
    const share = weight / all;
    const m = load<f64>(p, M) + off * share;
    const v = load<f64>(p, V) + (rest + before * share * (off * off));
    const right = load<f64>(p, END);
    store<f64>(p, all);
    store<f64>(p, m, M);
    store<f64>(p, v, V);
    let u = m < left ? left : m;
    u = u > right ? right : u;
    const value = v + all * ((u - m) * (u - m));
    if (value < best) {
      best = value;
      at = u;
      tau = load<i32>(p, TAU);
    }
    left = right;
  }
  foundValue = best;
  foundAt = at;
  foundTau = tau;
}

/** Finds the least value of the pieces. */
export function find(pieces: usize, n: i32, low: f64): void {
  let best = Infinity;
  let at = low;
  let tau = 0;
  let left = low;
  const stop = pieces + <usize>n * PIECE;
  for (let p = pieces; p < stop; p += PIECE) {
    const m = load<f64>(p, M);
    const right = load<f64>(p, END);
    let u = m < left ? left : m;
    u = u > right ? right : u;
    const value = load<f64>(p, V) + load<f64>(p) * ((u - m) * (u - m));
    if (value < best) {
      best = value;
      at = u;
      tau = load<i32>(p, TAU);
    }
    left = right;
  }
  foundValue = best;
  foundAt = at;
  foundTau = tau;
}

/**
 * Takes `base` off every piece and lets in the candidate v0 + n0 (u - m0)^2 wherever it is less. Every piece has more weight than the
 * candidate, or the candidate is constant (n0 = 0), so a piece stays the smaller one on one interval at most.
 */
export function insert(
  pieces: usize,
  n: i32,
  out: usize,
  low: f64,
  high: f64,
  base: f64,
  n0: f64,
  m0: f64,
  v0: f64,
  tau: i32,
): i32 {
  let o = out;
  let left = low;
  let open = false;
  const stop = pieces + <usize>n * PIECE;
  for (let p = pieces; p < stop; p += PIECE) {
    const weight = load<f64>(p);
    const mean = load<f64>(p, M);
    const value = load<f64>(p, V) - base;
    const right = load<f64>(p, END);
    let from = left;
    let to = right;
    // The piece less the candidate is (weight - n0) (u - centre)^2 - depth.
    const more = weight - n0;
    let depth = v0 - value;
    let centre = mean;
    if (n0 > 0) {
      const share = n0 / more;
      centre = mean + share * (mean - m0);
      depth += weight * share * ((mean - m0) * (mean - m0));
    }
    const a = left - centre;
    const b = right - centre;
    if (depth <= 0) {
      to = left - 1;
    } else if (more * (a * a) > depth || more * (b * b) > depth) {
      const reach = sqrt(depth / more);
      from = centre - reach;
      to = centre + reach;
      if (from < left) from = left;
      if (to > right) to = right;
    }
    if (from > to) {
      from = right;
      to = left - 1;
    }
    if (from > left || to < left) {
      if (!open) {
        o = write(o, n0, m0, v0, tau);
        open = true;
      }
      store<f64>(o - PIECE, from, END);
    }
    if (from <= to) {
      store<f64>(o, weight);
      store<f64>(o, mean, M);
      store<f64>(o, value, V);
      store<f64>(o, to, END);
      store<i32>(o, load<i32>(p, TAU), TAU);
      o += PIECE;
      open = false;
      if (to < right) {
        o = write(o, n0, m0, v0, tau);
        store<f64>(o - PIECE, right, END);
        open = true;
      }
    }
    left = right;
  }
  if (n == 0) {
    o = write(o, n0, m0, v0, tau);
    store<f64>(o - PIECE, high, END);
  }
  return <i32>((o - out) / PIECE);
}

function write(o: usize, n0: f64, m0: f64, v0: f64, tau: i32): usize {
  store<f64>(o, n0);
  store<f64>(o, m0, M);
  store<f64>(o, v0, V);
  store<i32>(o, tau, TAU);
  return o + PIECE;
}

export function copyPiece(from: usize, to: usize): void {
  v128.store(to, v128.load(from));
  v128.store(to, v128.load(from, 16), 16);
  store<i32>(to, load<i32>(from, TAU), TAU);
}

/** Gives up every other piece but the best; its neighbour takes its place, at a cost that is possible and not the least. */
export function thin(pieces: usize, n: i32, at: f64): i32 {
  let o = pieces;
  let left = -Infinity;
  for (let i = 0, p = pieces; i < n; i++, p += PIECE) {
    const right = load<f64>(p, END);
    if ((i & 1) == 0 || (at >= left && at <= right)) {
      copyPiece(p, o);
      o += PIECE;
    } else {
      store<f64>(o - PIECE, right, END);
    }
    left = right;
  }
  return <i32>((o - pieces) / PIECE);
}
