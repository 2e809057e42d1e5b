/** Alerts that a program raises by itself: an event of the run, from which the record in the alerts follows. */
import { alertTable, type AlertRecord } from './alert.ts';
import type { AlertCategory, AlertSeverity } from './literals.ts';

/** The rule id of such an alert, and the type of its event. */
export const USER_ALERT = 'user_alert';

/** The alert of an event; what the event says was checked when it was recorded. */
export function userAlertOf(event: {
  readonly runId: string;
  readonly timestamp: string;
  readonly step: number | null;
  readonly payload: unknown;
}): AlertRecord {
  const { runId, step, timestamp } = event;
  const { alert_id: id, category, severity, text, title } = event.payload as UserAlertPayload; // alertTable.create checks it
  return alertTable.create({
    runId,
    sequence: null,
    timestamp,
    id,
    ruleId: USER_ALERT,
    category,
    severity,
    title,
    summary: text,
    fact: text,
    inference: 'The program that trained raised it.',
    stepStart: step,
    stepEnd: step,
    evidence: [],
  });
}

/** What the event of an alert says. */
export type UserAlertPayload = {
  readonly alert_id: string;
  readonly title: string;
  readonly text: string;
  readonly severity: AlertSeverity;
  readonly category: AlertCategory;
};
