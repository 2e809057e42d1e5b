/**
 * How a run is followed: what comes after a position is listed, read a window at a time, and handed over before more is read. It needs
 * nothing of a store but the listing from a position. Segments may be merged meanwhile, since their rows keep their sequence numbers.
 */
import { invalidInput, isStoreError } from '../../base/errors.ts';
import type { RunStatus } from '../../records/literals.ts';
import type { SegmentManifest } from '../../store/store.ts';
import type { FollowedPosition, FollowEnd, FollowSettings } from './follow-options.ts';
import { segmentsInWindow, FOLLOWED_ROWS } from './segment-windows.ts';

/** What is known of a followed run. */
export type FollowedState = {
  /** `interrupted` where nobody records it. */
  readonly status: RunStatus;
  /** Whether the status is stored; otherwise the run is only left alone at this moment. */
  readonly isStored: boolean;
  readonly revision: number;
  readonly generation: number;
};

/** Segments to read: the first answer is what was listed; another one lists again, since some were merged. */
export type NextSegments = () => Promise<readonly SegmentManifest[]>;

/** A table of a run, as it is followed. */
export interface FollowedRun<R> {
  /** Undefined for a run that is not there. */
  state(): Promise<FollowedState | undefined>;
  /** Sequence number of the next row of the table; undefined where the store does not say. */
  end(): Promise<number | undefined>;
  /** Live segments with rows from a sequence number on. With `all`, superseded and emptied ones, too. */
  list(sequenceMin: number, all?: boolean): Promise<readonly SegmentManifest[]>;
  /** The rows of these segments from a position on; undefined where there is nothing to tell. */
  read(next: NextSegments, position: number): Promise<R | undefined>;
}

/** Pause after a failure, at most. */
const RETRY_MAX_MS = 15_000;
/** What a store may get over. Everything else ends it. */
const PASSING = ['busy', 'failed', 'unreachable', 'blocked'] as const;

type LoopParts<R> = {
  readonly run: FollowedRun<R>;
  readonly settings: Pick<FollowSettings, 'from' | 'until' | 'pollMs'>;
  readonly signal: AbortSignal;
  /** Told with the first position, and with what failed and will be tried again; undefined once it works. */
  readonly onStart: (position: number) => void;
  readonly onProblem: (problem: Error | undefined) => void;
};

/** Reads what comes, whenever somebody asks for the next rows. */
export class FollowLoop<R extends object> {
  readonly #parts: LoopParts<R>;
  readonly #begun: Promise<void>;
  #position: number | null = null;
  #state: FollowedState | undefined;
  /** Whether more may be there than was read since the state of the run was read. */
  #isReading = false;
  /** Whether nobody recorded the run when it was looked at before. */
  #wasLeft = false;
  /** Listed and not read yet. */
  #ahead: readonly SegmentManifest[] = [];

  constructor(parts: LoopParts<R>) {
    this.#parts = parts;
    // Where it begins is decided now, whenever the rows are asked for.
    this.#begun = this.#begin();
    this.#begun.catch(() => undefined);
  }

  /** The next rows, or how it ended. One at a time. */
  async next(): Promise<IteratorResult<R & FollowedPosition, FollowEnd>> {
    try {
      await this.#begun;
      return await this.#step();
    } catch (error) {
      if (this.#parts.signal.aborted) return this.#end('closed');
      if (isClosed(error)) return this.#end('store_closed');
      throw error;
    }
  }

  async #step(): Promise<IteratorResult<R & FollowedPosition, FollowEnd>> {
    const { run, settings } = this.#parts;
    for (;;) {
      while (this.#isReading) {
        const value = await this.#attempt(() => this.#nextRows());
        if (value === undefined) this.#isReading = false;
        else if (value !== 'nothing') return { done: false, value };
      }
      if (this.#state !== undefined) {
        const { isStored, status } = this.#state;
        // A machine that slept has renewed no claim: nobody records the run only if that is so twice.
        const isOver = status !== 'running' && (isStored || this.#wasLeft);
        if (isOver && settings.until === 'end') return this.#end('ended');
        this.#wasLeft = status !== 'running';
        await this.#pause(settings.pollMs);
      }
      const state = await this.#attempt(() => run.state());
      if (state === undefined || state.revision < (this.#state?.revision ?? 0))
        return this.#end('deleted');
      this.#state = state;
      this.#isReading = true;
    }
  }

  #end(reason: FollowEnd['reason']): IteratorReturnResult<FollowEnd> {
    const value = { reason, status: this.#state?.status ?? null, nextSequence: this.#position };
    return { done: true, value };
  }

  async #begin(): Promise<void> {
    this.#position = await this.#attempt(() => this.#first());
    this.#parts.onStart(this.#position);
  }

  async #first(): Promise<number> {
    const { run, settings } = this.#parts;
    const { from } = settings;
    if (from === 0) return 0;
    const end = await run.end();
    if (from === 'now') return end ?? nextAfter(await run.list(0, true), 0);
    if (end !== undefined && from > end)
      throw invalidInput('options.from', from, `at most ${end}, where the table ends`);
    return from;
  }

  /** The rows of the next window; undefined when all that is there was read. */
  async #nextRows(): Promise<(R & FollowedPosition) | 'nothing' | undefined> {
    const { run } = this.#parts;
    const generation = this.#state?.generation ?? 1;
    const position = this.#position ?? 0;
    let shown: readonly SegmentManifest[] = [];
    const cut = async (isAnew: boolean): Promise<readonly SegmentManifest[]> => {
      if (isAnew || this.#ahead.length === 0) this.#ahead = await run.list(position);
      shown = this.#ahead.slice(0, segmentsInWindow(this.#ahead, FOLLOWED_ROWS));
      return shown;
    };
    if ((await cut(false)).length === 0) return undefined;
    let isAnew = false;
    const read = await run.read(() => {
      const next = isAnew ? cut(true) : Promise.resolve(shown);
      isAnew = true;
      return next;
    }, position);
    this.#ahead = this.#ahead.slice(shown.length);
    const nextSequence = nextAfter(shown, position);
    this.#position = nextSequence;
    return read === undefined ? 'nothing' : { ...read, nextSequence, generation };
  }

  /** Tries again what the store may get over, and forgets what was listed. */
  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    const { onProblem, settings, signal } = this.#parts;
    for (let failures = 0; ; failures++) {
      signal.throwIfAborted();
      try {
        const done = await work();
        if (failures > 0) onProblem(undefined);
        return done;
      } catch (error) {
        signal.throwIfAborted();
        if (!isPassing(error)) throw error;
        this.#ahead = [];
        onProblem(error);
        const pauseMs = Math.min(RETRY_MAX_MS, settings.pollMs * 2 ** Math.min(failures, 16));
        await this.#pause(Math.max(pauseMs, waitOf(error)));
      }
    }
  }

  /** Until the time is over. A program that waits for rows goes on, so the timer holds its process. */
  async #pause(ms: number): Promise<void> {
    await pauseFor(ms, this.#parts.signal);
    this.#parts.signal.throwIfAborted();
  }
}

/** Until the time is over or the signal is aborted. */
function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}

function nextAfter(segments: readonly SegmentManifest[], position: number): number {
  return segments.reduce((next, { lastSequence }) => Math.max(next, lastSequence + 1), position);
}

/** Whether this side has closed the store; a service that shuts down says so with a status. */
function isClosed(error: unknown): boolean {
  return isStoreError(error, 'closed') && error.details['httpStatus'] === undefined;
}

function isPassing(error: unknown): error is Error {
  if (isStoreError(error, 'closed')) return !isClosed(error);
  return PASSING.some((reason) => isStoreError(error, reason));
}

function waitOf(error: unknown): number {
  const waitMs = isStoreError(error) ? error.details['retryAfterMs'] : undefined;
  return typeof waitMs === 'number' ? Math.min(waitMs, RETRY_MAX_MS) : 0;
}
