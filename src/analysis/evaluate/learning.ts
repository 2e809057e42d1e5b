/**
 * Whether anything shows that a run learned. Of a run whose loss never lies lower than its noise explains nobody knows that, however quiet the
 * rules are.
 */
import { lossDivergence } from '../rules/optimization/loss-divergence.ts';
import { lossNotDecreasing } from '../rules/optimization/loss-not-decreasing.ts';
import { nonFinite } from '../rules/optimization/non-finite.ts';
import { rewardDecline } from '../rules/optimization/reward-decline.ts';
import type { MetricSeries, RunColumns } from '../columns/run-columns.ts';
import { observe, ofMetric } from '../signals/observe.ts';
import { firstAfter, firstAt } from '../columns/sorted-search.ts';
import { blockRows, levelOf, levelRange, type Profile } from '../signals/profile.ts';
import type { Signals } from '../signals/signals.ts';
import { rangeWithin, sayRange } from '../text/sentences.ts';
import type { AnalyzerSettings } from './analyzer-config.ts';
import type { Found } from './find-all.ts';

/** `unknown`: nothing is there that has to fall, or rise, when a network learns. */
export type Learning = 'shown' | 'not_shown' | 'unknown';

/** Fewest finite values of which an order can be told from chance: five fall one after another by chance once in 120 times. */
export const MIN_LEARNING_VALUES = 5;

/** What is known of the learning of a run. */
export function learningOf(
  { run }: RunColumns,
  signals: Signals,
  { thresholds: t }: AnalyzerSettings,
): Learning {
  if (run.isContinued || signals.finalAccuracy >= t.lossNotDecreasingKnownAccuracy) return 'shown';
  const losses = signals.reward === undefined ? lossesOf(signals) : [];
  const accuracies = [signals.trainAccuracy, signals.valAccuracy].flatMap((one) => one ?? []);
  const rising = signals.reward === undefined ? accuracies : [signals.reward];
  const isShown =
    losses.some((series) => {
      const profile = signals.profile(series);
      // Around zero there is no share of a level; what is beyond the noise counts.
      const least = profile.isSigned
        ? 0
        : t.lossNotDecreasingMinChange * Math.abs(profile.levels[0] ?? 0);
      return hasFallen(profile, 1, least);
    }) ||
    rising.some((series) => {
      const least = series === signals.reward ? 0 : t.lossNotDecreasingMinAccuracyGain;
      return hasFallen(signals.profile(series), -1, least);
    });
  if (isShown || signals.isSolved) return 'shown';
  const judged = [...losses.filter((one) => !signals.profile(one).isSigned), ...rising];
  const isEnough = judged.some(
    (series) => signals.profile(series).values.length >= MIN_LEARNING_VALUES,
  );
  return isEnough ? 'not_shown' : 'unknown';
}

function lossesOf(signals: Signals): readonly MetricSeries[] {
  return [...signals.judgedLosses, ...signals.lossPairs.map(({ validation }) => validation)];
}

/** Rules that say more of a run than that it has not learned, or that it has lost what it had learned. */
const SAY_MORE: ReadonlySet<string> = new Set([
  lossNotDecreasing.id,
  lossDivergence.id,
  nonFinite.id,
  rewardDecline.id,
]);

/** Whether a finding says that a run did not learn, or has lost what it had learned. */
export function deniesLearning({ finding: { severity }, rule }: Found): boolean {
  if (rule.id === lossNotDecreasing.id) return true;
  return SAY_MORE.has(rule.id) && (severity === 'error' || severity === 'critical');
}

/** The remark on a run of which nothing shows that it learned; none where something worse is said of it. */
export function learningRemark(signals: Signals, found: readonly Found[]): readonly Found[] {
  const [series] = signals.reward === undefined ? lossesOf(signals) : [signals.reward];
  const judged = series ?? signals.trainAccuracy ?? signals.valAccuracy;
  if (judged === undefined || found.some(deniesLearning)) return [];
  const profile = signals.profile(judged);
  const { length } = profile.values;
  const rows = blockRows(profile, 0, profile.levels.length - 1);
  const way = series === undefined || judged === signals.reward ? 'rise' : 'fall';
  const within = sayRange(rangeWithin(judged.values, rows));
  const observation = observe(
    ofMetric(judged),
    rows,
    `No ${way} beyond its noise in ${length} values.`,
    {
      observed: levelRange(profile.levels),
      threshold: profile.levelNoise,
    },
  );
  const { from, to } = observation;
  return [
    {
      rule: lossNotDecreasing,
      finding: {
        severity: 'info',
        title: 'Nothing shows that the run learned',
        fact: `The ${length} values of ${judged.key} lie ${within}, and they do not ${way} by more than their noise.`,
        confidence: 0.7,
        cause: 'the run was too short or its steps too small to show any learning',
        advice: `train longer, or with a larger learning rate, and see whether ${judged.key} moves`,
        from,
        to,
        observations: [observation],
      },
    },
  ];
}

/**
 * Whether levels fall beyond their noise, as far as `least` at least: the share of their variance that the best course without a rise explains
 * (Bartholomew 1959), held against what levels without any order reach once in ten thousand times; of few levels less is asked. Ranks are asked,
 * too: one high value, as in a warm-up, has nearly all of the variance.
 */
function hasFallen(profile: Profile, sign: 1 | -1, least: number): boolean {
  const { levels } = profile;
  const { length } = levels;
  if (length < MIN_LEARNING_VALUES) return false;
  const isFall = (by: number): boolean => by > 0 && by >= least;
  const limit = explainedByChance(length);
  const { explained, fall } = fallOf(levels, sign);
  if (isFall(fall) && explained >= limit) return true;
  const between = sign * (levelOf(profile, 0, 1 / 3) - levelOf(profile, 2 / 3, 1));
  return isFall(between) && fallOf(ranksOf(levels), sign).explained >= limit;
}

/** The place of each level among all; equal levels share theirs. */
function ranksOf(levels: Float64Array): Float64Array {
  const sorted = levels.toSorted();
  return levels.map((level) => (firstAt(sorted, level) + firstAfter(sorted, level)) / 2);
}

/** From trials with normal noise. */
function explainedByChance(count: number): number {
  if (count < 7) return 0.97;
  return count < 12 ? 0.945 : 1 - Math.exp(-(29 + 70 / count) / count);
}

/** The least squares fit that never rises, by pooling neighbours that do (Ayer et al. 1955). */
function fallOf(
  levels: Float64Array,
  sign: 1 | -1,
): { readonly explained: number; readonly fall: number } {
  const sums: number[] = [];
  const counts: number[] = [];
  const mean = levels.reduce((sum, level) => sum + level / levels.length, 0);
  const at = (i: number): number => (sums[i] ?? 0) / (counts[i] ?? 1);
  for (const level of levels) {
    sums.push(sign * (level - mean));
    counts.push(1);
    for (let last = sums.length - 1; last > 0 && at(last) > at(last - 1); last--) {
      const [sum = 0, count = 0] = [sums.pop(), counts.pop()];
      sums[last - 1] = (sums[last - 1] ?? 0) + sum;
      counts[last - 1] = (counts[last - 1] ?? 0) + count;
    }
  }
  const all = levels.reduce((sum, level) => sum + (level - mean) ** 2, 0);
  const fitted = sums.reduce((sum, _, i) => sum + (counts[i] ?? 0) * at(i) ** 2, 0);
  return { explained: all > 0 ? fitted / all : 0, fall: at(0) - at(sums.length - 1) };
}
