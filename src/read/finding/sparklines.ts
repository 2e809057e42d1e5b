/** Small curves of many runs: one metric of each in a few points, as a row of a table shows it. */
import { checkCount, checkNotAborted, checkOptionNames } from '../../base/assert.ts';
import { invalidInput, isQuarkError, isStoreError } from '../../base/errors.ts';
import { checkStorable } from '../../base/names.ts';
import { lossMetric } from '../../records/run-paths.ts';
import type { Curve, RunSparkline, SparklineQuery } from '../../store/curves.ts';
import type { SegmentManifest, SegmentSource, Store } from '../../store/store.ts';
import { metricSegments, readCurves, type CurveSource } from '../curves.ts';

/** Runs of one question. */
export const MAX_SPARKLINE_RUNS = 200;
/** Points of a small curve, unless given, and at most. */
export const DEFAULT_SPARKLINE_POINTS = 64;
export const MAX_SPARKLINE_POINTS = 512;
/** Of each part of the axis a curve has the first, lowest, highest and last sample. */
const POINTS_OF_PART = 4;
/** Runs that are read at the same time: a store in a browser answers several requests at once. */
const RUNS_AT_ONCE = 8;
/** Where segments have too many metrics to name them, the loss is one of these. */
const USUAL_LOSSES = ['train/loss', 'loss', 'val/loss'] as const;

/** @throws {QuarkError} `invalid_input` naming the field */
export function checkSparklineQuery(query: SparklineQuery): void {
  checkOptionNames('query', query, ['runIds', 'metricKey', 'points']);
  const { metricKey, points = DEFAULT_SPARKLINE_POINTS, runIds } = query;
  if (!Array.isArray(runIds) || runIds.length > MAX_SPARKLINE_RUNS)
    throw invalidInput(
      'runIds',
      Array.isArray(runIds) ? runIds.length : runIds,
      `a list of at most ${MAX_SPARKLINE_RUNS} ids`,
    );
  for (const runId of runIds) checkStorable('runIds', runId);
  if (metricKey !== undefined) checkStorable('metricKey', metricKey);
  if (checkCount('points', points) < POINTS_OF_PART || points > MAX_SPARKLINE_POINTS)
    throw invalidInput(
      'points',
      points,
      `an integer from ${POINTS_OF_PART} to ${MAX_SPARKLINE_POINTS}`,
    );
}

/**
 * Small curves of many runs: one metric of each, downsampled to a few points. A service makes them in one request. Runs that are not there,
 * that cannot be read or that lack the metric are left out.
 *
 * @param query `runIds`: at most 200. `metricKey`: the loss of each run unless given (`train/loss`, `loss`, or the first that ends in it).
 *   `points`: about so many of each curve, 4 to 512; 64 unless given.
 * @returns in the order of `runIds`; of each curve the lowest and the highest value of each part, and the last sample
 * @throws {QuarkError} `invalid_input` naming the field, `aborted`
 * @throws {SessionStoreError} when the store failed
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { readSparklines } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   const steps = Array.from({ length: 1000 }, (_, step) => step);
 *   new MetricsLogger(session).logColumns('val/loss', steps, steps.map((step) => 1 / (step + 1)));
 *   return session.runId;
 * });
 * const [curve] = await readSparklines(store, { runIds: [runId], metricKey: 'val/loss', points: 32 });
 * console.log(curve.metricKey, curve.values.length);
 * ```
 */
export async function readSparklines(
  store: Store,
  query: SparklineQuery,
  options: { readonly signal?: AbortSignal } = {},
): Promise<readonly RunSparkline[]> {
  checkSparklineQuery(query);
  checkOptionNames('options', options, ['signal']);
  const there = await store.readSparklines?.(query);
  if (there !== undefined) return there;
  const found: RunSparkline[] = [];
  for (let at = 0; at < query.runIds.length; at += RUNS_AT_ONCE) {
    checkNotAborted(options.signal);
    const some = query.runIds.slice(at, at + RUNS_AT_ONCE);
    const curves = await Promise.all(
      some.map((runId) => sparklineOrNone(() => readOne(store, runId, query, options))),
    );
    found.push(...curves.flatMap((one) => one ?? []));
  }
  return found;
}

async function readOne(
  store: Store,
  runId: string,
  query: SparklineQuery,
  source: CurveSource,
): Promise<RunSparkline | undefined> {
  const listed = await metricSegments(store, runId);
  return readSparkline(store, runId, query, { ...source, listed, notes: store.notes });
}

/** The small curve of one run, of whose metrics the segments are listed; undefined where it has none. */
export async function readSparkline(
  store: SegmentSource,
  runId: string,
  { metricKey, points = DEFAULT_SPARKLINE_POINTS }: Omit<SparklineQuery, 'runIds'>,
  source: CurveSource & { readonly listed: readonly SegmentManifest[] },
): Promise<RunSparkline | undefined> {
  const metricKeys = metricKey === undefined ? lossesOf(source.listed) : [metricKey];
  if (metricKeys.length === 0) return undefined;
  const buckets = Math.max(1, Math.floor(points / POINTS_OF_PART));
  const { curves } = await readCurves(store, { runId, metricKeys, buckets }, source);
  const key = metricKey ?? lossMetric(curves.map((one) => one.metricKey));
  const curve = curves.find((one) => one.metricKey === key);
  return curve === undefined ? undefined : sparklineOf(runId, curve);
}

/** The loss of a run, or what it may be called. */
function lossesOf(listed: readonly SegmentManifest[]): readonly string[] {
  const keys = new Set<string>();
  for (const one of listed) {
    if (one.keys === null) return USUAL_LOSSES;
    for (const key of one.keys) keys.add(key);
  }
  const loss = lossMetric([...keys]);
  return loss === undefined ? [] : [loss];
}

/** By step; by time where no sample has a step. */
function sparklineOf(runId: string, { metricKey, steps, timesMs, values }: Curve): RunSparkline {
  const axis = steps.every((step) => Number.isNaN(step)) ? 'time' : 'step';
  const positions = axis === 'step' ? steps : timesMs;
  const order = Array.from(positions.keys())
    .filter((at) => !Number.isNaN(positions[at] ?? Number.NaN))
    .sort((a, b) => (positions[a] ?? 0) - (positions[b] ?? 0) || a - b);
  return {
    runId,
    metricKey,
    axis,
    positions: order.map((at) => positions[at] ?? 0),
    values: order.map((at) => finite(values[at])),
  };
}

function finite(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) ? value : Number.NaN;
}

/** Undefined where the run is gone or damaged: the others have their curves all the same. */
export async function sparklineOrNone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isQuarkError(error, 'run_not_found') || isStoreError(error, 'corrupt')) return undefined;
    throw error;
  }
}
