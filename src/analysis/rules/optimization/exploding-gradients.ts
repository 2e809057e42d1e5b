import { axisOf } from '../../columns/run-columns.ts';
import {
  gradientSources,
  wholeGradient,
  type GradientSource,
} from '../../signals/gradient-sources.ts';
import { ladder } from '../../signals/ladder.ts';
import { observe } from '../../signals/observe.ts';
import { saySpan, spanOfRows } from '../../signals/positions.ts';
import { levelSize } from '../../signals/profile.ts';
import { defineRule } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { longestRun, median } from '../../signals/statistics.ts';
import { say } from '../../text/sentences.ts';

/** Rows that the level before an explosion comes from, at least. */
const MIN_BASELINE = 3;

const NORM = ladder('L2 norm of a gradient', {
  explodingGradientWarningNorm: 10,
  explodingGradientErrorNorm: 25,
  explodingGradientCriticalNorm: 50,
});

export const explodingGradients = defineRule({
  id: 'exploding_gradients',
  category: 'optimization',
  needs: { anyOf: ['gradient_norm', 'gradients'], points: 'explodingGradientMinProbes' },
  detects: 'Gradients whose norm is far too large, for several probes in a row.',
  source: 'abiotic-quark; growth and harm: Pascanu, Mikolov and Bengio (2013)',
  cause: 'the learning rate is too high, or the gradients are not clipped',
  advice: 'divide the learning rate by 10 or clip the gradient norm at 1',
  live: 'trend',
  thresholds: {
    ...NORM.thresholds,
    explodingGradientMinProbes: {
      value: 3,
      doc: 'Probes in a row above the limit; a lone spike is an event. (1 in abiotic-quark.)',
    },
    explodingGradientMinGrowth: {
      value: 5,
      doc: 'Least growth over the level before, where the loss did not rise.',
    },
  },
  measure({ isAbsolute, signals, thresholds: t }) {
    const found = [...gradientSources(signals), ...wholeGradient(signals)]
      .flatMap((source) => explosionOf(source, t.explodingGradientWarningNorm, signals) ?? [])
      .filter(({ count, growth, isLasting, lossRise }) => {
        if (isAbsolute) return true;
        if (count < t.explodingGradientMinProbes) return false;
        return lossRise || (growth >= t.explodingGradientMinGrowth && isLasting);
      })
      .toSorted((a, b) => b.peak - a.peak);
    return found.slice(0, 1).map((worst) => ({ ...worst, found }));
  },
  finding: {
    levels: NORM.levels('peak'),
    title: ({ source }) => `Gradients explode in ${source.source}`,
    fact: ({ growth, lossRise, peak, rows, source }, t) => {
      const reached = `The gradient norm of ${source.source}, ${saySpan(spanOfRows(source.series, ...rows))}, reached ${say(peak)}`;
      if (lossRise) return `${reached}, and the loss rose with it.`;
      if (!(growth >= t.explodingGradientMinGrowth)) return `${reached}.`;
      return `${reached}, ${say(growth)} times the level before.`;
    },
    confidence: ({ lossRise }) => (lossRise ? 0.9 : 0.75),
    evidence: ({ found }, t) =>
      found.slice(0, 5).map(({ count, growth, peak, rows, source }) => {
        const span = saySpan(spanOfRows(source.series, ...rows));
        return observe(
          source,
          rows,
          `Gradient norm up to ${say(peak)} ${span}, in ${count} probes.`,
          {
            observed: peak,
            threshold: t.explodingGradientWarningNorm,
            metadata: Number.isFinite(growth) ? { growth } : {},
          },
        );
      }),
  },
});

type Explosion = {
  readonly source: GradientSource;
  /** The longest run of rows above the limit. */
  readonly rows: readonly [first: number, last: number];
  readonly count: number;
  readonly peak: number;
  /** The level of these rows over that before them; NaN where too few came before. */
  readonly growth: number;
  /** Whether it lasts to the end of the run, or for a twentieth of it. */
  readonly isLasting: boolean;
  readonly lossRise: boolean;
};

function explosionOf(
  source: GradientSource,
  limit: number,
  signals: Signals,
): Explosion | undefined {
  const { norms } = source;
  const { length: count, start } = longestRun(norms.length, (row) => (norms[row] ?? 0) >= limit);
  if (count === 0) return undefined;
  const end = start + count;
  const inside = norms.subarray(start, end);
  const before = norms.subarray(0, start).filter((norm) => Number.isFinite(norm));
  return {
    source,
    rows: [start, end - 1],
    count,
    peak: inside.filter((norm) => Number.isFinite(norm)).reduce((a, b) => Math.max(a, b), limit),
    growth: before.length < MIN_BASELINE ? Number.NaN : median(inside) / median(before),
    isLasting: end === norms.length || count / norms.length >= 0.05,
    lossRise: lossRises(source, [start, end - 1], signals),
  };
}

/**
 * Whether the loss rose during these rows, or soon after: three values in a row at least a quarter above the loss that they
 * began with, by more than its noise and more than a fifth of all that the run learned.
 */
function lossRises(
  { series: gradient }: GradientSource,
  [start, end]: Explosion['rows'],
  signals: Signals,
): boolean {
  const axis = axisOf(gradient);
  const first = axis[start] ?? 0;
  const last = axis[end] ?? 0;
  const until = last + Math.max(1, last - first);
  return signals.trainLosses.some((series) => {
    const course = signals.course(series);
    if (course === undefined || series.x !== gradient.x) return false;
    const { improvement, profile } = course;
    const positions = axisOf(series);
    const inside: number[] = [];
    let before = Number.NaN;
    for (let i = 0; i < profile.rows.length; i++) {
      const position = positions[profile.rows[i] ?? 0] ?? 0;
      const value = profile.values[i] ?? Number.NaN;
      if (position <= first) before = value;
      else if (position <= until) inside.push(value);
      else break;
    }
    if (Number.isNaN(before)) before = inside[0] ?? Number.NaN;
    const noise = Math.max(profile.pointNoise, profile.levelNoise);
    const limit =
      before + Math.max(0.25 * levelSize(profile, before), 6 * noise, 0.2 * improvement);
    return longestRun(inside.length, (i) => (inside[i] ?? 0) > limit).length >= 3;
  });
}
