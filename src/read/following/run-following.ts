/** A run that is followed: what a program has in its hands. What reads it is loaded when it begins. */
import { warn } from '../../base/console.ts';
import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { invalidInput, messageOf } from '../../base/errors.ts';
import type { FollowedPosition, FollowEnd } from './follow-options.ts';

/** What reads: gives the next rows, or how it ended. One call at a time. */
type RowReader<R> = { next(): Promise<IteratorResult<R, FollowEnd>> };

/** What the reader tells beside rows. */
export type FollowHooks = {
  readonly signal: AbortSignal;
  readonly onStart: (position: number) => void;
  readonly onProblem: (problem: Error | undefined) => void;
};

/**
 * Rows of a run as they become durable; made by `RunReader.follow`. With a callback it reads by itself. Without one, `for await` takes the
 * rows, once, and nothing is read before the next ones are asked for.
 *
 * @example
 * ```js
 * import { EventLogger, openRun, startRun } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'demo', storageDir: 'quark-runs' });
 * const run = await openRun(session.store, session.runId);
 * const following = run.follow({ table: 'events', from: 'start', pollMs: 50 });
 * new EventLogger(session).log('checkpoint_saved');
 * await session.endRun('completed');
 * for await (const { records } of following)
 *   console.log(records.map(({ eventType }) => eventType).join(', '));
 * console.log((await following.done).status);
 * await session.close();
 * ```
 */
export class RunFollowing<R extends FollowedPosition> {
  /** Resolves to the sequence number from which on rows are delivered, once it is known; to null where it ended before. */
  readonly started: Promise<number | null>;
  readonly #reader: Promise<RowReader<R>>;
  readonly #done: Promise<FollowEnd>;
  readonly #stop: AbortController = new AbortController();
  #tellStart: (position: number | null) => void = () => undefined;
  #resolve: (end: FollowEnd) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #nextSequence: number | null = null;
  #problem: Error | undefined;
  #isTaken: boolean;
  #isAsked = false;
  #isOver = false;

  /** @internal Use `RunReader.follow`. */
  constructor(
    open: (hooks: FollowHooks) => Promise<RowReader<R>>,
    signal: AbortSignal | undefined,
    onRows: ((rows: R) => unknown) | undefined,
  ) {
    this.started = new Promise((resolve) => {
      this.#tellStart = resolve;
    });
    this.#done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#done.catch(() => undefined);
    this.#reader = open({
      signal: this.#stop.signal,
      onStart: (position) => {
        this.#nextSequence = position;
        this.#tellStart(position);
      },
      onProblem: (problem) => {
        this.#problem = problem;
      },
    });
    this.#reader.catch(() => undefined);
    const close = (): void => void this.close();
    this.#stop.signal.addEventListener('abort', () => signal?.removeEventListener('abort', close));
    signal?.addEventListener('abort', close);
    if (signal?.aborted === true) close();
    this.#isTaken = onRows !== undefined;
    if (onRows !== undefined) void this.#deliver(onRows);
  }

  /**
   * Settles when it has ended; rejects with what the callback threw, or with a failure of the store that does not pass. Where nobody asks
   * for it, the console gets a line of the failure.
   */
  get done(): Promise<FollowEnd> {
    this.#isAsked = true;
    return this.#done;
  }

  /** The failure of the store that it waits for to pass; undefined while it reads. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  /** Sequence number after the last rows whose callback has ended: `from` of a follower that goes on. Null before `started`. */
  get nextSequence(): number | null {
    return this.#nextSequence;
  }

  /** Ends it. Resolves once the store is not read any more; a callback that is under way is not waited for. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#reading;
    if (!this.#isOver) await this.#take().catch(() => undefined);
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    await this.close();
  }

  /**
   * The rows as they come, once. Leaving the loop closes the following.
   *
   * @throws {QuarkError} `invalid_input` where a callback or another loop takes the rows
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<R, FollowEnd, undefined> {
    if (this.#isTaken)
      throw invalidInput('onRows', 'taken', 'left out where a loop takes the rows, once');
    this.#isTaken = true;
    this.#isAsked = true;
    try {
      for (;;) {
        const next = await this.#take();
        if (next.done === true) return next.value;
        yield next.value;
        this.#nextSequence = next.value.nextSequence;
      }
    } finally {
      await this.close();
    }
  }

  async #deliver(onRows: (rows: R) => unknown): Promise<void> {
    try {
      for (;;) {
        const next = await this.#take();
        if (next.done === true) return;
        await onRows(next.value);
        this.#nextSequence = next.value.nextSequence;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  async #take(): Promise<IteratorResult<R, FollowEnd>> {
    const reading = this.#reader.then((reader) => reader.next());
    this.#reading = reading.catch(() => undefined);
    try {
      const next = await reading;
      // Closed while it was read: the same rows come again to a follower that goes on.
      if (next.done !== true && this.#stop.signal.aborted)
        return await this.#reader.then((reader) => reader.next()).then((end) => this.#finish(end));
      return this.#finish(next);
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  #finish(next: IteratorResult<R, FollowEnd>): IteratorResult<R, FollowEnd> {
    if (next.done !== true) return next;
    const { nextSequence } =
      next.value.reason === 'ended' ? next.value : { nextSequence: this.#nextSequence };
    const value = { ...next.value, nextSequence };
    this.#over();
    this.#resolve(value);
    return { done: true, value };
  }

  #fail(error: unknown): void {
    if (!this.#isOver) {
      this.#over();
      this.#reject(error);
      if (this.#isAsked) return;
    }
    warn(
      `quark-sdk: following a run ended with an error. Await "done" to handle it. ${messageOf(error)}`,
    );
  }

  #over(): void {
    this.#isOver = true;
    this.#problem = undefined;
    this.#tellStart(null);
    this.#stop.abort();
  }
}
