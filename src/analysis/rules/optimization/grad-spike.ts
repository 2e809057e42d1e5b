import { axisOf, type MetricSeries } from '../../columns/run-columns.ts';
import { observe, ofMetric } from '../../signals/observe.ts';
import { positionAt, rowBefore } from '../../signals/positions.ts';
import { levelSize } from '../../signals/profile.ts';
import { defineRule } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { MIN_SPIKE_VALUES, sayJump, spikesOf } from '../../signals/spikes.ts';

/** Spikes of the loss that come this many values after one of the gradient belong to it. */
const FOLLOWS = 5;

export const gradSpike = defineRule({
  id: 'grad_spike',
  category: 'optimization',
  needs: { anyOf: ['gradient_norm'], points: MIN_SPIKE_VALUES },
  detects: 'Single jumps of the norm of all gradients, far above its noise.',
  source: 'ZClip (2025)',
  cause: 'a batch of unusual samples, or a steep part of the loss surface',
  advice: 'clip the gradient norm a little above its usual level',
  live: 'whole_run',
  thresholds: {
    gradSpikeScore: { value: 8, doc: 'Height in local robust deviations of the logarithm.' },
    gradSpikeMinRatio: { value: 10, doc: 'Least height as a multiple of the local level.' },
    gradSpikeMaxShare: {
      value: 0.005,
      doc: 'Share of all points above which such heights are the noise of this run.',
    },
  },
  measure({ signals, thresholds: t }) {
    const series = signals.gradientNorm;
    if (series === undefined) return [];
    const profile = signals.profile(series);
    const spikes = spikesOf(profile, { threshold: t.gradSpikeScore, ratio: t.gradSpikeMinRatio });
    const most = Math.max(3, t.gradSpikeMaxShare * profile.values.length);
    if (spikes.length === 0 || spikes.length > most) return [];
    const highest = spikes.reduce((a, b) => (b.peak / b.level > a.peak / a.level ? b : a));
    const isHarmful = spikes.some(({ peakRow }) => isFollowed(signals, series, peakRow));
    return [{ series, spikes, highest, isHarmful }];
  },
  finding: {
    levels: { warning: ({ isHarmful }) => isHarmful, info: () => true },
    title: ({ spikes: { length } }) =>
      length === 1 ? 'A spike of the gradient' : `${length} spikes of the gradient`,
    fact: ({ highest, isHarmful, series }) =>
      `${series.key} jumped ${sayJump(highest, series)}, and the loss ${isHarmful ? 'followed' : 'did not follow'}.`,
    confidence: ({ isHarmful }) => (isHarmful ? 0.85 : 0.75),
    span: ({ series, spikes }) => ({
      from: positionAt(series, spikes[0]?.peakRow ?? 0),
      to: positionAt(series, spikes.at(-1)?.endRow ?? 0),
    }),
    evidence: ({ series, spikes }, t) =>
      spikes
        .slice(0, 5)
        .map((spike) =>
          observe(
            ofMetric(series),
            [spike.peakRow, spike.endRow],
            `Jumped ${sayJump(spike, series)}.`,
            { observed: spike.peak / spike.level, threshold: t.gradSpikeMinRatio },
          ),
        ),
  },
});

/** Whether a training loss is far above its level at the position of a row or just after it. */
function isFollowed(signals: Signals, gradient: MetricSeries, peakRow: number): boolean {
  const position = axisOf(gradient)[peakRow] ?? 0;
  return signals.trainLosses.some((series) => {
    if (series.x !== gradient.x) return false;
    const row = rowBefore(series, position);
    const profile = signals.profile(series);
    const before = series.values.subarray(Math.max(0, row - 20), row);
    const after = series.values.subarray(row, row + FOLLOWS);
    if (before.length < 5) return false;
    const level = Float64Array.from(before).sort()[before.length >> 1] ?? Number.NaN;
    return after.some(
      (value) => value - level > Math.max(8 * profile.pointNoise, 0.2 * levelSize(profile, level)),
    );
  });
}
