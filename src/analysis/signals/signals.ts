/** What several rules need of a run, worked out once. */
import type {
  LayerSeries,
  MetricSeries,
  ParameterSeries,
  RunColumns,
} from '../columns/run-columns.ts';
import {
  findMetric,
  rolesOf,
  stepTimes,
  type MetricKeys,
  type RoleSettings,
} from './metric-keys.ts';
import { isInput } from './layer-facts.ts';
import {
  levelOf,
  lowestLevel,
  profileOf,
  levelSize,
  leastSignedRise,
  type Profile,
} from './profile.ts';
import type { Roles, SeriesPair } from './roles/role-types.ts';
import type { RoleSet } from './roles/roles.ts';
import { asShares } from './roles/units.ts';

/** How a loss went, in units of its own. */
export type LossCourse = {
  readonly profile: Profile;
  /** Level at the start: the median of the first twentieth, at least one block. */
  readonly start: number;
  /** Level at the end: the median of the last tenth, at least one block. */
  readonly end: number;
  /** Lowest level and the block it is first reached in. */
  readonly best: number;
  readonly bestBlock: number;
  /** What was gained at best, from the start: never below 0. */
  readonly improvement: number;
};

type Accuracies = {
  readonly train: MetricSeries | undefined;
  readonly val: MetricSeries | undefined;
};

/** Standard deviations of the levels by which a gain is beyond doubt. */
const CLEAR_GAIN = 10;

/** What rules read of a run: its curves in their roles, and what is computed from them once for all rules. */
export class Signals {
  readonly #columns: RunColumns;
  readonly #keys: MetricKeys;
  readonly #profiles = new Map<MetricSeries, Profile>();
  readonly #roleSet: RoleSet;
  #shares: Accuracies | undefined;
  #turned: MetricSeries | undefined;

  constructor(columns: RunColumns, keys: RoleSettings) {
    this.#columns = columns;
    this.#keys = keys;
    this.#roleSet = rolesOf(columns, keys);
  }

  /** Which metric plays which role. */
  get roles(): Roles {
    return this.#roleSet.roles;
  }

  /** What an agent is given: a run that has it is judged by it, as the losses of an agent need not fall. */
  get reward(): MetricSeries | undefined {
    return this.roles.reward?.series;
  }

  /**
   * The training losses that must fall: none where there is a reward, or where two networks are trained against each other: what each loses
   * says how far the other is ahead.
   */
  get judgedLosses(): readonly MetricSeries[] {
    return this.reward !== undefined || this.isAdversarial ? [] : this.trainLosses;
  }

  /** Whether networks are trained against each other. */
  get isAdversarial(): boolean {
    return this.#roleSet.isAdversarial;
  }

  /** What shows whether the run learned, smaller being better: the training losses, or the reward with its sign turned. */
  get judged(): readonly MetricSeries[] {
    if (this.reward === undefined) return this.trainLosses;
    this.#turned ??= { ...this.reward, values: this.reward.values.map((value) => -value) };
    return [this.#turned];
  }

  /** The training losses: the whole one alone where it is there. */
  get trainLosses(): readonly MetricSeries[] {
    return this.#roleSet.trainLosses;
  }

  /** Validation losses with the training loss each is compared with. */
  get lossPairs(): readonly SeriesPair[] {
    return this.#roleSet.pairs;
  }

  /** The accuracy of training in shares of 1. */
  get trainAccuracy(): MetricSeries | undefined {
    return this.#accuracies().train;
  }

  /** The accuracy of validation in shares of 1. */
  get valAccuracy(): MetricSeries | undefined {
    return this.#accuracies().val;
  }

  /** The norm of all gradients together. */
  get gradientNorm(): MetricSeries | undefined {
    return findMetric(this.#columns, this.#keys.gradientNormMetricKeys);
  }

  get learningRate(): MetricSeries | undefined {
    return findMetric(this.#columns, this.#keys.learningRateMetricKeys);
  }

  /** The loss of training batches as the model sees them in evaluation mode. */
  get trainEvalLoss(): MetricSeries | undefined {
    return findMetric(this.#columns, this.#keys.trainEvalLossMetricKeys);
  }

  get stepTime(): MetricSeries | undefined {
    return stepTimes(this.#columns, this.#keys);
  }

  get dataTime(): MetricSeries | undefined {
    return findMetric(this.#columns, this.#keys.dataTimeMetricKeys);
  }

  get computeTime(): MetricSeries | undefined {
    return findMetric(this.#columns, this.#keys.computeTimeMetricKeys);
  }

  /** Summaries of training passes of one kind, in the order of the forward pass; what the model is given is no layer of it. */
  layers(summaryType: LayerSeries['summaryType']): readonly LayerSeries[] {
    return this.#columns.layers.filter(
      (layer) =>
        layer.summaryType === summaryType &&
        !layer.isEvaluation &&
        layer.callIndex === 0 &&
        !isInput(layer),
    );
  }

  /** Weights, in the order of the model; biases and what else there is are left out. */
  get weights(): readonly ParameterSeries[] {
    return this.#columns.parameters.filter(({ parameterRole }) => parameterRole === 'weight');
  }

  /** Elements of the bias of each module that has one. */
  get biasCounts(): ReadonlyMap<string, number> {
    return new Map(
      this.#columns.parameters
        .filter(({ parameterRole }) => parameterRole === 'bias')
        .map(({ elementCount, moduleName }) => [moduleName, elementCount[0] ?? Number.NaN]),
    );
  }

  #accuracies(): Accuracies {
    const { trainAccuracy: train, valAccuracy: val } = this.roles;
    this.#shares ??= {
      train: train === null ? undefined : asShares(train.series, train.unit),
      val: val === null ? undefined : asShares(val.series, val.unit),
    };
    return this.#shares;
  }

  profile(series: MetricSeries): Profile {
    const known = this.#profiles.get(series);
    if (known !== undefined) return known;
    const own = profileOf(series);
    // A reward has no zero that means something, whatever its sign.
    const isReward = series === this.reward || series === this.#turned;
    const profile = isReward ? { ...own, isSigned: true } : own;
    this.#profiles.set(series, profile);
    return profile;
  }

  /** How a loss went; undefined without a finite value. */
  course(series: MetricSeries): LossCourse | undefined {
    const profile = this.profile(series);
    if (profile.levels.length === 0) return undefined;
    const start = levelOf(profile, 0, 0.05);
    const { block, level } = lowestLevel(profile);
    return {
      profile,
      start,
      end: levelOf(profile, 0.9, 1),
      best: level,
      bestBlock: block,
      improvement: Math.max(0, start - level),
    };
  }

  /** Highest accuracy that was kept: the largest of the level of training and of validation at the end; NaN without one. */
  get finalAccuracy(): number {
    let best = Number.NaN;
    for (const series of [this.trainAccuracy, this.valAccuracy]) {
      if (series === undefined) continue;
      const profile = this.profile(series);
      if (profile.levels.length === 0) continue;
      const level = levelOf(profile, 0.9, 1);
      if (level > best || Number.isNaN(best)) best = level;
    }
    return best;
  }

  /**
   * Whether the task looks solved, so that gradients and updates are small because nothing is left to learn: accuracy of
   * 0.97 and more, or a loss that has lost 95 % of its start. One that goes below zero has no floor that is known: there what it gained has to
   * stand out of its noise, and to be left to 95 % at the end.
   */
  get isSolved(): boolean {
    if (this.finalAccuracy >= 0.97) return true;
    return this.judged.some((series) => {
      const course = this.course(series);
      if (course === undefined || !(course.improvement > 0)) return false;
      const { end, improvement, profile, start } = course;
      return profile.isSigned
        ? improvement > CLEAR_GAIN * profile.levelNoise && start - end >= 0.95 * improvement
        : end <= 0.05 * start;
    });
  }

  /**
   * Share of the start that the training loss has lost by its end, in units of its level or, where it goes below zero, of its
   * range: 0 did not learn, 1 learned all there is. NaN without a loss. Of several losses the largest. Of a reward, what it has gained.
   */
  get learnedShare(): number {
    let share = Number.NaN;
    for (const series of this.judged) {
      const course = this.course(series);
      if (course === undefined) continue;
      const { end, profile, start } = course;
      const own = (start - end) / (levelSize(profile, start) || 1);
      if (own > share || Number.isNaN(share)) share = own;
    }
    return share;
  }

  /**
   * Share of its very first value that the training loss has lost by its end, of several losses the largest: where the first updates
   * throw the loss up, the level of the first part of the run is no start. 1 where losses are not positive; NaN without a loss.
   */
  get learnedSinceFirst(): number {
    let share = Number.NaN;
    for (const series of this.judged) {
      const course = this.course(series);
      const first = course?.profile.values[0];
      if (course === undefined || first === undefined) continue;
      const own = first > 0 && !course.profile.isSigned ? (first - course.end) / first : 1;
      if (own > share || Number.isNaN(share)) share = own;
    }
    return share;
  }

  /** Whether the training loss got worse, or became non-finite, and stayed so. */
  get isHarmed(): boolean {
    return this.judged.some((series) => {
      const course = this.course(series);
      if (course === undefined) return true;
      if (!Number.isFinite(series.values.at(-1) ?? 0)) return true;
      const { best, end, improvement, profile } = course;
      const rise = end - best;
      const least = profile.isSigned
        ? leastSignedRise(profile, improvement)
        : 0.25 * Math.abs(best);
      return rise > least && rise > 0.2 * improvement && rise > 6 * profile.levelNoise;
    });
  }
}
