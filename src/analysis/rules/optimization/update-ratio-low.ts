import { lateProgress } from '../../signals/late-progress.ts';
import { saySpan, spanOfRows } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import type { ThresholdValues } from '../../signals/rule-types.ts';
import type { Signals } from '../../signals/signals.ts';
import { median, trendScore } from '../../signals/statistics.ts';
import {
  hasLearned,
  observeRatio,
  reachOf,
  updateRatios,
  wasThrown,
} from '../../signals/update-ratios.ts';
import { say, sayShare } from '../../text/sentences.ts';

export const updateRatioLow = defineRule({
  id: 'update_ratio_low',
  category: 'optimization',
  needs: { anyOf: ['parameters'], points: 'updateRatioLowMinProbes' },
  detects:
    'Updates that are next to nothing beside the weights they change, while there is something left to learn.',
  source:
    'TheDeepChecker (log10 of the ratio within -4 and -1), SageMaker Debugger (1e-8); gradients that keep their direction: ours',
  cause: 'the learning rate is too low, or the gradients are too small',
  advice: 'multiply the learning rate by 10',
  live: 'trend',
  thresholds: {
    updateRatioLow: { value: 1e-4, doc: 'Typical norm of the update over that of the weights.' },
    updateRatioLowAligned: {
      value: 1e-3,
      doc: 'The same, where gradients keep their direction and the loss still falls at the end; about 1e-3 is usual.',
    },
    updateRatioLowMinCosine: {
      value: 0.4,
      doc: 'Typical cosine of the gradients of successive snapshots from which they keep their direction.',
    },
    updateRatioLowReach: {
      value: 0.1,
      // Nobody knows yet how many steps there will be.
      live: { atMost: 0 },
      doc: 'Share of their own size that weights can have moved over the whole run, the typical update times the number of steps, below which a loss that has hardly moved is one of a rate that is too low, with updates below the limit for gradients that keep their direction.',
    },
    updateRatioLowStraight: {
      value: 0.25,
      // Every run begins with a straight line.
      live: { atLeast: 1 },
      doc: 'Share of all that was gained that the last two fifths of the run bring where a loss that has lost little falls in a straight line.',
    },
    updateRatioLowMinProbes: { value: 3, doc: 'Fewest snapshots after the first tenth.' },
    updateRatioLowLearned: {
      value: 0.1,
      doc: 'Share of its start that the loss must have lost for small updates to count as enough.',
    },
  },
  measure({ columns, signals, thresholds: t }) {
    const all = updateRatios(signals, t.updateRatioLowMinProbes).toSorted(
      (a, b) => a.ratio - b.ratio,
    );
    const typical = median(all.map(({ ratio }) => ratio));
    const [lowest] = all;
    if (lowest === undefined || signals.isSolved || columns.run.isContinued) return [];
    // After a blow that threw the weights far off there may be no gradient left: then it was the rate that was too high.
    if (wasThrown(signals)) return [];
    const cosine = median(
      all.map(({ start, weight }) => median(weight.gradientCosine.subarray(start))),
    );
    // Fine-tuning and late training live well on small updates: only a loss that has not moved speaks against them.
    const isIdle = !hasLearned(signals, t.updateRatioLowLearned);
    // However they add up, updates of this size have left the weights about where they began: what the loss does is noise.
    const reach = reachOf(signals);
    const isStill = !hasLearned(signals, t.updateRatioLowLearned / 2);
    const isShort = isStill && typical < t.updateRatioLowAligned && reach < t.updateRatioLowReach;
    const kind = isShort ? 'short' : kindOf({ typical, cosine, isIdle, reach }, signals, t);
    return kind === undefined || (kind !== 'short' && signals.isHarmed)
      ? []
      : [{ all, lowest, typical, cosine, kind, reach }];
  },
  finding: {
    levels: { error: ({ typical }, t) => typical < t.updateRatioLow / 100, warning: () => true },
    title: 'Updates are too small',
    fact: ({ cosine, kind, lowest, reach, typical }) => {
      const beside = {
        short: `too little to move them by more than about ${sayShare(reach)} in the whole run, and the loss has hardly moved`,
        crawling: `while gradients keep their direction (cosine ${say(cosine)}) and the loss goes on falling to the end`,
        straight: 'and the loss has fallen by little, in a straight line to the end',
        idle: 'and the loss has hardly moved',
      }[kind];
      return `The typical update is ${say(typical)} times the size of the weights that it changes, ${saySpan(spanOfRows(lowest.weight, lowest.start))}, ${beside}.`;
    },
    confidence: 0.85,
    // No learning rate makes something of nothing.
    cause: ({ typical }) =>
      typical === 0
        ? 'no gradient reaches these weights: dead or saturated units lie behind them'
        : undefined,
    advice: ({ typical }) =>
      typical === 0
        ? 'check the initial values and the activations of the layers that follow'
        : undefined,
    evidence: ({ all }, t) => all.slice(0, 5).map((one) => observeRatio(one, t.updateRatioLow)),
  },
});

/** What is known of the updates and of the loss. */
type Run = {
  readonly typical: number;
  readonly cosine: number;
  readonly isIdle: boolean;
  /** NaN of a run of few steps, which was not meant to learn anything. */
  readonly reach: number;
};

type Kind = 'short' | 'crawling' | 'straight' | 'idle';

function kindOf(
  { cosine, isIdle, reach, typical }: Run,
  signals: Signals,
  t: ThresholdValues<
    | 'updateRatioLow'
    | 'updateRatioLowAligned'
    | 'updateRatioLowMinCosine'
    | 'updateRatioLowStraight'
  >,
): Kind | undefined {
  // Gradients that keep their direction would bear larger steps, and the loss has not come to where it levels off.
  const keepsDirection = cosine >= t.updateRatioLowMinCosine;
  if (typical < t.updateRatioLowAligned && keepsDirection && stillFalls(signals)) return 'crawling';
  // A weight that begins near zero is changed by large shares of itself: the course of the loss says that the way is hardly begun.
  const isMost = cosine >= SAME_DIRECTION && !hasLearned(signals, MOST);
  if ((isIdle || isMost) && reach < HALF_WAY && isStraight(signals, t.updateRatioLowStraight))
    return 'straight';
  return isIdle && typical < t.updateRatioLow ? 'idle' : undefined;
}

/** Cosine of gradients that are one and the same, and the share of its start that a loss may then have lost. */
const SAME_DIRECTION = 0.9;
const MOST = 0.5;
/** Share of their size that weights can have moved at most: where it is more, a loss that falls slowly may be one of which most is a floor. */
const HALF_WAY = 0.5;
/** Most that the last two fifths bring of a fall that slows down nowhere: two fifths, and noise. */
const MAX_LATE = 0.6;
/** Mann-Kendall score below which levels fall beyond doubt. */
const CLEAR_FALL = -4;

/** Whether the loss falls in a straight line to the end. */
function isStraight(signals: Signals, least: number): boolean {
  const progress = lateProgress(signals, [0.5, 0.6]);
  if (progress === undefined) return false;
  const { gained, late, levels, noise } = progress;
  const isEven = gained > 0 && late >= least * gained && late <= MAX_LATE * gained;
  const isSteady = levels.every((level, i) => i === 0 || level < (levels[i - 1] ?? 0));
  return isEven && late > 3 * noise && (isSteady || trendScore(levels) < CLEAR_FALL);
}

/** Share of all that was gained that the last two fifths of the run brought, from which it is far from done. */
const LATE_SHARE = 0.15;

/** Whether the loss falls to the end as if the run had only begun. */
function stillFalls(signals: Signals): boolean {
  const progress = lateProgress(signals, [0.5, 0.6]);
  if (progress === undefined) return false;
  const { gained, late, noise } = progress;
  return gained > 0 && late > 3 * noise && late >= LATE_SHARE * gained;
}
