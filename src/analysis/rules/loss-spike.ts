import { placeAt, sayPlace, type Place } from './places.ts';
import { defineRule, say, sayShare, type Finding } from './rule.ts';
import { spikesOf } from './spikes.ts';
import type { RunColumns } from '../columns/run-columns.ts';

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
      const { improvement, profile } = course;
      const all = spikesOf(profile, { threshold: t.lossSpikeScore, ratio: t.lossSpikeMinRatio });
      const spikes = all.filter(
        ({ isRecovered, level, peak }) =>
          isRecovered && peak - level >= t.lossSpikeMinShare * improvement,
      );
      if (
        spikes.length === 0 ||
        all.length > Math.max(3, t.lossSpikeMaxShare * profile.values.length)
      )
        return [];
      const highest = spikes.reduce((a, b) => (b.peak - b.level > a.peak - a.level ? b : a));
      const at = placeAt(series, highest.peakRow);
      const back = placeAt(series, highest.endRow);
      const first = placeAt(series, spikes[0]?.peakRow ?? 0);
      const last = placeAt(series, spikes.at(-1)?.endRow ?? 0);
      const share = improvement > 0 ? (highest.peak - highest.level) / improvement : 1;
      const isSevere = share >= t.lossSpikeSevereShare;
      const batch = batchAt(columns, at);
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
            ...(batch === undefined
              ? []
              : [
                  {
                    kind: 'batch_diagnostic',
                    source: `batch of ${sayPlace(at)}`,
                    summary: `The batch of that step had loss ${say(batch.loss)}${batch.classes === '' ? '' : ` and classes ${batch.classes}`}; its share of the gain is ${sayShare(share)}.`,
                    observed: batch.loss,
                    from: at,
                    to: at,
                  },
                ]),
          ],
        },
      ];
    });
  },
});

/** What the data diagnostics know of the batch of a step. */
function batchAt(
  { batches }: RunColumns,
  { step }: Place,
): { readonly loss: number; readonly classes: string } | undefined {
  const row = step === null ? -1 : batches.steps.indexOf(step);
  if (row < 0) return undefined;
  const from = batches.classOffsets[row] ?? 0;
  const to = batches.classOffsets[row + 1] ?? from;
  const classes = Array.from(
    batches.classIndex.subarray(from, Math.min(to, from + 5)),
    (at, i) => `${batches.classNames[at] ?? ''} (${batches.classCounts[from + i] ?? 0})`,
  );
  return { loss: batches.losses[row] ?? Number.NaN, classes: classes.join(', ') };
}
