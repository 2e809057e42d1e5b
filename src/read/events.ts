/** Events of a run. */
import { checkLiteral } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import { eventTable, type EventRecord } from '../records/event.ts';
import { EVENT_SEVERITIES, type EventSeverity } from '../records/literals.ts';
import { gatherRows } from '../segment/batch-ops.ts';
import type { OpenedSegment } from '../segment/open-segment.ts';
import type { Vector } from '../codecs/arrow/vectors.ts';
import type { Store } from '../store/store.ts';
import { checkPosition, segmentFilter, type Position, type PositionFilter } from './filters.ts';
import type { RecordsRead } from './metric-records.ts';
import { recordsOfBatch } from './records.ts';
import { matchRows, scanTable } from './scan.ts';

/** Which events to read. All conditions are joined by "and". */
export type EventFilter = PositionFilter & {
  readonly eventType?: string | undefined;
  /** Any of these types. */
  readonly eventTypes?: readonly string[] | undefined;
  readonly severity?: EventSeverity | undefined;
};

const FILTER_NAMES = ['eventType', 'eventTypes', 'severity'] as const;

/** Events in the order they were persisted. @throws {QuarkError} `invalid_input` naming the filter */
export async function readEvents(
  store: Store,
  runId: string,
  filter: EventFilter = {},
): Promise<RecordsRead<EventRecord>> {
  const position = checkPosition(filter, FILTER_NAMES);
  const { eventType, eventTypes, severity } = filter;
  if (eventType !== undefined && typeof eventType !== 'string')
    throw invalidInput('eventType', eventType, 'text');
  if (eventTypes !== undefined && !Array.isArray(eventTypes))
    throw invalidInput('eventTypes', eventTypes, 'a list of event types');
  if (severity !== undefined) checkLiteral('severity', severity, EVENT_SEVERITIES);
  let types: readonly string[] | undefined = eventTypes;
  if (eventType !== undefined)
    types = types === undefined || types.includes(eventType) ? [eventType] : [];
  if (types?.length === 0) return { records: [], damage: [] };
  const scan = await scanTable(
    store,
    eventTable,
    segmentFilter(runId, eventTable.table, position, types),
    (segment) => pickEvents(runId, segment, position, types, severity),
  );
  const records = scan.parts.flat().toSorted((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
  return {
    records: records.slice(Math.max(0, records.length - position.limit)),
    damage: scan.damage,
  };
}

function pickEvents(
  runId: string,
  segment: OpenedSegment,
  position: Position,
  types: readonly string[] | undefined,
  severity: EventSeverity | undefined,
): readonly EventRecord[] {
  const { batch, sequences } = segment;
  const isType =
    types === undefined
      ? undefined
      : keyTest(batch.columns.get('event_type'), (type) => types.includes(type));
  const isSeverity =
    severity === undefined
      ? undefined
      : keyTest(batch.columns.get('severity'), (value) => value === severity);
  const isWanted =
    isType === undefined && isSeverity === undefined
      ? undefined
      : (row: number) => (isType?.(row) ?? true) && (isSeverity?.(row) ?? true);
  const rows = matchRows(segment, position, isWanted);
  if (rows === null) return recordsOfBatch(eventTable, runId, batch, (row) => sequences[row] ?? 0);
  return recordsOfBatch(
    eventTable,
    runId,
    gatherRows(batch, rows),
    (row) => sequences[rows[row] ?? 0] ?? 0,
  );
}

function keyTest(
  vector: Vector | undefined,
  isWanted: (key: string) => boolean,
): (row: number) => boolean {
  if (vector?.kind !== 'key') return () => false;
  const wanted = vector.dictionary.map(isWanted);
  return (row) => wanted[vector.indices[row] ?? -1] === true;
}
