/** Binary search in ascending numbers; what is not a number counts as larger than all others. */

/** Index of the first number at or above `wanted`; the number of numbers when there is none. */
export function firstAt(ascending: ArrayLike<number>, wanted: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? Infinity) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of the last number that is not above `wanted`, or -1. */
export function indexAtOrBefore(ascending: ArrayLike<number>, wanted: number): number {
  return firstAfter(ascending, wanted) - 1;
}

/** Index of the first number above `wanted`; the number of numbers when there is none. */
export function firstAfter(ascending: ArrayLike<number>, wanted: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? Infinity) <= wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
