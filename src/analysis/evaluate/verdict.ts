/** A run in one to three sentences, told from the same records as everything else that is said of it. */
import type { AlertRecord } from '../../records/alert.ts';
import type { HealthScoreRecord } from '../../records/health-score.ts';
import type { PhaseRecord } from '../../records/phase.ts';
import { sayNames } from '../text/sentences.ts';
import { groupAlerts } from './alert-groups.ts';

/** What a verdict is told from. */
export type VerdictSource = {
  readonly healthScores: readonly Pick<
    HealthScoreRecord,
    'scoreKey' | 'score' | 'status' | 'summary'
  >[];
  readonly alerts: readonly Pick<AlertRecord, 'ruleId' | 'severity' | 'title'>[];
  readonly phases: readonly Pick<PhaseRecord, 'phaseName' | 'displayName'>[];
  /** Titles of alerts that somebody has silenced, which are not among `alerts`. Default none. */
  readonly silencedTitles?: readonly string[];
};

/**
 * What to know of a run, a line each: what is missing where it was not assessed, else its health; then what to check first, or that
 * there is nothing, and in which phase the training ended. Of a run that was not assessed nobody says how it ended.
 *
 * @example
 * ```js
 * import { analyzeColumns, analyzePhases, createMetricSeries, createRunColumns, sayVerdict } from 'quark-sdk/analysis';
 *
 * const steps = Float64Array.from({ length: 500 }, (_, step) => step);
 * const loss = createMetricSeries('train/loss', { steps, values: steps.map((step) => 0.2 + Math.exp(-step / 40)) });
 * const columns = createRunColumns({ metrics: [loss] });
 * const { alerts, healthScores } = analyzeColumns(columns);
 * const { phases } = await analyzePhases(columns);
 * for (const line of sayVerdict({ alerts, healthScores, phases })) console.log(line);
 * ```
 */
export function sayVerdict({
  alerts,
  healthScores,
  phases,
  silencedTitles = [],
}: VerdictSource): readonly string[] {
  const overall = healthScores.find(({ scoreKey }) => scoreKey === 'overall');
  const [worst] = groupAlerts(alerts);
  const last = phases.at(-1);
  const health =
    overall === undefined
      ? 'It was not assessed.'
      : overall.score === null
        ? overall.summary.replace(/^The run was not/u, 'Not')
        : `Health is ${Math.round(overall.score)} of 100 (${overall.status.replace('_', ' ')}).`;
  const isSure = overall !== undefined && overall.score !== null;
  const first =
    worst === undefined
      ? isSure
        ? nothingHeard(silencedTitles)
        : ''
      : worst.severity === 'info'
        ? `Worth knowing: ${worst.cause.title}.`
        : `Check first: ${worst.cause.title} (${worst.severity}).`;
  const end =
    last === undefined || !isSure ? '' : `Training ended in: ${last.displayName.toLowerCase()}.`;
  const rest = [first, end].filter((part) => part !== '').join(' ');
  return rest === '' ? [health] : [health, rest];
}

/** What is said where no alert is heard: that there is none, or that all are silenced. */
function nothingHeard(silencedTitles: readonly string[]): string {
  const [first] = silencedTitles;
  if (first === undefined) return 'Nothing was found that needs attention.';
  return `All that was found is silenced: ${sayNames(silencedTitles, 3)}.`;
}
