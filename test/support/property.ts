/**
 * Settings of property-based tests. They have the same seed in every run; `QUARK_SEED=random` draws one, `QUARK_SEED=N`
 * replays a failure. `QUARK_RUNS` multiplies the runs, `QUARK_LONG` adds the long ones.
 */
const env: Record<string, string | undefined> = typeof process === 'undefined' ? {} : process.env;

const FIXED_SEED = 20_261_122;

const SEED = chooseSeed(env['QUARK_SEED'] ?? '');

function chooseSeed(given: string): number {
  if (given !== 'random') return given === '' ? FIXED_SEED : Number(given);
  return Math.floor(Math.random() * 2 ** 31);
}

/** Half of the cases in the plain run: its seed is fixed, so that it tries the same ones each time. */
const PLAIN_SHARE = '0.5';

/** How often a property is tried, and from which seed. */
export function runs(count: number): { readonly numRuns: number; readonly seed: number } {
  return { numRuns: Math.ceil(count * Number(env['QUARK_RUNS'] ?? PLAIN_SHARE)), seed: SEED };
}

/** How often something is done that differs each time, such as a kill at a random moment. */
export function rounds(count: number): number {
  return Math.ceil(count * Number(env['QUARK_RUNS'] ?? '1'));
}

/** The seed from which a test draws all that it draws. */
export function seedOfRun(): number {
  return SEED;
}

/** Whether tests that take minutes and gigabytes are wanted. */
export const isLong = (env['QUARK_LONG'] ?? '') !== '';
