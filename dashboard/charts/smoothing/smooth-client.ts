/** The page's side of smoothing: short curves are smoothed at once, long ones in a worker. */
import { SeriesPyramid } from 'quark-sdk/kernels';
import { getOrMake } from '../../parts/maps.ts';
import { nextMessage } from '../../parts/turns.ts';
import type { SampleSeries } from '../../series/series.ts';
import type { Line } from '../../parts/line.ts';
import type { AxisSeries } from '../plot/axis.ts';
import type { Smoothing } from '../plot/chart-settings.ts';
import { smooth } from './smooth.ts';
import type { SmoothReply, SmoothRequest } from './smooth-host.ts';

/** Points up to which a curve is smoothed on the page: a Gaussian takes about a millisecond for them. */
const AT_ONCE = 8_192;
/** Points that a pyramid takes in one turn of the event loop: about two milliseconds. */
export const POINTS_PER_TURN = 262_144;
/** Points that the worker stores at most, 16 bytes each; the curves that were asked for longest ago go first. */
const MOST_STORED = 2_500_000;

/** A smoothed curve, ready to be drawn. It may have fewer points than its curve while more are on their way. */
export type SmoothedCurve = { readonly values: Float64Array; readonly shape: SeriesPyramid };

/** Which curve to smooth, and how. */
export type SmoothQuery = {
  readonly series: SampleSeries;
  /** The axis that the points are on. */
  readonly axis: string;
  readonly points: AxisSeries;
  readonly smoothing: Smoothing;
  /** Length of the axis. */
  readonly extent: number;
};

/** The chart that asks, and what is called when a curve that it asked for is there. */
export type SmoothAsker = { readonly owner: object; readonly onReady: () => void };

/** The points of a curve that the worker has. */
type Stored = { readonly id: number; points: AxisSeries | undefined };
/** What one chart has of one curve. */
type Slot = {
  done: { readonly query: SmoothQuery; readonly curve: SmoothedCurve } | undefined;
  running: SmoothQuery | undefined;
  /** What was asked for last while another question was under way. */
  waiting: { readonly query: SmoothQuery; readonly asker: SmoothAsker } | undefined;
};

/** Smooths the curves of a page. */
export class CurveSmoother {
  readonly #start: () => Line;
  readonly #mostStored: number;
  #line: Line | undefined;
  #hasFailed = false;
  #nextId = 0;
  readonly #slots = new WeakMap<object, Map<string, Slot>>();
  /** By series and axis; the one that was asked for last is the last. */
  readonly #stored = new Map<SampleSeries, Map<string, Stored>>();
  readonly #answers = new Map<number, (values: Float64Array | undefined) => void>();
  readonly #underWay = new WeakMap<object, number>();

  /**
   * @param start starts the worker, at the first curve that is long enough for it; it may throw
   * @param mostStored points that the worker stores at most
   */
  constructor(start: () => Line, mostStored: number = MOST_STORED) {
    this.#start = start;
    this.#mostStored = mostStored;
  }

  /**
   * A curve of a chart, smoothed. A long one is what was there before, or undefined, until the worker has it; `onReady` is called then.
   * Where the worker cannot be started, or fails, it is smoothed at once.
   */
  smoothed(query: SmoothQuery, asker: SmoothAsker): SmoothedCurve | undefined {
    const { points, smoothing } = query;
    if (!(smoothing.amount > 0)) return undefined;
    const slots = getOrMake(this.#slots, asker.owner, () => new Map<string, Slot>());
    const slot = getOrMake(slots, `${query.axis} ${query.series.key}`, (): Slot => ({
      done: undefined,
      running: undefined,
      waiting: undefined,
    }));
    const { done } = slot;
    if (done !== undefined && isSame(done.query, query)) return done.curve;
    if (points.xs.length <= AT_ONCE || this.#hasFailed) {
      const curve = smoothedNow(query);
      slot.done = { query, curve };
      slot.waiting = undefined;
      return curve;
    }
    if (slot.running === undefined) void this.#run(slot, query, asker);
    else slot.waiting = isSame(slot.running, query) ? undefined : { query, asker };
    // Another series, or another axis, has nothing to show yet.
    return done?.query.series === query.series && done.query.axis === query.axis
      ? done.curve
      : undefined;
  }

  /** Whether a chart waits for a curve. */
  isBusy(owner: object): boolean {
    return (this.#underWay.get(owner) ?? 0) > 0;
  }

  async #run(slot: Slot, query: SmoothQuery, asker: SmoothAsker): Promise<void> {
    const { owner } = asker;
    slot.running = query;
    this.#underWay.set(owner, (this.#underWay.get(owner) ?? 0) + 1);
    // The points of a series that is downsampled, or out of order, change while the worker computes.
    const xs = onlyGrows(query) ? query.points.xs : query.points.xs.slice();
    try {
      const values = await this.#ask(query);
      slot.done =
        values === undefined
          ? { query, curve: smoothedNow(query) }
          : { query, curve: { values, shape: await shapeInTurns(xs, values) } };
    } finally {
      this.#underWay.set(owner, (this.#underWay.get(owner) ?? 1) - 1);
      slot.running = undefined;
    }
    const next = slot.waiting;
    slot.waiting = undefined;
    if (next !== undefined) void this.#run(slot, next.query, next.asker);
    (next?.asker ?? asker).onReady();
  }

  /** The values of the worker; undefined where there is none. */
  #ask(query: SmoothQuery): Promise<Float64Array | undefined> {
    const line = this.#connected();
    if (line === undefined) return Promise.resolve(undefined);
    const curve = this.#send(line, query);
    this.#nextId += 1;
    const id = this.#nextId;
    const { extent, smoothing } = query;
    return new Promise((resolve) => {
      this.#answers.set(id, resolve);
      const request: SmoothRequest = { kind: 'smooth', id, curve, smoothing, extent };
      line.postMessage(request);
    });
  }

  /** Sends the points that the worker does not have. */
  #send(line: Line, query: SmoothQuery): number {
    const { axis, points, series } = query;
    const axes = this.#stored.get(series) ?? new Map<string, Stored>();
    this.#stored.delete(series);
    this.#stored.set(series, axes);
    const stored = getOrMake(axes, axis, (): Stored => {
      this.#nextId += 1;
      return { id: this.#nextId, points: undefined };
    });
    if (stored.points !== points) {
      const from = knownCount(stored.points, query);
      const xs = points.xs.slice(from);
      const ys = points.ys.slice(from);
      const request: SmoothRequest = { kind: 'points', curve: stored.id, from, xs, ys };
      line.postMessage(request, { transfer: [xs.buffer, ys.buffer] });
      stored.points = points;
      this.#forgetOld(line, series);
    }
    return stored.id;
  }

  #forgetOld(line: Line, current: SampleSeries): void {
    let count = 0;
    for (const axes of this.#stored.values())
      for (const { points } of axes.values()) count += points?.xs.length ?? 0;
    for (const [series, axes] of this.#stored) {
      if (count <= this.#mostStored || series === current) return;
      this.#stored.delete(series);
      for (const { id, points } of axes.values()) {
        count -= points?.xs.length ?? 0;
        const request: SmoothRequest = { kind: 'forget', curve: id };
        line.postMessage(request);
      }
    }
  }

  #connected(): Line | undefined {
    if (this.#line !== undefined || this.#hasFailed) return this.#line;
    try {
      this.#line = this.#start();
    } catch {
      this.fail();
      return undefined;
    }
    this.#line.addEventListener('message', ({ data }: MessageEvent<SmoothReply>) => {
      const answer = this.#answers.get(data.id);
      this.#answers.delete(data.id);
      answer?.(data.smoothed);
    });
    return this.#line;
  }

  /** From now on curves are smoothed on the page; those that were asked for as well. */
  fail(): void {
    this.#hasFailed = true;
    this.#line = undefined;
    this.#stored.clear();
    for (const answer of this.#answers.values()) answer(undefined);
    this.#answers.clear();
  }
}

/** How many points of a curve the worker has, if `sent` was sent last. */
function knownCount(sent: AxisSeries | undefined, query: SmoothQuery): number {
  const count = sent?.isAsWritten === true ? sent.xs.length : 0;
  return onlyGrows(query) && count <= query.points.xs.length ? count : 0;
}

/** Whether points that are there are never changed: those by step that come in order, of a series that was not downsampled. */
function onlyGrows({ axis, points, series }: SmoothQuery): boolean {
  return axis === 'step' && points.isAsWritten && series.standsFor === undefined;
}

function isSame(one: SmoothQuery, other: SmoothQuery): boolean {
  return (
    one.points === other.points &&
    one.smoothing.kind === other.smoothing.kind &&
    one.smoothing.amount === other.smoothing.amount &&
    one.extent === other.extent
  );
}

/** A curve smoothed on this thread. */
export function smoothedNow({
  extent,
  points,
  smoothing,
}: Pick<SmoothQuery, 'extent' | 'points' | 'smoothing'>): SmoothedCurve {
  const values = smooth(points.xs, points.ys, smoothing, extent);
  const shape = new SeriesPyramid();
  shape.extendTo(values, points.xs);
  return { values, shape };
}

async function shapeInTurns(xs: Float64Array, values: Float64Array): Promise<SeriesPyramid> {
  const shape = new SeriesPyramid();
  while (shape.length < values.length) {
    const end = Math.min(values.length, shape.length + POINTS_PER_TURN);
    shape.extendTo(values.subarray(0, end), xs.subarray(0, end));
    await nextMessage();
  }
  return shape;
}

/** The smoother of this page. */
export const pageSmoother: CurveSmoother = new CurveSmoother(() => {
  const worker = new Worker(new URL('./smooth-worker.ts', import.meta.url), { type: 'module' });
  worker.addEventListener('error', (event) => {
    event.preventDefault();
    pageSmoother.fail();
  });
  return worker;
});
