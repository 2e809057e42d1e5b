/** The phases of a run in memory, as records. */
import { systemClock } from '../../base/clock.ts';
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import { phaseTable, type PhaseRecord } from '../../records/phase.ts';
import { checkRoleKeys } from '../../records/run-roles.ts';
import type { Dict } from '../../schema/record.ts';
import { schemaVersionOf } from '../../schema/version.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import { analysisKernel } from '../signals/analysis-kernel.ts';
import type { FoundPhase } from '../phases/describe.ts';
import {
  checkPhaseConfig,
  type PhaseAnalyzerConfig,
  type PhaseAnalyzerSettings,
} from './phase-config.ts';
import { judgeFacts } from './facts.ts';

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

/** Where the ids and the time of phase records come from. */
export type PhaseRecordOptions = {
  /** The instant of the analysis, in UTC epoch milliseconds. Default: now. */
  readonly nowMs?: number;
  /** Makes the id of a phase. Default: from run and position, the same each time. */
  readonly createId?: (name: string) => string;
};

/**
 * The phases of a run in memory: an import, a page, a file. The same columns give the same result, however the run was cut into segments.
 *
 * @throws {QuarkError} `invalid_input` naming the setting
 * @example
 * ```js
 * import { analyzePhases, createMetricSeries, createRunColumns } from 'quark-sdk/analysis';
 *
 * const steps = Float64Array.from({ length: 500 }, (_, step) => step);
 * const loss = createMetricSeries('train/loss', { steps, values: steps.map((step) => 0.2 + Math.exp(-step / 40)) });
 * const { phases } = await analyzePhases(createRunColumns({ metrics: [loss] }));
 * for (const { displayName, stepStart, stepEnd } of phases) console.log(displayName, stepStart, stepEnd);
 * ```
 */
export async function analyzePhases(
  columns: RunColumns,
  config: PhaseAnalyzerConfig = {},
  options: PhaseRecordOptions = {},
): Promise<PhaseAnalysisResult> {
  return phasesOf(columns, checkPhaseConfig(config), await analysisKernel(), options);
}

/** The phases of columns, as records. */
export function phasesOf(
  columns: RunColumns,
  { analyzer, thresholds }: PhaseAnalyzerSettings,
  kernel: SeriesKernel,
  options: PhaseRecordOptions,
): PhaseAnalysisResult {
  const { runId } = columns.run;
  const { createId: create = (name) => `phs_${runId}_${name}` } = options;
  const nowMs = options.nowMs ?? systemClock.now();
  const timestamp = new Date(nowMs).toISOString();
  checkRoleKeys('config.roles', analyzer.roles, [...columns.metrics.keys()]);
  const facts = judgeFacts(columns, analyzer, { nowMs, phases: thresholds, kernel });
  const phases = facts.phases.map((phase, i) =>
    recordOf(phase, { runId, timestamp, id: create(String(i)) }),
  );
  return phaseResultOf(runId, timestamp, phases);
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

/** Puts a result together. */
export function phaseResultOf(
  runId: string,
  generatedAt: string,
  phases: readonly PhaseRecord[],
): PhaseAnalysisResult {
  return Object.freeze({
    runId,
    generatedAt,
    phases,
    toDict: () => ({
      schema_version: schemaVersionOf('phases'),
      generated_at: generatedAt,
      run_id: runId,
      phases: phases.map((phase) => phase.toDict()),
    }),
  });
}
