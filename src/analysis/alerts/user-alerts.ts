/** Alerts that a program raised with `session.alert`, from the events of the run: an analysis neither loses nor repeats them. */
import { isQuarkError } from '../../base/errors.ts';
import type { AlertRecord } from '../../records/alert.ts';
import { USER_ALERT, userAlertOf } from '../../records/user-alert.ts';
import type { RunColumns } from '../columns/run-columns.ts';

/** The alerts in the order in which they were raised; an event of the same type that says something else is none. */
export function userAlerts({ events, run }: RunColumns): readonly AlertRecord[] {
  return events.eventTypes.flatMap((eventType, row) => {
    if (eventType !== USER_ALERT) return [];
    const step = events.steps[row] ?? Number.NaN;
    return readUserAlert({
      runId: run.runId,
      timestamp: new Date(events.timesMs[row] ?? 0).toISOString(),
      step: Number.isNaN(step) ? null : step,
      payload: JSON.parse(events.payloads[row] ?? '{}'),
    });
  });
}

/** The alert of one event; none where it does not say what an alert needs. */
export function readUserAlert(event: Parameters<typeof userAlertOf>[0]): readonly AlertRecord[] {
  try {
    return [userAlertOf(event)];
  } catch (error) {
    if (isQuarkError(error)) return [];
    throw error;
  }
}
