/**
 * What a rule is: a declaration that documentation derives from, with a pure function that measures a run and a template that
 * makes findings of what was measured. A measurement decides nothing and says nothing; the levels decide how severe it is;
 * the sentences are functions of the measured values.
 */
import type { JsonObject } from '../../base/json.ts';
import {
  ALERT_SEVERITIES,
  type AlertCategory,
  type AlertSeverity,
} from '../../records/literals.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import { checkOwnRule } from './check-rule.ts';
import type { RunPosition, RunSpan } from './positions.ts';
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

/** The severities of a finding and the condition of each: the most severe that holds counts, and without any there is no finding. */
export type Levels<M, T extends string> = {
  readonly [S in AlertSeverity]?: (measured: M, thresholds: ThresholdValues<T>) => boolean;
};

/** A part of a finding: the same always, or by what was measured. */
type Part<M, T extends string, P> = P | ((measured: M, thresholds: ThresholdValues<T>) => P);

/** How a finding is made of what was measured. */
export type FindingTemplate<M, T extends string> = {
  /** One severity, or several with their conditions. */
  readonly levels: AlertSeverity | Levels<M, T>;
  readonly title: Part<M, T, string>;
  readonly fact: Part<M, T, string>;
  readonly confidence: Part<M, T, number>;
  /** Instead of the cause of the rule; undefined for that. */
  readonly cause?: Part<M, T, string | undefined>;
  /** Instead of the advice of the rule; undefined for that. */
  readonly advice?: Part<M, T, string | undefined>;
  /** Default: the span of the first observation. */
  readonly span?: (measured: M) => RunSpan;
  readonly evidence: (measured: M, thresholds: ThresholdValues<T>) => readonly Observation[];
};

/** What rules and their documentation have in common. */
type RuleHead<I extends string, T extends string> = {
  readonly id: I;
  readonly category: AlertCategory;
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

/** A rule with one kind of finding. */
type RuleOfOneKind<I extends string, T extends string, M> = RuleHead<I, T> & {
  readonly measure: (context: RuleContext<T>) => readonly M[];
  readonly finding: FindingTemplate<M, NoInfer<T>>;
};

/** A rule with several kinds of findings, each with its template. */
type RuleOfKinds<I extends string, T extends string, M extends { kind: string }> = RuleHead<
  I,
  T
> & {
  readonly measure: (context: RuleContext<T>) => readonly M[];
  readonly findings: {
    readonly [K in M['kind']]: FindingTemplate<Extract<M, { kind: K }>, NoInfer<T>>;
  };
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

/**
 * Declares a rule: one of one's own with `evaluate`, or, as Quark declares its rules, with `measure` and the template of the
 * finding. Pass it as `new AnalyzerEngine(session, { rules: [rule] })`.
 *
 * @throws {QuarkError} `invalid_input` naming the part that is wrong, for a rule with `evaluate`
 * @example
 * const gap = defineRule({
 *   id: 'validation_gap',
 *   thresholds: { maxGap: { value: 0.5, doc: 'Most that validation may lie above training.' } },
 *   evaluate({ columns, thresholds }) {
 *     const last = (key) => columns.metrics.get(key)?.values.at(-1) ?? NaN;
 *     const gap = last('val/loss') - last('train/loss');
 *     if (!(gap > thresholds.maxGap)) return [];
 *     return [{ severity: 'warning', title: 'A wide gap', fact: `Validation lies ${gap} above training.` }];
 *   },
 * });
 */
export function defineRule<const I extends string, T extends string = never>(
  declaration: OwnRule<I, T>,
): Rule<I, T>;
export function defineRule<const I extends string, T extends string, M>(
  declaration: RuleOfOneKind<I, T, M>,
): Rule<I, T>;
export function defineRule<I extends string, T extends string, M>(
  declaration: OwnRule<I, T> | RuleOfOneKind<I, T, M>,
): Rule<I, T> {
  if (!('measure' in declaration)) return checkOwnRule('rule', declaration);
  const { finding, measure, ...head } = declaration;
  const evaluate = (context: RuleContext<T>): readonly Finding[] =>
    measure(context).flatMap((one) => findingOf(finding, one, context.thresholds) ?? []);
  return Object.freeze({ ...head, evaluate });
}

/** Declares a rule whose measurements are of several kinds. */
export function defineRuleOfKinds<
  const I extends string,
  T extends string,
  M extends { readonly kind: string },
>(declaration: RuleOfKinds<I, T, M>): Rule<I, T> {
  const { findings, measure, ...head } = declaration;
  const templates: object = findings;
  const evaluate = (context: RuleContext<T>): readonly Finding[] =>
    measure(context).flatMap((one) => {
      const template = Reflect.get(templates, one.kind) as FindingTemplate<M, T>; // that of its kind
      return findingOf(template, one, context.thresholds) ?? [];
    });
  return Object.freeze({ ...head, evaluate });
}

/** The finding of a template; undefined where what was measured reaches no level. */
export function findingOf<M, T extends string>(
  template: FindingTemplate<M, T>,
  measured: M,
  thresholds: ThresholdValues<T>,
): Finding | undefined {
  const { levels } = template;
  const severity =
    typeof levels === 'string'
      ? levels
      : ALERT_SEVERITIES.findLast((one) => levels[one]?.(measured, thresholds));
  if (severity === undefined) return undefined;
  const part = <P extends string | number | undefined>(given: Part<M, T, P>): P =>
    typeof given === 'function' ? given(measured, thresholds) : given;
  const observations = template.evidence(measured, thresholds);
  const { from, to } = template.span?.(measured) ?? observations[0] ?? {};
  return {
    severity,
    title: part(template.title),
    fact: part(template.fact),
    confidence: part(template.confidence),
    cause: part(template.cause),
    advice: part(template.advice),
    from,
    to,
    observations,
  };
}

/** The second sentence of an alert: the likely cause and the first thing to try. */
export function inferenceOf(rule: Rule, finding: Finding): string {
  if (finding.inference !== undefined) return finding.inference;
  const { confidence } = finding;
  const how = confidence >= 0.9 ? 'Almost certainly' : confidence >= 0.7 ? 'Probably' : 'Possibly';
  return `${how} ${finding.cause ?? rule.cause}; first, ${finding.advice ?? rule.advice}.`;
}

/** The most severe first; of equals in their order. */
export function mostSevereFirst<S extends { readonly severity: AlertSeverity }>(
  list: readonly S[],
): readonly S[] {
  const rank = ({ severity }: S): number => ALERT_SEVERITIES.indexOf(severity);
  return list.toSorted((a, b) => rank(b) - rank(a));
}
