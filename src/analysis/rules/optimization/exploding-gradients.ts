import { axisOf } from '../../columns/run-columns.ts';
import {
  gradientSources,
  wholeGradient,
  type GradientSource,
} from '../../signals/gradient-sources.ts';
import { placeAt, sayRange } from '../../signals/positions.ts';
import {
  defineRule,
  say,
  severityAbove,
  type Finding,
  type Observation,
} from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { longestRun, median } from '../../signals/statistics.ts';

/** Rows that a level before or after a stretch comes from, at least. */
const MIN_BASELINE = 3;

type Stretch = {
  readonly source: GradientSource;
  readonly start: number;
  readonly end: number;
  readonly peak: number;
  /** The level of the stretch over that before it; NaN where too little came before. */
  readonly growth: number;
  readonly lossRise: boolean;
};

export const explodingGradients = defineRule({
  id: 'exploding_gradients',
  category: 'optimization',
  detects: 'Gradients whose norm is far too large, for several probes in a row.',
  source: 'the reference; growth and harm: Pascanu, Mikolov and Bengio (2013)',
  cause: 'the learning rate is too high, or the gradients are not clipped',
  advice: 'divide the learning rate by 10 or clip the gradient norm at 1',
  thresholds: {
    explodingGradientWarningNorm: { value: 10, doc: 'L2 norm from which it is a warning.' },
    explodingGradientErrorNorm: { value: 25, doc: 'L2 norm from which it is an error.' },
    explodingGradientCriticalNorm: { value: 50, doc: 'L2 norm from which it is critical.' },
    explodingGradientMinProbes: {
      value: 3,
      doc: 'Probes in a row above the limit; a lone spike is an event. (1 in the reference.)',
    },
    explodingGradientMinGrowth: {
      value: 5,
      doc: 'Least growth over the level before, where the loss did not rise.',
    },
  },
  evaluate({ isReference, signals, thresholds }) {
    const warning = thresholds.explodingGradientWarningNorm;
    const minProbes = isReference ? 1 : thresholds.explodingGradientMinProbes;
    const found = [...gradientSources(signals), ...wholeGradient(signals)]
      .map((source) => stretchOf(source, warning, signals))
      .filter((stretch) => stretch !== undefined)
      .filter(({ end, growth, lossRise, source, start }) => {
        if (end - start < minProbes) return false;
        if (isReference || lossRise) return true;
        const share = (end - start) / source.norms.length;
        const isLasting = end === source.norms.length || share >= 0.05;
        return growth >= thresholds.explodingGradientMinGrowth && isLasting;
      })
      .toSorted((a, b) => b.peak - a.peak);
    const [worst] = found;
    if (worst === undefined) return [];
    const { end, growth, lossRise, peak, source, start } = worst;
    const severity =
      severityAbove(
        peak,
        warning,
        thresholds.explodingGradientErrorNorm,
        thresholds.explodingGradientCriticalNorm,
      ) ?? 'warning';
    const from = placeAt(source.series, start);
    const to = placeAt(source.series, end - 1);
    const consequence = lossRise
      ? ' while the loss rose'
      : growth >= thresholds.explodingGradientMinGrowth
        ? `, ${say(growth)} times the level before`
        : '';
    const finding: Finding = {
      severity,
      title: `Gradients explode in ${source.source}`,
      fact: `The gradient norm of ${source.source} reached ${say(peak)} ${sayRange(from, to)}${consequence}.`,
      confidence: lossRise ? 0.9 : 0.75,
      from,
      to,
      observations: found.slice(0, 5).map((stretch) => observe(stretch, warning)),
    };
    return [finding];
  },
});

function observe({ end, growth, peak, source, start }: Stretch, threshold: number): Observation {
  const from = placeAt(source.series, start);
  const to = placeAt(source.series, end - 1);
  return {
    kind: source.kind,
    source: source.source,
    summary: `Gradient norm up to ${say(peak)} ${sayRange(from, to)}, in ${end - start} probes.`,
    observed: peak,
    threshold,
    from,
    to,
    ...(Number.isFinite(growth) ? { metadata: { growth } } : {}),
  };
}

function stretchOf(source: GradientSource, limit: number, signals: Signals): Stretch | undefined {
  const { norms } = source;
  const run = longestRun(norms.length, (row) => (norms[row] ?? 0) >= limit);
  if (run.length === 0) return undefined;
  const end = run.start + run.length;
  const stretch = norms.subarray(run.start, end);
  const before = norms.subarray(0, run.start).filter((norm) => Number.isFinite(norm));
  const finite = stretch.filter((norm) => Number.isFinite(norm));
  return {
    source,
    start: run.start,
    end,
    peak: finite.reduce((a, b) => Math.max(a, b), limit),
    growth: before.length < MIN_BASELINE ? Number.NaN : median(stretch) / median(before),
    lossRise: lossRises(source, run.start, end, signals),
  };
}

/**
 * Whether the loss rose during the stretch, or soon after: three values in a row at least a quarter above the loss it
 * began with, by more than its noise and more than a fifth of all that the run learned.
 */
function lossRises(source: GradientSource, start: number, end: number, signals: Signals): boolean {
  const places = axisOf(source.series);
  const first = places[start] ?? 0;
  const last = places[end - 1] ?? 0;
  const until = last + Math.max(1, last - first);
  return signals.trainLosses.some((series) => {
    const course = signals.course(series);
    if (course === undefined || series.x !== source.series.x) return false;
    const { improvement, profile } = course;
    const at = axisOf(series);
    const inside: number[] = [];
    let before = Number.NaN;
    for (let i = 0; i < profile.rows.length; i++) {
      const place = at[profile.rows[i] ?? 0] ?? 0;
      const value = profile.values[i] ?? Number.NaN;
      if (place <= first) before = value;
      else if (place <= until) inside.push(value);
      else break;
    }
    if (Number.isNaN(before)) before = inside[0] ?? Number.NaN;
    const limit =
      before +
      Math.max(
        0.25 * Math.abs(before),
        6 * Math.max(profile.pointNoise, profile.levelNoise),
        0.2 * improvement,
      );
    return longestRun(inside.length, (i) => (inside[i] ?? 0) > limit).length >= 3;
  });
}
