/** How far a training is and how long the rest of it takes. */
import type { RunReader } from '../read/run-reader.ts';
import type { EventRecord } from '../records/event.ts';
import { TRAINING_TOTAL } from '../records/training-total.ts';

/** How far a training is. What cannot be known is null. */
export type RunProgress = {
  /** Steps that are done: the last recorded step, counted from 0, plus 1. */
  readonly steps: number | null;
  readonly totalSteps: number | null;
  /** The epoch under way, counted from 0. */
  readonly epoch: number | null;
  readonly totalEpochs: number | null;
  /** Share of the training that is done, 0 to 1. */
  readonly share: number | null;
  /** Median time of a step, in milliseconds. */
  readonly stepMs: number | null;
  /** How long the rest takes from the last recorded step on, in milliseconds; 0 for a training that is done. */
  readonly remainingMs: number | null;
  /** When the last step was recorded, in UTC epoch milliseconds. */
  readonly lastTimeMs: number | null;
};

/** A moment of a training: a step, its epoch (NaN where it is not known), and when it was recorded. */
export type ProgressPoint = {
  readonly step: number;
  readonly epoch: number;
  readonly timeMs: number;
};

/** What a program says about its length. */
export type ProgressTotal = {
  readonly epochs: number | null;
  readonly stepsPerEpoch: number | null;
  readonly steps: number | null;
};

/** Samples that a progress is computed of, the most recent ones. */
const MAX_SAMPLES = 20_000;
/** A gap is a pause where it takes so many times as long as the steps in it. */
const PAUSE_FACTOR = 4;
/** Pauses that come back: fewer are taken for an accident, such as a laptop that slept. */
const MIN_PAUSES = 3;
const MIN_GAP_MS = 20;
const MIN_GAPS = 16;

/**
 * How far a run is and how long the rest takes; undefined for a run that says nothing of its length and has no steps.
 *
 * The length is what `session.setTotal` said last, else what `quarkCallback` was told by `fit`. The rate is the median time of a step
 * among the most recent samples: a pause does not change it. Pauses that come back, such as an evaluation after each epoch, are added
 * for the rest of the training; a pause that came once or twice is not.
 *
 * @throws {SessionStoreError} when the store cannot be read
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { readProgress } from 'quark-sdk/profiler';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   await session.setTotal({ epochs: 1, stepsPerEpoch: 100 });
 *   const metrics = new MetricsLogger(session);
 *   for (let step = 0; step < 25; step++) metrics.log('train/loss', 1 / (step + 1), { step, epoch: 0 });
 *   return session.runId;
 * });
 * const { share, steps, totalSteps } = await readProgress(await openRun(store, runId));
 * console.log(steps, totalSteps, share); // 25 100 0.25
 * ```
 */
export async function readProgress(reader: RunReader): Promise<RunProgress | undefined> {
  const [events, points] = await Promise.all([
    reader.readEvents({ eventType: TRAINING_TOTAL }),
    recentPoints(reader),
  ]);
  const total = trainingTotalOf(events);
  if (total === undefined && points.length === 0) return undefined;
  return progressOf(points, total ?? { epochs: null, stepsPerEpoch: null, steps: null });
}

/**
 * What events of a run say about its length: what `session.setTotal` said last, else what `quarkCallback` was told by `fit`. Undefined
 * where none of them is a `training_total`.
 *
 * @param events in the order in which they were recorded; those of other types are passed over
 * @example
 * ```js
 * import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
 * import { trainingTotalOf } from 'quark-sdk/profiler';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   await session.setTotal({ epochs: 10, stepsPerEpoch: 938 });
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * const { epochs, stepsPerEpoch } = trainingTotalOf(await reader.readEvents());
 * console.log(epochs, stepsPerEpoch); // 10 938
 * ```
 */
export function trainingTotalOf(
  events: readonly Pick<EventRecord, 'eventType' | 'payload'>[],
): ProgressTotal | undefined {
  const totals = events.filter(({ eventType }) => eventType === TRAINING_TOTAL);
  const { payload } = totals.findLast((one) => one.payload['by'] !== 'fit') ?? totals.at(-1) ?? {};
  if (payload === undefined) return undefined;
  const number = (name: string): number | null => {
    const value = payload[name];
    return typeof value === 'number' ? value : null;
  };
  return {
    epochs: number('epochs'),
    stepsPerEpoch: number('steps_per_epoch'),
    steps: number('steps'),
  };
}

/** The first sample of each step, of the metric that most of the recent samples are of. */
async function recentPoints(reader: RunReader): Promise<ProgressPoint[]> {
  const columns = await reader.readMetricColumns({ limit: MAX_SAMPLES });
  const counts = new Float64Array(columns.keys.length);
  for (let row = 0; row < columns.rowCount; row++)
    if (!Number.isNaN(columns.steps[row] ?? Number.NaN)) {
      const key = columns.keyIndex[row] ?? 0;
      counts[key] = (counts[key] ?? 0) + 1;
    }
  const most = counts.indexOf(counts.reduce((a, b) => Math.max(a, b), 1));
  const points: ProgressPoint[] = [];
  for (let row = 0; row < columns.rowCount; row++) {
    if (columns.keyIndex[row] !== most) continue;
    const [step = Number.NaN, epoch = Number.NaN, timeMs = Number.NaN] = [
      columns.steps[row],
      columns.epochs[row],
      columns.timesMs[row],
    ];
    if (!Number.isNaN(step)) points.push({ step, epoch, timeMs });
  }
  return points;
}

/**
 * How far a training is, from points in memory; {@link readProgress} reads them of a run, and says how the rate is found.
 *
 * @param points in the order in which they were recorded
 * @param total the length of the training; null for what is not known
 * @example
 * ```js
 * import { progressOf } from 'quark-sdk/profiler';
 *
 * const points = Array.from({ length: 50 }, (_, step) => ({ step, epoch: 0, timeMs: 1000 * step })); // a step a second
 * const { remainingMs, share, stepMs } = progressOf(points, { epochs: 1, stepsPerEpoch: 200, steps: 200 });
 * console.log(share, stepMs, remainingMs); // 0.25 1000 150000
 * ```
 */
export function progressOf(points: readonly ProgressPoint[], total: ProgressTotal): RunProgress {
  const last = points.at(-1);
  const steps = last === undefined ? null : last.step + 1;
  const epoch = epochOf(last, total);
  const totalSteps = total.steps;
  const { perStepMs, stepMs } = ratesOf(points);
  let share: number | null = null;
  let remainingMs: number | null = null;
  if (totalSteps !== null && totalSteps > 0) {
    const left = Math.max(0, totalSteps - (steps ?? 0));
    share = Math.min(1, (steps ?? 0) / totalSteps);
    if (left === 0) remainingMs = 0;
    else if (perStepMs !== null) remainingMs = left * perStepMs;
  } else if (total.epochs !== null && epoch !== null) {
    share = Math.min(1, epoch / total.epochs);
    const epochMs = epochTime(points);
    if (epochMs !== null) remainingMs = Math.max(0, total.epochs - epoch) * epochMs;
  }
  return {
    steps,
    totalSteps,
    epoch,
    totalEpochs: total.epochs,
    share,
    stepMs,
    remainingMs,
    lastTimeMs: last?.timeMs ?? null,
  };
}

function epochOf(last: ProgressPoint | undefined, total: ProgressTotal): number | null {
  if (last === undefined) return null;
  if (!Number.isNaN(last.epoch)) return last.epoch;
  return total.stepsPerEpoch === null ? null : Math.floor(last.step / total.stepsPerEpoch);
}

/** The median time of a step, and the time of a step with its share of the pauses that come back. */
function ratesOf(points: readonly ProgressPoint[]): {
  stepMs: number | null;
  perStepMs: number | null;
} {
  const gaps = longEnough(gapsOf(points));
  if (gaps.length === 0) return { stepMs: null, perStepMs: null };
  const stepMs = weightedMedian(gaps);
  const excesses: { ms: number; step: number }[] = [];
  let covered = 0;
  for (const { ms, step, steps } of gaps) {
    covered += steps;
    const excess = ms - stepMs * steps;
    if (ms > PAUSE_FACTOR * stepMs * steps && excess > 1) excesses.push({ ms: excess, step });
  }
  return { stepMs, perStepMs: stepMs + recurringMs(excesses, covered) };
}

type Gap = { readonly ms: number; readonly steps: number; readonly step: number };

/** From each step to the next that was recorded. Steps that come again, after a resume, begin anew. */
function gapsOf(points: readonly ProgressPoint[]): Gap[] {
  const gaps: Gap[] = [];
  for (let i = 1; i < points.length; i++) {
    const [before, now] = [points[i - 1], points[i]];
    if (before === undefined || now === undefined) continue;
    const steps = now.step - before.step;
    const ms = now.timeMs - before.timeMs;
    if (steps > 0 && ms >= 0) gaps.push({ ms, steps, step: now.step });
  }
  return gaps;
}

/** Times are whole milliseconds: gaps of quick steps are put together, two by two, until they are long enough to be compared. */
function longEnough(gaps: readonly Gap[]): readonly Gap[] {
  let merged = gaps;
  while (merged.length >= MIN_GAPS && medianGap(merged) < MIN_GAP_MS)
    merged = merged.flatMap(({ ms, step, steps }, i) => {
      const next = merged[i + 1];
      if (i % 2 === 1) return [];
      return [
        next === undefined
          ? { ms, step, steps }
          : { ms: ms + next.ms, step: next.step, steps: steps + next.steps },
      ];
    });
  return merged;
}

function medianGap(gaps: readonly Gap[]): number {
  return gaps.map(({ ms }) => ms).toSorted((a, b) => a - b)[gaps.length >> 1] ?? 0;
}

/** The median of the time of a step, each gap as often as it has steps. */
function weightedMedian(gaps: readonly Gap[]): number {
  const sorted = gaps.toSorted((a, b) => a.ms / a.steps - b.ms / b.steps);
  const half = gaps.reduce((sum, { steps }) => sum + steps, 0) / 2;
  let below = 0;
  for (const { ms, steps } of sorted) {
    below += steps;
    if (below >= half) return ms / steps;
  }
  return 0;
}

/** What pauses that come back add to each step: their median, as often as they came. */
function recurringMs(
  pauses: readonly { readonly ms: number; readonly step: number }[],
  covered: number,
): number {
  if (pauses.length < MIN_PAUSES) return 0;
  const sorted = pauses.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const median = sorted[sorted.length >> 1] ?? 0;
  // One that is far longer than the others is an accident beside them.
  const regular = sorted.filter((ms) => ms <= PAUSE_FACTOR * median);
  return (median * regular.length) / Math.max(1, covered);
}

/** The median time from the first sample of an epoch to that of the next. */
function epochTime(points: readonly ProgressPoint[]): number | null {
  const starts: number[] = [];
  let epoch = Number.NaN;
  for (const point of points) {
    if (!(point.epoch > epoch) && !Number.isNaN(epoch)) continue;
    epoch = point.epoch;
    starts.push(point.timeMs);
  }
  const times = starts
    .slice(1)
    .map((timeMs, i) => timeMs - (starts[i] ?? 0))
    // The clock of a machine may be set back.
    .filter((ms) => ms >= 0)
    .toSorted((a, b) => a - b);
  return times[times.length >> 1] ?? null;
}
