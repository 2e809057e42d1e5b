/** SHA-256 without waiting, and where a page has no `crypto.subtle` (plain http): for short texts. FIPS 180-4. */
import { toHex } from './hex.ts';

const BLOCK = 64;

let known: Constants | undefined;

/** The SHA-256 of a text in UTF-8, as 64 lowercase hex digits. */
export function sha256OfText(text: string): string {
  const given = new TextEncoder().encode(text);
  const padded = new Uint8Array(Math.ceil((given.length + 9) / BLOCK) * BLOCK);
  padded.set(given);
  padded[given.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(given.length) * 8n);
  known ??= constants();
  const state = known.start.slice();
  const words = new Int32Array(BLOCK);
  for (let at = 0; at < padded.length; at += BLOCK)
    addBlock(state, words, new DataView(padded.buffer, at), known.rounds);
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  state.forEach((word, i) => out.setInt32(4 * i, word));
  return toHex(digest);
}

function addBlock(state: Int32Array, w: Int32Array, view: DataView, rounds: Int32Array): void {
  for (let i = 0; i < 16; i++) w[i] = view.getInt32(4 * i);
  for (let i = 16; i < BLOCK; i++) {
    const x = w[i - 15] ?? 0;
    const y = w[i - 2] ?? 0;
    const s0 = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3);
    const s1 = turn(y, 17) ^ turn(y, 19) ^ (y >>> 10);
    w[i] = (w[i - 16] ?? 0) + s0 + (w[i - 7] ?? 0) + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < BLOCK; i++) {
    const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (rounds[i] ?? 0) + (w[i] ?? 0)) | 0;
    const t2 = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i] ?? 0) + word));
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

/** Fractional parts of the cube roots of the first 64 primes, and of the square roots of the first 8, as 32 bits. */
type Constants = { readonly rounds: Int32Array; readonly start: Int32Array };

function constants(): Constants {
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++)
    if (primes.every((prime) => n % prime > 0)) primes.push(n);
  const bits = (root: number): number => (root % 1) * 2 ** 32;
  return {
    rounds: Int32Array.from(primes, (prime) => bits(Math.cbrt(prime)) | 0),
    start: Int32Array.from(primes.slice(0, 8), (prime) => bits(Math.sqrt(prime)) | 0),
  };
}
