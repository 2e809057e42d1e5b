/**
 * The statistics of timers as events of a run. Each event has all that one writer has measured of one timer so far, so that the last
 * one counts; statistics of several writers, such as those of a resumed run, are merged.
 */
import type { JsonObject } from '../base/json.ts';
import { RunningMoments } from '../base/running-moments.ts';
import { QuantileSketch } from '../kernel/series/sketch/quantile-sketch.ts';
import { readEvents } from '../read/events.ts';
import type { ReadableRun } from '../read/tables.ts';

/** Type of the event. */
export const TIMER_SUMMARY = 'timer_summary';

/** What a timer measured, in milliseconds. All but the counts are NaN when nothing was measured. */
export type TimerStatistics = {
  readonly name: string;
  /** Measurements in the statistics. */
  readonly count: number;
  /** Measurements at the start that were left out. */
  readonly skipped: number;
  readonly totalMs: number;
  readonly meanMs: number;
  /** The population deviation. */
  readonly stdMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** Quantiles, within 1 % of a measurement of their rank. */
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
};

/** What a timer keeps: everything in it has a bound, however often it runs. */
export class TimerTotals {
  skipped = 0;
  readonly moments = new RunningMoments();
  sketch = new QuantileSketch();

  add(ms: number): void {
    this.moments.add(ms);
    this.sketch.add(ms);
  }

  merge(other: TimerTotals): void {
    this.skipped += other.skipped;
    this.moments.merge(other.moments);
    this.sketch.merge(other.sketch);
  }

  statistics(name: string): TimerStatistics {
    const { moments, sketch, skipped } = this;
    const [p50 = Number.NaN, p90 = Number.NaN, p99 = Number.NaN] = sketch.quantiles([
      0.5, 0.9, 0.99,
    ]);
    return {
      name,
      count: moments.count,
      skipped,
      totalMs: sketch.sum,
      meanMs: sketch.mean,
      stdMs: moments.std,
      minMs: sketch.min,
      maxMs: sketch.max,
      p50Ms: p50,
      p90Ms: p90,
      p99Ms: p99,
    };
  }
}

/** The payload of the event. Numbers are for readers of the event; the sketch is what is merged. */
export function timerPayload(writer: string, name: string, totals: TimerTotals): JsonObject {
  const { count, maxMs, meanMs, minMs, p50Ms, p90Ms, p99Ms, skipped, stdMs, totalMs } =
    totals.statistics(name);
  return {
    name,
    writer,
    count,
    skipped,
    total_ms: totalMs,
    mean_ms: meanMs,
    std_ms: stdMs,
    min_ms: minMs,
    max_ms: maxMs,
    p50_ms: p50Ms,
    p90_ms: p90Ms,
    p99_ms: p99Ms,
    sketch: toBase64(totals.sketch.toBytes()),
  };
}

/**
 * The statistics of the timers of a run, by name in alphabetical order; those of several writers merged.
 *
 * @throws {SessionStoreError} when the store cannot be read
 * @example
 * ```js
 * import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
 * import { readTimers, Timers } from 'quark-sdk/profiler';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   const timers = new Timers(session);
 *   for (let i = 0; i < 3; i++) timers.time('batch', () => Math.hypot(i, i));
 *   return session.runId;
 * });
 * for (const { name, count } of await readTimers(await openRun(store, runId))) console.log(name, count); // batch 3
 * ```
 */
export async function readTimers(run: ReadableRun): Promise<readonly TimerStatistics[]> {
  const { records } = await readEvents(run, { eventType: TIMER_SUMMARY });
  const last = new Map<string, JsonObject>();
  for (const { payload } of records)
    last.set(JSON.stringify([payload['writer'], payload['name']]), payload);
  const timers = new Map<string, TimerTotals>();
  for (const payload of last.values()) {
    const { name } = payload;
    const totals = totalsOf(payload);
    if (totals === undefined || typeof name !== 'string') continue;
    const before = timers.get(name);
    if (before === undefined) timers.set(name, totals);
    else before.merge(totals);
  }
  return [...timers]
    .map(([name, totals]) => totals.statistics(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Undefined for an event that something else wrote under this name. */
function totalsOf(payload: JsonObject): TimerTotals | undefined {
  const { count, max_ms: max, min_ms: min, mean_ms: mean, skipped, sketch, std_ms: std } = payload;
  if (typeof sketch !== 'string' || typeof skipped !== 'number') return undefined;
  if (typeof count !== 'number' || typeof std !== 'number' || typeof mean !== 'number')
    return undefined;
  if (typeof min !== 'number' || typeof max !== 'number') return undefined;
  const totals = new TimerTotals();
  try {
    totals.sketch = QuantileSketch.fromBytes(fromBase64(sketch));
  } catch {
    return undefined; // not base64, or not a sketch
  }
  totals.skipped = skipped;
  totals.moments.merge({ count, mean, std, min, max });
  return totals;
}

function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
