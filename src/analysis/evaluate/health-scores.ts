/** Health of a run, from its alerts. */
import {
  ALERT_CATEGORIES,
  ALERT_SEVERITIES,
  HEALTH_SCORE_KEYS,
  type AlertCategory,
  type AlertSeverity,
  type HealthScoreKey,
  type HealthStatus,
} from '../../records/literals.ts';
import type { AlertRecord } from '../../records/alert.ts';
import { evidenceRecord } from '../../records/evidence.ts';
import { healthScoreTable, type HealthScoreRecord } from '../../records/health-score.ts';
import type { Dict } from '../../schema/record.ts';
import { sayCoverage, type Coverage, type ScoreCoverage } from './coverage.ts';

/** What an alert of each severity leaves of a score, at full confidence. */
export const SEVERITY_FACTORS: Readonly<Record<AlertSeverity, number>> = Object.freeze({
  info: 0.97,
  warning: 0.8,
  error: 0.6,
  critical: 0.3,
});

/** Lowest score of each status but the worst. */
export const STATUS_LIMITS: Readonly<
  Record<Exclude<HealthStatus, 'critical' | 'not_assessed'>, number>
> = Object.freeze({ healthy: 85, watch: 65, degraded: 35 });

/** Share of the lowest category in the overall score; the mean of those that were assessed has the rest. */
const LOWEST_SHARE = 0.6;
/** The highest score of what is not healthy. */
const BELOW_HEALTHY = STATUS_LIMITS.healthy - 1;

/** Alerts that the summary of a score names. */
const MAX_TITLES = 3;

/** An alert and how sure the rule is of it, 0 to 1. */
export type RatedAlert = { readonly alert: AlertRecord; readonly confidence: number };

/** What scores are made of. */
export type ScoreSource = {
  /** In the order of the analysis. */
  readonly alerts: readonly RatedAlert[];
  /** What somebody has silenced: it lowers no score. */
  readonly silenced: readonly AlertRecord[];
  readonly coverage: Coverage;
  /** Categories that no score may call healthy, as the run ended in a state that is not. */
  readonly unhealthy: ReadonlySet<AlertCategory>;
  /** Whether scores that were not assessed are left out, and the coverage is: abiotic-quark has neither. */
  readonly isAbsolute: boolean;
};

/** One score before it is a record. */
type Score = {
  readonly key: HealthScoreKey;
  readonly score: number | null;
  readonly own: readonly RatedAlert[];
};

/**
 * The five scores, 0 (worst) to 100. The score of a category is 100 times the product, over its alerts, of
 * `1 - confidence * (1 - factor)` with the factor of the severity: 0.97 for info, 0.8 for warning, 0.6 for error, 0.3 for
 * critical. Several alerts of one category add up, and none brings it below zero. The overall score is 0.6 times the
 * lowest of those that were assessed plus 0.4 times their mean: one broken side cannot be made up for by three that are fine.
 * Status: 85 and more is healthy, 65 and more watch, 35 and more degraded, the rest critical.
 *
 * A category of which nothing that decides was recorded, and which has no alert beyond a remark, has no score: it is null, and its
 * status `not_assessed`. So has the run, where there is no loss, accuracy or reward, unless an error was found: then
 * it has the score of that, and is never healthy.
 */
export function healthScores(
  source: ScoreSource,
  make: { readonly runId: string; readonly timestamp: string; readonly createId: () => string },
): readonly HealthScoreRecord[] {
  const { coverage, isAbsolute, silenced } = source;
  const categories = ALERT_CATEGORIES.map((category) => scoreOf(category, source));
  const all = [overallOf(categories, source), ...categories];
  return HEALTH_SCORE_KEYS.flatMap((key) => all.filter((one) => one.key === key))
    .filter(({ score }) => score !== null || !isAbsolute)
    .map((one) => {
      const { key, own, score } = one;
      const status = score === null ? 'not_assessed' : statusOf(score);
      const covered = coverage.scores.find(({ scoreKey }) => scoreKey === key);
      return healthScoreTable.create({
        runId: make.runId,
        sequence: null,
        timestamp: make.timestamp,
        id: make.createId(),
        scoreKey: key,
        category: key,
        score,
        status,
        summary: summaryOf(one, status, {
          missing: covered?.missing ?? '',
          isSilenced: silenced.some(({ category }) => key === 'overall' || category === key),
        }),
        evidence: [
          ...own.map((alert) => evidenceOf(alert)),
          ...(isAbsolute || covered === undefined ? [] : [evidenceOfCoverage(covered, coverage)]),
        ],
        contributingAlertIds: own.map(({ alert }) => alert.id),
      });
    });
}

function scoreOf(category: AlertCategory, { alerts, coverage, unhealthy }: ScoreSource): Score {
  const own = alerts.filter(({ alert }) => alert.category === category);
  const isDecided = coverage.scores.some(
    ({ decidedBy, scoreKey }) => scoreKey === category && decidedBy.length > 0,
  );
  if (!isDecided && !own.some((one) => isAtLeast(one, 'warning')))
    return { key: category, score: null, own };
  const product = 100 * own.reduce((left, one) => left * leftBy(one), 1);
  const isUnhealthy = unhealthy.has(category) || (!isDecided && product > BELOW_HEALTHY);
  return { key: category, score: rounded(product, isUnhealthy), own };
}

function overallOf(
  categories: readonly Score[],
  { alerts, coverage, unhealthy }: ScoreSource,
): Score {
  const isDecided = coverage.headline === null;
  const scores = categories.flatMap(({ score }) => score ?? []);
  if (scores.length === 0 || (!isDecided && !alerts.some((one) => isAtLeast(one, 'error'))))
    return { key: 'overall', score: null, own: alerts };
  const mean = scores.reduce((a, b) => a + b, 0) / scores.length;
  const exact = LOWEST_SHARE * Math.min(...scores) + (1 - LOWEST_SHARE) * mean;
  return {
    key: 'overall',
    score: rounded(exact, !isDecided || unhealthy.size > 0),
    own: alerts,
  };
}

function rounded(exact: number, isUnhealthy: boolean): number {
  return Math.round((isUnhealthy ? Math.min(exact, BELOW_HEALTHY) : exact) * 10) / 10;
}

function isAtLeast({ alert }: RatedAlert, severity: AlertSeverity): boolean {
  return ALERT_SEVERITIES.indexOf(alert.severity) >= ALERT_SEVERITIES.indexOf(severity);
}

function leftBy({ alert, confidence }: RatedAlert): number {
  return 1 - confidence * (1 - SEVERITY_FACTORS[alert.severity]);
}

function evidenceOf(one: RatedAlert): Dict {
  const { alert } = one;
  return evidenceRecord
    .create({
      kind: 'alert',
      source: alert.ruleId,
      summary: `${alert.title} (${alert.severity}).`,
      observedValue: leftBy(one),
      thresholdValue: null,
      stepStart: alert.stepStart,
      stepEnd: alert.stepEnd,
      metadata: { alert_id: alert.id, severity: alert.severity },
    })
    .toDict();
}

/** What the score rests on, as evidence beside the alerts. */
function evidenceOfCoverage(
  { askedCount, decidedBy, missing, openCount, scoreKey }: ScoreCoverage,
  { asked, open }: Coverage,
): Dict {
  const isOwn = ({ category }: { readonly category: AlertCategory }): boolean =>
    scoreKey === 'overall' || category === scoreKey;
  const [ownAsked, ownOpen] = [asked.filter(isOwn), open.filter(isOwn)];
  return evidenceRecord
    .create({
      kind: 'coverage',
      source: scoreKey,
      summary: sayCoverage({ asked: ownAsked, open: ownOpen }),
      observedValue: askedCount,
      thresholdValue: null,
      stepStart: null,
      stepEnd: null,
      metadata: {
        decided_by: [...decidedBy],
        missing,
        open_count: openCount,
        // Those of the run are in the scores of their categories.
        ...(scoreKey === 'overall'
          ? {}
          : {
              asked: ownAsked.map(({ ruleId }) => ruleId),
              open: ownOpen.map(({ ruleId, why }) => ({ rule_id: ruleId, why })),
            }),
      },
    })
    .toDict();
}

function statusOf(score: number): HealthStatus {
  if (score >= STATUS_LIMITS.healthy) return 'healthy';
  if (score >= STATUS_LIMITS.watch) return 'watch';
  return score >= STATUS_LIMITS.degraded ? 'degraded' : 'critical';
}

function summaryOf(
  { key, own, score }: Score,
  status: HealthStatus,
  { isSilenced, missing }: { readonly isSilenced: boolean; readonly missing: string },
): string {
  const name = key === 'overall' ? 'The run' : `${key.charAt(0).toUpperCase()}${key.slice(1)}`;
  if (score === null) return `${name} was not assessed: ${missing}`;
  const health = `${name} is ${status === 'watch' ? 'to be watched' : status}, at ${score} of 100`;
  if (own.length === 0)
    return `${health}: ${isSilenced ? 'all its alerts are silenced' : 'there are no alerts'}.`;
  const titles = own.slice(0, MAX_TITLES).map(({ alert }) => `${alert.title}.`);
  const more = own.length - titles.length;
  const rest =
    more === 0 ? [] : [more === 1 ? 'There is one more alert.' : `There are ${more} more alerts.`];
  return [`${health}.`, ...titles, ...rest].join(' ');
}
