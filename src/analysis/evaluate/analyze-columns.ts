/** From columns to alerts and scores. Pure: nothing is read or written. */
import { systemClock } from '../../base/clock.ts';
import { alertTable, type AlertRecord } from '../../records/alert.ts';
import type { AlertCategory } from '../../records/literals.ts';
import { evidenceRecord, type EvidenceRecord } from '../../records/evidence.ts';
import { healthScoreTable, type HealthScoreRecord } from '../../records/health-score.ts';
import { checkRoleKeys } from '../../records/run-roles.ts';
import type { Dict } from '../../schema/record.ts';
import type { Roles } from '../signals/roles/role-types.ts';
import { rolesDict } from '../signals/roles/say-roles.ts';
import { schemaVersionOf } from '../../schema/version.ts';
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
import type { OwnRules, RuleProblem } from '../own/own-rules.ts';
import { withStoredRules } from '../own/stored-rules.ts';
import { coverageDict, type Coverage } from './coverage.ts';
import { judgeFacts, type JudgedFacts } from './facts.ts';
import { judgedWithDict, judgedWithOf, type JudgedWith } from './judged-with.ts';

/** What an analysis found. */
export type AnalyzerResult = {
  readonly runId: string;
  /** ISO 8601. */
  readonly generatedAt: string;
  /** Causes before consequences, so that the first is where to begin; remarks (`info`) last. */
  readonly alerts: readonly AlertRecord[];
  /** Overall, optimization, representation, generalization, runtime. A score is null where nothing was there to judge by. */
  readonly healthScores: readonly HealthScoreRecord[];
  /** Alerts that were silenced or acknowledged, and why: they are among the alerts, and those that were silenced lower no score. */
  readonly silenced: readonly SilencedAlert[];
  /** Rules of one's own that could not be judged; empty where all could. */
  readonly problems: readonly RuleProblem[];
  /** Which questions were asked of the run, on what data, and which could not be asked. */
  readonly coverage: Coverage;
  /** Which metric plays which role, and how sure that is. */
  readonly roles: Roles;
  /** What it was judged with, where that is not the defaults; see `sayJudgedWith`. */
  readonly judgedWith: JudgedWith;
  /** The result as a plain dictionary with snake_case names. */
  readonly toDict: () => Dict;
};

/** Where the ids and the time of records come from. */
export type AnalyzeOptions = {
  /** The instant of the analysis, in UTC epoch milliseconds. Default: now. */
  readonly nowMs?: number;
  /** Whether the rules that are stored with the run are left out. Default false: they are asked besides. */
  readonly onlyGivenRules?: boolean;
  /** Makes the ids of records. Default: from rule and position, the same each time. */
  readonly createId?: (prefix: 'alr' | 'hsc', name: string) => string;
};

/**
 * Analyses a run in memory, such as an imported one; `AnalyzerEngine` analyses those of a store. The same columns give the same result, however the run was cut
 * into segments.
 *
 * @throws {QuarkError} `invalid_input` naming the setting
 * @example
 * ```js
 * import { analyzeColumns, createMetricSeries, createRunColumns } from 'quark-sdk/analysis';
 *
 * const values = Float64Array.from({ length: 100 }, (_, step) => (step < 60 ? 1 / (step + 1) : Number.NaN));
 * const loss = createMetricSeries('train/loss', { steps: values.map((_, step) => step), values });
 * const { alerts, healthScores } = analyzeColumns(createRunColumns({ metrics: [loss] }), { disabledRules: ['plateau'] });
 * for (const { ruleId, severity } of alerts) console.log(ruleId, severity); // non_finite critical
 * console.log(healthScores[0].scoreKey, healthScores[0].score);
 * ```
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
  checkRoleKeys('config.roles', settings.roles, [...columns.metrics.keys()]);
  const nowMs = options.nowMs ?? systemClock.now();
  const { refused, rules } = rulesOfRun(columns, settings, options.onlyGivenRules === true);
  const judged = judgeFacts(columns, { ...settings, rules }, { nowMs });
  const facts = { ...judged, problems: [...refused, ...judged.problems] };
  return resultOfFacts(columns, facts, { ...settings, rules }, { ...options, nowMs });
}

/** The rules that a run is asked, those that are stored with it included. */
export function rulesOfRun(
  { events }: RunColumns,
  { rules }: AnalyzerSettings,
  onlyGiven: boolean,
): { readonly rules: OwnRules; readonly refused: readonly RuleProblem[] } {
  const refused: RuleProblem[] = [];
  if (onlyGiven) return { rules, refused };
  return { rules: withStoredRules(rules, events, (one) => refused.push(one)), refused };
}

/** Alerts and scores, told from the facts of a run. */
export function resultOfFacts(
  columns: RunColumns,
  facts: JudgedFacts,
  settings: AnalyzerSettings,
  options: AnalyzeOptions & { readonly nowMs: number },
): AnalyzerResult {
  const { createId = (prefix, name) => `${prefix}_${columns.run.runId}_${name}` } = options;
  const timestamp = new Date(options.nowMs).toISOString();
  const { runId } = columns.run;
  const { coverage, found, problems, roles, unhealthy } = facts;
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
  const silenced = silencedAlerts(alerts, silencesOf(columns.events), options.nowMs);
  const audible = new Set(audibleAlerts(alerts, silenced));
  let count = 0;
  const isAbsolute = settings.compatibility === 'abiotic-quark';
  const counting = all.filter(({ alert }) => audible.has(alert));
  // What somebody has silenced keeps no score down.
  const isHeard = (category: AlertCategory): boolean =>
    counting.some(({ alert }) => alert.category === category);
  const scores = healthScores(
    {
      alerts: counting,
      silenced: alerts.filter((alert) => !audible.has(alert)),
      coverage,
      unhealthy: new Set([...unhealthy].filter(isHeard)),
      isAbsolute,
    },
    { runId, timestamp, createId: () => createId('hsc', String(count++)) },
  );
  return resultOf({
    runId,
    generatedAt: timestamp,
    alerts,
    healthScores: scores,
    coverage,
    roles,
    problems,
    silenced,
    judgedWith: judgedWithOf(settings),
    isAbsolute,
  });
}

function rankOfAlert({ alert }: RatedAlert): number {
  return alert.severity === 'info' ? 1 : 0;
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

/**
 * What an alert or a health score was found by, as records: the source, the observed value, the threshold, the steps.
 *
 * @example
 * ```js
 * import { analyzeColumns, createMetricSeries, createRunColumns, evidenceOf } from 'quark-sdk/analysis';
 *
 * const values = Float64Array.from({ length: 100 }, (_, step) => (step < 60 ? 1 / (step + 1) : Number.NaN));
 * const loss = createMetricSeries('train/loss', { steps: values.map((_, step) => step), values });
 * const [alert] = analyzeColumns(createRunColumns({ metrics: [loss] })).alerts;
 * for (const { source, stepStart, summary } of evidenceOf(alert)) console.log(source, stepStart, summary);
 * ```
 */
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

/** Puts a result together; that of the rules of abiotic-quark alone has no coverage in its dictionary. */
export function resultOf({
  isAbsolute,
  ...parts
}: Omit<AnalyzerResult, 'toDict'> & { readonly isAbsolute: boolean }): AnalyzerResult {
  return Object.freeze({
    ...parts,
    toDict: () => ({
      schema_version: schemaVersionOf(healthScoreTable.table),
      generated_at: parts.generatedAt,
      run_id: parts.runId,
      alerts: parts.alerts.map((alert) => alert.toDict()),
      health_scores: parts.healthScores.map((score) => score.toDict()),
      ...(isAbsolute
        ? {}
        : {
            coverage: coverageDict(parts.coverage),
            roles: rolesDict(parts.roles),
            ...unlessEmpty('judged_with', judgedWithDict(parts.judgedWith)),
          }),
      ...when('silenced', parts.silenced.map(silencedDict)),
      ...when('problems', parts.problems.map(problemDict)),
    }),
  });
}

/** A part of a result that most results do not have. */
function when(name: string, list: readonly Dict[]): Dict {
  return list.length === 0 ? {} : { [name]: list };
}

function unlessEmpty(name: string, dict: Dict): Dict {
  return Object.keys(dict).length === 0 ? {} : { [name]: dict };
}

function silencedDict({ alert, silence }: SilencedAlert): Dict {
  const { by, kind, reason, until } = silence;
  return { alert_id: alert.id, rule_id: alert.ruleId, kind, reason, by, until };
}

function problemDict({ message, reason, ruleId }: RuleProblem): Dict {
  return { rule_id: ruleId, reason, message };
}
