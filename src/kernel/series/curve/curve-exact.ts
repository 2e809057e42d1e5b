/**
 * Signs of y1 - y2 - s (x1 - x2), without error. Products are split (Dekker, 1971) and sums kept as expansions (Shewchuk, 1997).
 * assembly/series/curve-exact.ts does the same.
 */

const SPLIT = 2 ** 27 + 1;
/** The slope from which products are made smaller, and by how much. */
const STEEP = 2 ** 900;
const LESS = 2 ** -200;

/** Slope and factor for values, so that no product overflows. */
export function tame(slope: number): { readonly slope: number; readonly factor: number } {
  return Math.abs(slope) > STEEP && Number.isFinite(slope)
    ? { slope: slope * LESS, factor: LESS }
    : { slope, factor: 1 };
}

/** What is lost when a * b is rounded to `product`. */
export function productError(a: number, b: number, product: number): number {
  const c = SPLIT * a;
  const aHigh = c - (c - a);
  const aLow = a - aHigh;
  const d = SPLIT * b;
  const bHigh = d - (d - b);
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}

/** What is lost when a + b is rounded to `sum`. */
export function sumError(a: number, b: number, sum: number): number {
  const bRounded = sum - a;
  return a - (sum - bRounded) + (b - bRounded);
}

/** y - s x within an error of 2^-52 of itself; -x for a slope of Infinity. */
export function residual(x: number, y: number, slope: number): number {
  if (slope === Infinity) return -x;
  const product = slope * x;
  const difference = y - product;
  return difference + (sumError(y, -product, difference) - productError(slope, x, product));
}

/** Less than, equal to or greater than 0 as y1 - s x1 is against y2 - s x2. */
export function compareResiduals(
  x1: number,
  y1: number,
  x2: number,
  y2: number,
  slope: number,
): number {
  const dx = x1 - x2;
  if (slope === Infinity) return -dx;
  const dy = y1 - y2;
  const dxError = sumError(x1, -x2, dx);
  const dyError = sumError(y1, -y2, dy);
  const product = slope * dx;
  const error = productError(slope, dx, product);
  if (dxError === 0 && dyError === 0) return dy - product - error;
  const lowProduct = slope * dxError;
  const lowError = productError(slope, dxError, lowProduct);
  return signOfSum([-lowError, dyError, -lowProduct, -error, dy, -product]);
}

/** A number of the sign of the exact sum. */
function signOfSum(terms: readonly number[]): number {
  const parts: number[] = [];
  for (const term of terms) {
    let carry = term;
    for (const [k, part] of parts.entries()) {
      const sum = carry + part;
      parts[k] = sumError(carry, part, sum);
      carry = sum;
    }
    parts.push(carry);
  }
  return parts.findLast((part) => part !== 0) ?? 0;
}
