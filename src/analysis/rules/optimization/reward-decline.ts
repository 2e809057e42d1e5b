import type { MetricSeries } from '../../columns/run-columns.ts';
import { observe, ofMetric } from '../../signals/observe.ts';
import { positionAt, sayPosition, type RunPosition } from '../../signals/positions.ts';
import { blockRows, type Profile } from '../../signals/profile.ts';
import { defineRuleOfKinds } from '../../signals/rule.ts';
import { median, robustDeviation, trailingRun, trendScore } from '../../signals/statistics.ts';
import { hasStood } from '../../signals/update-ratios.ts';
import { say, sayShare, when } from '../../text/sentences.ts';

/** Parts of a run whose levels are compared: the return of single episodes is mostly luck. */
const PARTS = 10;
/** Parts at the end that all have to be as low: a dip is none. */
const LAST_PARTS = 2;
/** Standard error of a median over that of a mean, of normal values. */
const MEDIAN_ERROR = 1.2533;
/** Mann-Kendall score below which values fall beyond doubt. */
const CLEAR_FALL = -4;

export const rewardDecline = defineRuleOfKinds({
  id: 'reward_decline',
  category: 'optimization',
  needs: { anyOf: ['reward'], points: 'rewardDeclineMinPoints' },
  detects:
    'A reward, or a return, that falls: below where it began, from its best without coming back, or to its lowest for good.',
  source:
    'Mann and Kendall for the trend; that a policy which gets worse for a fifth of the run has lost what it learned, and the limits, are ours',
  cause:
    'the policy moves away from what is rewarded: too large an update, a reward or an advantage with the wrong sign, or too little exploration',
  advice:
    'check the sign of the advantage and of the loss, then lower the learning rate or clip the updates, and go back to the best checkpoint',
  live: 'trend',
  thresholds: {
    rewardDeclineMinPoints: {
      value: 30,
      live: { atLeast: 200 },
      doc: 'Fewest finite values of the reward.',
    },
    rewardDeclineMinLoss: {
      value: 0.5,
      doc: 'Least fall from the best level, as a share of all that had been gained.',
    },
    rewardDeclineNoise: {
      value: 5,
      doc: 'Least fall in standard errors of the levels of a tenth of the run.',
    },
  },
  measure({ signals, thresholds: t }): readonly (Fallen | Lost)[] {
    const series = signals.reward;
    const profile = series === undefined ? undefined : signals.profile(series);
    if (series === undefined || profile === undefined) return [];
    if (profile.values.length < t.rewardDeclineMinPoints) return [];
    // A policy that has not moved has not got worse: what falls is luck, or the exploration.
    if (hasStood(signals)) return [];
    const lost = lostFor(series, profile, t.rewardDeclineMinPoints);
    if (lost !== undefined) return [{ kind: 'lost', series, ...lost }];
    const parts = partsOf(profile);
    const [first] = parts;
    if (first === undefined) return [];
    const best = parts.reduce((a, b) => (b.level > a.level ? b : a));
    const last = parts.slice(-LAST_PARTS);
    // The part that came off best of the last: what is said holds for all of them.
    const highest = last.reduce((a, b) => (b.level > a.level ? b : a));
    const fall = best.level - highest.level;
    const gained = best.level - first.level;
    const error = Math.hypot(best.error, highest.error);
    if (last.includes(best) || !(fall > t.rewardDeclineNoise * error)) return [];
    const isBelowStart = first.level - highest.level > t.rewardDeclineNoise * error;
    if (!isBelowStart && !(fall >= t.rewardDeclineMinLoss * gained)) return [];
    if (trendScore(profile.levels.subarray(best.from)) > CLEAR_FALL) return [];
    const rows = blockRows(profile, best.from, profile.levels.length - 1);
    const bestAt = positionAt(series, rows[0]);
    return [
      {
        kind: 'fallen',
        series,
        rows,
        bestAt,
        best: best.level,
        last: highest.level,
        fall,
        gained,
        isBelowStart,
        error,
      },
    ];
  },
  findings: {
    fallen: {
      levels: {
        error: ({ fall, gained, isBelowStart }) => isBelowStart || fall >= gained,
        warning: () => true,
      },
      title: ({ series }) => `${series.key} falls`,
      fact: ({ best, bestAt, gained, fall, isBelowStart, last, series }) => {
        const share = when(
          !isBelowStart && gained > 0,
          `, a loss of ${sayShare(fall / gained)} or more of what it had gained`,
        );
        const below = when(isBelowStart, ', below where it began');
        return `${series.key} fell from about ${say(best)} at ${sayPosition(bestAt)} to about ${say(last)} or less in the last fifth of the run${share}${below}.`;
      },
      confidence: ({ error, fall }, t) => (fall > 2 * t.rewardDeclineNoise * error ? 0.9 : 0.75),
      evidence: ({ error, fall, rows, series }, t) => [
        observe(
          ofMetric(series),
          rows,
          `Fell by ${say(fall)}, ${say(fall / (error || 1))} standard errors.`,
          {
            observed: fall / (error || 1),
            threshold: t.rewardDeclineNoise,
          },
        ),
      ],
    },
    lost: {
      levels: 'warning',
      title: ({ series }) => `${series.key} is no better than its worst`,
      fact: ({ before, low, rows, series }) =>
        `${series.key} has been at its lowest, about ${say(low)}, since ${sayPosition(positionAt(series, rows[0]))}; before that it was better ${say(before)} times.`,
      confidence: 0.8,
      evidence: ({ expected, low, rows, series }) => [
        observe(
          ofMetric(series),
          rows,
          `At about ${say(low)}; at the rate before, ${say(expected)} better ones were to be expected.`,
          { observed: expected, threshold: MIN_EXPECTED },
        ),
      ],
    },
  },
});

/** A reward that fell. */
type Fallen = {
  readonly kind: 'fallen';
  readonly series: MetricSeries;
  readonly rows: readonly [first: number, last: number];
  readonly bestAt: RunPosition;
  readonly best: number;
  readonly last: number;
  readonly fall: number;
  readonly gained: number;
  readonly isBelowStart: boolean;
  readonly error: number;
};

/** A reward that was better now and then, and is at its lowest for good. */
type Lost = {
  readonly kind: 'lost';
  readonly series: MetricSeries;
  readonly rows: readonly [first: number, last: number];
  readonly low: number;
  /** How often it was better before. */
  readonly before: number;
  /** How often it would have been better since, had it gone on as before. */
  readonly expected: number;
};

/** Share of the range of the reward above its lowest that is no better. */
const NO_BETTER = 0.05;
/** Share of the run at its end that is at the lowest. */
const LOST_SHARE = 0.4;
/** Better ones before, and how many were to be expected since. */
const MIN_BETTER = 3;
const MIN_EXPECTED = 5;

/**
 * A return that is one of few numbers, such as won or lost, has no level that falls: what was won now and then, and is not any more, is lost.
 * Equal values in a row may be one episode that was told several times.
 */
function lostFor(
  series: MetricSeries,
  { rows, values }: Profile,
  minPoints: number,
): Omit<Lost, 'kind' | 'series'> | undefined {
  const low = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const high = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const limit = low + NO_BETTER * (high - low);
  const from = values.length - trailingRun(values.length, (i) => (values[i] ?? 0) <= limit);
  const count = values.length - from;
  let before = 0;
  for (let i = 0; i < from; i++)
    if ((values[i] ?? 0) > limit && values[i] !== values[i - 1]) before++;
  const expected = (before / from) * count;
  const isLong = count >= Math.max(minPoints, LOST_SHARE * values.length);
  if (!isLong || before < MIN_BETTER || expected < MIN_EXPECTED) return undefined;
  return { rows: [rows[from] ?? 0, series.values.length - 1], low, before, expected };
}

type Part = {
  /** First block. */
  readonly from: number;
  readonly level: number;
  /** Standard error of the level. */
  readonly error: number;
};

/** The levels of equal parts of a run. */
function partsOf({ levelNoise, levels }: Profile): readonly Part[] {
  const size = levels.length / PARTS;
  return Array.from({ length: PARTS }, (_, i) => {
    const from = Math.floor(i * size);
    const own = levels.subarray(from, Math.max(from + 1, Math.floor((i + 1) * size)));
    const noise = Math.max(levelNoise, robustDeviation(own));
    const error = (MEDIAN_ERROR * noise) / Math.sqrt(own.length);
    return { from, level: median(own), error };
  });
}
