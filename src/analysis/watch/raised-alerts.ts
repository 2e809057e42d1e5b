/** Alerts that the program raised with `session.alert`, read as they come. */
import { readRecords } from '../../read/records.ts';
import type { RunSource } from '../../read/scan.ts';
import { alertTable, type AlertRecord } from '../../records/alert.ts';
import { USER_ALERT } from '../../records/user-alert.ts';
import { readSilences } from '../../read/silences.ts';
import { audibleAlerts, silencedAlerts } from '../alerts/silences.ts';

export class RaisedAlerts {
  readonly #run: RunSource;
  readonly #known = new Set<string>();
  #next = 0;
  #isDirty = true;

  constructor(run: RunSource) {
    this.#run = run;
  }

  /** Notes what was appended; false where it is no alert. */
  appended(table: string): boolean {
    if (table !== alertTable.table) return false;
    this.#isDirty = true;
    return true;
  }

  /** Those since the last call. @throws {SessionStoreError} then the next call returns them */
  async take(isTold: boolean): Promise<readonly AlertRecord[]> {
    // What this process appends it is told of; of another process nothing is.
    if (isTold && !this.#isDirty) return [];
    const { records } = await readRecords(
      this.#run,
      alertTable,
      { ruleId: USER_ALERT, sequenceMin: this.#next },
      { columns: ['ruleId'] },
    );
    this.#isDirty = false;
    const raised = records.filter(({ id }) => !this.#known.has(id));
    for (const { id, sequence } of raised) {
      this.#known.add(id);
      this.#next = Math.max(this.#next, (sequence ?? -1) + 1);
    }
    return raised;
  }
}

/** The alerts that nobody has silenced. @throws {SessionStoreError} */
export async function withoutSilenced(
  run: RunSource,
  alerts: readonly AlertRecord[],
  nowMs: number,
): Promise<readonly AlertRecord[]> {
  if (alerts.length === 0) return alerts;
  return audibleAlerts(alerts, silencedAlerts(alerts, await readSilences(run), nowMs));
}
