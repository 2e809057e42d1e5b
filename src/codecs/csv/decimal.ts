/**
 * Decimal numbers out of bytes, without a string for each. Every result is the nearest double, as `Number(text)` gives it.
 *
 * Up to 15 digits and a power of ten up to 22 are one exact operation (Clinger, "How to read floating point numbers accurately", 1990).
 * Up to 19 digits go through a division in two doubles, whose rounding is tested (Ziv, "Fast evaluation of elementary mathematical
 * functions", 1991); what stands too near to the middle between two doubles, and every other number, goes through `Number`.
 */
import { MAX_NUMBER_CHARS } from '../number-text.ts';

const POWERS = Float64Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));
/** 2^27 + 1: cuts a double into two halves of 26 bits (Dekker, 1971). */
const SPLITTER = 134_217_729;
/** More than the relative error of the second double of the quotient, which is below 2^-51. */
const DOUBT = 2 ** -48;
const MAX_EXPONENT = 100_000;

/** Reads numbers; `end` is where the last one stopped, or -1 when there was none, or one that is longer than any number. */
export class DecimalScanner {
  end = -1;

  /** The number that starts at `start`; NaN with `end` -1 when none does. */
  scan(bytes: Uint8Array, start: number, limit: number): number {
    let at = start;
    let code = at < limit ? (bytes[at] ?? 0) : 0;
    const isNegative = code === 0x2d;
    if (isNegative || code === 0x2b) code = ++at < limit ? (bytes[at] ?? 0) : 0;
    // The first 15 digits, and up to 4 more.
    let high = 0;
    let low = 0;
    let highDigits = 0;
    let lowDigits = 0;
    let exponent = 0;
    let isLong = false;
    const digitsFrom = at;
    for (; code >= 0x30 && code <= 0x39; code = ++at < limit ? (bytes[at] ?? 0) : 0) {
      if (highDigits < 15) {
        high = high * 10 + (code - 0x30);
        if (high !== 0) highDigits++;
      } else if (lowDigits < 4) {
        low = low * 10 + (code - 0x30);
        lowDigits++;
      } else {
        isLong = true;
        exponent++;
      }
    }
    let digits = at - digitsFrom;
    if (code === 0x2e) {
      code = ++at < limit ? (bytes[at] ?? 0) : 0;
      const fractionFrom = at;
      for (; code >= 0x30 && code <= 0x39; code = ++at < limit ? (bytes[at] ?? 0) : 0) {
        if (highDigits < 15) {
          high = high * 10 + (code - 0x30);
          if (high !== 0) highDigits++;
          exponent--;
        } else if (lowDigits < 4) {
          low = low * 10 + (code - 0x30);
          lowDigits++;
          exponent--;
        } else isLong = true;
      }
      digits += at - fractionFrom;
    }
    if (digits === 0) {
      this.end = -1;
      return Number.NaN;
    }
    if (code === 0x65 || code === 0x45) {
      let to = at + 1;
      let digit = to < limit ? (bytes[to] ?? 0) : 0;
      const isSmall = digit === 0x2d;
      if (isSmall || digit === 0x2b) digit = ++to < limit ? (bytes[to] ?? 0) : 0;
      if (digit < 0x30 || digit > 0x39) {
        this.end = -1;
        return Number.NaN;
      }
      let power = 0;
      for (; digit >= 0x30 && digit <= 0x39; digit = ++to < limit ? (bytes[to] ?? 0) : 0)
        if (power < MAX_EXPONENT) power = power * 10 + (digit - 0x30);
      exponent += isSmall ? -power : power;
      at = to;
    }
    if (at - start > MAX_NUMBER_CHARS) {
      this.end = -1;
      return Number.NaN;
    }
    this.end = at;
    const size = isLong ? Number.NaN : magnitude(high, low, lowDigits, exponent);
    if (size === size) return isNegative ? -size : size;
    return numberOf(bytes, start, at);
  }
}

/** (high * 10^lowDigits + low) * 10^exponent, or NaN where it cannot be told so. */
function magnitude(high: number, low: number, lowDigits: number, exponent: number): number {
  if (lowDigits === 0) {
    if (exponent === 0 || high === 0) return high;
    if (exponent < 0) return exponent >= -22 ? high / (POWERS[-exponent] ?? 1) : Number.NaN;
    return exponent <= 22 ? high * (POWERS[exponent] ?? 1) : Number.NaN;
  }
  if (exponent > 0 || exponent < -22) return Number.NaN;
  const scale = POWERS[lowDigits] ?? 1;
  const product = high * scale;
  const sum = product + low;
  const rest = productError(high, scale, product) + (low - (sum - product));
  if (exponent === 0) return sum + rest;
  const divisor = POWERS[-exponent] ?? 1;
  const quotient = sum / divisor;
  const back = quotient * divisor;
  const remainder = sum - back - productError(quotient, divisor, back) + rest;
  const correction = remainder / divisor;
  const least = quotient + correction * (1 - DOUBT);
  return least === quotient + correction * (1 + DOUBT) ? least : Number.NaN;
}

/** a * b - product, exactly, where product is a * b rounded. */
function productError(a: number, b: number, product: number): number {
  const bigA = SPLITTER * a;
  const highA = bigA - (bigA - a);
  const lowA = a - highA;
  const bigB = SPLITTER * b;
  const highB = bigB - (bigB - b);
  const lowB = b - highB;
  return lowA * lowB - (product - highA * highB - lowA * highB - highA * lowB);
}

function numberOf(bytes: Uint8Array, start: number, end: number): number {
  let text = '';
  for (let at = start; at < end; at++) text += String.fromCharCode(bytes[at] ?? 0);
  return Number(text);
}
