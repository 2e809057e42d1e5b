/** What several rules need of a run, worked out once. */
import type {
  LayerSeries,
  MetricSeries,
  ParameterSeries,
  RunColumns,
} from '../columns/run-columns.ts';
import { findMetric, rolesOf, stepTimes, type MetricKeys } from './metric-keys.ts';
import { isInput } from './layer-facts.ts';
import { levelOf, lowestLevel, profileOf, type Profile } from './profile.ts';
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

export class Signals {
  readonly #columns: RunColumns;
  readonly #keys: MetricKeys;
  readonly #profiles = new Map<MetricSeries, Profile>();
  readonly #roleSet: RoleSet;
  #shares: Accuracies | undefined;

  constructor(columns: RunColumns, keys: MetricKeys) {
    this.#columns = columns;
    this.#keys = keys;
    this.#roleSet = rolesOf(columns, keys);
  }

  /** Which metric plays which role. */
  get roles(): Roles {
    return this.#roleSet.roles;
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
    const profile = profileOf(series);
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
   * 0.97 and more, or a loss that has lost 95 % of its start (of what it could, where it falls below zero).
   */
  get isSolved(): boolean {
    if (this.finalAccuracy >= 0.97) return true;
    return this.trainLosses.some((series) => {
      const course = this.course(series);
      return (
        course !== undefined &&
        course.start > 0 &&
        course.end <= 0.05 * course.start &&
        course.improvement > 0
      );
    });
  }

  /**
   * Share of the start that the training loss has lost by its end, in units of its level or, where it crosses zero, of its
   * range: 0 did not learn, 1 learned all there is. NaN without a loss. Of several losses the largest.
   */
  get learnedShare(): number {
    let share = Number.NaN;
    for (const series of this.trainLosses) {
      const course = this.course(series);
      if (course === undefined) continue;
      const { end, profile, start } = course;
      const scale = Math.max(Math.abs(start), ...absolute(profile.levels)) || 1;
      const own = (start - end) / (start > 0 && end >= 0 ? start || 1 : scale);
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
    for (const series of this.trainLosses) {
      const course = this.course(series);
      const first = course?.profile.values[0];
      if (course === undefined || first === undefined) continue;
      const own = first > 0 && course.end >= 0 ? (first - course.end) / first : 1;
      if (own > share || Number.isNaN(share)) share = own;
    }
    return share;
  }

  /** Whether the training loss got worse, or became non-finite, and stayed so. */
  get isHarmed(): boolean {
    return this.trainLosses.some((series) => {
      const course = this.course(series);
      if (course === undefined) return true;
      if (!Number.isFinite(series.values.at(-1) ?? 0)) return true;
      const { best, end, improvement, profile } = course;
      const rise = end - best;
      return (
        rise > 0.25 * Math.abs(best) && rise > 0.2 * improvement && rise > 6 * profile.levelNoise
      );
    });
  }
}

function* absolute(levels: Float64Array): Generator<number> {
  for (const level of levels) yield Math.abs(level);
}
