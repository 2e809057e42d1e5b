/** What a report says, before it is Markdown or HTML. */
import type { JsonValue } from '../../base/json.ts';
import type { AlertRecord } from '../../records/alert.ts';
import type { HealthScoreRecord } from '../../records/health-score.ts';
import { ALERT_SEVERITIES, type AlertSeverity } from '../../records/literals.ts';
import type { PhaseRecord } from '../../records/phase.ts';
import { audibleAlerts, type SilencedAlert } from '../alerts/silences.ts';
import { findHardBatches, type HardBatches } from '../batches/hard-batches.ts';
import { tabulateHardBatches, type HardBatchTable } from '../batches/tabulate.ts';
import { axisOf, type MetricSeries, type RunColumns } from '../columns/run-columns.ts';
import { flatSettings } from '../compare/config-diff.ts';
import type { MetricDirection } from '../compare/diff-records.ts';
import { directionOf } from '../compare/metric-diff.ts';
import { inOrderOfInterest } from '../compare/metric-order.ts';
import { findRoleSeries } from '../signals/roles/loss-roles.ts';
import type { Plot } from './report-plot.ts';

/** One metric in a line. */
export type MetricFacts = {
  readonly key: string;
  readonly axis: 'step' | 'epoch';
  readonly count: number;
  readonly nonFiniteCount: number;
  readonly first: number | null;
  readonly last: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly direction: MetricDirection | null;
  readonly best: number | null;
  /** Step or epoch of the best value. */
  readonly bestAt: number | null;
};

/** What is known of a run when a report is written. */
export type ReportModel = {
  readonly title: string;
  /** ISO 8601. */
  readonly generatedAt: string;
  /** The run in two sentences. */
  readonly verdict: string;
  /** Names and values, for people. */
  readonly facts: readonly (readonly [string, string])[];
  readonly settings: readonly (readonly [string, JsonValue])[];
  readonly healthScores: readonly HealthScoreRecord[];
  readonly phases: readonly PhaseRecord[];
  /** What the steps of phases count. */
  readonly phaseAxis: 'step' | 'epoch';
  /** In the order of the analysis: causes before consequences, remarks last. */
  readonly alerts: readonly AlertRecord[];
  /** Alerts that were silenced or acknowledged; those that were silenced are not among the alerts. */
  readonly silenced: readonly SilencedAlert[];
  /** What the batches tell; empty where none stands out or none were recorded. */
  readonly dataTables: readonly HardBatchTable[];
  readonly metrics: readonly MetricFacts[];
  readonly plots: readonly Plot[];
  /** Metrics that have no plot, as there are too many. */
  readonly unplottedCount: number;
};

/** Plots of a report, so that the file of a run with thousands of metrics can be opened. */
const MAX_PLOTS = 40;

/** Gathers what the report says. */
export function modelOf(
  columns: RunColumns,
  found: Pick<ReportModel, 'alerts' | 'healthScores' | 'phases' | 'silenced'>,
  about: Pick<ReportModel, 'title' | 'generatedAt' | 'facts'>,
): ReportModel {
  const { silenced } = found;
  const alerts = audibleAlerts(found.alerts, silenced);
  const series = inOrderOfInterest(columns.metrics.keys()).flatMap(
    (key) => columns.metrics.get(key) ?? [],
  );
  const metrics = series.map(factsOf);
  const data = columns.batches.rowCount > 0 ? findHardBatches(columns) : undefined;
  const phaseAxis = axisOfPhases(found.phases);
  const { plots, unplottedCount } = plotsOf(
    columns.metrics,
    series,
    found.phases,
    alerts,
    phaseAxis,
  );
  return {
    ...about,
    healthScores: found.healthScores,
    phases: found.phases,
    alerts,
    silenced,
    dataTables: data === undefined ? [] : tabulateHardBatches(data),
    verdict: `${verdictOf(found.phases, alerts, found.healthScores, metrics)}${sayHardSamples(data)}`,
    settings: [...flatSettings(columns.run.config)],
    phaseAxis,
    metrics,
    plots,
    unplottedCount,
  };
}

function factsOf(series: MetricSeries): MetricFacts {
  const direction = directionOf(series.key);
  const places = axisOf(series);
  let [min, max] = [Infinity, -Infinity];
  let [first, last]: (number | null)[] = [null, null];
  let best = -1;
  let nonFiniteCount = 0;
  for (let i = 0; i < series.values.length; i++) {
    const value = series.values[i] ?? Number.NaN;
    if (!Number.isFinite(value)) {
      nonFiniteCount++;
      continue;
    }
    first ??= value;
    last = value;
    const isBetter = direction === 'lower' ? value < min : value > max;
    if (direction !== null && (best < 0 || isBetter)) best = i;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return {
    key: series.key,
    axis: series.x,
    count: series.values.length,
    nonFiniteCount,
    first: first ?? null,
    last: last ?? null,
    min: min === Infinity ? null : min,
    max: max === -Infinity ? null : max,
    direction,
    best: best < 0 ? null : (series.values[best] ?? null),
    bestAt: best < 0 ? null : (places[best] ?? null),
  };
}

/** Phases count epochs where their losses have nothing else; their evidence says so. */
function axisOfPhases(phases: readonly PhaseRecord[]): 'step' | 'epoch' {
  return JSON.stringify(phases[0]?.evidence ?? null).includes('"axis":"epoch"') ? 'epoch' : 'step';
}

function plotsOf(
  metrics: RunColumns['metrics'],
  ordered: readonly MetricSeries[],
  phases: readonly PhaseRecord[],
  alerts: readonly AlertRecord[],
  phaseAxis: 'step' | 'epoch',
): { readonly plots: readonly Plot[]; readonly unplottedCount: number } {
  const roles = findRoleSeries(metrics);
  const pairs = [
    ['Loss', [roles.trainLoss, roles.valLoss]],
    ['Accuracy', [roles.trainAccuracy, roles.valAccuracy]],
  ] as const;
  const shown = new Set<string>();
  const groups = pairs.flatMap(([title, series]) => {
    const list = series.flatMap((one) => one ?? []);
    // Sums of several losses are shown, and their parts as well.
    for (const { key } of list) shown.add(key);
    const [first] = list;
    const together = list.filter(({ x }) => x === first?.x);
    const alone = list.filter(({ x }) => x !== first?.x);
    return first === undefined
      ? []
      : [{ title, list: together }, ...alone.map((one) => ({ title: one.key, list: [one] }))];
  });
  const others = ordered.filter(({ key }) => !shown.has(key));
  const all = [...groups, ...others.map((one) => ({ title: one.key, list: [one] }))];
  const plots = all.slice(0, MAX_PLOTS).map(({ list, title }): Plot => {
    const axis = list[0]?.x ?? 'step';
    return {
      title,
      axis,
      series: list.map((one) => ({ label: one.key, positions: axisOf(one), values: one.values })),
      bands:
        axis === phaseAxis
          ? phases.map(({ displayName, stepEnd, stepStart }) => ({
              name: `${displayName} (${axis} ${stepStart} to ${stepEnd})`,
              start: stepStart,
              end: stepEnd,
            }))
          : [],
      marks: axis === 'step' ? marksOf(alerts, list) : [],
    };
  });
  return { plots, unplottedCount: all.length - plots.length };
}

function marksOf(alerts: readonly AlertRecord[], list: readonly MetricSeries[]): Plot['marks'] {
  const from = list[0]?.steps[0] ?? 0;
  const to = list[0]?.steps.at(-1) ?? 0;
  return alerts.flatMap(({ severity, stepStart, title }) =>
    stepStart !== null && stepStart >= from && stepStart <= to && severity !== 'info'
      ? [{ position: stepStart, label: `${severity}: ${title} (step ${stepStart})` }]
      : [],
  );
}

function sayHardSamples(data: HardBatches | undefined): string {
  const count = data?.samples.length ?? 0;
  if (count === 0) return '';
  return ` Its data hold ${count} ${count === 1 ? 'sample that stands' : 'samples that stand'} out.`;
}

/** The run in two sentences: how it went, and what to look at first. */
function verdictOf(
  phases: readonly PhaseRecord[],
  alerts: readonly AlertRecord[],
  scores: readonly HealthScoreRecord[],
  metrics: readonly MetricFacts[],
): string {
  const last = phases.at(-1);
  const overall = scores.find(({ scoreKey }) => scoreKey === 'overall');
  const [worst] = alerts;
  const how =
    metrics.length === 0
      ? 'No metric was recorded.'
      : last === undefined
        ? 'There is no loss and no accuracy to judge the training by.'
        : `Training ended in: ${last.displayName.toLowerCase()}.`;
  const health =
    overall === undefined
      ? ''
      : ` Health is ${Math.round(overall.score)} of 100 (${overall.status}).`;
  const first =
    worst === undefined
      ? ' Nothing was found that needs attention.'
      : ` Look first at: ${worst.title} (${worst.severity}).`;
  return `${how}${health}${first}`;
}

/** Alerts of each severity, the most severe first, without those there are none of. */
export function severityCounts(
  alerts: readonly AlertRecord[],
): readonly (readonly [AlertSeverity, number])[] {
  return ALERT_SEVERITIES.toReversed()
    .map(
      (severity) =>
        [severity, alerts.filter((alert) => alert.severity === severity).length] as const,
    )
    .filter(([, count]) => count > 0);
}
