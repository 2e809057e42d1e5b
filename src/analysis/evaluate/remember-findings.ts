/** What was found in a run, in its record: lists of runs show it, sort by it and search it without reading an alert. */
import type { JsonObject } from '../../base/json.ts';
import { alertTable, type AlertRecord } from '../../records/alert.ts';
import type { HealthScoreRecord } from '../../records/health-score.ts';
import { ALERT_SEVERITIES } from '../../records/literals.ts';
import { readRecords } from '../../read/records.ts';
import { readSilences } from '../../read/silences.ts';
import type { RunHandle } from '../../session/run-handle.ts';
import { changeRun } from '../../session/run-lifecycle.ts';
import type { RunEdit } from '../../session/session-run.ts';
import type { Store } from '../../store/store.ts';
import { audibleAlerts, silencedAlerts, type SilencedAlert } from '../alerts/silences.ts';

/** Whose findings are remembered; `handle` is the inside of the session that has the run open. */
type FoundRun = {
  readonly store: Store;
  readonly runId: string;
  readonly handle: Pick<RunHandle, 'change'> | undefined;
};

/** Remembers what an analysis found: the overall score, and how many alerts nobody has silenced. Nothing is written where the run says so. */
export async function rememberFindings(
  run: FoundRun,
  found: {
    readonly alerts: readonly AlertRecord[];
    readonly silenced: readonly SilencedAlert[];
    readonly healthScores: readonly HealthScoreRecord[];
  },
  nowMs: number,
): Promise<void> {
  const score = found.healthScores.find(({ scoreKey }) => scoreKey === 'overall')?.score ?? null;
  const findings = {
    ...(score === null ? {} : { health: score }),
    ...countsOf(audibleAlerts(found.alerts, found.silenced)),
  };
  await change(run, () => findings, nowMs);
}

/** Counts the stored alerts again, while a run goes on; the score stays that of the last analysis. */
export async function countAlertsAgain(run: FoundRun, nowMs: number): Promise<void> {
  const { records } = await readRecords(run, alertTable, {}, { columns: [] });
  const silenced = silencedAlerts(records, await readSilences(run), nowMs);
  const counts = countsOf(audibleAlerts(records, silenced));
  const withCounts = ({ health }: JsonObject): JsonObject => ({
    ...(health === undefined ? {} : { health }),
    ...counts,
  });
  await change(run, withCounts, nowMs);
}

function countsOf(alerts: readonly AlertRecord[]): JsonObject {
  const counts = ALERT_SEVERITIES.toReversed().flatMap((severity): [string, number][] => {
    const count = alerts.filter((alert) => alert.severity === severity).length;
    return count === 0 ? [] : [[severity, count]];
  });
  return {
    alerts: alerts.length,
    ...(counts.length === 0 ? {} : { by_severity: Object.fromEntries(counts) }),
  };
}

async function change(
  { handle, runId, store }: FoundRun,
  next: (before: JsonObject) => JsonObject,
  nowMs: number,
): Promise<void> {
  const edit: RunEdit = ({ findings: before }) => {
    const findings = next(before);
    return JSON.stringify(findings) === JSON.stringify(before) ? undefined : { findings };
  };
  await (handle === undefined ? changeRun(store, runId, nowMs, edit) : handle.change(edit));
}
