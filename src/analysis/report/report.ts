/** A run as a report for people. */
import { checkOptionNames } from '../../base/assert.ts';
import { systemClock } from '../../base/clock.ts';
import { invalidInput } from '../../base/errors.ts';
import { readRecords } from '../../read/records.ts';
import { openRun, RunReader } from '../../read/run-reader.ts';
import { healthScoreTable } from '../../records/health-score.ts';
import { settle, type AnalyzableRun } from '../columns/load-run-columns.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import { silencedAlerts, silencesOf } from '../alerts/silences.ts';
import { checkComparisonConfig } from '../compare/compare-config.ts';
import { loadRunData, runToCompare } from '../compare/run-data.ts';
import { analyzePhases } from '../evaluate/phases-of.ts';
import type { PhaseAnalyzerConfig } from '../evaluate/phase-config.ts';
import { analyzeColumns } from '../evaluate/analyze-columns.ts';
import { checkAnalyzerConfig, type AnalyzerEngineConfig } from '../evaluate/analyzer-config.ts';
import { sayJudgedWith, type JudgedWith } from '../evaluate/judged-with.ts';
import { rolesOf } from '../signals/metric-keys.ts';
import { sayRoles } from '../signals/roles/say-roles.ts';
import { analysisKernel } from '../signals/analysis-kernel.ts';
import { durationText, shortText } from '../text/number-text.ts';
import { reportHtml } from './report-html.ts';
import { reportMarkdown } from './report-markdown.ts';
import { modelOf, type ReportModel } from './report-model.ts';

/** Options of {@link report}. */
export type ReportOptions = {
  /** Heading. Default: project and id of the run. */
  readonly title?: string;
  /**
   * How alerts and scores are found in a run that nobody has analysed. Where it says how to judge, as with roles, rules or thresholds, they
   * are found anew, with the phases, unless the stored ones were found with the same.
   */
  readonly analyzer?: AnalyzerEngineConfig;
  /** The same for phases. Their `analyzer` is the one above, unless one is given here. */
  readonly phases?: PhaseAnalyzerConfig;
  /** The instant of the report, in UTC epoch milliseconds. Default: now. */
  readonly nowMs?: number;
};

/** A report. */
export type RunReport = {
  readonly runId: string;
  /** GitHub-flavoured Markdown, without pictures and without HTML. */
  readonly markdown: string;
  /** One HTML file that fetches nothing and runs no script: curves are inline SVG, colours follow the reader's choice of light or dark. */
  readonly html: string;
};

/**
 * What a run means, on one page: health, phases, alerts, curves, metrics, configuration. Alerts, scores and phases that an analysis has stored
 * are shown as they are; where there are none, where the run has gone on since, and where the options say how to judge, they are found now,
 * and not stored.
 *
 * @param source a session, a context, what `openRun` gives, or a run in memory
 * @throws {QuarkError} `invalid_input` naming the option
 * @example
 * ```js
 * import { writeFile } from 'node:fs/promises';
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { report } from 'quark-sdk/analysis';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2, 3], [0.9, 0.5, 0.4, 0.35]);
 *   const { html, markdown } = await report(session, { title: 'Digits, first try' });
 *   await writeFile('report.html', html);
 *   console.log(markdown.split('\n')[0]); // # Digits, first try
 * });
 * ```
 */
export async function report(
  source: AnalyzableRun | RunColumns,
  options: ReportOptions = {},
): Promise<RunReport> {
  checkOptionNames('options', options, ['title', 'analyzer', 'phases', 'nowMs']);
  const { analyzer = {}, nowMs = systemClock.now(), title } = options;
  const phases = { analyzer, ...options.phases };
  if (title !== undefined && typeof title !== 'string')
    throw invalidInput('options.title', title, 'text');
  const found =
    'metrics' in source
      ? await analysed(source, analyzer, phases)
      : await stored(source, analyzer, phases);
  const { columns, project } = found;
  const { run } = columns;
  const about = {
    title: title ?? (project === null ? run.runId : `${project}: ${run.runId}`),
    generatedAt: new Date(nowMs).toISOString(),
    facts: [...factsOf(columns, found.facts, nowMs), ...judgedBy(columns, analyzer)],
  };
  const silenced = silencedAlerts(found.alerts, silencesOf(columns.events), nowMs);
  const model = modelOf(columns, { ...found, silenced }, about);
  return Object.freeze({
    runId: run.runId,
    markdown: reportMarkdown(model),
    html: reportHtml(model, await analysisKernel()),
  });
}

function judgedBy(columns: RunColumns, analyzer: AnalyzerEngineConfig): ReportModel['facts'] {
  const { roles } = rolesOf(columns, checkAnalyzerConfig(analyzer));
  const said = sayRoles(roles);
  return said === '' ? [] : [['judged by', said]];
}

type Found = Pick<ReportModel, 'alerts' | 'healthScores' | 'phases'> & {
  readonly columns: RunColumns;
  readonly project: string | null;
  readonly facts: ReportModel['facts'];
};

async function analysed(
  columns: RunColumns,
  analyzer: AnalyzerEngineConfig,
  phases: PhaseAnalyzerConfig,
): Promise<Found> {
  const { alerts, healthScores, judgedWith } = analyzeColumns(columns, analyzer);
  return {
    columns,
    alerts,
    healthScores,
    phases: (await analyzePhases(columns, phases)).phases,
    project: null,
    facts: judgedWithFacts(judgedWith),
  };
}

async function stored(
  source: AnalyzableRun,
  analyzer: AnalyzerEngineConfig,
  phases: PhaseAnalyzerConfig,
): Promise<Found> {
  const { runId, store } = await settle(source);
  const reader = source instanceof RunReader ? source : await openRun(store, runId);
  const settings = { ...checkComparisonConfig({ analyzer, phases }), areRolesOptional: false };
  const data = await loadRunData(runToCompare(reader), settings, await analysisKernel());
  const scores = await readRecords(reader, healthScoreTable);
  // An earlier analysis may have been told to append: its last scores are the ones that count.
  const last = new Map(scores.records.map((score) => [score.scoreKey, score]));
  const { alerts, columns } = data;
  return {
    columns,
    alerts,
    phases: data.phases,
    // What was said of alerts since then is not in the stored scores: then they were found now.
    healthScores: data.healthScores ?? [...last.values()],
    project: reader.run.projectName,
    facts: [
      ['reason', reader.run.statusReason ?? ''],
      ['tags', reader.run.tags.join(', ')],
      ['git commit', reader.run.gitCommit ?? ''],
      ...(data.metadata.phasesAreStored
        ? [['phases', 'as stored by an earlier analysis'] as const]
        : []),
      ...judgedWithFacts(data.judgedWith),
    ],
  };
}

function judgedWithFacts(one: JudgedWith): ReportModel['facts'] {
  return [['settings', sayJudgedWith(one)]];
}

function factsOf(
  columns: RunColumns,
  more: ReportModel['facts'],
  nowMs: number,
): ReportModel['facts'] {
  const { run } = columns;
  const startedAt =
    run.hasTimes && run.startedAtMs > 0 ? new Date(run.startedAtMs).toISOString() : '';
  const end = run.endedAtMs ?? (run.isLive ? nowMs : null);
  const points = [...columns.metrics.values()].reduce((sum, { values }) => sum + values.length, 0);
  const facts: readonly (readonly [string, string])[] = [
    ['run', run.runId],
    ['status', run.isLive ? `${run.status}, live` : run.status],
    ['started', startedAt],
    ['took', startedAt === '' || end === null ? '' : durationText(end - run.startedAtMs)],
    ['steps', run.stepUnit === null ? '' : `counted in ${run.stepUnit}`],
    ['metrics', `${columns.metrics.size} with ${shortText(points)} values`],
    ...more,
    ['damaged segments', columns.damagedSegments > 0 ? String(columns.damagedSegments) : ''],
  ];
  return facts.filter(([, value]) => value !== '');
}
