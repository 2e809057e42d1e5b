/** What looking costs: the time of steps that were probed beside that of the others. Pure. */
import { formatValue, rounded } from '../../parts/format.ts';
import type { SampleSeries } from '../../series/series.ts';
import { t } from '../../parts/t.ts';

/** Medians in milliseconds. */
export type ProbeCost = {
  readonly plainMs: number;
  readonly probedMs: number;
  /** A step on average, probes included. */
  readonly averageMs: number;
  readonly plainCount: number;
  readonly probedCount: number;
};

/** Fewer steps of a kind tell nothing. */
const ENOUGH_STEPS = 5;

/** From step times and the steps that were probed; undefined while there are too few of either. */
export function probeCost(
  times: Pick<SampleSeries, 'steps' | 'values'> | undefined,
  probedSteps: ReadonlySet<number>,
): ProbeCost | undefined {
  if (times === undefined || probedSteps.size === 0) return undefined;
  const plain: number[] = [];
  const probed: number[] = [];
  // The first step compiles what the others use.
  for (let at = 1; at < times.steps.length; at += 1) {
    const value = times.values[at] ?? Number.NaN;
    if (Number.isFinite(value))
      (probedSteps.has(times.steps[at] ?? -1) ? probed : plain).push(value);
  }
  if (plain.length < ENOUGH_STEPS || probed.length < ENOUGH_STEPS) return undefined;
  const plainMs = median(plain);
  const probedMs = median(probed);
  const share = probed.length / (plain.length + probed.length);
  return {
    plainMs,
    probedMs,
    averageMs: plainMs + (probedMs - plainMs) * share,
    plainCount: plain.length,
    probedCount: probed.length,
  };
}

/** The cost in words. */
export function costText({ plainMs, probedMs, averageMs }: ProbeCost): string {
  const percent = (averageMs / plainMs - 1) * 100;
  const sign = percent < 0 ? '−' : '+';
  return t(
    'A step takes {plain} ms, one with probes {probed} ms (medians): {percent} % over all steps.',
    {
      plain: short(plainMs),
      probed: short(probedMs),
      percent: `${sign}${Math.abs(percent).toFixed(1)}`,
    },
  );
}

function short(ms: number): string {
  return formatValue(rounded(ms));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
