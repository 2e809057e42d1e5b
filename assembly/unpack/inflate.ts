// DEFLATE (RFC 1951), decoded as libdeflate does it: 56 bits or more are read at a time, and matches are copied in vectors. Accepts what
// zlib accepts.
import {
  BELOW,
  buildCodes,
  CODE_LENGTHS,
  END,
  INVALID,
  LITERAL,
  OF_DISTANCES,
  OF_LENGTHS,
  OF_LITERALS,
} from './codes';

const DONE: i32 = 0;
const HOLDS_LESS: i32 = 1;
const HOLDS_MORE: i32 = 2;
const BROKEN: i32 = 3;

const LITERAL_ROOT: u32 = 11;
const DISTANCE_ROOT: u32 = 8;
const LENGTH_ROOT: u32 = 7;
/** Entries of the tables: the most that codes of 15 bits need are 2,342 and 402 (`enough` of zlib). */
const LITERAL_CAPACITY: u32 = 2_400;
const DISTANCE_CAPACITY: u32 = 512;
const LENGTH_CAPACITY: u32 = 128;
const literals: usize = memory.data(9_600, 16);
const distances: usize = memory.data(2_048, 16);
const lengths: usize = memory.data(512, 16);

// The reader: bits that were taken from memory and not consumed, how many of them count, and the address of the next byte.
let bits: u64 = 0;
let count: u32 = 0;
let at: usize = 0;
/** Where the stream ends; 16 bytes behind it can be read. */
let limit: usize = 0;
let literalRoot: i32 = 0;
let distanceRoot: i32 = 0;

/** 56 bits or more; some may be from behind the end, which `isBehind` tells. */
function refill(): void {
  bits |= load<u64>(at) << count;
  at += (63 - count) >> 3;
  count |= 56;
}

function consume(n: u32): void {
  bits >>= n;
  count -= n;
}

function isBehind(): bool {
  return at - (count >> 3) > limit;
}

/** `n` bits of less than 32; 0 far behind the end, where `isBehind` stays true. */
function take(n: u32): u32 {
  if (at > limit + 8) return 0;
  refill();
  const value = <u32>(bits & ((1 << n) - 1));
  consume(n);
  return value;
}

/**
 * Inflates the stream of `size` bytes at `from` to `length` bytes at `to`. Reads up to 16 bytes behind the stream, and writes up to 32
 * behind the result. Returns 0; 1 and 2 when the stream holds less or more; 3 when it is broken.
 */
export function inflate(from: usize, size: u32, to: usize, length: u32): i32 {
  bits = 0;
  count = 0;
  at = from;
  limit = from + size;
  let out = to;
  const end = to + length;
  let isLast = false;
  while (!isLast) {
    isLast = take(1) != 0;
    const kind = take(2);
    if (isBehind()) return BROKEN;
    if (kind == 0) {
      const stored = storedBytes();
      if (stored < 0) return BROKEN;
      if (<usize>stored > end - out) return HOLDS_MORE;
      memory.copy(out, at, stored);
      at += stored;
      out += stored;
    } else {
      if (kind == 1) fixedCodes();
      else if (kind == 3 || !ownCodes()) return BROKEN;
      const status = inflateBlock(to, out, end);
      if (status != DONE) return status;
      out = reached;
    }
  }
  return out < end ? HOLDS_LESS : DONE;
}

/** The length of a stored block, at which the reader then is; -1 where it is wrong. */
function storedBytes(): i32 {
  // Bits up to the next byte are skipped, bytes that were read ahead are given back.
  consume(count & 7);
  at -= count >> 3;
  bits = 0;
  count = 0;
  if (at + 4 > limit) return -1;
  const size = load<u16>(at);
  if ((size ^ load<u16>(at, 2)) != 0xffff) return -1;
  at += 4;
  return at + size > limit ? -1 : <i32>size;
}

function fixedCodes(): void {
  memory.fill(CODE_LENGTHS, 8, 144);
  memory.fill(CODE_LENGTHS + 144, 9, 112);
  memory.fill(CODE_LENGTHS + 256, 7, 24);
  memory.fill(CODE_LENGTHS + 280, 8, 8);
  literalRoot = buildCodes(OF_LITERALS, 288, literals, LITERAL_CAPACITY, LITERAL_ROOT);
  memory.fill(CODE_LENGTHS, 5, 32);
  distanceRoot = buildCodes(OF_DISTANCES, 32, distances, DISTANCE_CAPACITY, DISTANCE_ROOT);
}

/** Which symbol the `i`th length of the code of lengths is of: 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15. */
function symbolOfLength(i: u32): usize {
  if (i < 3) return 16 + i;
  if (i == 3) return 0;
  return (i & 1) == 0 ? 6 + (i >> 1) : 9 - (i >> 1);
}

/** Reads the codes of a block. False where they are wrong. */
function ownCodes(): bool {
  const literalCount = take(5) + 257;
  const distanceCount = take(5) + 1;
  const lengthCount = take(4) + 4;
  if (literalCount > 286 || distanceCount > 30) return false;
  memory.fill(CODE_LENGTHS, 0, 19);
  for (let i: u32 = 0; i < lengthCount; i++)
    store<u8>(CODE_LENGTHS + symbolOfLength(i), <u8>take(3));
  if (isBehind()) return false;
  const root = buildCodes(OF_LENGTHS, 19, lengths, LENGTH_CAPACITY, LENGTH_ROOT);
  if (root < 0) return false;
  const total = literalCount + distanceCount;
  for (let i: u32 = 0; i < total;) {
    if (at > limit + 8) return false;
    refill();
    const entry = load<u32>(lengths + ((<usize>(bits & ((1 << root) - 1))) << 2));
    if ((entry & INVALID) != 0) return false;
    consume(entry & 0xff);
    const symbol = entry >> 16;
    if (symbol < 16) {
      store<u8>(CODE_LENGTHS + i++, <u8>symbol);
      continue;
    }
    let value: u8 = 0;
    let times: u32;
    if (symbol == 16) {
      if (i == 0) return false;
      value = load<u8>(CODE_LENGTHS + i - 1);
      times = 3 + <u32>(bits & 3);
      consume(2);
    } else if (symbol == 17) {
      times = 3 + <u32>(bits & 7);
      consume(3);
    } else {
      times = 11 + <u32>(bits & 127);
      consume(7);
    }
    if (i + times > total) return false;
    memory.fill(CODE_LENGTHS + i, value, times);
    i += times;
  }
  // A block without an end.
  if (isBehind() || load<u8>(CODE_LENGTHS + 256) == 0) return false;
  literalRoot = buildCodes(OF_LITERALS, literalCount, literals, LITERAL_CAPACITY, LITERAL_ROOT);
  if (literalRoot < 0) return false;
  memory.copy(CODE_LENGTHS, CODE_LENGTHS + literalCount, distanceCount);
  distanceRoot = buildCodes(
    OF_DISTANCES,
    distanceCount,
    distances,
    DISTANCE_CAPACITY,
    DISTANCE_ROOT,
  );
  return distanceRoot >= 0;
}

/** Where the output of the last block ended. */
let reached: usize = 0;

/** The entry of a code that is longer than the first table, by the bits behind those of `entry`. */
function entryBelow(table: usize, entry: u32, held: u64): u32 {
  const mask: u64 = (1 << ((entry >> 8) & 15)) - 1;
  return load<u32>(table + ((<usize>(entry >> 16) + <usize>(held & mask)) << 2));
}

function inflateBlock(to: usize, out: usize, end: usize): i32 {
  const literalMask: u64 = (1 << literalRoot) - 1;
  const distanceMask: u64 = (1 << distanceRoot) - 1;
  // In locals: they change with each symbol.
  let held = bits;
  let left = count;
  let next = at;
  const last = limit;
  let status = DONE;
  for (;;) {
    if (next > last + 8) {
      status = BROKEN;
      break;
    }
    held |= load<u64>(next) << left;
    next += (63 - left) >> 3;
    left |= 56;
    let entry = load<u32>(literals + ((<usize>(held & literalMask)) << 2));
    // Up to three literals of 15 bits, and a match of 48 after the first.
    if ((entry & LITERAL) != 0) {
      if (out >= end) {
        status = HOLDS_MORE;
        break;
      }
      held >>= entry & 0xff;
      left -= entry & 0xff;
      store<u8>(out++, <u8>(entry >> 16));
      entry = load<u32>(literals + ((<usize>(held & literalMask)) << 2));
      if ((entry & LITERAL) != 0) {
        if (out >= end) {
          status = HOLDS_MORE;
          break;
        }
        held >>= entry & 0xff;
        left -= entry & 0xff;
        store<u8>(out++, <u8>(entry >> 16));
      }
      continue;
    }
    if ((entry & BELOW) != 0) {
      held >>= entry & 0xff;
      left -= entry & 0xff;
      entry = entryBelow(literals, entry, held);
      if ((entry & LITERAL) != 0) {
        if (out >= end) {
          status = HOLDS_MORE;
          break;
        }
        held >>= entry & 0xff;
        left -= entry & 0xff;
        store<u8>(out++, <u8>(entry >> 16));
        continue;
      }
    }
    held >>= entry & 0xff;
    left -= entry & 0xff;
    if ((entry & (END | INVALID)) != 0) {
      if ((entry & INVALID) != 0) status = BROKEN;
      break;
    }
    const extra = (entry >> 8) & 15;
    const length = (entry >> 16) + <u32>(held & ((1 << extra) - 1));
    held >>= extra;
    left -= extra;
    entry = load<u32>(distances + ((<usize>(held & distanceMask)) << 2));
    if ((entry & BELOW) != 0) {
      held >>= entry & 0xff;
      left -= entry & 0xff;
      entry = entryBelow(distances, entry, held);
    }
    held >>= entry & 0xff;
    left -= entry & 0xff;
    if ((entry & INVALID) != 0) {
      status = BROKEN;
      break;
    }
    const more = (entry >> 8) & 15;
    const distance = (entry >> 16) + <u32>(held & ((1 << more) - 1));
    held >>= more;
    left -= more;
    if (distance > <u32>(out - to)) {
      status = BROKEN;
      break;
    }
    if (length > <u32>(end - out)) {
      status = HOLDS_MORE;
      break;
    }
    copyMatch(out, distance, length);
    out += length;
  }
  bits = held;
  count = left;
  at = next;
  reached = out;
  // What was read behind the end is not of the stream.
  return isBehind() ? BROKEN : status;
}

/** Copies `length` bytes from `distance` before `out`, which may overlap; writes up to 15 bytes more. */
function copyMatch(out: usize, distance: usize, length: usize): void {
  const stop = out + length;
  if (distance == 1) {
    const value = i8x16.splat(load<i8>(out - 1));
    for (; out < stop; out += 16) v128.store(out, value);
    return;
  }
  let from = out - distance;
  if (distance < 16) {
    // So many periods that a vector does not reach what it writes.
    let period = distance;
    while (period < 16) period += distance;
    const start = min(stop, out + period - distance);
    while (out < start) store<u8>(out++, load<u8>(from++));
    from = out - period;
    if (out >= stop) return;
  }
  for (; out < stop; out += 16, from += 16) v128.store(out, v128.load(from));
}
