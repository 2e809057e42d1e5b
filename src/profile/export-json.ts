/** A profile as JSON, with the names of what is stored. */
import type { JsonObject } from '../base/json.ts';
import type { Profile } from './profile.ts';
import { checkpointPayload, readingPayload } from './profile-records.ts';

/**
 * The profile as a JSON object: names in snake case, times of checkpoints as ISO text.
 *
 * @example
 * ```js
 * import { profileJson, Profiler } from 'quark-sdk/profiler';
 *
 * const profileOf = (length) => {
 *   const profiler = new Profiler(); // without a session: in memory only
 *   profiler.scope('Loading', () => new Float32Array(length).fill(1));
 *   return profiler.close();
 * };
 * const { scopes } = profileJson(await profileOf(1000));
 * console.log(scopes[0].name); // Loading
 * ```
 */
export function profileJson(profile: Profile): JsonObject {
  const { checkpoints, droppedCheckpoints, endedMs, id, metrics, readings, runId, scopes } =
    profile;
  // The id of the profile is said once.
  const without = (payload: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(payload).filter(([name]) => name !== 'profile'));
  return {
    id,
    run_id: runId,
    started_at: new Date(profile.startedAtMs).toISOString(),
    ended_ms: endedMs,
    summary: { ...profile.summary },
    scopes: scopes.map((scope) => ({
      id: scope.id,
      name: scope.name,
      parent_id: scope.parentId,
      depth: scope.depth,
      start_ms: scope.startMs,
      end_ms: scope.endMs,
      is_automatic: scope.isAutomatic,
      has_failed: scope.hasFailed,
      start: { ...scope.start },
      end: scope.end === null ? null : { ...scope.end },
      peaks: { ...scope.peaks },
    })),
    checkpoints: checkpoints.map((one) => ({
      ...without(checkpointPayload(id, one)),
      time: new Date(one.timeMs).toISOString(),
    })),
    readings: readings.map((one) => without(readingPayload(id, one))),
    metrics: metrics.map(({ definition, kind, name, unit }) => ({ name, unit, kind, definition })),
    dropped_checkpoints: droppedCheckpoints,
  };
}
