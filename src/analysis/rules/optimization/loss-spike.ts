import { batchEvidence } from '../../signals/batch-evidence.ts';
import { observe, ofMetric } from '../../signals/observe.ts';
import { positionAt, sayPosition } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import { type ThresholdValues } from '../../signals/rule-types.ts';
import { hasMargin, type Profile } from '../../signals/profile.ts';
import { median } from '../../signals/statistics.ts';
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
      doc: 'Height, as a share of what the run gained, from which a spike is a warning: if it is higher than the loss was at the start, or lasts longer than one value.',
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
      // One batch that cost about what all did at the start, and left no trace.
      const isBrief = highest.endRow - highest.peakRow <= 1;
      const isHarmless = isBrief && highest.peak <= AS_AT_START * course.start;
      return [{ series, spikes, highest, improvement, share, isHarmless, batch }];
    });
  },
  finding: {
    levels: {
      warning: ({ isHarmless, share }, t) => share >= t.lossSpikeSevereShare && !isHarmless,
      info: () => true,
    },
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

/** Loss of one batch beside that of the first ones, up to which it is as large. */
const AS_AT_START = 1.25;

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
    (spike) =>
      spike.isRecovered &&
      spike.peak - spike.level >= t.lossSpikeMinShare * improvement &&
      !isOfTail(spike, profile),
  );
}

/** Values on either side of a peak among which others may stand out as it does. */
const BESIDE = 50;
/** Values on either side that the level of a value comes from. */
const NEAR = 12;
/** Others that reach half as high, from which the highest of them is the end of a tail. */
const MIN_OTHERS = 2;

/**
 * Whether a peak is only the highest of many: where single hard batches reach half as high again and again, the noise of the run has a long
 * tail, and its deviation, which is that of the many quiet batches, says nothing of it.
 */
function isOfTail({ level, peak, peakRow }: ProfileSpike, { rows, values }: Profile): boolean {
  const at = rows.indexOf(peakRow);
  const isPositive = level > 0 && peak > 0;
  const height = (value: number, own: number): number =>
    isPositive && own > 0 ? Math.log(value / own) : value - own;
  const half = height(peak, level) / 2;
  let others = 0;
  let last = Number.NEGATIVE_INFINITY;
  for (let i = Math.max(0, at - BESIDE); i < Math.min(values.length, at + BESIDE + 1); i++) {
    const own = median(values.subarray(Math.max(0, i - NEAR), i + NEAR + 1));
    if (!(height(values[i] ?? Number.NaN, own) >= half)) continue;
    // Values side by side are one excursion.
    if (i - last > 2 && Math.abs(i - at) > 2) others++;
    last = i;
  }
  return others >= MIN_OTHERS;
}

/**
 * Height from which a value stands out of the start. A loss of margins is cut off at zero: most batches cost nothing, and a single hard
 * sample a whole margin. That is its noise, up to what it cost before anything was learned.
 */
function leastPeak({ profile, start }: LossCourse, ratio: number): number {
  return hasMargin(profile) ? ratio * start : Number.NEGATIVE_INFINITY;
}
