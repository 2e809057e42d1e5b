/** Two profiles side by side: steps by name. */
import type { Profile } from './profile.ts';

/** What a profile has of one step. */
export type StepTotals = {
  /** How often it came. */
  readonly count: number;
  /** Time of all of them together; those without an end left out. */
  readonly totalMs: number;
  /** The most memory in any of them; null where that was not measured. */
  readonly rssPeakBytes: number | null;
  readonly gpuPeakBytes: number | null;
};

/** A step in two profiles; null where one of them does not have it. */
export type StepComparison = {
  readonly name: string;
  readonly a: StepTotals | null;
  readonly b: StepTotals | null;
};

/** A number of the summary in two profiles. */
export type SummaryComparison = {
  readonly name: string;
  readonly a: number | null;
  readonly b: number | null;
};

/** Two profiles compared. */
export type ProfileComparison = {
  /** In the order in which the steps first came, those of the second profile alone at the end. */
  readonly steps: readonly StepComparison[];
  readonly summary: readonly SummaryComparison[];
};

/**
 * Compares two profiles by the names of their steps: how often each came, how long all of them took, and their peaks of memory.
 *
 * @example
 * ```js
 * import { compareProfiles, Profiler } from 'quark-sdk/profiler';
 *
 * const profileOf = (length) => {
 *   const profiler = new Profiler(); // without a session: in memory only
 *   profiler.scope('Loading', () => new Float32Array(length).fill(1));
 *   return profiler.close();
 * };
 * const { steps } = compareProfiles(await profileOf(1000), await profileOf(2_000_000));
 * console.log(steps.map(({ name, a, b }) => [name, a.count, b.count])); // [ [ 'Loading', 1, 1 ] ]
 * ```
 */
export function compareProfiles(a: Profile, b: Profile): ProfileComparison {
  const [stepsOfA, stepsOfB] = [stepTotals(a), stepTotals(b)];
  const names = new Set([...stepsOfA.keys(), ...stepsOfB.keys()]);
  const numbers = new Set([...Object.keys(a.summary), ...Object.keys(b.summary)]);
  return {
    steps: [...names].map((name) => ({
      name,
      a: stepsOfA.get(name) ?? null,
      b: stepsOfB.get(name) ?? null,
    })),
    summary: [...numbers].map((name) => ({
      name,
      a: a.summary[name] ?? null,
      b: b.summary[name] ?? null,
    })),
  };
}

/**
 * The steps of a profile by name, in the order in which they first came: how often each came, how long all of them took (milliseconds), and
 * their peaks of memory (bytes).
 *
 * @example
 * ```js
 * import { Profiler, stepTotals } from 'quark-sdk/profiler';
 *
 * const profileOf = (length) => {
 *   const profiler = new Profiler(); // without a session: in memory only
 *   profiler.scope('Loading', () => new Float32Array(length).fill(1));
 *   return profiler.close();
 * };
 * const totals = stepTotals(await profileOf(1000));
 * console.log(totals.get('Loading').count, totals.get('Loading').totalMs >= 0); // 1 true
 * ```
 */
export function stepTotals({ scopes }: Profile): ReadonlyMap<string, StepTotals> {
  const steps = new Map<string, StepTotals>();
  for (const { endMs, name, peaks, startMs } of scopes) {
    const before = steps.get(name);
    steps.set(name, {
      count: (before?.count ?? 0) + 1,
      totalMs: (before?.totalMs ?? 0) + (endMs === null ? 0 : endMs - startMs),
      rssPeakBytes: most(before?.rssPeakBytes, peaks['rss_bytes']),
      gpuPeakBytes: most(before?.gpuPeakBytes, peaks['gpu_bytes']),
    });
  }
  return steps;
}

function most(a: number | null | undefined, b: number | undefined): number | null {
  if (b === undefined) return a ?? null;
  return Math.max(a ?? b, b);
}
