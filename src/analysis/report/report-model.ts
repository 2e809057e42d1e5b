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
import { directionOf } from '../signals/roles/direction.ts';
import { inOrderOfInterest } from '../compare/metric-order.ts';
import { groupAlerts, type AlertGroup } from '../evaluate/alert-groups.ts';
import { evidenceOf } from '../evaluate/analyze-columns.ts';
import { sayVerdict } from '../evaluate/verdict.ts';
import { sayPositions } from '../signals/positions.ts';
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
  /** The run in a line or two: what was not assessed or its health, then what to check first. */
  readonly verdict: readonly string[];
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
  /** The same by their causes, the worst first. */
  readonly groups: readonly AlertGroup[];
  /** What to do, in the order in which to do it; empty where nothing has to be done. */
  readonly advice: readonly string[];
  /** What the batches tell; empty where none stands out or none were recorded. */
  readonly dataTables: readonly HardBatchTable[];
  readonly metrics: readonly MetricFacts[];
  /** The one picture beside the verdict: what the run is judged by, or what the first alert is about; null without a metric to draw. */
  readonly picture: Plot | null;
  readonly plots: readonly Plot[];
  /** Metrics that have no plot: too many, without change, or of the machine. */
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
  const isAgent = findRoleSeries(columns.metrics).reward !== null;
  const metrics = series.map((one) => factsOf(one, isAgent));
  const data = columns.batches.rowCount > 0 ? findHardBatches(columns) : undefined;
  const phaseAxis = axisOfPhases(found.phases);
  const groups = groupAlerts(alerts);
  const { picture, plots, unplottedCount } = plotsOf(
    columns.metrics,
    series,
    found.phases,
    groups,
    phaseAxis,
  );
  return {
    ...about,
    healthScores: found.healthScores,
    phases: found.phases,
    alerts,
    silenced,
    dataTables: data === undefined ? [] : tabulateHardBatches(data),
    groups,
    advice: adviceOf(groups),
    verdict: withHardSamples(
      sayVerdict({ ...found, alerts, silencedTitles: titlesWithout(found.alerts, alerts) }),
      data,
    ),
    settings: [...flatSettings(columns.run.config)],
    phaseAxis,
    metrics,
    picture,
    plots,
    unplottedCount,
  };
}

/** The titles of those that nobody hears. */
function titlesWithout(
  all: readonly AlertRecord[],
  heard: readonly AlertRecord[],
): readonly string[] {
  return all.filter((alert) => !heard.includes(alert)).map(({ title }) => title);
}

function factsOf(series: MetricSeries, isAgent: boolean): MetricFacts {
  const known = directionOf(series.key);
  // An agent is judged by its reward: its losses may rise while it learns.
  const direction = isAgent && known === 'lower' ? null : known;
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

/** What is recorded of the machine, of time and of counters: nothing that a training is judged by. */
const OF_MACHINE =
  /^(?:system|sys|machine|perf|hardware|gpu|cpu|time|timings?|timers?)[/_.]|(?:^|[/_.\s-])(?:gpu|cpu|ram|rss|memory|mem|wall_?time|runtime|elapsed|eta|(?:step|iter|iteration|epoch|data|batch)_?time|(?:samples|tokens|steps|iters?|frames)_per_second|throughput|fps|seconds?|_?ms|epoch|global_step)(?:[/_.\s-]|$)/iu;

function isWorthDrawing({ key, values }: MetricSeries): boolean {
  if (OF_MACHINE.test(key)) return false;
  const first = values.find((value) => Number.isFinite(value));
  return values.some((value) => value !== first);
}

type PlotGroup = { readonly title: string; readonly list: readonly MetricSeries[] };

function plotsOf(
  metrics: RunColumns['metrics'],
  ordered: readonly MetricSeries[],
  phases: readonly PhaseRecord[],
  groups: readonly AlertGroup[],
  phaseAxis: 'step' | 'epoch',
): Pick<ReportModel, 'picture' | 'plots' | 'unplottedCount'> {
  const judged = judgedGroups(metrics);
  const shown = new Set(judged.flatMap(({ list }) => list.map(({ key }) => key)));
  const others = ordered
    .filter((series) => !shown.has(series.key) && isWorthDrawing(series))
    .map((one) => ({ title: one.key, list: [one] }));
  const all = [...judged, ...others];
  const alerts = groups.flatMap(({ cause, consequences }) => [cause, ...consequences]);
  const drawn = all.slice(0, MAX_PLOTS).map((group) => plotOf(group, phases, alerts, phaseAxis));
  const about = evidenceKeys(groups);
  const at = Math.max(
    0,
    all.slice(0, MAX_PLOTS).findIndex(({ list }) => list.some(({ key }) => about.has(key))),
  );
  return {
    picture: drawn[at] ?? null,
    plots: drawn.filter((_, i) => i !== at),
    unplottedCount:
      ordered.length - all.slice(0, MAX_PLOTS).reduce((sum, { list }) => sum + list.length, 0),
  };
}

/** The losses together, and the accuracies; each by itself where their axes differ. */
function judgedGroups(metrics: RunColumns['metrics']): readonly PlotGroup[] {
  const roles = findRoleSeries(metrics);
  const pairs = [
    ['Reward', [roles.reward]],
    ['Loss', [roles.trainLoss, roles.valLoss]],
    ['Accuracy', [roles.trainAccuracy, roles.valAccuracy]],
  ] as const;
  return pairs.flatMap(([title, series]) => {
    const list = series.flatMap((one) => one ?? []);
    const [first] = list;
    if (first === undefined) return [];
    const together = list.filter(({ x }) => x === first.x);
    const alone = list.filter(({ x }) => x !== first.x);
    return [{ title, list: together }, ...alone.map((one) => ({ title: one.key, list: [one] }))];
  });
}

/** The metrics that the worst group of alerts rests on. */
function evidenceKeys(groups: readonly AlertGroup[]): ReadonlySet<string> {
  const [worst] = groups;
  if (worst === undefined) return new Set();
  return new Set(evidenceOf(worst.cause).map(({ source }) => source));
}

function plotOf(
  { list, title }: PlotGroup,
  phases: readonly PhaseRecord[],
  alerts: readonly AlertRecord[],
  phaseAxis: 'step' | 'epoch',
): Plot {
  const axis = list[0]?.x ?? 'step';
  return {
    title,
    axis,
    series: list.map((one) => ({ label: one.key, positions: axisOf(one), values: one.values })),
    bands:
      axis === phaseAxis
        ? phases.map(({ displayName, stepEnd, stepStart }) => ({
            name: `${displayName} (${sayPositions(axis, stepStart, stepEnd)})`,
            start: stepStart,
            end: stepEnd,
          }))
        : [],
    marks: axis === 'step' ? marksOf(alerts, list) : [],
  };
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

function withHardSamples(
  verdict: readonly string[],
  data: HardBatches | undefined,
): readonly string[] {
  const count = data?.samples.length ?? 0;
  if (count === 0) return verdict;
  const what = count === 1 ? 'sample that stands' : 'samples that stand';
  return [...verdict, `Its data hold ${count} ${what} out.`];
}

/** What the causes advise, once each; remarks advise nothing. */
function adviceOf(groups: readonly AlertGroup[]): readonly string[] {
  const advice = groups.flatMap(({ cause, severity }) =>
    severity === 'info' ? [] : [splitInference(cause).advice],
  );
  return [...new Set(advice)].filter((text) => text !== '');
}

/** The likely cause and the first thing to try, a sentence each. */
export function splitInference({ inference }: Pick<AlertRecord, 'inference'>): {
  readonly cause: string;
  readonly advice: string;
} {
  const at = inference.lastIndexOf('; first, ');
  if (at < 0) return { cause: inference, advice: '' };
  const advice = inference.slice(at + '; first, '.length);
  return {
    cause: `${inference.slice(0, at)}.`,
    advice: `${advice.charAt(0).toUpperCase()}${advice.slice(1)}`,
  };
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
