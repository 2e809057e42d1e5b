/** What rules are made of: thresholds, what they are given, what they find. */
import type { JsonObject } from '../../base/json.ts';
import type { AlertCategory, AlertSeverity } from '../../records/literals.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import type { NeedName } from './needs.ts';
import type { RunPosition } from './positions.ts';
import type { Signals } from './signals.ts';

/** A number of the configuration: its default and what it means. */
export type Threshold = {
  readonly value: number;
  readonly doc: string;
  /** Bounds that hold while a run goes on and nobody knows yet how long it will be. */
  readonly live?: { readonly atLeast?: number; readonly atMost?: number };
};

/** Values of the thresholds of a rule. */
export type ThresholdValues<T extends string> = { readonly [K in T]: number };

/**
 * When the finding of a rule counts while a run goes on. `at_once`: what was found does not change when more comes. `trend`: several
 * evaluations in a row have to agree, each with more values. `whole_run`: the rule is not evaluated before the run has ended.
 */
export const LIVE_CADENCES = ['at_once', 'trend', 'whole_run'] as const;

/** One of {@link LIVE_CADENCES}. */
export type LiveCadence = (typeof LIVE_CADENCES)[number];

/** One observation behind a finding. */
export type Observation = {
  /** `metric`, `layer_summary`, `parameter_summary`, `telemetry`, `batch_diagnostic`, `event`, `configuration`. */
  readonly kind: string;
  /** A metric key, a layer, a parameter. */
  readonly source: string;
  /** In one sentence. */
  readonly summary: string;
  readonly observed?: number | undefined;
  readonly threshold?: number | undefined;
  readonly from?: RunPosition | undefined;
  readonly to?: RunPosition | undefined;
  readonly metadata?: JsonObject | undefined;
};

/** What a rule found. */
export type Finding = {
  readonly severity: AlertSeverity;
  /** In a few words. */
  readonly title: string;
  /** What was found, since when and where: one sentence. */
  readonly fact: string;
  /** How sure the rule is, 0 to 1. */
  readonly confidence: number;
  /** The likely cause, instead of the rule's own. */
  readonly cause?: string | undefined;
  /** What to try first, instead of the rule's own. */
  readonly advice?: string | undefined;
  /** The whole second sentence of the alert, instead of the one that is made of the cause and the advice. */
  readonly inference?: string | undefined;
  readonly from?: RunPosition | undefined;
  readonly to?: RunPosition | undefined;
  readonly observations: readonly Observation[];
};

/** What a rule gets to measure. */
export type RuleContext<T extends string> = {
  readonly columns: RunColumns;
  readonly thresholds: ThresholdValues<T>;
  /** Whether the absolute limits of abiotic-quark count by themselves. */
  readonly isAbsolute: boolean;
  readonly signals: Signals;
  /** The configuration of the model that was handed in; undefined for none. */
  readonly model: unknown;
  /** The instant of the analysis, in UTC epoch milliseconds. */
  readonly nowMs: number;
  /**
   * Says that the rule could not judge the run, or a part of it, and why, in a sentence: the result lists it, and nobody takes the
   * silence of the rule for health.
   */
  readonly unjudged: (why: string) => void;
};

/** What has to be there before a rule can be asked. */
export type RuleNeeds<T extends string = string> = {
  /** Any of these is enough. */
  readonly anyOf: readonly NeedName[];
  /** How many values of it are enough, or the threshold that says so; default one. */
  readonly points?: T | number;
};

/** What rules and their documentation have in common. */
export type RuleHead<I extends string, T extends string> = {
  readonly id: I;
  readonly category: AlertCategory;
  /** What it has to be asked of. A rule that does not say so counts as asked of any run. */
  readonly needs?: RuleNeeds<NoInfer<T>>;
  /** What the rule finds, in a sentence. */
  readonly detects: string;
  /** Where the idea and the numbers come from. */
  readonly source: string;
  /** The likely cause, as the end of "Probably ...". */
  readonly cause: string;
  /** What to try first, as the end of "first, ...". */
  readonly advice: string;
  readonly live: LiveCadence;
  readonly thresholds: { readonly [K in T]: Threshold };
};

/** A rule. */
export type Rule<I extends string = string, T extends string = string> = RuleHead<I, T> & {
  readonly evaluate: (context: RuleContext<T>) => readonly Finding[];
};

/** What a rule of one's own finds: a {@link Finding} in which only the severity, the title and the fact are needed. */
export type OwnFinding = Pick<Finding, 'severity' | 'title' | 'fact'> &
  Partial<Omit<Finding, 'severity' | 'title' | 'fact'>>;

/** A rule of one's own, as {@link defineRule} takes it. What is left out has the default that is named. */
export type OwnRule<I extends string = string, T extends string = string> = {
  /** A lowercase letter, then lowercase letters, digits, "_", ".", "/" or "-"; no rule of Quark has it. */
  readonly id: I;
  /** Which health score it belongs to. Default `optimization`. */
  readonly category?: AlertCategory;
  /** What the rule finds, in a sentence. Default: a sentence with its id. */
  readonly detects?: string;
  /** Where the idea and the numbers come from. */
  readonly source?: string;
  /** The likely cause, as the end of "Probably ...". Default: the cause is named as unknown. */
  readonly cause?: string;
  /** What to try first, as the end of "first, ...". */
  readonly advice?: string;
  /** When a finding counts while a run goes on. Default `at_once`. */
  readonly live?: LiveCadence;
  /** The numbers of the rule, each with its default and a sentence; `thresholds` of a configuration changes them. Default none. */
  readonly thresholds?: { readonly [K in T]: Threshold };
  /**
   * Reads the run and returns what it found; an empty list for nothing. It gets what Quark's rules get, must not change it, and
   * must return at once: a promise is refused.
   */
  readonly evaluate: (context: RuleContext<NoInfer<T>>) => readonly OwnFinding[];
};
