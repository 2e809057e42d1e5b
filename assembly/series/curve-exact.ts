// Signs of y1 - y2 - s (x1 - x2), without error: products are split (Dekker, 1971), sums kept as expansions (Shewchuk, 1997). As
// src/kernel/series/curve/curve-exact.ts, which also says for which sizes of numbers.
const SPLIT: f64 = 134217729;
const TERMS: i32 = 6;
const terms: usize = memory.data(48, 16);
const parts: usize = memory.data(48, 16);

// What is lost when a * b is rounded to `product`.
function productError(a: f64, b: f64, product: f64): f64 {
  const c = SPLIT * a;
  const aHigh = c - (c - a);
  const aLow = a - aHigh;
  const d = SPLIT * b;
  const bHigh = d - (d - b);
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}

// What is lost when a + b is rounded to `sum`.
function sumError(a: f64, b: f64, sum: f64): f64 {
  const bRounded = sum - a;
  return a - (sum - bRounded) + (b - bRounded);
}

/** y - s x within an error of 2^-52 of itself; -x for a slope of Infinity. */
export function residual(x: f64, y: f64, slope: f64): f64 {
  if (slope == Infinity) return -x;
  const product = slope * x;
  const difference = y - product;
  return difference + (sumError(y, -product, difference) - productError(slope, x, product));
}

/** Less than, equal to or greater than 0 as y1 - s x1 is against y2 - s x2. */
export function compareResiduals(x1: f64, y1: f64, x2: f64, y2: f64, slope: f64): f64 {
  const dx = x1 - x2;
  if (slope == Infinity) return -dx;
  const dy = y1 - y2;
  const dxError = sumError(x1, -x2, dx);
  const dyError = sumError(y1, -y2, dy);
  const product = slope * dx;
  const error = productError(slope, dx, product);
  if (dxError == 0 && dyError == 0) return dy - product - error;
  const lowProduct = slope * dxError;
  store<f64>(terms, -productError(slope, dxError, lowProduct));
  store<f64>(terms, dyError, 8);
  store<f64>(terms, -lowProduct, 16);
  store<f64>(terms, -error, 24);
  store<f64>(terms, dy, 32);
  store<f64>(terms, -product, 40);
  return signOfSum();
}

function signOfSum(): f64 {
  for (let n = 0; n < TERMS; n++) {
    let carry = load<f64>(terms + (n << 3));
    for (let k = 0; k < n; k++) {
      const part = load<f64>(parts + (k << 3));
      const sum = carry + part;
      store<f64>(parts + (k << 3), sumError(carry, part, sum));
      carry = sum;
    }
    store<f64>(parts + (n << 3), carry);
  }
  for (let k = TERMS - 1; k >= 0; k--) {
    const part = load<f64>(parts + (k << 3));
    if (part != 0) return part;
  }
  return 0;
}
