// XXH32 (Collet, xxHash fast digest algorithm, specification 0.1.1), as src/base/xxh32.ts.

const P1: u32 = 0x9e3779b1;
const P2: u32 = 0x85ebca77;
const P3: u32 = 0xc2b2ae3d;
const P4: u32 = 0x27d4eb2f;
const P5: u32 = 0x165667b1;

/** The digest of `length` bytes at `p`. */
export function digest(p: usize, length: u32, seed: u32): u32 {
  const end = p + length;
  let hash: u32;
  if (length >= 16) {
    let a = seed + P1 + P2;
    let b = seed + P2;
    let c = seed;
    let d = seed - P1;
    for (; p + 16 <= end; p += 16) {
      a = rotl(a + load<u32>(p) * P2, 13) * P1;
      b = rotl(b + load<u32>(p, 4) * P2, 13) * P1;
      c = rotl(c + load<u32>(p, 8) * P2, 13) * P1;
      d = rotl(d + load<u32>(p, 12) * P2, 13) * P1;
    }
    hash = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
  } else hash = seed + P5;
  hash += length;
  for (; p + 4 <= end; p += 4) hash = rotl(hash + load<u32>(p) * P3, 17) * P4;
  for (; p < end; p++) hash = rotl(hash + <u32>load<u8>(p) * P5, 11) * P1;
  hash = (hash ^ (hash >> 15)) * P2;
  hash = (hash ^ (hash >> 13)) * P3;
  return hash ^ (hash >> 16);
}
