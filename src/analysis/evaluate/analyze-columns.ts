/** From columns to alerts and scores. Pure: nothing is read or written. */
import { systemClock } from '../../base/clock.ts';
import { alertTable, type AlertRecord } from '../../records/alert.ts';
import { evidenceRecord, type EvidenceRecord } from '../../records/evidence.ts';
import type { HealthScoreRecord } from '../../records/health-score.ts';
import type { Dict } from '../../schema/record.ts';
import { CURRENT_SCHEMA_VERSION } from '../../schema/version.ts';
import {
  audibleAlerts,
  silencedAlerts,
  silencesOf,
  type SilencedAlert,
} from '../alerts/silences.ts';
import { userAlerts } from '../alerts/user-alerts.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import { healthScores, type RatedAlert } from './health-scores.ts';
import {
  checkAnalyzerConfig,
  type AnalyzerEngineConfig,
  type AnalyzerSettings,
} from './analyzer-config.ts';
import type { RunPosition } from '../signals/positions.ts';
import { inferenceOf } from '../signals/rule.ts';
import { type Finding, type Observation, type Rule } from '../signals/rule-types.ts';
import { askRule, rulesWith, type RuleProblem } from '../own/own-rules.ts';
import { Signals } from '../signals/signals.ts';

/** What an analysis found. */
export type AnalyzerResult = {
  readonly runId: string;
  /** ISO 8601. */
  readonly generatedAt: string;
  /** Causes before consequences, so that the first is where to begin; remarks (`info`) last. */
  readonly alerts: readonly AlertRecord[];
  /** Overall, optimization, representation, generalization, runtime. */
  readonly healthScores: readonly HealthScoreRecord[];
  /** Alerts that were silenced or acknowledged, and why: they are among the alerts, and those that were silenced lower no score. */
  readonly silenced: readonly SilencedAlert[];
  /** Rules of one's own that could not be judged; empty where all could. */
  readonly problems: readonly RuleProblem[];
  /** The result as a plain dictionary with snake_case names. */
  readonly toDict: () => Dict;
};

/** Where the ids and the time of records come from. */
export type AnalyzeOptions = {
  /** The instant of the analysis, in UTC epoch milliseconds. Default: now. */
  readonly nowMs?: number;
  /** Makes the ids of records. Default: from rule and position, the same each time. */
  readonly createId?: (prefix: 'alr' | 'hsc', name: string) => string;
};

/**
 * Analyses a run in memory: an import, a page, a file. The same columns give the same result, however the run was cut
 * into segments.
 *
 * @throws {QuarkError} `invalid_input` naming the setting
 */
export function analyzeColumns(
  columns: RunColumns,
  config: AnalyzerEngineConfig = {},
  options: AnalyzeOptions = {},
): AnalyzerResult {
  return analyzeWith(columns, checkAnalyzerConfig(config), options);
}

/** The same with settings that were checked. */
export function analyzeWith(
  columns: RunColumns,
  settings: AnalyzerSettings,
  options: AnalyzeOptions = {},
): AnalyzerResult {
  const { createId = (prefix, name) => `${prefix}_${columns.run.runId}_${name}` } = options;
  const nowMs = options.nowMs ?? systemClock.now();
  const timestamp = new Date(nowMs).toISOString();
  const { runId } = columns.run;
  const problems: RuleProblem[] = [];
  const found = findAll(columns, settings, nowMs, (problem) => problems.push(problem));
  const rated = found.map(({ finding, rule }, i): RatedAlert => ({
    confidence: finding.confidence,
    alert: alertOf(rule, finding, {
      runId,
      timestamp,
      id: createId('alr', `${rule.id}_${i}`),
    }),
  }));
  const raised = userAlerts(columns).map((alert) => ({ alert, confidence: 1 }));
  const all = [...rated, ...raised].toSorted((a, b) => rankOfAlert(a) - rankOfAlert(b));
  const alerts = all.map(({ alert }) => alert);
  const silenced = silencedAlerts(alerts, silencesOf(columns.events), nowMs);
  const audible = new Set(audibleAlerts(alerts, silenced));
  let count = 0;
  const counting = all.filter(({ alert }) => audible.has(alert));
  const scores = healthScores(counting, {
    runId,
    timestamp,
    createId: () => createId('hsc', String(count++)),
  });
  return resultOf(runId, timestamp, { alerts, healthScores: scores, problems, silenced });
}

/** A finding and the rule it is of. */
export type Found = { readonly rule: Rule; readonly finding: Finding };

/** The findings of all rules that are on: causes before consequences, remarks last. */
export function findAll(
  columns: RunColumns,
  settings: AnalyzerSettings,
  nowMs: number,
  report: (problem: RuleProblem) => void,
): readonly Found[] {
  const steps = findStepwise(columns, settings, nowMs, report);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** The same rule by rule, for those who must not hold others up. */
export function* findStepwise(
  columns: RunColumns,
  settings: AnalyzerSettings,
  nowMs: number,
  report: (problem: RuleProblem) => void,
): Generator<undefined, readonly Found[]> {
  const signals = new Signals(columns, settings);
  const context = {
    columns,
    thresholds: settings.thresholds,
    isAbsolute: settings.compatibility === 'abiotic-quark',
    signals,
    model: settings.model,
    nowMs,
  };
  const found: Found[] = [];
  for (const rule of rulesWith(settings.rules)) {
    if (settings.disabledRules.has(rule.id)) continue;
    for (const finding of askRule(rule, context, report))
      found.push({ rule, finding: withModules(finding, columns) });
    yield;
  }
  return found.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/** Remarks come after what is wrong; within each, the order is that of the rules. */
function rankOf({ finding }: Found): number {
  return finding.severity === 'info' ? 1 : 0;
}

function rankOfAlert({ alert }: RatedAlert): number {
  return alert.severity === 'info' ? 1 : 0;
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

/** A finding as a record. */
export function alertOf(
  rule: Rule,
  finding: Finding,
  {
    id,
    runId,
    timestamp,
  }: { readonly id: string; readonly runId: string; readonly timestamp: string },
): AlertRecord {
  const inference = inferenceOf(rule, finding);
  return alertTable.create({
    runId,
    sequence: null,
    timestamp,
    id,
    ruleId: rule.id,
    category: rule.category,
    severity: finding.severity,
    title: finding.title,
    summary: `${finding.fact} ${inference}`,
    fact: finding.fact,
    inference,
    stepStart: finding.from?.step ?? null,
    stepEnd: finding.to?.step ?? null,
    evidence: finding.observations.map((observation) =>
      evidenceOfObservation(observation, finding.confidence).toDict(),
    ),
  });
}

/** The evidence of an alert or of a health score as records. */
export function evidenceOf(record: Pick<AlertRecord, 'evidence'>): readonly EvidenceRecord[] {
  const list: readonly unknown[] = Array.isArray(record.evidence) ? record.evidence : [];
  return list.map((dict) => evidenceRecord.fromDict(dict as Dict)); // written by evidenceRecord itself
}

function evidenceOfObservation(observation: Observation, confidence: number): EvidenceRecord {
  const { from, kind, metadata, observed, source, summary, threshold, to } = observation;
  return evidenceRecord.create({
    kind,
    source,
    summary,
    observedValue: finiteOrNull(observed),
    thresholdValue: finiteOrNull(threshold),
    stepStart: from?.step ?? null,
    stepEnd: to?.step ?? null,
    metadata: { confidence, ...epochs(from, to), ...metadata },
  });
}

function epochs(
  from: RunPosition | undefined,
  to: RunPosition | undefined,
): Record<string, number> {
  const start = from?.epoch;
  const end = to?.epoch;
  return {
    ...(start === null || start === undefined ? {} : { epoch_start: start }),
    ...(end === null || end === undefined ? {} : { epoch_end: end }),
  };
}

function finiteOrNull(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}

/** Puts a result together. */
export function resultOf(
  runId: string,
  generatedAt: string,
  found: Pick<AnalyzerResult, 'alerts' | 'healthScores' | 'problems' | 'silenced'>,
): AnalyzerResult {
  const { alerts, healthScores: scores, problems, silenced } = found;
  return Object.freeze({
    runId,
    generatedAt,
    alerts,
    healthScores: scores,
    silenced,
    problems,
    toDict: () => ({
      schema_version: CURRENT_SCHEMA_VERSION,
      generated_at: generatedAt,
      run_id: runId,
      alerts: alerts.map((alert) => alert.toDict()),
      health_scores: scores.map((score) => score.toDict()),
      ...when('silenced', silenced.map(silencedDict)),
      ...when('problems', problems.map(problemDict)),
    }),
  });
}

/** A part of a result that most results do not have. */
function when(name: string, list: readonly Dict[]): Dict {
  return list.length === 0 ? {} : { [name]: list };
}

function silencedDict({ alert, silence }: SilencedAlert): Dict {
  const { by, kind, reason, until } = silence;
  return { alert_id: alert.id, rule_id: alert.ruleId, kind, reason, by, until };
}

function problemDict({ message, reason, ruleId }: RuleProblem): Dict {
  return { rule_id: ruleId, reason, message };
}
