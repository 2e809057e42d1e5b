import { axisOf, type SeriesAxis } from '../../columns/run-columns.ts';
import { placeAt, rowBefore, sayPlace } from '../../signals/positions.ts';
import { defineRule, say, type Finding } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { spikesOf } from '../../signals/spikes.ts';

/** Spikes of the loss that come this many values after one of the gradient belong to it. */
const FOLLOWS = 5;

export const gradSpike = defineRule({
  id: 'grad_spike',
  category: 'optimization',
  detects: 'Single jumps of the norm of all gradients, far above its noise.',
  source: 'ZClip (2025)',
  cause: 'a batch of unusual samples, or a steep place of the loss',
  advice: 'clip the gradient norm a little above its usual level',
  thresholds: {
    gradSpikeScore: { value: 8, doc: 'Height in local robust deviations of the logarithm.' },
    gradSpikeMinRatio: { value: 10, doc: 'Least height as a multiple of the local level.' },
    gradSpikeMaxShare: {
      value: 0.005,
      doc: 'Share of all points above which such heights are the noise of this run.',
    },
  },
  evaluate({ signals, thresholds: t }) {
    const series = signals.gradientNorm;
    if (series === undefined) return [];
    const profile = signals.profile(series);
    const spikes = spikesOf(profile, { threshold: t.gradSpikeScore, ratio: t.gradSpikeMinRatio });
    if (
      spikes.length === 0 ||
      spikes.length > Math.max(3, t.gradSpikeMaxShare * profile.values.length)
    )
      return [];
    const hurt = spikes.filter(({ peakRow }) =>
      isFollowed(signals, axisOf(series)[peakRow] ?? 0, series.x),
    );
    const highest = spikes.reduce((a, b) => (b.peak / b.level > a.peak / a.level ? b : a));
    const at = placeAt(series, highest.peakRow);
    const finding: Finding = {
      severity: hurt.length > 0 ? 'warning' : 'info',
      title:
        spikes.length === 1 ? 'A spike of the gradient' : `${spikes.length} spikes of the gradient`,
      fact: `${series.key} jumped from ${say(highest.level)} to ${say(highest.peak)} at ${sayPlace(at)}${hurt.length > 0 ? ', and the loss followed' : ', and the loss did not follow'}.`,
      confidence: hurt.length > 0 ? 0.85 : 0.75,
      from: placeAt(series, spikes[0]?.peakRow ?? 0),
      to: placeAt(series, spikes.at(-1)?.endRow ?? 0),
      observations: spikes.slice(0, 5).map((spike) => ({
        kind: 'metric',
        source: series.key,
        summary: `From ${say(spike.level)} to ${say(spike.peak)} at ${sayPlace(placeAt(series, spike.peakRow))}.`,
        observed: spike.peak / spike.level,
        threshold: t.gradSpikeMinRatio,
        from: placeAt(series, spike.peakRow),
        to: placeAt(series, spike.endRow),
      })),
    };
    return [finding];
  },
});

/** Whether a training loss is far above its level at this place or just after it. */
function isFollowed(signals: Signals, position: number, x: SeriesAxis): boolean {
  return signals.trainLosses.some((series) => {
    if (series.x !== x) return false;
    const row = rowBefore(series, position);
    const { pointNoise } = signals.profile(series);
    const before = series.values.subarray(Math.max(0, row - 20), row);
    const after = series.values.subarray(row, row + FOLLOWS);
    if (before.length < 5) return false;
    const level = Float64Array.from(before).sort()[before.length >> 1] ?? Number.NaN;
    return after.some((value) => value - level > Math.max(8 * pointNoise, 0.2 * Math.abs(level)));
  });
}
