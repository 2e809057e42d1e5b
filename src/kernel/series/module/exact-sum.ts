/**
 * A sum of float64 without rounding: an integer in units of 2^-1074, in limbs of 32 bits, each in a float64 that has room for a
 * million additions before carries are moved on (the small superaccumulator of Neal, 2015). The same numbers give the same limbs in
 * whatever order they come.
 */

/** Limbs of a sum: 2,098 bits of float64, and 78 more for the number of terms and the sign. */
export const SUM_LIMBS = 68;

const LIMB = 2 ** 32;
const UNIT_BITS = 1074;
/** Each addition to a limb is below 2^33. */
const ADDITIONS_UNTIL_CARRY = 2 ** 19;
const TOP_BITS = 64;
/** Bits of a quotient beyond those of the sum. */
const MORE_BITS = 128;

/** Adds up finite float64 exactly. */
export class ExactSum {
  readonly #limbs: Float64Array;
  #pending = 0;

  /** @param limbs what another sum gave out, to go on from it */
  constructor(limbs: Float64Array = new Float64Array(SUM_LIMBS)) {
    this.#limbs = limbs.slice();
  }

  /**
   * Adds the float64 of these two words, which are signed integers.
   *
   * @param high sign, exponent and upper 20 bits of the fraction; the exponent is not that of an infinity or NaN
   * @param low lower 32 bits of the fraction
   */
  add(high: number, low: number): void {
    const exponent = (high >>> 20) & 0x7ff;
    const fraction = exponent === 0 ? high & 0xfffff : (high & 0xfffff) | 0x100000;
    const position = exponent === 0 ? 0 : exponent - 1;
    const limb = position >>> 5;
    const offset = position & 31;
    // A shift by 32 is one by 0 in JavaScript, so the bits that leave a word are shifted in two steps.
    const middle = ((low >>> 1) >>> (31 - offset)) + ((fraction << offset) >>> 0);
    const upper = (fraction >>> 1) >>> (31 - offset);
    const lower = (low << offset) >>> 0;
    const limbs = this.#limbs;
    if (high < 0) {
      limbs[limb] = (limbs[limb] ?? 0) - lower;
      limbs[limb + 1] = (limbs[limb + 1] ?? 0) - middle;
      limbs[limb + 2] = (limbs[limb + 2] ?? 0) - upper;
    } else {
      limbs[limb] = (limbs[limb] ?? 0) + lower;
      limbs[limb + 1] = (limbs[limb + 1] ?? 0) + middle;
      limbs[limb + 2] = (limbs[limb + 2] ?? 0) + upper;
    }
    this.#pending += 1;
    if (this.#pending === ADDITIONS_UNTIL_CARRY) this.#carry();
  }

  /** Adds another sum. */
  addSum(other: ExactSum): void {
    const added = other.limbs();
    this.#carry();
    added.forEach((value, i) => {
      this.#limbs[i] = (this.#limbs[i] ?? 0) + value;
    });
    this.#carry();
  }

  /** The limbs, lowest first: integers from 0 to 2^32 - 1, the last with the sign. Two sums are equal when their limbs are. */
  limbs(): Float64Array {
    this.#carry();
    return this.#limbs.slice();
  }

  /** The sum, rounded once; an infinity where it is above the range of float64. */
  value(): number {
    const { units, exponent } = this.#exact();
    return toNumber(units, exponent);
  }

  /** The sum divided by a positive integer, within one unit in the last place: also where the sum itself is no float64. */
  dividedBy(count: number): number {
    const { units, exponent } = this.#exact();
    return toNumber((units << BigInt(MORE_BITS)) / BigInt(count), exponent - MORE_BITS);
  }

  /** The sum as an integer times a power of two. */
  #exact(): { units: bigint; exponent: number } {
    this.#carry();
    const lowest = this.#limbs.findIndex((limb) => limb !== 0);
    if (lowest < 0) return { units: 0n, exponent: 0 };
    let units = 0n;
    for (let i = this.#limbs.findLastIndex((limb) => limb !== 0); i >= lowest; i--)
      units = (units << 32n) + BigInt(this.#limbs[i] ?? 0);
    return { units, exponent: 32 * lowest - UNIT_BITS };
  }

  #carry(): void {
    const limbs = this.#limbs;
    let carry = 0;
    for (let i = 0; i < SUM_LIMBS - 1; i++) {
      const value = (limbs[i] ?? 0) + carry;
      carry = Math.floor(value / LIMB);
      limbs[i] = value - carry * LIMB;
    }
    limbs[SUM_LIMBS - 1] = (limbs[SUM_LIMBS - 1] ?? 0) + carry;
    this.#pending = 0;
  }
}

function toNumber(units: bigint, exponent: number): number {
  const size = units < 0n ? -units : units;
  const excess = Math.max(0, size.toString(2).length - TOP_BITS);
  let top = size >> BigInt(excess);
  // What is cut off only decides ties: one bit stands for it.
  if (top << BigInt(excess) !== size) top |= 1n;
  // In two steps: one power alone may leave the range of float64.
  const half = Math.trunc((excess + exponent) / 2);
  const value = Number(top) * 2 ** half * 2 ** (excess + exponent - half);
  return units < 0n ? -value : value;
}
