/** What is said of made trainings, held against itself and against how they were made. */
import {
  analyzeColumns,
  analyzePhases,
  axisOf,
  sayVerdict,
  type AnalyzerResult,
  type MetricSeries,
  type PhaseAnalysisResult,
} from 'quark-sdk/analysis';
import type { MadeRun } from './made-curves.ts';

/** A made training, and all that is said of it. */
export type Story = MadeRun & {
  readonly result: AnalyzerResult;
  readonly phases: PhaseAnalysisResult['phases'];
};

/** Asks everything of a made training. */
export async function told(made: MadeRun): Promise<Story> {
  const result = analyzeColumns(made.columns, {}, { nowMs: 0 });
  return { ...made, result, phases: (await analyzePhases(made.columns, {}, { nowMs: 0 })).phases };
}

function has({ result }: Story, ...ids: readonly string[]): boolean {
  return result.alerts.some(({ ruleId }) => ids.includes(ruleId));
}

function scoreOf({ result }: Story, key: string) {
  return result.healthScores.find(({ scoreKey }) => scoreKey === key);
}

/** What each of the three says, against the others. */
export function contradictions(story: Story): readonly string[] {
  const { phases, result } = story;
  const last = phases.at(-1)?.phaseName;
  const overall = scoreOf(story, 'overall');
  const found: string[] = [];
  const never = (isSo: boolean, what: string): void => {
    if (isSo) found.push(what);
  };
  if (result.coverage.headline !== null) return [];
  never(
    last === 'divergence' && !has(story, 'loss_divergence', 'non_finite'),
    'divergence, no alert',
  );
  never(last === 'overfitting_onset' && !has(story, 'overfitting_onset'), 'overfitting, no alert');
  never(
    last === 'stagnation' &&
      !has(
        story,
        'plateau',
        'loss_not_decreasing',
        'overfitting_onset',
        'loss_divergence',
        'non_finite',
      ),
    'stagnation, no alert',
  );
  const isBadEnd = last === 'divergence' || last === 'overfitting_onset';
  never(isBadEnd && overall?.status === 'healthy', `healthy, but ${last}`);
  const asked = new Set(result.coverage.asked.map(({ ruleId }) => ruleId));
  const isUnlearned = has(story, 'loss_not_decreasing');
  never(isUnlearned && overall?.status === 'healthy', 'healthy, but has not learned');
  never(
    isUnlearned &&
      scoreOf(story, 'generalization')?.score !== null &&
      !result.alerts.some((one) => one.category === 'generalization' && one.severity !== 'info'),
    'a score of what nothing was learned for',
  );
  for (const { ruleId, severity, stepEnd, stepStart } of result.alerts) {
    never(!asked.has(ruleId), `${ruleId} was found and not asked`);
    if (severity !== 'info' && ruleId === 'loss_divergence')
      never(last !== 'divergence', `diverges, but ends in ${last}`);
    if (severity !== 'info' && ruleId === 'overfitting_onset')
      never(!isBadEnd, `overfits, but ${last}`);
    if (ruleId === 'plateau')
      never(
        phases.some(
          (one) => one.phaseName === 'rapid_learning' && one.stepEnd > (stepStart ?? Infinity),
        ),
        'rests while it learns',
      );
    if (ruleId === 'loss_not_decreasing')
      never(
        phases.some((one) => one.phaseName === 'rapid_learning'),
        'does not fall, but learns',
      );
    if (severity === 'critical' || severity === 'error')
      never(overall?.status === 'healthy' || overall?.score === 100, `healthy with ${severity}`);
    never(
      stepStart !== null && stepEnd !== null && stepEnd < stepStart,
      'a span that ends before it begins',
    );
  }
  const [first = ''] = sayVerdict({ ...result, phases });
  never((overall?.score ?? null) === null && /Health is/u.test(first), 'a verdict without a score');
  return found;
}

/** What the sentences say of a span, against each of its points. */
export function untruths({ columns, result }: Story): readonly string[] {
  return result.alerts.flatMap(({ fact, stepEnd, stepStart }) => {
    const [, key = '', low, high] =
      /^(\S+) has been between (-?[\d.e+-]+) and (-?[\d.e+-]+) /u.exec(fact) ??
      /^(\S+) stayed between (-?[\d.e+-]+) and (-?[\d.e+-]+)[ ,]/u.exec(fact) ??
      [];
    const [, above = '', least] =
      /^(\S+) .*; it has been above (-?[\d.e+-]+) since/u.exec(fact) ?? [];
    const series = columns.metrics.get(key === '' ? above : key);
    if (series === undefined) return [];
    const values = valuesWithin(series, stepStart, stepEnd);
    const isSo = (value: number): boolean =>
      value >= Number(low ?? least) && value <= Number(high ?? Infinity);
    return values.every(isSo) ? [] : [`${fact} (${Math.min(...values)} to ${Math.max(...values)})`];
  });
}

function valuesWithin(series: MetricSeries, from: number | null, to: number | null): number[] {
  // Alerts on epochs alone have no steps: their evidence names the span.
  if (from === null || to === null) return [];
  const positions = axisOf(series);
  return [...series.values].filter(
    (value, i) =>
      Number.isFinite(value) && (positions[i] ?? 0) >= from && (positions[i] ?? 0) <= to,
  );
}

/** Whether noise alone made a flat loss fall: its last third lies far below its first. */
function fellByChance({ columns, lossKey, noise }: Story): boolean {
  const values = [...(columns.metrics.get(lossKey ?? '')?.values ?? [])].filter(Number.isFinite);
  const third = Math.floor(values.length / 3);
  const mean = (part: readonly number[]): number => part.reduce((a, b) => a + b, 0) / part.length;
  const fall = mean(values.slice(0, third)) - mean(values.slice(-third));
  return fall > 3 * noise * mean(values) * Math.sqrt(2 / third);
}

/** What has to be said of a course and is not, or is said and must not. */
export function mistakes(story: Story): readonly string[] {
  const { count, course, noise, result } = story;
  const overall = scoreOf(story, 'overall');
  const severe = result.alerts
    .filter(({ severity }) => severity !== 'info')
    .map(({ ruleId }) => ruleId);
  const found: string[] = [];
  const always = (isSo: boolean, what: string): void => {
    if (!isSo) found.push(`${course}: ${what}`);
  };
  switch (course) {
    case 'unknown':
      always(overall?.score === null, 'a score without a loss');
      always(
        result.coverage.headline?.startsWith(
          'Not assessed: no training loss was found among 2 metrics',
        ) === true,
        `a headline that does not say what is missing: ${result.coverage.headline}`,
      );
      break;
    case 'blank':
      always(has(story, 'non_finite', 'nothing_recorded'), 'nobody says that there is no number');
      always(overall?.status !== 'healthy', 'healthy without a number');
      break;
    case 'short':
      always(overall?.score === null, 'a score of two values');
      break;
    case 'falls': {
      // A row without a number is said.
      const said = severe.filter((id) => id !== 'non_finite');
      always(said.length === 0, `alerts on a loss that falls: ${said.join(', ')}`);
      break;
    }
    case 'breaks':
      always(severe.includes('non_finite'), 'nobody says that the loss became NaN');
      always(overall?.status !== 'healthy', 'healthy with a loss of NaN');
      break;
    case 'diverges':
      if (count >= 30) always(overall?.status !== 'healthy', 'healthy though it diverges');
      break;
    case 'overfits':
      if (noise <= 0.03) always(has(story, 'overfitting_onset'), 'nobody says that it overfits');
      break;
    case 'flat':
      if (!fellByChance(story))
        always(overall?.status !== 'healthy', 'healthy though nothing was learned');
      if (count >= 200 && noise <= 0.03)
        always(has(story, 'loss_not_decreasing', 'plateau'), 'nobody says that it does not fall');
      break;
    case 'rests':
    case 'signed':
    case 'wavers':
      break;
  }
  return found;
}
