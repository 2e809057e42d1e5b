/** The analyses that are worth a worker, as jobs: one function does them in a worker and on the calling thread. */
import { createId } from '../../base/ids.ts';
import type { RunRecord } from '../../records/run.ts';
import { checkRoleKeys } from '../../records/run-roles.ts';
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import type { SegmentSource } from '../../store/store.ts';
import { readRunColumns, type WantedColumns } from '../columns/load-run-columns.ts';
import type { RunColumns, RunInfo } from '../columns/run-columns.ts';
import type { ComparisonSettings } from '../compare/compare-config.ts';
import {
  comparisonOf,
  comparisonResult,
  type RunComparisonResult,
} from '../compare/compare-runs.ts';
import { loadMetrics, loadRunData, type RunToCompare } from '../compare/run-data.ts';
import {
  groupComparison,
  groupsOf,
  type GroupComparison,
  type RunLabels,
} from '../compare/seed-groups.ts';
import {
  resultOf,
  resultOfFacts,
  type AnalyzerResult,
  rulesOfRun,
} from '../evaluate/analyze-columns.ts';
import type { AnalyzerSettings } from '../evaluate/analyzer-config.ts';
import { judgeInSteps } from '../evaluate/facts.ts';
import { phaseResultOf, phasesOf, type PhaseAnalysisResult } from '../evaluate/phases-of.ts';
import type { PhaseAnalyzerSettings } from '../evaluate/phase-config.ts';

/** What a job is given of a run: what the store says of it, and its columns where the caller has read them. */
export type JobRun = {
  readonly info: RunInfo;
  /** Left out where columns are given. */
  readonly record?: RunRecord | undefined;
  readonly columns?: RunColumns | undefined;
};

/** Everything but where the runs are read from. */
export type AnalysisJob =
  | {
      readonly kind: 'alerts';
      readonly runs: readonly JobRun[];
      readonly settings: AnalyzerSettings;
      readonly nowMs: number;
      /** Whether the rules that are stored with the run are left out. */
      readonly onlyGivenRules: boolean;
    }
  | {
      readonly kind: 'phases';
      readonly runs: readonly JobRun[];
      readonly wanted: WantedColumns;
      readonly settings: PhaseAnalyzerSettings;
      readonly nowMs: number;
    }
  | {
      readonly kind: 'compare';
      readonly runs: readonly JobRun[];
      readonly settings: ComparisonSettings;
      readonly isBaseline: boolean;
    }
  | {
      readonly kind: 'groups';
      readonly runs: readonly JobRun[];
      readonly settings: ComparisonSettings;
    };

/** What each kind of job results in. */
type Results = {
  readonly alerts: AnalyzerResult;
  readonly phases: PhaseAnalysisResult;
  readonly compare: RunComparisonResult;
  readonly groups: GroupComparison;
};

/** What a job results in. */
export type JobResult<J extends AnalysisJob> = Results[J['kind']];

/** What a job tells and asks for on its way. */
export type JobHooks = {
  /** What medians and change points are computed with. */
  readonly kernel: SeriesKernel;
  /** Lets everything else have its turn; left out where there is nothing else. */
  readonly turn?: (() => Promise<void>) | undefined;
  /** Called with the share of the rules that were asked, or of the runs that were read, 0 to 1. */
  readonly onShare?: ((share: number) => void) | undefined;
};

/** Does a job. @param sources where the segments of each run are read from, in the order of the runs */
export async function doJob(
  job: AnalysisJob,
  sources: readonly SegmentSource[],
  hooks: JobHooks,
): Promise<Results[keyof Results]> {
  const runs = job.runs.map((run, i) => toRead(run, sources[i]));
  const { kernel } = hooks;
  switch (job.kind) {
    case 'alerts':
      return alertsOf(job, await columnsOf(job.runs, runs), hooks);
    case 'phases': {
      const columns = await columnsOf(job.runs, runs, job.wanted);
      const createPhaseId = (): string => createId('phs', job.nowMs);
      const options = { nowMs: job.nowMs, createId: createPhaseId };
      return phasesOf(columns, job.settings, kernel, options);
    }
    case 'compare': {
      const [primary, reference] = await eachRun(runs, hooks, (run) =>
        loadRunData(run, job.settings, kernel),
      );
      if (primary === undefined || reference === undefined)
        throw new Error('Two runs are compared.');
      return comparisonOf(primary, reference, job.settings, kernel, job.isBaseline);
    }
    case 'groups':
      return groupsOf(await eachRun(runs, hooks, loadMetrics), job.settings, kernel, labelsOf(job));
  }
}

/** What runs are grouped by besides their configuration. */
function labelsOf({ runs }: Extract<AnalysisJob, { readonly kind: 'groups' }>): RunLabels {
  return new Map(
    runs.flatMap(({ record }) => {
      if (record === undefined) return [];
      const { groups, id, jobType, tags } = record;
      return [[id, { groups, jobType, tags }] as const];
    }),
  );
}

/** A result that came as a message, with its methods. */
export function revived(job: AnalysisJob, value: unknown): Results[keyof Results] {
  // Bytes become types: the other side did the same job.
  switch (job.kind) {
    case 'alerts': {
      const isAbsolute = job.settings.compatibility === 'abiotic-quark';
      return resultOf({ ...(value as AnalyzerResult), isAbsolute });
    }
    case 'phases': {
      const { generatedAt, phases, runId } = value as PhaseAnalysisResult;
      return phaseResultOf(runId, generatedAt, phases);
    }
    case 'compare':
      return comparisonResult(value as RunComparisonResult);
    case 'groups':
      return groupComparison(value as GroupComparison);
  }
}

async function alertsOf(
  { nowMs, onlyGivenRules, settings }: Extract<AnalysisJob, { kind: 'alerts' }>,
  columns: RunColumns,
  { kernel, onShare, turn }: JobHooks,
): Promise<AnalyzerResult> {
  checkRoleKeys('config.roles', settings.roles, [...columns.metrics.keys()]);
  const { refused, rules } = rulesOfRun(columns, settings, onlyGivenRules);
  const steps = judgeInSteps(columns, { ...settings, rules }, { nowMs, kernel });
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) {
      const options = { nowMs, createId: (prefix: 'alr' | 'hsc') => createId(prefix, nowMs) };
      const facts = { ...value, problems: [...refused, ...value.problems] };
      return resultOfFacts(columns, facts, { ...settings, rules }, options);
    }
    onShare?.(value);
    await turn?.();
  }
}

async function columnsOf(
  [run]: readonly JobRun[],
  [source]: readonly RunToCompare[],
  wanted?: WantedColumns,
): Promise<RunColumns> {
  if (run?.columns !== undefined) return run.columns;
  if (source === undefined) throw new Error('A job has a run.');
  return readRunColumns(source, source.info, wanted);
}

async function eachRun<T>(
  runs: readonly RunToCompare[],
  { onShare, turn }: JobHooks,
  load: (run: RunToCompare) => Promise<T>,
): Promise<readonly T[]> {
  const loaded: T[] = [];
  for (const run of runs) {
    loaded.push(await load(run));
    onShare?.(loaded.length / runs.length);
    await turn?.();
  }
  return loaded;
}

function toRead({ info, record }: JobRun, store: SegmentSource | undefined): RunToCompare {
  return { info, record, runId: info.runId, store: store ?? NOTHING };
}

/** For a run whose columns are given. */
const NOTHING: SegmentSource = { listSegments: async () => [], readSegments: async () => [] };
