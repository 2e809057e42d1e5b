// Numbers that are the same on every machine for the same seed.

export { random as uniform } from '../kernels/support.mjs';

/** Standard normal by Box and Muller. */
export function normal(random) {
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A permutation of 0 .. count - 1 (Fisher and Yates). */
export function permutation(count, random) {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
