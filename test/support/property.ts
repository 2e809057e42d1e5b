/** Settings of property-based tests: `QUARK_SEED` replays a failure, `QUARK_RUNS` multiplies the runs, `QUARK_LONG` adds the long ones. */
import type fc from 'fast-check';

const env: Record<string, string | undefined> = typeof process === 'undefined' ? {} : process.env;

export function runs(count: number): fc.Parameters<unknown> {
  const seed = env['QUARK_SEED'];
  return {
    numRuns: Math.ceil(count * Number(env['QUARK_RUNS'] ?? '1')),
    ...(seed === undefined ? {} : { seed: Number(seed) }),
  };
}

/** Whether tests that take minutes and gigabytes are wanted. */
export const isLong = (env['QUARK_LONG'] ?? '') !== '';
