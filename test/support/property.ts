/**
 * Settings of property-based tests. They have the same seed in every run; `QUARK_SEED=random` draws one, `QUARK_SEED=N`
 * replays a failure. `QUARK_RUNS` multiplies the runs, `QUARK_LONG` adds those that take minutes and gigabytes, `QUARK_WHOLE`
 * those beyond one path of a feature.
 */
const env: Record<string, string | undefined> = typeof process === 'undefined' ? {} : process.env;

const FIXED_SEED = 20_261_122;

const SEED = chooseSeed(env['QUARK_SEED'] ?? '');

function chooseSeed(given: string): number {
  if (given !== 'random') return given === '' ? FIXED_SEED : Number(given);
  return Math.floor(Math.random() * 2 ** 31);
}

/** Whether tests beyond one path of a feature are wanted: `npm run test:long`. */
export const isWhole = (env['QUARK_WHOLE'] ?? '') !== '';

/** The share of cases in the plain run: its seed is fixed, so that it tries the same ones each time. */
const PLAIN_SHARE = isWhole ? '1' : '0.2';
/** The share of rounds in the plain run. */
const PLAIN_ROUNDS = isWhole ? '1' : '0.2';

/** How often a property is tried, and from which seed. */
export function runs(count: number): { readonly numRuns: number; readonly seed: number } {
  return { numRuns: Math.ceil(count * Number(env['QUARK_RUNS'] ?? PLAIN_SHARE)), seed: SEED };
}

/** How often something is done that differs each time, such as a kill at a random moment. */
export function rounds(count: number): number {
  return Math.ceil(count * Number(env['QUARK_RUNS'] ?? PLAIN_ROUNDS));
}

/** The seed from which a test draws all that it draws. */
export function seedOfRun(): number {
  return SEED;
}

/** Whether tests that take minutes and gigabytes are wanted. */
export const isLong = (env['QUARK_LONG'] ?? '') !== '';
