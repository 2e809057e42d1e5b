// Byte planes put together to little-endian numbers: the inverse of `split` in src/codecs/packed/pack.ts. `planes` is a table of one entry
// for each plane, the address of its bytes and the step to the next 16 of them: 16, or 0 for 16 bytes that stand for all. Up to 15 bytes
// behind a plane are read, and up to 15 numbers behind the last are written.

/** Bytes of an entry of the table. */
const ENTRY: usize = 8;

function planeAt(planes: usize, i: usize): usize {
  return load<u32>(planes + i * ENTRY);
}

function stepOf(planes: usize, i: usize): usize {
  return load<u32>(planes + i * ENTRY, 4);
}

function lowBytes(a: v128, b: v128): v128 {
  return i8x16.shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

function highBytes(a: v128, b: v128): v128 {
  return i8x16.shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

function lowShorts(a: v128, b: v128): v128 {
  return i16x8.shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}

function highShorts(a: v128, b: v128): v128 {
  return i16x8.shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

function lowWords(a: v128, b: v128): v128 {
  return i32x4.shuffle(a, b, 0, 4, 1, 5);
}

function highWords(a: v128, b: v128): v128 {
  return i32x4.shuffle(a, b, 2, 6, 3, 7);
}

/** Numbers of two bytes; running sums of them, if `isDelta`. */
export function joinPairs(out: usize, rows: u32, planes: usize, isDelta: bool): void {
  const low = planeAt(planes, 0);
  const high = planeAt(planes, 1);
  const lowStep = stepOf(planes, 0);
  const highStep = stepOf(planes, 1);
  let sum: u16 = 0;
  for (let row: usize = 0; row < rows; row++, out += 2) {
    const at = row >> 4;
    const value =
      <u16>load<u8>(low + at * lowStep + (row & 15)) |
      ((<u16>load<u8>(high + at * highStep + (row & 15))) << 8);
    sum = isDelta ? sum + value : value;
    store<u16>(out, sum);
  }
}

function sumWords(v: v128, carry: v128): v128 {
  const zero = i32x4.splat(0);
  v = i32x4.add(v, i32x4.shuffle(zero, v, 0, 4, 5, 6));
  v = i32x4.add(v, i32x4.shuffle(zero, v, 0, 1, 4, 5));
  return i32x4.add(v, carry);
}

function lastWord(v: v128): v128 {
  return i32x4.shuffle(v, v, 3, 3, 3, 3);
}

/** Numbers of four bytes; running sums of them, if `isDelta`. */
export function joinWords(out: usize, rows: u32, planes: usize, isDelta: bool): void {
  let p0 = planeAt(planes, 0);
  let p1 = planeAt(planes, 1);
  let p2 = planeAt(planes, 2);
  let p3 = planeAt(planes, 3);
  const s0 = stepOf(planes, 0);
  const s1 = stepOf(planes, 1);
  const s2 = stepOf(planes, 2);
  const s3 = stepOf(planes, 3);
  const end = out + ((<usize>rows) << 2);
  let carry = i32x4.splat(0);
  for (; out < end; out += 64) {
    const b0 = v128.load(p0);
    const b1 = v128.load(p1);
    const b2 = v128.load(p2);
    const b3 = v128.load(p3);
    p0 += s0;
    p1 += s1;
    p2 += s2;
    p3 += s3;
    const a0 = lowBytes(b0, b1);
    const a1 = highBytes(b0, b1);
    const c0 = lowBytes(b2, b3);
    const c1 = highBytes(b2, b3);
    let w0 = lowShorts(a0, c0);
    let w1 = highShorts(a0, c0);
    let w2 = lowShorts(a1, c1);
    let w3 = highShorts(a1, c1);
    if (isDelta) {
      w0 = sumWords(w0, carry);
      w1 = sumWords(w1, lastWord(w0));
      w2 = sumWords(w2, lastWord(w1));
      w3 = sumWords(w3, lastWord(w2));
      carry = lastWord(w3);
    }
    v128.store(out, w0);
    v128.store(out, w1, 16);
    v128.store(out, w2, 32);
    v128.store(out, w3, 48);
  }
}

function sumLongs(v: v128, carry: v128): v128 {
  return i64x2.add(i64x2.add(v, i64x2.shuffle(i64x2.splat(0), v, 0, 2)), carry);
}

function lastLong(v: v128): v128 {
  return i64x2.shuffle(v, v, 1, 1);
}

/** Numbers of eight bytes; running sums of them as integers, if `isDelta`. */
export function joinLongs(out: usize, rows: u32, planes: usize, isDelta: bool): void {
  let p0 = planeAt(planes, 0);
  let p1 = planeAt(planes, 1);
  let p2 = planeAt(planes, 2);
  let p3 = planeAt(planes, 3);
  let p4 = planeAt(planes, 4);
  let p5 = planeAt(planes, 5);
  let p6 = planeAt(planes, 6);
  let p7 = planeAt(planes, 7);
  const s0 = stepOf(planes, 0);
  const s1 = stepOf(planes, 1);
  const s2 = stepOf(planes, 2);
  const s3 = stepOf(planes, 3);
  const s4 = stepOf(planes, 4);
  const s5 = stepOf(planes, 5);
  const s6 = stepOf(planes, 6);
  const s7 = stepOf(planes, 7);
  const end = out + ((<usize>rows) << 3);
  let carry = i64x2.splat(0);
  for (; out < end; out += 128) {
    const b0 = v128.load(p0);
    const b1 = v128.load(p1);
    const b2 = v128.load(p2);
    const b3 = v128.load(p3);
    const b4 = v128.load(p4);
    const b5 = v128.load(p5);
    const b6 = v128.load(p6);
    const b7 = v128.load(p7);
    p0 += s0;
    p1 += s1;
    p2 += s2;
    p3 += s3;
    p4 += s4;
    p5 += s5;
    p6 += s6;
    p7 += s7;
    const a0 = lowBytes(b0, b1);
    const a1 = highBytes(b0, b1);
    const c0 = lowBytes(b2, b3);
    const c1 = highBytes(b2, b3);
    const d0 = lowBytes(b4, b5);
    const d1 = highBytes(b4, b5);
    const e0 = lowBytes(b6, b7);
    const e1 = highBytes(b6, b7);
    const l0 = lowShorts(a0, c0);
    const l1 = highShorts(a0, c0);
    const l2 = lowShorts(a1, c1);
    const l3 = highShorts(a1, c1);
    const h0 = lowShorts(d0, e0);
    const h1 = highShorts(d0, e0);
    const h2 = lowShorts(d1, e1);
    const h3 = highShorts(d1, e1);
    let w0 = lowWords(l0, h0);
    let w1 = highWords(l0, h0);
    let w2 = lowWords(l1, h1);
    let w3 = highWords(l1, h1);
    let w4 = lowWords(l2, h2);
    let w5 = highWords(l2, h2);
    let w6 = lowWords(l3, h3);
    let w7 = highWords(l3, h3);
    if (isDelta) {
      w0 = sumLongs(w0, carry);
      w1 = sumLongs(w1, lastLong(w0));
      w2 = sumLongs(w2, lastLong(w1));
      w3 = sumLongs(w3, lastLong(w2));
      w4 = sumLongs(w4, lastLong(w3));
      w5 = sumLongs(w5, lastLong(w4));
      w6 = sumLongs(w6, lastLong(w5));
      w7 = sumLongs(w7, lastLong(w6));
      carry = lastLong(w7);
    }
    v128.store(out, w0);
    v128.store(out, w1, 16);
    v128.store(out, w2, 32);
    v128.store(out, w3, 48);
    v128.store(out, w4, 64);
    v128.store(out, w5, 80);
    v128.store(out, w6, 96);
    v128.store(out, w7, 112);
  }
}
