/**
 * XXH32 (Collet, xxHash fast digest algorithm, specification 0.1.1): the checksum of segments.
 *
 * Every step from a 4-byte lane to the digest is a bijection of that lane's accumulator, so a change confined to one
 * lane (any single flipped bit, for one) always changes the digest; other damage escapes with probability 2^-32.
 */
const P1 = 0x9e3779b1 | 0;
const P2 = 0x85ebca77 | 0;
const P3 = 0xc2b2ae3d | 0;
const P4 = 0x27d4eb2f | 0;
const P5 = 0x165667b1 | 0;
const IS_LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** The 32-bit digest of `bytes`, from 0 to 2^32 - 1. */
export function xxh32(bytes: Uint8Array, seed = 0): number {
  const length = bytes.byteLength;
  let hash: number;
  let at = 0;
  if (length >= 16) {
    let a = (seed + P1 + P2) | 0;
    let b = (seed + P2) | 0;
    let c = seed | 0;
    let d = (seed - P1) | 0;
    const end = length - 16;
    if (IS_LITTLE_ENDIAN && (bytes.byteOffset & 3) === 0) {
      const words = new Int32Array(bytes.buffer, bytes.byteOffset, length >>> 2);
      for (; at <= end; at += 16) {
        const word = at >>> 2;
        a = Math.imul(rotate(a + Math.imul(words[word] ?? 0, P2), 13), P1);
        b = Math.imul(rotate(b + Math.imul(words[word + 1] ?? 0, P2), 13), P1);
        c = Math.imul(rotate(c + Math.imul(words[word + 2] ?? 0, P2), 13), P1);
        d = Math.imul(rotate(d + Math.imul(words[word + 3] ?? 0, P2), 13), P1);
      }
    } else {
      for (; at <= end; at += 16) {
        a = Math.imul(rotate(a + Math.imul(read32(bytes, at), P2), 13), P1);
        b = Math.imul(rotate(b + Math.imul(read32(bytes, at + 4), P2), 13), P1);
        c = Math.imul(rotate(c + Math.imul(read32(bytes, at + 8), P2), 13), P1);
        d = Math.imul(rotate(d + Math.imul(read32(bytes, at + 12), P2), 13), P1);
      }
    }
    hash = (rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)) | 0;
  } else {
    hash = (seed + P5) | 0;
  }
  hash = (hash + length) | 0;
  for (; at + 4 <= length; at += 4)
    hash = Math.imul(rotate(hash + Math.imul(read32(bytes, at), P3), 17), P4);
  for (; at < length; at++) hash = Math.imul(rotate(hash + Math.imul(bytes[at] ?? 0, P5), 11), P1);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, P2);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, P3);
  hash ^= hash >>> 16;
  return hash >>> 0;
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function read32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] ?? 0) |
    ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) |
    ((bytes[at + 3] ?? 0) << 24)
  );
}
