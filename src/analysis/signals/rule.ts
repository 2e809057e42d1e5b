/**
 * What a rule is: a declaration that documentation derives from, with a pure function that measures a run and a template that
 * makes findings of what was measured. A measurement decides nothing and says nothing; the levels decide how severe it is;
 * the sentences are functions of the measured values.
 */
import { ALERT_SEVERITIES, type AlertSeverity } from '../../records/literals.ts';
import { checkOwnRule } from './check-rule.ts';
import type { RunSpan } from './positions.ts';
import type {
  Finding,
  Observation,
  OwnRule,
  Rule,
  RuleContext,
  RuleHead,
  ThresholdValues,
} from './rule-types.ts';

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

/** A rule with one kind of finding. */
export type RuleOfOneKind<I extends string, T extends string, M> = RuleHead<I, T> & {
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

/**
 * Declares a rule: one of one's own with `evaluate`, or, as Quark declares its rules, with `measure` and the template of the
 * finding. Pass it as `new AnalyzerEngine(session, { rules: [rule] })`.
 *
 * @throws {QuarkError} `invalid_input` naming the part that is wrong, for a rule with `evaluate`
 * @example
 * ```js
 * import { analyzeColumns, createMetricSeries, createRunColumns, defineRule } from 'quark-sdk/analysis';
 *
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
 * const lastOf = { 'train/loss': 0.25, 'val/loss': 1 };
 * const metrics = Object.entries(lastOf).map(([key, value]) => createMetricSeries(key, { steps: [9], values: [value] }));
 * const { alerts } = analyzeColumns(createRunColumns({ metrics }), { rules: [gap] });
 * console.log(alerts.find(({ ruleId }) => ruleId === 'validation_gap').title); // A wide gap
 * ```
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
