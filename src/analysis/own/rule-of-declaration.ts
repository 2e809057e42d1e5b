/** A rule without code as a rule. */
import { axisOf, type MetricSeries, type RunColumns } from '../columns/run-columns.ts';
import { observe, ofMetric } from '../signals/observe.ts';
import { positionAt, saySpan, spanOfRows, type RunSpan } from '../signals/positions.ts';
import type { Finding, Observation, Rule, RuleContext } from '../signals/rule-types.ts';
import { say, sayNames, sayShare } from '../text/sentences.ts';
import type { CheckedDeclaration } from './declared-rule.ts';
import type { ConditionName } from './declared-fields.ts';
import { matchesName } from './name-pattern.ts';
import { spanLength, positionsIn, spanOf, type TrainingSpan } from './span-text.ts';
import { farthestValue, largestChange, longestStall, spansWhere, type RowSpan } from './spans.ts';

/** What a condition found of one metric: a sentence and what it rests on. */
type Met = { readonly fact: string; readonly evidence: Observation };

/** A sentence alone says why the metric cannot be judged; undefined stands for nothing found. */
type Judge = (rule: CheckedDeclaration, series: MetricSeries) => Met | string | undefined;

/** The rule that a declaration stands for. */
export function ruleOfDeclaration(declared: CheckedDeclaration): Rule {
  const { category = 'optimization', condition, id, metric } = declared;
  return Object.freeze({
    id,
    category,
    detects: `${metric}: ${sayCondition(declared)}.`,
    source: 'a rule of the configuration',
    cause: 'a limit of the configuration is reached',
    advice: 'read why the rule was written',
    live: 'at_once' as const,
    thresholds: {},
    evaluate: (context: RuleContext<string>) =>
      condition === 'absentFor'
        ? findAbsent(declared, context)
        : findInSeries(declared, JUDGES[condition], context),
  });
}

function findInSeries(
  declared: CheckedDeclaration,
  judge: Judge,
  { columns: { metrics }, unjudged }: RuleContext<string>,
): readonly Finding[] {
  const { metric } = declared;
  const fitting = [...metrics.values()].filter(({ key }) => matchesName(metric, key));
  if (fitting.length === 0) unjudged(missing(metric, metrics));
  return fitting.flatMap((series) => {
    const met = judge(declared, series);
    if (met === undefined) return [];
    if (typeof met === 'object') return [findingOf(declared, met, series.key)];
    unjudged(met);
    return [];
  });
}

function missing(metric: string, metrics: RunColumns['metrics']): string {
  return `the run has no metric ${metric}; it has ${metrics.size === 0 ? 'none' : sayNames([...metrics.keys()], 5)}.`;
}

function findingOf(declared: CheckedDeclaration, { evidence, fact }: Met, key: string): Finding {
  const { advice, id, severity = 'warning', title } = declared;
  const { from, to } = evidence;
  return {
    severity,
    title: title ?? `${key}: ${sayCondition(declared)}`,
    fact,
    confidence: 1,
    inference: advice ?? `That is the limit of the rule ${id}.`,
    from,
    to,
    observations: [evidence],
  };
}

/** The condition as the end of "val/loss: ...". */
function sayCondition(rule: CheckedDeclaration): string {
  const { above, absentFor, below, changesBy, condition, direction, stallsFor, zScore } = rule;
  const way = direction === undefined ? '' : ` ${direction}`;
  const long = rule.for === undefined ? '' : ` for ${rule.for}`;
  const texts: Readonly<Record<ConditionName, () => string>> = {
    above: () => `above ${above}${long}`,
    below: () => `below ${below}${long}`,
    changesBy: () => `changes${way} by ${changesBy} within ${rule.within ?? '1 value'}`,
    zScore: () => `${zScore} standard deviations${way}`,
    stallsFor: () => `no ${direction === undefined ? 'movement' : 'new best'} for ${stallsFor}`,
    absentFor: () => `no value for ${absentFor}`,
  };
  return texts[condition]();
}

/** Why a span cannot be counted over a series. */
function uncounted({ key }: MetricSeries, { text, unit }: TrainingSpan): string {
  return `"${text}" cannot be counted: values of ${key} have no ${unit === 'ms' ? 'time' : unit}.`;
}

/** The last span that is long enough, and how many there are. */
function judgeLimit(
  rule: CheckedDeclaration,
  series: MetricSeries,
  name: 'above' | 'below',
): Met | string | undefined {
  const limit = rule[name] ?? Number.NaN;
  const least = spanOf(rule.for ?? '1 value');
  const positions = positionsIn(series, least.unit);
  if (positions === undefined) return uncounted(series, least);
  const { key, values } = series;
  let count = 0;
  let latest: RowSpan | undefined;
  for (const span of spansWhere(values, (value) =>
    name === 'above' ? value > limit : value < limit,
  )) {
    if (spanLength(positions, least.unit, span.first, span.last) < least.count) continue;
    count++;
    latest = span;
  }
  if (latest === undefined) return undefined;
  const { first, last } = latest;
  const part = values.subarray(first, last + 1);
  const extreme = part.reduce((a, b) => (name === 'above' ? Math.max(a, b) : Math.min(a, b)));
  const times = count === 1 ? '' : `, the last of ${count} times`;
  const farthest = `${name === 'above' ? 'highest' : 'lowest'} ${say(extreme)}`;
  return {
    fact: `${key} is ${name} ${say(limit)} ${saySpan(spanOfRows(series, first, last))} (${farthest})${times}.`,
    evidence: observe(ofMetric(series), [first, last], `The ${farthest}.`, {
      observed: extreme,
      threshold: limit,
    }),
  };
}

function judgeChange(rule: CheckedDeclaration, series: MetricSeries): Met | string | undefined {
  const { changesBy = Number.NaN, direction } = rule;
  const isShare = typeof changesBy === 'string';
  const limit = isShare ? Number(changesBy.replace('%', '')) / 100 : changesBy;
  const within = spanOf(rule.within ?? '1 value');
  const positions = positionsIn(series, within.unit);
  if (positions === undefined) return uncounted(series, within);
  const { key, values } = series;
  const change = largestChange(values, positions, within.count, {
    direction,
    isShare,
  });
  if (change === undefined || !(Math.abs(change.by) >= limit)) return undefined;
  const { by, first, last } = change;
  const size = isShare ? sayShare(Math.abs(by)) : say(Math.abs(by));
  const [from, to] = [values[first] ?? Number.NaN, values[last] ?? Number.NaN];
  const way = by > 0 ? 'rose' : 'fell';
  return {
    fact: `${key} ${way} by ${size}, from ${say(from)} to ${say(to)}, ${saySpan(spanOfRows(series, first, last))}.`,
    evidence: observe(ofMetric(series), [first, last], `It ${way} by ${size}.`, {
      observed: Math.abs(by),
      threshold: limit,
    }),
  };
}

function judgeScore(rule: CheckedDeclaration, series: MetricSeries): Met | string | undefined {
  const { direction, over = '50 values', zScore = Number.NaN } = rule;
  const { key, values } = series;
  const found = farthestValue(values, spanOf(over).count, direction);
  if (found === undefined || !(Math.abs(found.score) >= zScore)) return undefined;
  const { mean, row, score } = found;
  const far = Number.isFinite(score)
    ? `${say(Math.abs(score))} standard deviations ${score > 0 ? 'above' : 'below'} the mean of ${say(mean)} before it`
    : `${score > 0 ? 'above' : 'below'} ${say(mean)}, which all values before it are`;
  const value = values[row] ?? Number.NaN;
  return {
    fact: `${key} is ${say(value)} ${saySpan(spanOfRows(series, row, row))}, ${far}.`,
    evidence: observe(ofMetric(series), [row, row], `${say(value)}, ${far}.`, {
      observed: Math.abs(score),
      threshold: zScore,
    }),
  };
}

function judgeStall(rule: CheckedDeclaration, series: MetricSeries): Met | string | undefined {
  const { direction, stallsFor = '', tolerance = 0 } = rule;
  const least = spanOf(stallsFor);
  const positions = positionsIn(series, least.unit);
  if (positions === undefined) return uncounted(series, least);
  const { key, values } = series;
  const stall = longestStall(values, positions, tolerance, direction);
  if (stall === undefined) return undefined;
  const { first, last } = stall;
  const length = spanLength(positions, least.unit, first, last);
  if (length < least.count) return undefined;
  const what =
    direction === undefined
      ? `moved by ${tolerance === 0 ? 'nothing' : `no more than ${say(tolerance)}`}`
      : `had no ${direction === 'up' ? 'higher' : 'lower'} value than ${say(values[first] ?? Number.NaN)}${tolerance === 0 ? '' : ` by more than ${say(tolerance)}`}`;
  return {
    fact: `${key} ${what} ${saySpan(spanOfRows(series, first, last))}.`,
    evidence: observe(ofMetric(series), [first, last], `It ${what}.`, {
      observed: length,
      threshold: least.count,
    }),
  };
}

const JUDGES: Readonly<Record<Exclude<ConditionName, 'absentFor'>, Judge>> = {
  above: (rule, series) => judgeLimit(rule, series, 'above'),
  below: (rule, series) => judgeLimit(rule, series, 'below'),
  changesBy: judgeChange,
  zScore: judgeScore,
  stallsFor: judgeStall,
};

/** Metrics that the run went on without. */
function findAbsent(
  declared: CheckedDeclaration,
  { columns, nowMs, unjudged }: RuleContext<string>,
): readonly Finding[] {
  const { absentFor = '', metric } = declared;
  const least = spanOf(absentFor);
  const { metrics, run } = columns;
  const all = [...metrics.values()].filter(({ values }) => values.length > 0);
  const reach = rangeOf(all, least.unit);
  if (least.unit === 'ms' && run.isLive) reach.last = Math.max(reach.last, nowMs);
  if (!(reach.last >= reach.first)) {
    unjudged(`"${absentFor}" cannot be counted: no metric of the run has that unit.`);
    return [];
  }
  const fitting = all.filter(({ key }) => matchesName(metric, key));
  if (fitting.length === 0) {
    const length = reach.last - reach.first + (least.unit === 'ms' ? 0 : 1);
    if (length < least.count) return [];
    const fact = `No value of ${metric} came, in ${sayLength(length, least)} of the run.`;
    return [findingOf(declared, { fact, evidence: absence(metric, length, least) }, metric)];
  }
  return fitting.flatMap((series) => {
    const { last } = rangeOf([series], least.unit);
    const length = reach.last - last;
    if (!(length >= least.count)) return [];
    const at = positionAt(series, series.values.length - 1);
    const span = { from: at, to: at };
    const fact = `No value of ${series.key} came after ${saySpan(span).replace('at ', '')}, for ${sayLength(length, least)}.`;
    return [
      findingOf(declared, { fact, evidence: absence(series.key, length, least, span) }, series.key),
    ];
  });
}

function absence(
  source: string,
  observed: number,
  { count }: TrainingSpan,
  span?: RunSpan,
): Observation {
  return { kind: 'metric', source, summary: 'No value came.', observed, threshold: count, ...span };
}

function sayLength(length: number, { unit }: TrainingSpan): string {
  if (unit === 'ms') return `${say(length / 60_000)} minutes`;
  return `${say(length)} ${length === 1 ? unit : `${unit}s`}`;
}

/** Where the values of some series begin and end in a unit; what has no position in it is left out. */
function rangeOf(
  list: readonly MetricSeries[],
  unit: TrainingSpan['unit'],
): { first: number; last: number } {
  const range = { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };
  for (const series of list) {
    const column = {
      step: series.steps,
      epoch: series.epochs,
      ms: series.timesMs,
      value: axisOf(series),
    }[unit];
    for (const position of column) {
      if (position < range.first) range.first = position;
      if (position > range.last) range.last = position;
    }
  }
  return range;
}
