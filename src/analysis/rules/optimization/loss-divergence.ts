import { blockEnd, blockStart, noiseOf } from '../../signals/profile.ts';
import { sayPlace } from '../../signals/positions.ts';
import { defineRule, say, sayShare, type Finding } from '../../signals/rule.ts';
import type { LossCourse } from '../../signals/signals.ts';
import { median, trailingRun } from '../../signals/statistics.ts';

export const lossDivergence = defineRule({
  id: 'loss_divergence',
  category: 'optimization',
  detects: 'A training loss that has risen far above its best and does not come back.',
  source:
    'TheDeepChecker (loss against its running minimum); the phase thresholds of the reference (0.25 of the best)',
  cause: 'the learning rate is too high for this point of the training',
  advice:
    'go back to the last good checkpoint, divide the learning rate by 3 to 10, and clip the gradients',
  thresholds: {
    lossDivergenceMinRatio: {
      value: 0.25,
      doc: 'Least rise over the best level, as a share of its size.',
    },
    lossDivergenceMinLoss: {
      value: 0.2,
      doc: 'Least rise as a share of all that had been gained.',
    },
    lossDivergenceChecks: {
      value: 5,
      doc: 'Levels in a row, up to the end of the run, that lie above.',
    },
    lossDivergenceNoise: { value: 6, doc: 'Least rise in standard deviations of the levels.' },
  },
  evaluate({ signals, thresholds: t }) {
    return signals.trainLosses.flatMap((series): Finding[] => {
      const course = signals.course(series);
      if (course === undefined) return [];
      const { improvement, profile } = course;
      const { levelNoise, levels } = profile;
      const { best, bestBlock } = course;
      // The noise of the healthy part: what diverges swings more and more.
      const noise = Math.max(noiseOf(levels.subarray(0, bestBlock + 1)), levelNoise / 2);
      const limit = Math.max(
        t.lossDivergenceMinRatio * Math.abs(best),
        t.lossDivergenceMinLoss * improvement,
        t.lossDivergenceNoise * noise,
      );
      const isAbove = (block: number): boolean => (levels[block] ?? 0) - best > limit;
      const length = trailingRun(levels.length - bestBlock, (i) => isAbove(bestBlock + i));
      if (length < t.lossDivergenceChecks) return [];
      const tail = levels.subarray(levels.length - length);
      const last = median(tail.subarray(-t.lossDivergenceChecks));
      const rise = last - best;
      const lost = improvement > 0 ? rise / improvement : Number.POSITIVE_INFINITY;
      const from = blockStart(profile, levels.length - length);
      const to = blockEnd(profile, levels.length - 1);
      const bestAt = blockStart(profile, bestBlock);
      return [
        {
          severity: severityOf(lost, course, last),
          title: `${series.key} diverges`,
          fact: `${series.key} has risen from its best level ${say(best)} at ${sayPlace(bestAt)} to ${say(last)} and has stayed up since ${sayPlace(from)}.`,
          confidence: length >= 2 * t.lossDivergenceChecks ? 0.95 : 0.85,
          from,
          to,
          observations: [
            {
              kind: 'metric',
              source: series.key,
              summary: `${say(rise)} above the best level${Number.isFinite(lost) ? `, ${sayShare(lost)} of what was gained` : ''}.`,
              observed: rise,
              threshold: limit,
              from,
              to,
              metadata: { best_level: best, last_level: last, checks: length },
            },
          ],
        },
      ];
    });
  },
});

function severityOf(lost: number, { start }: LossCourse, last: number): Finding['severity'] {
  if (last >= start || lost >= 1) return 'critical';
  return lost >= 0.5 ? 'error' : 'warning';
}
