/** A profile in Chrome's trace format, which Perfetto (ui.perfetto.dev) and chrome://tracing open. */
import type { Profile, ProfileScope } from './profile.ts';

type TraceEvent = {
  readonly name: string;
  /** `X` a span, `C` a counter, `i` an instant, `M` a name. */
  readonly ph: 'X' | 'C' | 'i' | 'M';
  /** Microseconds since the profile began. */
  readonly ts: number;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly s?: 'p';
  readonly cat?: string;
  readonly args?: Readonly<Record<string, unknown>>;
};

/** A trace as its readers expect it. */
export type ChromeTrace = {
  readonly displayTimeUnit: 'ms';
  readonly otherData: Readonly<Record<string, string>>;
  readonly traceEvents: readonly TraceEvent[];
};

const PID = 1;
const COUNTERS = [
  'rss_bytes',
  'heap_bytes',
  'array_buffer_bytes',
  'wasm_bytes',
  'tensor_count',
  'tensor_bytes',
  'tensor_gpu_bytes',
  'webgpu_bytes',
  'disk_read_bytes',
  'disk_write_bytes',
  'network_bytes',
];

/**
 * Scopes as spans, checkpoints as instants, memory as counters. Scopes that overlap without one being inside the other are on tracks
 * of their own: spans of one track are nested. A scope without an end lasts to the end of the profile.
 *
 * @example
 * ```js
 * import { Profiler, profileTrace } from 'quark-sdk/profiler';
 *
 * const profileOf = (length) => {
 *   const profiler = new Profiler(); // without a session: in memory only
 *   profiler.scope('Loading', () => new Float32Array(length).fill(1));
 *   return profiler.close();
 * };
 * const { traceEvents } = profileTrace(await profileOf(1000)); // as JSON in a file: for ui.perfetto.dev
 * console.log(traceEvents.filter(({ ph }) => ph === 'X').map(({ name }) => name)); // [ 'Loading' ]
 * ```
 */
export function profileTrace(profile: Profile): ChromeTrace {
  const endMs = Math.max(
    profile.endedMs ?? 0,
    profile.checkpoints.at(-1)?.atMs ?? 0,
    ...profile.readings.map(({ atMs }) => atMs),
  );
  const tracks = tracksOf(profile.scopes, endMs);
  const own = profile.metrics.flatMap(({ kind, name }) => (kind === 'checkpoint' ? [name] : []));
  const event = (ph: TraceEvent['ph'], name: string, atMs: number, rest: Partial<TraceEvent>) => ({
    name,
    ph,
    ts: micros(atMs),
    pid: PID,
    tid: 1,
    ...rest,
  });
  const named: TraceEvent[] = [
    event('M', 'process_name', 0, { args: { name: profile.runId ?? 'profile' } }),
    ...[...new Set(tracks)].map((tid) =>
      event('M', 'thread_name', 0, { tid, args: { name: tid === 1 ? 'scopes' : `scopes ${tid}` } }),
    ),
  ];
  const spans = profile.scopes.map((scope, i): TraceEvent => {
    const { hasFailed, isAutomatic, name, peaks, startMs } = scope;
    const end = scope.endMs ?? endMs;
    return event('X', name, startMs, {
      dur: micros(end) - micros(startMs),
      tid: tracks[i] ?? 1,
      cat: isAutomatic ? 'quark' : 'program',
      args: { has_failed: hasFailed, has_ended: scope.endMs !== null, peaks },
    });
  });
  const moments = profile.checkpoints.flatMap(({ atMs, name, scope, values }): TraceEvent[] => [
    ...(scope === null ? [event('i', name, atMs, { s: 'p', args: { values } })] : []),
    ...[...COUNTERS, ...own].flatMap((counter) => {
      const value = values[counter];
      return value === undefined ? [] : [event('C', counter, atMs, { args: { value } })];
    }),
  ]);
  const readings = profile.readings.flatMap(({ atMs, gpus, measure, value }): TraceEvent[] => [
    event('C', measure, atMs, { args: { value } }),
    ...(gpus.length < 2
      ? []
      : gpus.map(({ index, usedBytes }) =>
          event('C', `gpu ${index} bytes`, atMs, { args: { value: usedBytes } }),
        )),
  ]);
  return {
    displayTimeUnit: 'ms',
    otherData: { profile: profile.id, started_at: new Date(profile.startedAtMs).toISOString() },
    traceEvents: [...named, ...[...spans, ...moments, ...readings].toSorted((a, b) => a.ts - b.ts)],
  };
}

/** A track for each scope, from 1: the first in which it is after all others, or inside of the last one that is open. */
function tracksOf(scopes: readonly ProfileScope[], endMs: number): number[] {
  const tracks: number[][] = [];
  const found = new Map<ProfileScope, number>();
  const ends = (scope: ProfileScope): number => scope.endMs ?? endMs;
  const inOrder = scopes.toSorted(
    (a, b) => a.startMs - b.startMs || ends(b) - ends(a) || a.id - b.id,
  );
  for (const scope of inOrder) {
    let at = tracks.findIndex((open) => {
      while (open.length > 0 && (open.at(-1) ?? 0) <= scope.startMs) open.pop();
      return open.length === 0 || (open.at(-1) ?? 0) >= ends(scope);
    });
    if (at < 0) at = tracks.push([]) - 1;
    tracks[at]?.push(ends(scope));
    found.set(scope, at + 1);
  }
  return scopes.map((scope) => found.get(scope) ?? 1);
}

function micros(ms: number): number {
  return Math.round(ms * 1000);
}
