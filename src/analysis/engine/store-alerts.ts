/** Alerts of an analysis on the way to the store, beside those that the program raised. */
import { readRecords } from '../../read/records.ts';
import { alertTable, type AlertRecord } from '../../records/alert.ts';
import { eventTable } from '../../records/event.ts';
import { USER_ALERT } from '../../records/user-alert.ts';
import { storeRecords } from '../evaluate/stored-results.ts';
import { readUserAlert } from '../alerts/user-alerts.ts';

/**
 * Stores the alerts of an analysis. What replaces all alerts has those that the program raised, too; one that was raised meanwhile is
 * added: its event is durable before its record is, so that either this or the session stores it last.
 */
export async function storeAlerts(
  alerts: readonly AlertRecord[],
  destination: Parameters<typeof storeRecords>[2],
): Promise<readonly AlertRecord[]> {
  if (!destination.replaces) {
    const raised = alerts.filter(({ ruleId }) => ruleId === USER_ALERT);
    const found = alerts.filter(({ ruleId }) => ruleId !== USER_ALERT);
    return [...(await storeRecords(alertTable, found, destination)), ...raised];
  }
  const stored = await storeRecords(alertTable, alerts, destination);
  const { records } = await readRecords(
    destination,
    eventTable,
    { eventType: USER_ALERT },
    { columns: ['eventType'] },
  );
  const known = new Set(alerts.map(({ id }) => id));
  const late = records.flatMap(readUserAlert).filter(({ id }) => !known.has(id));
  if (late.length === 0) return stored;
  return [
    ...stored,
    ...(await storeRecords(alertTable, late, { ...destination, replaces: false })),
  ];
}
