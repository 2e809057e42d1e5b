/**
 * CRC-32, eight bytes at a time (Kounavis and Berry, "A systematic approach to building high performance software-based CRC
 * generators", 2005): the IEEE polynomial of zlib, and Castagnoli's (CRC-32C), which record files of TensorFlow use.
 */
const IEEE_POLYNOMIAL = 0xedb88320;
const CASTAGNOLI_POLYNOMIAL = 0x82f63b78;
const MASK_DELTA = 0xa282ead8;

let ieee: Int32Array | undefined;
let castagnoli: Int32Array | undefined;

/** CRC-32 as in zlib of `bytes[start, end)`, from 0 to 2^32 - 1; `before` is that of the bytes in front of them. */
export function crc32(
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
  before = 0,
): number {
  ieee ??= tablesOf(IEEE_POLYNOMIAL);
  return update(ieee, bytes, start, end, before);
}

/** CRC-32C of `bytes[start, end)`, from 0 to 2^32 - 1. */
export function crc32c(bytes: Uint8Array, start = 0, end: number = bytes.length): number {
  castagnoli ??= tablesOf(CASTAGNOLI_POLYNOMIAL);
  return update(castagnoli, bytes, start, end, 0);
}

/** CRC-32C as TFRecord files store it: rotated right by 15 bits, with a constant added. */
export function maskedCrc32c(bytes: Uint8Array, start = 0, end: number = bytes.length): number {
  const crc = crc32c(bytes, start, end);
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}

/** Table `k` (256 entries at `256 * k`) advances a byte by `k` further bytes of zeros. */
function tablesOf(polynomial: number): Int32Array {
  const tables = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
    tables[byte] = crc;
  }
  for (let at = 256; at < tables.length; at++) {
    const before = tables[at - 256] ?? 0;
    tables[at] = (before >>> 8) ^ (tables[before & 255] ?? 0);
  }
  return tables;
}

function update(
  t: Int32Array,
  bytes: Uint8Array,
  start: number,
  end: number,
  before: number,
): number {
  let crc = ~before;
  let at = start;
  for (const last = end - 8; at <= last; at += 8) {
    crc ^=
      (bytes[at] ?? 0) |
      ((bytes[at + 1] ?? 0) << 8) |
      ((bytes[at + 2] ?? 0) << 16) |
      ((bytes[at + 3] ?? 0) << 24);
    crc =
      (t[1792 | (crc & 255)] ?? 0) ^
      (t[1536 | ((crc >>> 8) & 255)] ?? 0) ^
      (t[1280 | ((crc >>> 16) & 255)] ?? 0) ^
      (t[1024 | (crc >>> 24)] ?? 0) ^
      (t[768 | (bytes[at + 4] ?? 0)] ?? 0) ^
      (t[512 | (bytes[at + 5] ?? 0)] ?? 0) ^
      (t[256 | (bytes[at + 6] ?? 0)] ?? 0) ^
      (t[bytes[at + 7] ?? 0] ?? 0);
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ (t[(crc ^ (bytes[at] ?? 0)) & 255] ?? 0);
  return ~crc >>> 0;
}
