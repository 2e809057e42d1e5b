// Tables of Huffman codes for DEFLATE. A code of up to `root` bits is looked up by its next `root` bits; a longer one by these and, in a
// table of their own, by those after them. Which sets of lengths are refused is what zlib refuses.

/** Kinds of entries. An entry has the bits to consume, extra bits or those of the table below (8..11), a kind, and a value from bit 16 on. */
export const LITERAL: u32 = 0x1000;
export const BELOW: u32 = 0x2000;
export const END: u32 = 0x4000;
export const INVALID: u32 = 0x8000;

/** Sets of codes. */
export const OF_LENGTHS: i32 = 0;
export const OF_LITERALS: i32 = 1;
export const OF_DISTANCES: i32 = 2;

/** Bits of a code at most. */
const MAX_BITS: u32 = 15;
/** Symbols at most. */
const MAX_SYMBOLS: usize = 320;

/** Lengths of codes, a byte for each symbol: read by `buildCodes`. */
export const CODE_LENGTHS: usize = memory.data(<i32>MAX_SYMBOLS, 16);
const counts: usize = memory.data(64, 16);
const offsets: usize = memory.data(64, 16);
const sorted: usize = memory.data(640, 16);

function entryOf(kind: i32, symbol: u32): u32 {
  if (kind == OF_LENGTHS) return LITERAL | (symbol << 16);
  if (kind == OF_LITERALS) {
    if (symbol < 256) return LITERAL | (symbol << 16);
    if (symbol == 256) return END;
    if (symbol < 265) return (symbol - 254) << 16;
    if (symbol == 285) return 258 << 16;
    if (symbol > 285) return INVALID;
    const extra = (symbol - 261) >> 2;
    return ((((4 + ((symbol - 265) & 3)) << extra) + 3) << 16) | (extra << 8);
  }
  if (symbol > 29) return INVALID;
  if (symbol < 4) return (symbol + 1) << 16;
  const extra = (symbol >> 1) - 1;
  return ((((2 + (symbol & 1)) << extra) + 1) << 16) | (extra << 8);
}

/**
 * Builds the tables of the first `symbols` symbols at `table`, which has `capacity` entries. Returns the bits of the first table, or -1
 * when the lengths make no code.
 */
export function buildCodes(
  kind: i32,
  symbols: u32,
  table: usize,
  capacity: u32,
  rootBits: u32,
): i32 {
  memory.fill(counts, 0, 64);
  for (let symbol: u32 = 0; symbol < symbols; symbol++) {
    const at = counts + ((<usize>load<u8>(CODE_LENGTHS + symbol)) << 2);
    store<u32>(at, load<u32>(at) + 1);
  }
  let max = MAX_BITS;
  while (max > 0 && load<u32>(counts + ((<usize>max) << 2)) == 0) max--;
  // Without a code: what needs one finds that out when it looks one up.
  const root = max == 0 ? 1 : min(max, rootBits);
  let left: i32 = 1;
  for (let bits: u32 = 1; bits <= MAX_BITS; bits++) {
    left = (left << 1) - load<i32>(counts + ((<usize>bits) << 2));
    if (left < 0) return -1;
  }
  if (left > 0 && max > 0 && (kind == OF_LENGTHS || max != 1)) return -1;
  const rootSize: u32 = 1 << root;
  if (left > 0) for (let i: usize = 0; i < rootSize; i++) store<u32>(table + (i << 2), INVALID | 1);
  if (max == 0) return root;
  let offset: u32 = 0;
  for (let bits: u32 = 1; bits <= MAX_BITS; bits++) {
    store<u32>(offsets + ((<usize>bits) << 2), offset);
    offset += load<u32>(counts + ((<usize>bits) << 2));
  }
  const total = offset;
  for (let symbol: u32 = 0; symbol < symbols; symbol++) {
    const bits = <usize>load<u8>(CODE_LENGTHS + symbol);
    if (bits == 0) continue;
    const at = load<u32>(offsets + (bits << 2));
    store<u16>(sorted + ((<usize>at) << 1), <u16>symbol);
    store<u32>(offsets + (bits << 2), at + 1);
  }
  return fillCodes(kind, table, capacity, root, max, total);
}

function fillCodes(kind: i32, table: usize, capacity: u32, root: u32, max: u32, total: u32): i32 {
  const rootSize: u32 = 1 << root;
  let used = rootSize;
  let below: u32 = 0;
  let belowBits: u32 = 0;
  let prefix: u32 = 0xffff_ffff;
  let code: u32 = 0;
  for (let i: u32 = 0; i < total; i++) {
    const symbol = <u32>load<u16>(sorted + ((<usize>i) << 1));
    const bits = <u32>load<u8>(CODE_LENGTHS + symbol);
    const entry = entryOf(kind, symbol);
    let start = table;
    let at = code;
    let size = rootSize;
    let own = bits;
    if (bits > root) {
      if ((code & (rootSize - 1)) != prefix) {
        prefix = code & (rootSize - 1);
        below = used;
        // As many bits as the codes with this prefix need.
        belowBits = bits - root;
        let room: i32 = 1 << belowBits;
        while (belowBits + root < max) {
          room -= load<i32>(counts + ((<usize>(belowBits + root)) << 2));
          if (room <= 0) break;
          belowBits++;
          room <<= 1;
        }
        used += 1 << belowBits;
        if (used > capacity) return -1;
        store<u32>(table + ((<usize>prefix) << 2), (below << 16) | BELOW | (belowBits << 8) | root);
      }
      start = table + ((<usize>below) << 2);
      at = code >> root;
      size = 1 << belowBits;
      own = bits - root;
    }
    for (; at < size; at += 1 << own) store<u32>(start + ((<usize>at) << 2), entry | own);
    const count = counts + ((<usize>bits) << 2);
    store<u32>(count, load<u32>(count) - 1);
    // The next code, its bits in reversed order.
    let bit: u32 = 1 << (bits - 1);
    while ((code & bit) != 0) bit >>= 1;
    code = bit == 0 ? 0 : (code & (bit - 1)) + bit;
  }
  return root;
}
