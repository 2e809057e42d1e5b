/** The rules, in the order in which their alerts are given: causes before consequences, the machine last. */
import { nonFinite } from './optimization/non-finite.ts';
import { lossDivergence } from './optimization/loss-divergence.ts';
import { rewardDecline } from './optimization/reward-decline.ts';
import { lossNotDecreasing } from './optimization/loss-not-decreasing.ts';
import { plateau } from './optimization/plateau.ts';
import { regularisationOverwhelms } from './optimization/regularisation-overwhelms.ts';
import { lossSpike } from './optimization/loss-spike.ts';
import { gradSpike } from './optimization/grad-spike.ts';
import { oscillatingLoss } from './optimization/oscillating-loss.ts';
import { dyingRelu } from './representation/dying-relu.ts';
import { updateRatioHigh } from './optimization/update-ratio-high.ts';
import { updateRatioLow } from './optimization/update-ratio-low.ts';
import { unchangedParameters } from './optimization/unchanged-parameters.ts';
import { gradientDepthRatio } from './optimization/gradient-depth-ratio.ts';
import { poorInitialization } from './optimization/poor-initialization.ts';
import type { AlertCategory } from '../../records/literals.ts';
import { activationCollapse } from './representation/activation-collapse.ts';
import { explodingGradients } from './optimization/exploding-gradients.ts';
import { overfittingOnset } from './generalization/overfitting-onset.ts';
import { sortedSamples } from './generalization/sorted-samples.ts';
import { dataLeakage } from './generalization/data-leakage.ts';
import { unrelatedLabelsRule } from './generalization/unrelated-labels.ts';
import { classImbalance } from './generalization/class-imbalance.ts';
import { inputNotNormalised } from './representation/input-not-normalised.ts';
import { suspiciousValidation } from './generalization/suspicious-validation.ts';
import { trainEvalMismatch } from './generalization/train-eval-mismatch.ts';
import { dataLoadingBottleneck } from './runtime/data-loading-bottleneck.ts';
import { stepTimeOutlier } from './runtime/step-time-outlier.ts';
import { memoryGrowth } from './runtime/memory-growth.ts';
import { nothingRecorded } from './runtime/nothing-recorded.ts';
import { runEnd } from './runtime/run-end.ts';
import { stalledRun } from './runtime/stalled-run.ts';
import { staticModelLint } from './optimization/static-model-lint.ts';
import type { LiveCadence, Rule } from '../signals/rule-types.ts';
import { runtimeBottleneckRisk } from './runtime/runtime-bottleneck-risk.ts';
import { stagnantLayers } from './representation/stagnant-layers.ts';
import { vanishingGradients } from './optimization/vanishing-gradients.ts';

const rules = [
  staticModelLint,
  inputNotNormalised,
  nonFinite,
  dataLeakage,
  sortedSamples,
  unrelatedLabelsRule,
  trainEvalMismatch,
  poorInitialization,
  regularisationOverwhelms,
  updateRatioHigh,
  lossDivergence,
  rewardDecline,
  explodingGradients,
  oscillatingLoss,
  dyingRelu,
  gradientDepthRatio,
  vanishingGradients,
  unchangedParameters,
  activationCollapse,
  updateRatioLow,
  stagnantLayers,
  lossSpike,
  gradSpike,
  lossNotDecreasing,
  classImbalance,
  suspiciousValidation,
  overfittingOnset,
  plateau,
  nothingRecorded,
  runEnd,
  stalledRun,
  memoryGrowth,
  dataLoadingBottleneck,
  runtimeBottleneckRisk,
  stepTimeOutlier,
] as const;

/** A rule of this list. */
type Known = (typeof rules)[number];

/** Identifier of a rule. */
export type RuleId = Known['id'];

type KeysOf<R> = R extends Rule<string, infer T> ? T : never;

/** Name of a threshold. */
export type ThresholdName = KeysOf<Known>;

/**
 * Numbers of the rules: those of abiotic-quark and those of the further rules. What each means, its default and its
 * source are in the table of rules.
 */
export type AnalyzerThresholds = { readonly [K in ThresholdName]: number };

/** Every rule, in the order of the table. */
export const RULES: readonly Rule[] = rules as readonly unknown[] as readonly Rule[]; // a rule reads its own thresholds only

/** Every {@link RuleId}. */
export const RULE_IDS: readonly RuleId[] = rules.map(({ id }) => id);

/** Default of every threshold. */
export const DEFAULT_ANALYZER_THRESHOLDS: AnalyzerThresholds = Object.freeze(
  Object.fromEntries(
    RULES.flatMap((rule) =>
      Object.entries(rule.thresholds).map(([name, { value }]) => [name, value]),
    ),
  ),
) as AnalyzerThresholds; // Object.fromEntries forgets which names it was given

/** A rule as people read about it. */
export type RuleDescription = {
  readonly id: RuleId;
  readonly category: AlertCategory;
  /** What it finds. */
  readonly detects: string;
  /** Where the idea and the numbers come from. */
  readonly source: string;
  /** The usual cause. */
  readonly cause: string;
  /** What to try first. */
  readonly advice: string;
  /** When its finding counts while a run goes on. */
  readonly live: LiveCadence;
  /** Its numbers in {@link AnalyzerThresholds}, with their defaults. */
  readonly thresholds: readonly {
    readonly name: string;
    readonly value: number;
    readonly doc: string;
  }[];
};

/**
 * Every rule of Quark as people read about it: what it finds, its usual cause, what to try first, and its thresholds with their defaults.
 *
 * @example
 * ```js
 * import { describeRules } from 'quark-sdk/analysis';
 *
 * const plateau = describeRules().find(({ id }) => id === 'plateau');
 * console.log(plateau.category, plateau.detects);
 * for (const { name, value, doc } of plateau.thresholds) console.log(name, value, doc);
 * ```
 */
export function describeRules(): readonly RuleDescription[] {
  return rules.map(({ advice, category, cause, detects, id, live, source, thresholds }) => ({
    id,
    category,
    detects,
    source,
    cause,
    advice,
    live,
    thresholds: Object.entries(thresholds).map(([name, { doc, value }]) => ({ name, value, doc })),
  }));
}
