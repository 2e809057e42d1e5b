/** What a rule is: a declaration that documentation derives from, and a pure function from columns to findings. */
import type { JsonObject } from '../../base/json.ts';
import type { AlertCategory, AlertSeverity } from '../../records/literals.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import type { Place } from './positions.ts';
import type { Signals } from './signals.ts';

/** A number of the configuration: its default and what it means. */
export type Threshold = { readonly value: number; readonly doc: string };

/** One observation behind a finding. */
export type Observation = {
  /** `metric`, `layer_summary`, `parameter_summary`, `telemetry`, `batch_diagnostic`, `event`, `configuration`. */
  readonly kind: string;
  /** A metric key, a layer, a parameter. */
  readonly source: string;
  /** In one sentence. */
  readonly summary: string;
  readonly observed?: number;
  readonly threshold?: number;
  readonly from?: Place;
  readonly to?: Place;
  readonly metadata?: JsonObject;
};

/** What a rule found. */
export type Finding = {
  readonly severity: AlertSeverity;
  /** In a few words. */
  readonly title: string;
  /** What was seen, since when and where: one sentence. */
  readonly fact: string;
  /** How sure the rule is, 0 to 1. */
  readonly confidence: number;
  /** The likely cause, instead of the rule's own. */
  readonly cause?: string;
  /** What to try first, instead of the rule's own. */
  readonly advice?: string;
  readonly from?: Place;
  readonly to?: Place;
  readonly observations: readonly Observation[];
};

/** What a rule gets to see. */
export type RuleContext<T extends string> = {
  readonly columns: RunColumns;
  readonly thresholds: { readonly [K in T]: number };
  /** Whether the absolute limits of the reference count by themselves. */
  readonly isReference: boolean;
  readonly signals: Signals;
  /** The configuration of the model that was handed in; undefined for none. */
  readonly model: unknown;
  /** The instant of the analysis, in UTC epoch milliseconds. */
  readonly nowMs: number;
};

/** A rule. */
export type Rule<I extends string = string, T extends string = string> = {
  readonly id: I;
  readonly category: AlertCategory;
  /** What the rule tells of, in a sentence. */
  readonly detects: string;
  /** Where the idea and the numbers come from. */
  readonly source: string;
  /** The likely cause, as the end of "Probably ...". */
  readonly cause: string;
  /** What to try first, as the end of "first, ...". */
  readonly advice: string;
  readonly thresholds: { readonly [K in T]: Threshold };
  readonly evaluate: (context: RuleContext<T>) => readonly Finding[];
};

/** Declares a rule. */
export function defineRule<const I extends string, T extends string>(rule: Rule<I, T>): Rule<I, T> {
  return Object.freeze(rule);
}

/** The severity of a value that is worse the larger it is; undefined below the first limit. */
export function severityAbove(
  value: number,
  warning: number,
  error: number,
  critical: number,
): AlertSeverity | undefined {
  if (value >= critical) return 'critical';
  if (value >= error) return 'error';
  return value >= warning ? 'warning' : undefined;
}

/** The second sentence of an alert: the likely cause and the first thing to try. */
export function inferenceOf(rule: Rule, finding: Finding): string {
  const { confidence } = finding;
  const how = confidence >= 0.9 ? 'Almost certainly' : confidence >= 0.7 ? 'Probably' : 'Possibly';
  return `${how} ${finding.cause ?? rule.cause}; first, ${finding.advice ?? rule.advice}.`;
}

/** A number as a sentence shows it. */
export function say(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-3)) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

/** Other layers that are affected, too. */
export function sayOthers(count: number): string {
  return count === 1 ? 'one other layer' : `${count} other layers`;
}

/** A share as a percentage. */
export function sayShare(value: number): string {
  return `${say(value * 100)} %`;
}
