import { batchEvidence } from '../../signals/batch-evidence.ts';
import { placeAt, sayPlace } from '../../signals/positions.ts';
import { defineRule, say, type Finding } from '../../signals/rule.ts';
import type { LossCourse } from '../../signals/signals.ts';
import { spikesOf, type ProfileSpike } from '../../signals/spikes.ts';

export const lossSpike = defineRule({
  id: 'loss_spike',
  category: 'optimization',
  detects: 'Single jumps of the training loss far above its noise, from which it comes back.',
  source:
    'ZClip (2025) for the idea of a robust score on logarithms; the threshold is ours, as losses have heavier tails',
  cause: 'a batch of unusual samples, or one update that was too large',
  advice: 'look at the batch of that step, and clip the gradient norm if it happens again',
  thresholds: {
    lossSpikeScore: {
      value: 8,
      doc: 'Height in local robust deviations, of logarithms where losses are positive.',
    },
    lossSpikeMinRatio: { value: 1.5, doc: 'Least height as a multiple of the local level.' },
    lossSpikeMinShare: { value: 0.1, doc: 'Least height as a share of all that the run gained.' },
    lossSpikeMaxShare: {
      value: 0.005,
      doc: 'Share of all points above which such heights are the noise of this run, and no spikes.',
    },
    lossSpikeSevereShare: {
      value: 0.5,
      doc: 'Height, as a share of what the run gained, from which a spike is a warning.',
    },
  },
  evaluate({ columns, signals, thresholds: t }) {
    return signals.trainLosses.flatMap((series): Finding[] => {
      const course = signals.course(series);
      if (course === undefined) return [];
      const { improvement } = course;
      const spikes = spikesOfLoss(course, t);
      if (spikes.length === 0) return [];
      const highest = spikes.reduce((a, b) => (b.peak - b.level > a.peak - a.level ? b : a));
      const at = placeAt(series, highest.peakRow);
      const back = placeAt(series, highest.endRow);
      const first = placeAt(series, spikes[0]?.peakRow ?? 0);
      const last = placeAt(series, spikes.at(-1)?.endRow ?? 0);
      const share = improvement > 0 ? (highest.peak - highest.level) / improvement : 1;
      const isSevere = share >= t.lossSpikeSevereShare;
      return [
        {
          severity: isSevere ? 'warning' : 'info',
          title:
            spikes.length === 1
              ? `A spike of ${series.key}`
              : `${spikes.length} spikes of ${series.key}`,
          fact: `${series.key} jumped from ${say(highest.level)} to ${say(highest.peak)} at ${sayPlace(at)} and was back at ${sayPlace(back)}${spikes.length > 1 ? `; there are ${spikes.length} such spikes` : ''}.`,
          confidence: highest.heightInSpreads >= 2 * t.lossSpikeScore ? 0.9 : 0.75,
          from: first,
          to: last,
          observations: [
            ...spikes.slice(0, 5).map((spike) => ({
              kind: 'metric',
              source: series.key,
              summary: `From ${say(spike.level)} to ${say(spike.peak)} at ${sayPlace(placeAt(series, spike.peakRow))}.`,
              observed: Math.min(spike.heightInSpreads, 1e9),
              threshold: t.lossSpikeScore,
              from: placeAt(series, spike.peakRow),
              to: placeAt(series, spike.endRow),
              metadata: {
                share_of_improvement: Math.min(
                  1e9,
                  (spike.peak - spike.level) / (improvement || spike.peak - spike.level),
                ),
              },
            })),
            ...batchEvidence(columns, series, highest.peakRow),
          ],
        },
      ];
    });
  },
});

/** The spikes that a training loss came back from; none where such heights are the noise of the run. */
export function spikesOfLoss(
  { improvement, profile }: LossCourse,
  t: { readonly [K in keyof typeof lossSpike.thresholds]: number },
): readonly ProfileSpike[] {
  const all = spikesOf(profile, { threshold: t.lossSpikeScore, ratio: t.lossSpikeMinRatio });
  if (all.length > Math.max(3, t.lossSpikeMaxShare * profile.values.length)) return [];
  return all.filter(
    ({ isRecovered, level, peak }) =>
      isRecovered && peak - level >= t.lossSpikeMinShare * improvement,
  );
}
