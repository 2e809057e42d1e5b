/** The phase analyzer over a stored run. */
import { literal, optional, readOptions } from '../../base/options.ts';
import type { RunReader } from '../../read/run-reader.ts';
import { PHASE_NAMES, type PhaseName } from '../../records/literals.ts';
import { phaseTable, type PhaseRecord } from '../../records/phase.ts';
import { checkRoleKeys, rolesOfRun } from '../../records/run-roles.ts';
import type { AnalyzableRun, WantedColumns } from '../columns/load-run-columns.ts';
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
import { roleKeysOf } from '../signals/metric-keys.ts';
import { roleCandidates } from '../signals/roles/loss-roles.ts';
import { PHASE_SETTINGS_EVENT, phasesJudgedWithDict } from '../evaluate/judged-with.ts';
import { phaseResultOf, type PhaseAnalysisResult } from '../evaluate/phases-of.ts';
import { storeSettings } from './store-event.ts';
import {
  jobRunOfColumns,
  jobRunOfReader,
  openForJob,
  type StoredJobRun,
} from '../worker/job-runs.ts';
import { runAnalysis } from '../worker/run-analysis.ts';
import {
  checkPhaseConfig,
  type PhaseAnalyzerConfig,
  type PhaseAnalyzerSettings,
} from '../evaluate/phase-config.ts';

/** Options of {@link PhaseAnalyzer.analyze}. */
export type AnalyzePhasesOptions = AnalysisOptions;

/** Which phases to read. All conditions are joined by "and". */
export type PhaseFilter = StepFilter & { readonly phaseName?: PhaseName | undefined };

/**
 * Divides a run into phases, and keeps them with the run. Steps of the records are epochs where the losses of the run have epochs only; the
 * metadata of each evidence says which (`axis`), and how sure the phase is (`confidence`, 0 to 1, see {@link FoundPhase}).
 *
 * It may be called again while the run goes on: it reads the losses and accuracies only, and takes some 50 ns a point. See {@link findPhases}
 * for how phases are found, and for what may still change.
 *
 * @example
 * ```js
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { PhaseAnalyzer } from 'quark-sdk/analysis';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const metrics = new MetricsLogger(session);
 *   for (let step = 0; step < 500; step++) metrics.log('train/loss', 0.2 + Math.exp(-step / 40), { step });
 *   const { phases } = await new PhaseAnalyzer(session).analyze();
 *   for (const { phaseName, stepStart, stepEnd } of phases) console.log(phaseName, stepStart, stepEnd);
 * });
 * ```
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
    const nowMs = clock.now();
    const { run, store, wanted } = await this.#toAnalyze(checked.columns);
    const job = { kind: 'phases', runs: [run], wanted, settings: this.#settings, nowMs } as const;
    const result = await runAnalysis(job, [store], checked);
    if (!checked.persist) return result;
    const destination = { ...this.#run, replaces: checked.replaceExisting, nowMs };
    const used = phasesJudgedWithDict(this.#settings);
    await storeSettings(this.#run, PHASE_SETTINGS_EVENT, used, nowMs);
    const phases = await storeRecords(phaseTable, result.phases, destination);
    return phaseResultOf(runId, result.generatedAt, phases);
  }

  async #toAnalyze(
    columns: RunColumns | undefined,
  ): Promise<StoredJobRun & { readonly wanted: WantedColumns }> {
    if (columns !== undefined) return { ...jobRunOfColumns(this.#source, columns), wanted: {} };
    const reader = await openForJob(this.#source);
    return { ...jobRunOfReader(reader), wanted: await this.#wanted(reader) };
  }

  /** The losses and accuracies. */
  async #wanted(reader: RunReader): Promise<WantedColumns> {
    const all = await reader.metricKeys();
    const { analyzer } = this.#settings;
    const { roles } = analyzer;
    checkRoleKeys('config.roles', roles, all);
    const asked = new Set([
      ...Object.values(rolesOfRun(reader.run.environment)),
      ...Object.values(roles),
    ]);
    const wanted = new Set([
      ...roleCandidates(all, roleKeysOf(analyzer)),
      ...all.filter((key) => asked.has(key)),
    ]);
    return {
      metrics: [...wanted],
      layers: false,
      parameters: false,
      telemetry: false,
      batches: false,
      events: false,
    };
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
