import { batchEvidence } from '../../signals/batch-evidence.ts';
import { observe, ofMetric } from '../../signals/observe.ts';
import { positionAt, sayPosition } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import { type ThresholdValues } from '../../signals/rule-types.ts';
import type { Profile } from '../../signals/profile.ts';
import type { LossCourse } from '../../signals/signals.ts';
import { MIN_SPIKE_VALUES, sayJump, spikesOf, type ProfileSpike } from '../../signals/spikes.ts';
import { when } from '../../text/sentences.ts';

export const lossSpike = defineRule({
  id: 'loss_spike',
  category: 'optimization',
  needs: { anyOf: ['train_loss'], points: MIN_SPIKE_VALUES },
  detects: 'Single jumps of the training loss far above its noise, from which it comes back.',
  source:
    'ZClip (2025) for the idea of a robust score on logarithms; the threshold is ours, as losses have heavier tails',
  cause: 'a batch of unusual samples, or one update that was too large',
  advice: 'look at the batch of that step, and clip the gradient norm if it happens again',
  live: 'whole_run',
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
  measure({ columns, signals, thresholds: t }) {
    return signals.judgedLosses.flatMap((series) => {
      const course = signals.course(series);
      if (course === undefined) return [];
      const least = leastPeak(course, t.lossSpikeMinRatio);
      const spikes = spikesOfLoss(course, t).filter(({ peak }) => peak >= least);
      if (spikes.length === 0) return [];
      const { improvement } = course;
      const highest = spikes.reduce((a, b) => (b.peak - b.level > a.peak - a.level ? b : a));
      const share = improvement > 0 ? (highest.peak - highest.level) / improvement : 1;
      const batch = batchEvidence(columns, series, highest.peakRow);
      return [{ series, spikes, highest, improvement, share, batch }];
    });
  },
  finding: {
    levels: { warning: ({ share }, t) => share >= t.lossSpikeSevereShare, info: () => true },
    title: ({ series: { key }, spikes: { length } }) =>
      length === 1 ? `A spike of ${key}` : `${length} spikes of ${key}`,
    fact: ({ highest, series, spikes: { length } }) => {
      const back = sayPosition(positionAt(series, highest.endRow));
      const others = when(length > 1, `; there are ${length} such spikes`);
      return `${series.key} jumped ${sayJump(highest, series)} and was back at ${back}${others}.`;
    },
    confidence: ({ highest }, t) => (highest.heightInSpreads >= 2 * t.lossSpikeScore ? 0.9 : 0.75),
    span: ({ series, spikes }) => ({
      from: positionAt(series, spikes[0]?.peakRow ?? 0),
      to: positionAt(series, spikes.at(-1)?.endRow ?? 0),
    }),
    evidence: ({ batch, improvement, series, spikes }, t) => [
      ...spikes.slice(0, 5).map((spike) => {
        const height = spike.peak - spike.level;
        const rows = [spike.peakRow, spike.endRow] as const;
        return observe(ofMetric(series), rows, `Jumped ${sayJump(spike, series)}.`, {
          observed: Math.min(spike.heightInSpreads, 1e9),
          threshold: t.lossSpikeScore,
          metadata: { share_of_improvement: Math.min(1e9, height / (improvement || height)) },
        });
      }),
      ...batch,
    ],
  },
});

/** Share of exact zeros from which a loss is one of margins. */
const ZEROS = 0.01;

/** The spikes that a training loss came back from; none where such heights are the noise of the run. */
export function spikesOfLoss(
  { improvement, profile }: LossCourse,
  t: ThresholdValues<
    'lossSpikeScore' | 'lossSpikeMinRatio' | 'lossSpikeMinShare' | 'lossSpikeMaxShare'
  >,
): readonly ProfileSpike[] {
  const all = spikesOf(profile, { threshold: t.lossSpikeScore, ratio: t.lossSpikeMinRatio });
  if (all.length > Math.max(3, t.lossSpikeMaxShare * profile.values.length)) return [];
  return all.filter(
    ({ isRecovered, level, peak }) =>
      isRecovered && peak - level >= t.lossSpikeMinShare * improvement,
  );
}

/**
 * Height from which a value stands out of the start. A loss of margins is cut off at zero: most batches cost nothing, and a single hard
 * sample a whole margin. That is its noise, up to what it cost before anything was learned.
 */
function leastPeak({ profile, start }: LossCourse, ratio: number): number {
  return hasMargin(profile) ? ratio * start : Number.NEGATIVE_INFINITY;
}

/** Whether a loss never goes below zero and often is exactly that, as those of triplets, pairs and hinges. */
function hasMargin({ isSigned, values }: Profile): boolean {
  if (isSigned) return false;
  const zeros = values.reduce((count, value) => (value === 0 ? count + 1 : count), 0);
  return zeros > 0 && zeros >= ZEROS * values.length;
}
