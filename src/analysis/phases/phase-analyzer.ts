/** The phase analyzer over a stored run. */
import { systemClock } from '../../base/clock.ts';
import { createId } from '../../base/ids.ts';
import { literal, optional, readOptions } from '../../base/options.ts';
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import { openRun } from '../../read/run-reader.ts';
import { PHASE_NAMES, type PhaseName } from '../../records/literals.ts';
import { phaseTable, type PhaseRecord } from '../../records/phase.ts';
import type { Dict } from '../../schema/record.ts';
import { CURRENT_SCHEMA_VERSION } from '../../schema/version.ts';
import { loadRunColumns, settle, type AnalyzableRun } from '../columns/load-run-columns.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import {
  checkAnalysisOptions,
  readResults,
  stepRules,
  analyzedRunOf,
  storeRecords,
  withinSteps,
  type AnalysisOptions,
  type StepFilter,
  type AnalyzedRun,
} from '../evaluate/stored-results.ts';
import { analysisKernel } from '../signals/analysis-kernel.ts';
import { findRoleSeries, roleCandidates } from '../signals/roles/loss-roles.ts';
import type { FoundPhase } from './describe.ts';
import { findPhasesWith } from './find-phases.ts';
import {
  checkPhaseConfig,
  type PhaseAnalyzerConfig,
  type PhaseAnalyzerSettings,
} from './thresholds.ts';

/** What a phase analysis found. */
export type PhaseAnalysisResult = {
  readonly runId: string;
  /** ISO 8601. */
  readonly generatedAt: string;
  /** In order, without gap or overlap. Empty for a run without losses and accuracies. */
  readonly phases: readonly PhaseRecord[];
  /** The result as a plain dictionary with snake_case names. */
  readonly toDict: () => Dict;
};

/** Options of {@link PhaseAnalyzer.analyze}. */
export type AnalyzePhasesOptions = AnalysisOptions;

/** Which phases to read. All conditions are joined by "and". */
export type PhaseFilter = StepFilter & { readonly phaseName?: PhaseName | undefined };

/** Where the ids and the time of phase records come from. */
export type PhaseRecordOptions = {
  /** The instant of the analysis, in UTC epoch milliseconds. Default: now. */
  readonly nowMs?: number;
  /** Makes the id of a phase. Default: from run and position, the same each time. */
  readonly createId?: (name: string) => string;
};

/**
 * Divides a run into phases, and keeps them with the run. Steps of the records are epochs where the losses of the run have epochs only; the
 * metadata of each evidence says which (`axis`), and how sure the phase is (`confidence`, 0 to 1, see {@link FoundPhase}).
 *
 * It may be called again while the run goes on: it reads the losses and accuracies only, and takes some 50 ns a point. See {@link findPhases}
 * for how phases are found, and for what may still change.
 */
export class PhaseAnalyzer {
  readonly #source: AnalyzableRun;
  readonly #run: AnalyzedRun;
  readonly #settings: PhaseAnalyzerSettings;

  /**
   * @param session a session, a context made by one, or a run opened with `openRun`
   * @throws {QuarkError} `invalid_input` naming the setting
   */
  constructor(session: AnalyzableRun, config: PhaseAnalyzerConfig = {}) {
    this.#source = session;
    this.#run = analyzedRunOf(session);
    this.#settings = checkPhaseConfig(config);
  }

  /**
   * Finds the phases of what the run has so far; what the session has buffered is made durable first, unless `columns` are given.
   *
   * @throws {QuarkError} `invalid_input` naming the option
   * @throws {SessionStoreError} `read_only` among others; pass `persist: false` for a store that cannot be written
   */
  async analyze(options: AnalyzePhasesOptions = {}): Promise<PhaseAnalysisResult> {
    const { clock, runId } = this.#run;
    const checked = checkAnalysisOptions(options, this.#settings.replaceExistingOutputs, runId);
    const columns = checked.columns ?? (await this.#read());
    const nowMs = clock.now();
    const result = phasesOf(columns, this.#settings, await analysisKernel(), {
      nowMs,
      createId: () => createId('phs', nowMs),
    });
    if (!checked.persist) return result;
    const destination = { ...this.#run, replaces: checked.replaceExisting, nowMs };
    const phases = await storeRecords(phaseTable, result.phases, destination);
    return resultOf(runId, result.generatedAt, phases);
  }

  /** The losses and accuracies. */
  async #read(): Promise<RunColumns> {
    const { runId, store } = await settle(this.#source);
    const keys = roleCandidates(
      await (await openRun(store, runId)).metricKeys(),
      this.#settings.keys,
    );
    return loadRunColumns(this.#source, {
      metrics: keys,
      layers: false,
      parameters: false,
      telemetry: false,
      batches: false,
      events: false,
    });
  }

  /**
   * Phases of the run in the order they were persisted, as the last analyses left them.
   *
   * @throws {QuarkError} `invalid_input` naming the filter
   */
  async readPhases(filter: PhaseFilter = {}): Promise<readonly PhaseRecord[]> {
    const rules = { phaseName: optional(literal(PHASE_NAMES)), ...stepRules };
    const { phaseName, ...steps } = readOptions('filter', filter, rules, '');
    return withinSteps(await readResults(this.#run, phaseTable, { phaseName }), steps);
  }
}

/**
 * The phases of a run in memory: an import, a page, a file. The same columns give the same result, however the run was cut into segments.
 *
 * @throws {QuarkError} `invalid_input` naming the setting
 */
export async function analyzePhases(
  columns: RunColumns,
  config: PhaseAnalyzerConfig = {},
  options: PhaseRecordOptions = {},
): Promise<PhaseAnalysisResult> {
  return phasesOf(columns, checkPhaseConfig(config), await analysisKernel(), options);
}

function phasesOf(
  columns: RunColumns,
  { keys, thresholds }: PhaseAnalyzerSettings,
  kernel: SeriesKernel,
  options: PhaseRecordOptions,
): PhaseAnalysisResult {
  const { runId } = columns.run;
  const { createId: create = (name) => `phs_${runId}_${name}` } = options;
  const timestamp = new Date(options.nowMs ?? systemClock.now()).toISOString();
  const found = findPhasesWith(findRoleSeries(columns.metrics, keys), thresholds, kernel);
  const phases = found.map((phase, i) =>
    recordOf(phase, { runId, timestamp, id: create(String(i)) }),
  );
  return resultOf(runId, timestamp, phases);
}

function recordOf(
  phase: FoundPhase,
  place: { readonly id: string; readonly runId: string; readonly timestamp: string },
): PhaseRecord {
  const { displayName, end, evidence, phaseName, start, summary } = phase;
  return phaseTable.create({
    ...place,
    sequence: null,
    phaseName,
    displayName,
    summary,
    stepStart: Math.floor(start),
    stepEnd: Math.floor(end),
    evidence: evidence.map((one) => one.toDict()),
  });
}

function resultOf(
  runId: string,
  generatedAt: string,
  phases: readonly PhaseRecord[],
): PhaseAnalysisResult {
  return Object.freeze({
    runId,
    generatedAt,
    phases,
    toDict: () => ({
      schema_version: CURRENT_SCHEMA_VERSION,
      generated_at: generatedAt,
      run_id: runId,
      phases: phases.map((phase) => phase.toDict()),
    }),
  });
}
