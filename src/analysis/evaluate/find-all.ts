/** Asks every rule of a run. */
import type { RunColumns } from '../columns/run-columns.ts';
import { askRule, rulesWith, type RuleProblem } from '../own/own-rules.ts';
import type { Finding, Observation, Rule } from '../signals/rule-types.ts';
import { Signals } from '../signals/signals.ts';
import type { AnalyzerSettings } from './analyzer-config.ts';

/** A finding and the rule it is of. */
export type Found = { readonly rule: Rule; readonly finding: Finding };

/** What a generator returns, once all of its steps are done. */
export function lastOf<T>(steps: Generator<unknown, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/**
 * The findings of all rules that are on: causes before consequences, remarks last. Yields, after each rule, the share of the rules that were
 * asked, 0 to 1.
 */
export function* findStepwise(
  columns: RunColumns,
  settings: AnalyzerSettings,
  nowMs: number,
  report: (problem: RuleProblem) => void,
  signals: Signals = new Signals(columns, settings),
): Generator<number, readonly Found[]> {
  const context = {
    columns,
    thresholds: settings.thresholds,
    isAbsolute: settings.compatibility === 'abiotic-quark',
    signals,
    model: settings.model,
    nowMs,
  };
  const found: Found[] = [];
  const rules = rulesWith(settings.rules);
  for (const [i, rule] of rules.entries()) {
    if (settings.disabledRules.has(rule.id)) continue;
    for (const finding of askRule(rule, context, report))
      found.push({ rule, finding: withModules(finding, columns) });
    yield (i + 1) / rules.length;
  }
  return inRuleOrder(found, settings);
}

/** Causes before consequences, as the rules are; remarks last. */
export function inRuleOrder(
  found: readonly Found[],
  { rules }: Pick<AnalyzerSettings, 'rules'>,
): readonly Found[] {
  const positions = new Map(rulesWith(rules).map(({ id }, at) => [id, at]));
  const positionOf = ({ rule }: Found): number => positions.get(rule.id) ?? positions.size;
  return found.toSorted((a, b) => rankOf(a) - rankOf(b) || positionOf(a) - positionOf(b));
}

/** Remarks come after what is wrong; within each, the order is that of the rules. */
function rankOf({ finding }: Found): number {
  return finding.severity === 'info' ? 1 : 0;
}

/** Names the layer in evidence about a layer or a parameter, as `module_name`. */
function withModules(finding: Finding, { parameters }: RunColumns): Finding {
  const moduleOf = ({ kind, source }: Observation): string | undefined => {
    if (kind === 'layer_summary') return source;
    if (kind !== 'parameter_summary') return undefined;
    return parameters.find(({ parameterName }) => parameterName === source)?.moduleName;
  };
  const observations = finding.observations.map((observation) => {
    const name = moduleOf(observation);
    return name === undefined
      ? observation
      : { ...observation, metadata: { module_name: name, ...observation.metadata } };
  });
  return { ...finding, observations };
}
