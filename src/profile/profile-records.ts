/** Profiles as events of a run: one for each checkpoint, each later reading, the start and the end. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { readEvents } from '../read/events.ts';
import type { ReadableRun } from '../read/tables.ts';
import type { EventRecord } from '../records/event.ts';
import type { MetricNote, ProfileValues } from './measures.ts';
import {
  completeProfile,
  PEAK_SOURCES,
  type GpuReading,
  type Profile,
  type ProfileCheckpoint,
  type ProfileReading,
  type ScopeMark,
} from './profile.ts';

/** Types of the events. */
export const PROFILE_EVENTS = {
  started: 'profiler_started',
  checkpoint: 'profiler_checkpoint',
  reading: 'profiler_reading',
  ended: 'profiler_ended',
} as const;

/** The payload of a checkpoint. */
export function checkpointPayload(
  profile: string,
  { atMs, index, name, peakSource, scope, values }: ProfileCheckpoint,
): JsonObject {
  return {
    profile,
    index,
    name,
    at_ms: atMs,
    values: { ...values },
    peak_source: peakSource,
    scope:
      scope === null
        ? null
        : {
            id: scope.id,
            name: scope.name,
            boundary: scope.boundary,
            parent_id: scope.parentId,
            is_automatic: scope.isAutomatic,
            has_failed: scope.hasFailed,
          },
  };
}

/** The payload of a later reading. */
export function readingPayload(
  profile: string,
  { atMs, checkpoints, gpus, measure, value }: ProfileReading,
): JsonObject {
  return {
    profile,
    measure,
    at_ms: atMs,
    checkpoints: [...checkpoints],
    value,
    gpus: gpus.map(({ index, name, totalBytes, usedBytes }) => ({
      index,
      name,
      used_bytes: usedBytes,
      total_bytes: totalBytes,
    })),
  };
}

/** The payload of the start. */
export function startedPayload(profile: string, metrics: readonly MetricNote[]): JsonObject {
  return {
    profile,
    metrics: metrics.map(({ definition, kind, name, unit }) => ({ name, unit, kind, definition })),
  };
}

/** The payload of the end. */
export function endedPayload(
  profile: string,
  {
    droppedCheckpoints,
    endedMs,
    summary,
  }: Pick<Profile, 'droppedCheckpoints' | 'endedMs' | 'summary'>,
): JsonObject {
  return {
    profile,
    at_ms: endedMs,
    summary: { ...summary },
    dropped_checkpoints: droppedCheckpoints,
  };
}

/**
 * The profiles of a run in the order in which they began: one for each profiler that its programs had, and what was imported.
 *
 * @throws {SessionStoreError} when the store cannot be read
 * @example
 * ```js
 * import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
 * import { Profiler, readProfiles } from 'quark-sdk/profiler';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new Profiler(session).scope('Loading', () => new Float32Array(1000));
 *   return session.runId;
 * });
 * const [{ scopes }] = await readProfiles(await openRun(store, runId));
 * for (const { name, startMs, endMs } of scopes) console.log(name, endMs >= startMs); // Loading true
 * ```
 */
export async function readProfiles(run: ReadableRun): Promise<readonly Profile[]> {
  const { records } = await readEvents(run, { eventTypes: Object.values(PROFILE_EVENTS) });
  const profiles = new Map<string, EventRecord[]>();
  for (const record of records) {
    const id = record.payload['profile'];
    if (typeof id !== 'string') continue;
    const events = profiles.get(id);
    if (events === undefined) profiles.set(id, [record]);
    else events.push(record);
  }
  return [...profiles].map(([id, events]) => profileOf(id, events));
}

function profileOf(id: string, events: readonly EventRecord[]): Profile {
  const ofType = (type: string): readonly EventRecord[] =>
    events.filter(({ eventType }) => eventType === type);
  const checkpoints = ofType(PROFILE_EVENTS.checkpoint)
    .flatMap((event) => checkpointOf(event) ?? [])
    .toSorted((a, b) => a.index - b.index);
  const [first] = events;
  const [started] = ofType(PROFILE_EVENTS.started);
  const end = ofType(PROFILE_EVENTS.ended).at(-1)?.payload ?? {};
  const startedAtMs =
    checkpoints[0] === undefined
      ? Date.parse(first?.timestamp ?? '')
      : checkpoints[0].timeMs - checkpoints[0].atMs;
  return completeProfile({
    id,
    runId: first?.runId ?? null,
    startedAtMs,
    endedMs: numberOr(end['at_ms'], null),
    checkpoints,
    readings: ofType(PROFILE_EVENTS.reading).flatMap((event) => readingOf(event) ?? []),
    summary: valuesOf(end['summary']),
    metrics: listOf(started?.payload['metrics']).flatMap((one) => metricOf(one) ?? []),
    droppedCheckpoints: numberOr(end['dropped_checkpoints'], 0),
  });
}

function checkpointOf({ payload, timestamp }: EventRecord): ProfileCheckpoint | undefined {
  const { at_ms: atMs, index, name, peak_source: source } = payload;
  if (typeof name !== 'string' || typeof index !== 'number' || typeof atMs !== 'number')
    return undefined;
  return {
    index,
    name,
    atMs,
    timeMs: Date.parse(timestamp),
    values: valuesOf(payload['values']),
    peakSource: PEAK_SOURCES.find((known) => known === source) ?? null,
    scope: markOf(payload['scope']),
  };
}

function markOf(value: JsonValue | undefined): ScopeMark | null {
  if (!isObject(value)) return null;
  const { boundary, id, name, parent_id: parentId } = value;
  if (typeof id !== 'number' || typeof name !== 'string') return null;
  return {
    id,
    name,
    boundary: boundary === 'end' ? 'end' : 'start',
    parentId: numberOr(parentId, null),
    isAutomatic: value['is_automatic'] === true,
    hasFailed: value['has_failed'] === true,
  };
}

function readingOf({ payload }: EventRecord): ProfileReading | undefined {
  const { at_ms: atMs, measure, value } = payload;
  if (typeof atMs !== 'number' || typeof value !== 'number') return undefined;
  return {
    measure: measure === 'page_bytes' ? 'page_bytes' : 'gpu_bytes',
    atMs,
    checkpoints: listOf(payload['checkpoints']).filter((one) => typeof one === 'number'),
    value,
    gpus: listOf(payload['gpus']).flatMap((one) => gpuOf(one) ?? []),
  };
}

function gpuOf(value: JsonValue): GpuReading | undefined {
  if (!isObject(value)) return undefined;
  const { index, name, total_bytes: totalBytes, used_bytes: usedBytes } = value;
  if (typeof index !== 'number' || typeof usedBytes !== 'number') return undefined;
  return {
    index,
    name: typeof name === 'string' ? name : null,
    usedBytes,
    totalBytes: numberOr(totalBytes, null),
  };
}

function metricOf(value: JsonValue): MetricNote | undefined {
  if (!isObject(value)) return undefined;
  const { definition, kind, name, unit } = value;
  if (typeof name !== 'string' || typeof unit !== 'string') return undefined;
  return {
    name,
    unit,
    kind: kind === 'summary' ? 'summary' : 'checkpoint',
    definition: typeof definition === 'string' ? definition : '',
  };
}

function valuesOf(value: JsonValue | undefined): ProfileValues {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (typeof one === 'number' ? [[name, one]] : [])),
  );
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function numberOr<D extends number | null>(value: JsonValue | undefined, fallback: D): number | D {
  return typeof value === 'number' ? value : fallback;
}
