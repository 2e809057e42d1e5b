/** One run as a comparison sees it: its columns, its alerts, its phases. */
import { invalidInput } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { readRecords } from '../../read/records.ts';
import { openRun, type RunReader } from '../../read/run-reader.ts';
import { alertTable, type AlertRecord } from '../../records/alert.ts';
import { healthScoreTable, type HealthScoreRecord } from '../../records/health-score.ts';
import { phaseTable, type PhaseRecord } from '../../records/phase.ts';
import type { RunRecord } from '../../records/run.ts';
import type { TableColumns, TableDefinition } from '../../schema/table.ts';
import type { RecordOf } from '../../schema/record.ts';
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import { checkAnalyzerConfig, type AnalyzerEngineConfig } from '../evaluate/analyzer-config.ts';
import {
  judgedWithDict,
  judgedWithOf,
  PHASE_SETTINGS_EVENT,
  phasesJudgedWithDict,
  readJudgedWith,
  SETTINGS_EVENT,
  settingsAt,
  type JudgedWith,
} from '../evaluate/judged-with.ts';
import { checkPhaseConfig, type PhaseAnalyzerConfig } from '../evaluate/phase-config.ts';
import type { Store } from '../../store/store.ts';
import { lastSaidMs } from '../alerts/silences.ts';
import { runInfo } from '../columns/empty-columns.ts';
import {
  readRunColumns,
  settle,
  type AnalyzableRun,
  type SegmentRun,
} from '../columns/load-run-columns.ts';
import type { RunColumns, RunInfo } from '../columns/run-columns.ts';
import { configForRun } from '../config/quark-config.ts';
import { phasesOf } from '../evaluate/phases-of.ts';
import { analyzeColumns } from '../evaluate/analyze-columns.ts';
import type { ComparisonSettings } from './compare-config.ts';
import { comparedRunRecord, type ComparedRun } from './diff-records.ts';
import { lastStep } from './metric-diff.ts';

/** A run to compare: a session, a context, what `openRun` gives, or the id of a run in the store of the primary. */
export type ComparisonTarget = AnalyzableRun | string;

/** A run as a comparison sees it. */
export type RunData = {
  readonly columns: RunColumns;
  readonly alerts: readonly AlertRecord[];
  readonly phases: readonly PhaseRecord[];
  /** Scores that were found with the alerts; null where alerts were stored. */
  readonly healthScores: readonly HealthScoreRecord[] | null;
  /** What the alerts were found with. */
  readonly judgedWith: JudgedWith;
  readonly metadata: ComparedRun;
};

/** The run of a target. @throws {QuarkError} `invalid_input` @throws {RunNotFoundError} */
export async function openTarget(
  field: string,
  target: ComparisonTarget,
  store: Store | undefined,
): Promise<RunReader> {
  if (typeof target === 'string') {
    if (store === undefined)
      throw invalidInput(
        field,
        target,
        'a session, a context or an opened run; its store is where ids are looked up',
      );
    return openRun(store, target);
  }
  const place = await settle(target);
  return openRun(place.store, place.runId);
}

/** A run that was opened, and where its segments are read from. */
export type RunToCompare = SegmentRun & {
  readonly info: RunInfo;
  readonly record: RunRecord | undefined;
};

/** What a reader has opened. */
export function runToCompare({ isLive, run, store }: RunReader): RunToCompare {
  return { store, runId: run.id, info: runInfo(run, isLive), record: run };
}

/**
 * Reads a run. What nobody has analysed yet is analysed now, and not stored; so is what was analysed before the run went on, and where
 * the settings say how to judge, what was judged with others.
 */
export async function loadRunData(
  opened: RunToCompare,
  given: ComparisonSettings,
  kernel: SeriesKernel,
): Promise<RunData> {
  const columns = await readRunColumns(opened, opened.info);
  const settings = settingsForRun(given, columns);
  const scores = await readAll(opened, healthScoreTable);
  const alerts = await readAll(opened, alertTable);
  const phases = await readAll(opened, phaseTable);
  const scoredAtMs = Date.parse(scores.at(-1)?.timestamp ?? '');
  const recordedAtMs = lastRecordedMs(columns);
  const areAlertsOfNow = scoredAtMs > lastSaidMs(columns.events) && scoredAtMs >= recordedAtMs;
  const phasedAtMs = Date.parse(phases.at(-1)?.timestamp ?? '');
  const arePhasesOfNow = phasedAtMs >= recordedAtMs;
  const alertsWith = settingsAt(columns.events, SETTINGS_EVENT, scoredAtMs);
  const phasesWith = settingsAt(columns.events, PHASE_SETTINGS_EVENT, phasedAtMs);
  const stored = {
    // An analysis leaves scores, too; alerts alone are of a watch, which does not ask every rule.
    // What was said of alerts since then is not in the scores.
    alerts: areAlertsOfNow && isJudgedSo(settings.analyzer, alertsWith) ? alerts : null,
    phases:
      arePhasesOfNow && arePhasesJudgedSo(settings.phases, phasesWith) ? lastAnalysis(phases) : [],
    judgedWith: readJudgedWith(alertsWith),
  };
  return runDataOf(columns, settings, kernel, { run: opened.record, ...stored });
}

/** Settings without roles of metrics that the run does not have, where that is wanted. */
function settingsForRun(settings: ComparisonSettings, { metrics }: RunColumns): ComparisonSettings {
  if (!settings.areRolesOptional) return settings;
  const { phases } = settings;
  const forRun = (config: AnalyzerEngineConfig) => configForRun(config, metrics.keys());
  return {
    ...settings,
    analyzer: forRun(settings.analyzer),
    phases: {
      ...phases,
      ...(phases.roles === undefined ? {} : { roles: forRun({ roles: phases.roles }).roles ?? {} }),
      analyzer: forRun(phases.analyzer ?? {}),
    },
  };
}

/** Whether stored alerts are what a configuration asks for: it asks for nothing, or for what they were found with. */
function isJudgedSo(config: AnalyzerEngineConfig, stored: JsonObject): boolean {
  if (!isAsked(config)) return true;
  // Of rules of one's own only the names are stored; a model is not.
  if (config.model !== undefined || (config.rules?.length ?? 0) > 0) return false;
  return isSame(judgedWithDict(judgedWithOf(checkAnalyzerConfig(config))), stored);
}

function arePhasesJudgedSo(config: PhaseAnalyzerConfig, stored: JsonObject): boolean {
  return !isAsked(config) || isSame(phasesJudgedWithDict(checkPhaseConfig(config)), stored);
}

/** Dictionaries of {@link judgedWithDict}, whose fields are in one order. Rules of the run itself are asked in any case. */
function isSame(asked: JsonObject, stored: JsonObject): boolean {
  const bare = (dict: JsonObject): string => JSON.stringify({ ...dict, own_rules: undefined });
  return bare(asked) === bare(stored);
}

/** Whether a configuration says how to judge. */
function isAsked(config: unknown): boolean {
  if (config === undefined) return false;
  if (Array.isArray(config)) return config.length > 0;
  if (typeof config !== 'object' || config === null) return true;
  return Object.entries(config).some(
    ([name, given]) => name !== 'replaceExistingOutputs' && isAsked(given),
  );
}

/** The metrics of a run, and nothing else. */
export function loadMetrics(opened: RunToCompare): Promise<RunColumns> {
  return readRunColumns(opened, opened.info, {
    layers: false,
    parameters: false,
    telemetry: false,
    batches: false,
    events: false,
  });
}

/** A run in memory as a comparison sees it, with alerts and phases found anew unless they are given. */
export async function runDataOf(
  columns: RunColumns,
  given: ComparisonSettings,
  kernel: SeriesKernel,
  known: {
    readonly run?: RunRecord | undefined;
    readonly alerts?: readonly AlertRecord[] | null;
    readonly phases?: readonly PhaseRecord[];
    /** What the alerts that are known were found with. */
    readonly judgedWith?: JudgedWith;
  } = {},
): Promise<RunData> {
  const settings = settingsForRun(given, columns);
  const { run } = known;
  const phasesAreStored = (known.phases?.length ?? 0) > 0;
  const steps = [...columns.metrics.values()].flatMap((series) => lastStep(series) ?? []);
  const startedAt = columns.run.startedAtMs;
  const stored = known.alerts ?? null;
  const found = stored === null ? analyzeColumns(columns, settings.analyzer) : null;
  return {
    columns,
    alerts: stored ?? found?.alerts ?? [],
    healthScores: found?.healthScores ?? null,
    judgedWith:
      found?.judgedWith ?? known.judgedWith ?? judgedWithOf(checkAnalyzerConfig(settings.analyzer)),
    phases:
      known.phases !== undefined && phasesAreStored
        ? known.phases
        : phasesOf(columns, checkPhaseConfig(settings.phases), kernel, {}).phases,
    metadata: comparedRunRecord.create({
      runId: columns.run.runId,
      status: columns.run.status,
      projectName: run?.projectName ?? null,
      tags: run?.tags ?? [],
      gitCommit: run?.gitCommit ?? null,
      startedAt: run?.startedAt ?? (startedAt > 0 ? new Date(startedAt).toISOString() : null),
      endedAt: run?.endedAt ?? null,
      metricCount: columns.metrics.size,
      stepEnd: steps.length === 0 ? null : steps.reduce((a, b) => Math.max(a, b)),
      alertsAreStored: known.alerts !== undefined && known.alerts !== null,
      phasesAreStored,
    }),
  };
}

/** When a metric was recorded last, in UTC epoch milliseconds; -Infinity where nobody knows. */
function lastRecordedMs({ metrics }: RunColumns): number {
  let last = Number.NEGATIVE_INFINITY;
  for (const { timesMs } of metrics.values())
    for (const time of timesMs) if (time > last) last = time;
  return last;
}

/** The phases of the last analysis, where several were appended: with each they begin anew. */
function lastAnalysis(phases: readonly PhaseRecord[]): readonly PhaseRecord[] {
  const restart = phases.findLastIndex(
    ({ stepStart }, i) => i > 0 && stepStart <= (phases[i - 1]?.stepStart ?? 0),
  );
  return restart < 0 ? phases : phases.slice(restart);
}

async function readAll<C extends TableColumns>(
  { runId, store }: SegmentRun,
  table: TableDefinition<C>,
): Promise<readonly RecordOf<C>[]> {
  return (await readRecords({ store, runId }, table)).records;
}
