/** What was said of alerts of a stored run, and saying it. */
import { systemClock } from '../base/clock.ts';
import { isQuarkError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import { eventTable, type EventRecord } from '../records/event.ts';
import {
  SILENCE_EVENTS,
  silencePayload,
  silencesOfEvents,
  unsilencePayload,
} from '../records/silence.ts';
import type { NewSilence, Silence, SilencedAlerts } from '../records/shapes/silence.ts';
import { batchOfRows } from '../segment/batch-ops.ts';
import { createSegment } from '../segment/manifest.ts';
import type { Store } from '../store/store.ts';
import { readRecords } from './records.ts';
import type { RunSource } from './scan.ts';

/** A run of which something is said. */
type SilencedRun = {
  readonly runId: string;
  readonly store: Pick<Store, 'appendSegments' | 'silenceAlerts' | 'unsilenceAlerts'>;
};

/** Appends one event to a run, also to one that has ended. @throws {SessionStoreError} */
export async function appendEvent(
  { runId, store }: { readonly runId: string; readonly store: Pick<Store, 'appendSegments'> },
  event: {
    readonly eventType: string;
    readonly atMs: number;
    readonly payload: JsonObject;
    readonly step?: number;
  },
): Promise<void> {
  const { atMs, eventType, payload, step = null } = event;
  const record = eventTable.create({
    runId,
    sequence: null,
    timestamp: new Date(atMs).toISOString(),
    eventType,
    severity: 'info',
    step,
    epoch: null,
    status: null,
    payload,
  });
  const { table } = eventTable;
  const identity = { runId, table, writerId: createId('wrt', atMs), batchNumber: 0 };
  const segment = createSegment(eventTable, identity, batchOfRows(eventTable, [record]));
  await store.appendSegments([segment]);
}

/** Says something of alerts of a run, at its service where it has one. Arguments are not checked here. @throws {SessionStoreError} */
export async function silenceAlerts(
  run: SilencedRun,
  silence: NewSilence,
  atMs: number = systemClock.now(),
): Promise<Silence> {
  const { runId, store } = run;
  const said = await asked(store.silenceAlerts?.(runId, silence));
  if (said !== undefined) return { ...silence, atMs: said };
  const eventType = SILENCE_EVENTS[silence.kind];
  await appendEvent(run, { eventType, atMs, payload: silencePayload(silence) });
  return { ...silence, atMs };
}

/** Takes back what was said of the same rule, layer and metric; resolves to when that was. @throws {SessionStoreError} */
export async function unsilenceAlerts(
  run: SilencedRun,
  alerts: SilencedAlerts,
  atMs: number = systemClock.now(),
): Promise<number> {
  const { runId, store } = run;
  const said = await asked(store.unsilenceAlerts?.(runId, alerts));
  if (said !== undefined) return said;
  const payload = unsilencePayload(alerts);
  await appendEvent(run, { eventType: SILENCE_EVENTS.undo, atMs, payload });
  return atMs;
}

/** The answer of a service; undefined without one, and from one that is older than the question. */
async function asked(answer: Promise<number> | undefined): Promise<number | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isQuarkError(error, 'unsupported')) return undefined;
    throw error;
  }
}

/** What was said of the alerts of a stored run and was not taken back, in the order in which it was said; those that have ended included. */
export async function readSilences(run: RunSource): Promise<readonly Silence[]> {
  const events: EventRecord[] = [];
  for (const eventType of Object.values(SILENCE_EVENTS)) {
    const { records } = await readRecords(
      run,
      eventTable,
      { eventType },
      { columns: ['eventType'] },
    );
    events.push(...records);
  }
  events.sort((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
  return silencesOfEvents(
    events.map(({ eventType, payload, timestamp }) => ({
      eventType,
      timeMs: Date.parse(timestamp),
      payload,
    })),
  );
}
