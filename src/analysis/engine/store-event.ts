/** Events that an analysis leaves with a run. */
import type { JsonObject } from '../../base/json.ts';
import { readRecords } from '../../read/records.ts';
import { appendEvent } from '../../read/silences.ts';
import { eventTable } from '../../records/event.ts';
import type { PHASE_SETTINGS_EVENT, SETTINGS_EVENT } from '../evaluate/judged-with.ts';
import type { AnalyzedRun } from '../evaluate/stored-results.ts';
import type { OwnRules } from '../own/own-rules.ts';
import { RULES_EVENT, rulesPayload } from '../own/stored-rules.ts';

/** Stores what results were found with, before they are stored, unless the run says the same already; defaults need no word. */
export async function storeSettings(
  run: AnalyzedRun,
  eventType: typeof SETTINGS_EVENT | typeof PHASE_SETTINGS_EVENT,
  settings: JsonObject,
  nowMs: number,
): Promise<void> {
  const { records } = await readRecords(
    run,
    eventTable,
    { eventType, limit: 1 },
    { columns: ['eventType'] },
  );
  if (JSON.stringify(records[0]?.payload ?? {}) === JSON.stringify(settings)) return;
  await appendEvent(run, { eventType, atMs: nowMs, payload: settings });
}

/** Stores the rules without code with the run that they judge, unless it has the same ones. */
export async function storeRules(run: AnalyzedRun, rules: OwnRules): Promise<void> {
  const payload = rulesPayload(rules);
  const filter = { eventType: RULES_EVENT, limit: 1 };
  const { records } = await readRecords(run, eventTable, filter, { columns: ['eventType'] });
  if (JSON.stringify(records[0]?.payload) === JSON.stringify(payload)) return;
  await appendEvent(run, { eventType: RULES_EVENT, atMs: run.clock.now(), payload });
}
