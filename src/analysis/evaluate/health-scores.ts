/** Health of a run, from its alerts. */
import {
  ALERT_CATEGORIES,
  HEALTH_SCORE_KEYS,
  type AlertSeverity,
  type HealthScoreKey,
  type HealthStatus,
} from '../../records/literals.ts';
import type { AlertRecord } from '../../records/alert.ts';
import { evidenceRecord } from '../../records/evidence.ts';
import { healthScoreTable, type HealthScoreRecord } from '../../records/health-score.ts';

/** What an alert of each severity leaves of a score, at full confidence. */
export const SEVERITY_FACTORS: Readonly<Record<AlertSeverity, number>> = Object.freeze({
  info: 0.97,
  warning: 0.8,
  error: 0.6,
  critical: 0.3,
});

/** Lowest score of each status but the worst. */
export const STATUS_LIMITS: Readonly<Record<Exclude<HealthStatus, 'critical'>, number>> =
  Object.freeze({ healthy: 85, watch: 65, degraded: 35 });

/** Share of the lowest category in the overall score; the mean of the four has the rest. */
const LOWEST_SHARE = 0.6;

/** An alert and how sure the rule is of it, 0 to 1. */
export type RatedAlert = { readonly alert: AlertRecord; readonly confidence: number };

/**
 * The five scores, 0 (worst) to 100. The score of a category is 100 times the product, over its alerts, of
 * `1 - confidence * (1 - factor)` with the factor of the severity: 0.97 for info, 0.8 for warning, 0.6 for error, 0.3 for
 * critical. Several alerts of one category add up, and none brings it below zero. The overall score is 0.6 times the
 * lowest of the four plus 0.4 times their mean: one broken side cannot be made up for by three that are fine. Status: 85
 * and more is healthy, 65 and more watch, 35 and more degraded, the rest critical.
 */
export function healthScores(
  alerts: readonly RatedAlert[],
  make: { readonly runId: string; readonly timestamp: string; readonly createId: () => string },
): readonly HealthScoreRecord[] {
  const categories = ALERT_CATEGORIES.map((category) => {
    const own = alerts.filter(({ alert }) => alert.category === category);
    return {
      key: category,
      score: 100 * own.reduce((product, one) => product * left(one), 1),
      own,
    };
  });
  const scores = categories.map(({ score }) => score);
  const mean = scores.reduce((a, b) => a + b, 0) / scores.length;
  const overall = LOWEST_SHARE * Math.min(...scores) + (1 - LOWEST_SHARE) * mean;
  const all: { key: HealthScoreKey; score: number; own: readonly RatedAlert[] }[] = [
    { key: 'overall', score: overall, own: alerts },
    ...categories,
  ];
  return HEALTH_SCORE_KEYS.flatMap((key) => all.filter((one) => one.key === key)).map(
    ({ key, own, score: exact }) => {
      const score = Math.round(exact * 10) / 10;
      const status = statusOf(score);
      return healthScoreTable.create({
        ...make,
        runId: make.runId,
        sequence: null,
        timestamp: make.timestamp,
        id: make.createId(),
        scoreKey: key,
        category: key,
        score,
        status,
        summary: summaryOf(key, score, status, own),
        evidence: own.map((one) => evidenceOf(one)),
        contributingAlertIds: own.map(({ alert }) => alert.id),
      });
    },
  );
}

function left({ alert, confidence }: RatedAlert): number {
  return 1 - confidence * (1 - SEVERITY_FACTORS[alert.severity]);
}

function evidenceOf(one: RatedAlert) {
  const { alert } = one;
  return evidenceRecord
    .create({
      kind: 'alert',
      source: alert.ruleId,
      summary: `${alert.title} (${alert.severity}).`,
      observedValue: left(one),
      thresholdValue: null,
      stepStart: alert.stepStart,
      stepEnd: alert.stepEnd,
      metadata: { alert_id: alert.id, severity: alert.severity },
    })
    .toDict();
}

function statusOf(score: number): HealthStatus {
  if (score >= STATUS_LIMITS.healthy) return 'healthy';
  if (score >= STATUS_LIMITS.watch) return 'watch';
  return score >= STATUS_LIMITS.degraded ? 'degraded' : 'critical';
}

function summaryOf(
  key: HealthScoreKey,
  score: number,
  status: HealthStatus,
  own: readonly RatedAlert[],
): string {
  const name = key === 'overall' ? 'The run' : `${key.charAt(0).toUpperCase()}${key.slice(1)}`;
  const why =
    own.length === 0
      ? 'no alerts'
      : own
          .slice(0, 3)
          .map(({ alert }) => alert.ruleId)
          .join(', ') + (own.length > 3 ? `, and ${own.length - 3} more` : '');
  return `${name} is ${status === 'watch' ? 'to be watched' : status} at ${score} of 100: ${why}.`;
}
