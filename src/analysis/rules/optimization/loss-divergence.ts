import { observe, ofMetric } from '../../signals/observe.ts';
import { positionAt, sayPosition } from '../../signals/positions.ts';
import { blockRows, noiseOf, leastSignedRise } from '../../signals/profile.ts';
import { defineRule } from '../../signals/rule.ts';
import { median, trailingRun } from '../../signals/statistics.ts';
import { rangeWithin, say, sayShare, when } from '../../text/sentences.ts';

/** Times the least rise, from which such a loss is beyond comparison with what it was. */
const BEYOND = 10;

export const lossDivergence = defineRule({
  id: 'loss_divergence',
  category: 'optimization',
  needs: { anyOf: ['train_loss', 'val_loss', 'accuracy'], points: 'lossDivergenceChecks' },
  detects: 'A training loss that has risen far above its best and does not come back.',
  source:
    'TheDeepChecker (loss against its running minimum); the phase thresholds of abiotic-quark (0.25 of the best)',
  cause: 'the learning rate is too high for this point of the training',
  advice:
    'go back to the last good checkpoint, divide the learning rate by 3 to 10, and clip the gradients',
  live: 'trend',
  thresholds: {
    lossDivergenceMinRatio: {
      value: 0.25,
      doc: 'Least rise over the best level, as a share of its size. A loss that goes below zero has to lose half of what it gained instead, or to leave where it wanders by three times its usual range.',
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
  measure({ signals, thresholds: t }) {
    return signals.judgedLosses.flatMap((series) => {
      const course = signals.course(series);
      if (course === undefined) return [];
      const { best, bestBlock, improvement, profile, start } = course;
      const { levelNoise, levels } = profile;
      // The noise of the healthy part: what diverges swings more and more.
      const noise = Math.max(noiseOf(levels.subarray(0, bestBlock + 1)), levelNoise / 2);
      const limit = Math.max(
        profile.isSigned
          ? leastSignedRise(profile, improvement)
          : t.lossDivergenceMinRatio * Math.abs(best),
        t.lossDivergenceMinLoss * improvement,
        t.lossDivergenceNoise * noise,
      );
      const checks = trailingRun(
        levels.length - bestBlock,
        (i) => (levels[bestBlock + i] ?? 0) - best > limit,
      );
      if (checks < t.lossDivergenceChecks) return [];
      const last = median(
        levels.subarray(levels.length - checks).subarray(-t.lossDivergenceChecks),
      );
      const rise = last - best;
      const lost = improvement > 0 ? rise / improvement : Number.POSITIVE_INFINITY;
      const rows = blockRows(profile, levels.length - checks, levels.length - 1);
      const bestAt = positionAt(series, blockRows(profile, bestBlock, bestBlock)[0]);
      const { isSigned } = profile;
      const { low } = rangeWithin(series.values, rows);
      return [
        { series, rows, best, bestAt, start, last, rise, lost, limit, checks, isSigned, low },
      ];
    });
  },
  finding: {
    levels: {
      // Where nothing says what a start is worth, only what is beyond comparison is critical.
      critical: ({ isSigned, last, limit, lost, rise, start }) =>
        isSigned ? rise >= BEYOND * limit : last >= start || lost >= 1,
      error: ({ lost }) => lost >= 0.5,
      warning: () => true,
    },
    title: ({ series }) => `${series.key} diverges`,
    fact: ({ best, bestAt, last, low, rows, series }) => {
      const since = `since ${sayPosition(positionAt(series, rows[0]))}`;
      // Of single values, noise may be as low as the best level was.
      const stays =
        low > best ? `it has been above ${say(low)} ${since}` : `no level ${since} was as low`;
      return `${series.key} has risen from its best level ${say(best)} at ${sayPosition(bestAt)} to ${say(last)}; ${stays}.`;
    },
    confidence: ({ checks }, t) => (checks >= 2 * t.lossDivergenceChecks ? 0.95 : 0.85),
    evidence: ({ best, checks, last, limit, lost, rise, rows, series }) => {
      const share = when(Number.isFinite(lost), `, ${sayShare(lost)} of what was gained`);
      return [
        observe(ofMetric(series), rows, `${say(rise)} above the best level${share}.`, {
          observed: rise,
          threshold: limit,
          metadata: { best_level: best, last_level: last, checks },
        }),
      ];
    },
  },
});
