/** What a role is, and what plays it. */
import type { RoleName } from '../../../records/run-roles.ts';
import type { MetricSeries } from '../../columns/run-columns.ts';

/**
 * What the values of a metric are. `ratio`: shares, 0 to 1. `percent`: the same, 0 to 100. `nonnegative`: a loss that is never below zero, so
 * that shares of it mean something. `signed`: values on both sides of zero or below it; only differences mean something.
 */
export type RoleUnit = 'ratio' | 'percent' | 'nonnegative' | 'signed';

/**
 * How sure a role is. `asked`: somebody said so. `named`: it has the usual name. `paired`: it has a partner whose name differs in a word for
 * training or validation only. `inferred`: the likeliest of what there is.
 */
export type Sureness = 'asked' | 'named' | 'paired' | 'inferred';

/** A metric, or several as one, that plays a role. */
export type RoleChoice = {
  /** The metric as it was recorded; a sum or a mean where there are several `keys`. */
  readonly series: MetricSeries;
  /** The metrics it was made of. */
  readonly keys: readonly string[];
  readonly sureness: Sureness;
  readonly unit: RoleUnit;
  /** Why, as the end of a sentence: "it has the usual name". */
  readonly why: string;
};

/** A metric that plays no role and might. */
export type RoleCandidate = {
  readonly key: string;
  readonly role: 'loss' | 'accuracy' | 'reward';
  /** Why it might, as the end of a sentence. */
  readonly why: string;
};

/** What a run is judged by; null where it has nothing for the role. */
export type Roles = { readonly [R in RoleName]: RoleChoice | null } & {
  /** Metrics that play no role and might, the likeliest first. */
  readonly candidates: readonly RoleCandidate[];
};

/** A training series and the validation series it is compared with; smaller is better in both. */
export type SeriesPair = { readonly train: MetricSeries; readonly validation: MetricSeries };

/** Keys that play a role together, and why. */
export type Chosen = {
  readonly keys: readonly string[];
  readonly how: 'sum' | 'mean';
  readonly sureness: Sureness;
  readonly why: string;
};
