/** Long answers and streams: ends them when their time is over or their reader loses access. */
import type { Clock } from '../../base/clock.ts';
import { SessionStoreError } from '../../base/errors.ts';
import type { Principal } from '../access/principal.ts';
import { OpenCounter } from '../limits/limits.ts';
import { EVENTS_MEDIA_TYPE } from '../../wire/protocol.ts';

/** Longest life of a stream, in milliseconds. The client continues from its cursor in a new one. */
export const MAX_STREAM_MS = 600_000;

/** Whether an answer is a stream of live updates. */
export function isEventStream(answer: Response): boolean {
  return (answer.headers.get('content-type') ?? '').startsWith(EVENTS_MEDIA_TYPE);
}

/**
 * Interval of the access checks, in milliseconds. Polling is needed because other processes revoke keys and remove shares too.
 * A request whose body takes longer to arrive is checked again, too.
 */
export const CHECK_INTERVAL_MS = 500;

/** The reader of an answer, and the check whether the reader still has access. */
export type StreamHolder = {
  readonly principal: Principal;
  /** Identifies the access that `mayGoOn` checks: streams with equal grants share a check. */
  readonly grant: string;
  /** An error counts as yes: the database may be unreachable. */
  readonly mayGoOn: () => Promise<boolean>;
};

type Kept = { readonly holder: StreamHolder; readonly end: () => void };

/** The open streams and long answers of a service. */
export class StreamKeeper {
  readonly #clock: Clock;
  readonly #users = new OpenCounter();
  readonly #keys = new OpenCounter();
  readonly #kept = new Set<Kept>();
  readonly #streams = new Set<() => void>();
  #undoCheck: (() => void) | undefined;
  #isChecking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many streams are open. */
  get total(): number {
    return this.#users.total;
  }

  /** How many streams a user has open, and how many of them by the key that asks. */
  countOf({ userId, keyId }: Principal): { readonly user: number; readonly key: number } {
    return { user: this.#users.of(userId), key: this.#keys.of(keyId ?? userId) };
  }

  /**
   * The same stream of live updates with a body that ends in time, and when its holder may no longer read it; counts for the
   * user and the key as long as it is open.
   */
  keepStream(answer: Response, holder: StreamHolder): Response {
    const { userId, keyId } = holder.principal;
    const undo = [this.#users.open(userId), this.#keys.open(keyId ?? userId)];
    const kept = this.#keep(answer, holder, {
      // A normal end: a client that still has access continues in a new stream.
      finish: (target) => target.close(),
      onRelease: () => {
        for (const one of undo) one();
        undoTimer();
        this.#streams.delete(kept.end);
      },
    });
    const undoTimer = this.#clock.after(MAX_STREAM_MS, kept.end);
    this.#streams.add(kept.end);
    return kept.answer;
  }

  /** The same answer with a body that breaks off when its holder may no longer read it. */
  keepLong(answer: Response, holder: StreamHolder): Response {
    return this.#keep(answer, holder, {
      finish: (target) =>
        target.error(new SessionStoreError('unauthorised', 'Access to this run has ended.')),
      onRelease: () => undefined,
    }).answer;
  }

  /** Ends all streams normally. */
  endAll(): void {
    for (const end of this.#streams) end();
  }

  /** Checks the access of all open answers now. */
  async checkAccess(): Promise<void> {
    const checks = new Map<string, Promise<boolean>>();
    for (const { holder, end } of this.#kept) {
      const { grant, mayGoOn } = holder;
      const check = checks.get(grant) ?? mayGoOn().catch(() => true);
      checks.set(grant, check);
      if (!(await check)) end();
    }
  }

  #checkLater(): void {
    if (this.#undoCheck !== undefined || this.#isChecking || this.#kept.size === 0) return;
    this.#undoCheck = this.#clock.after(CHECK_INTERVAL_MS, () => {
      this.#undoCheck = undefined;
      this.#isChecking = true;
      void this.checkAccess().finally(() => {
        this.#isChecking = false;
        this.#checkLater();
      });
    });
  }

  #keep(
    answer: Response,
    holder: StreamHolder,
    {
      finish,
      onRelease,
    }: {
      readonly finish: (target: ReadableStreamDefaultController<Uint8Array>) => void;
      readonly onRelease: () => void;
    },
  ): { readonly answer: Response; readonly end: () => void } {
    const { body, status, headers } = answer;
    const reader = (body ?? new ReadableStream<Uint8Array>()).getReader();
    let isOpen = true;
    let target: ReadableStreamDefaultController<Uint8Array> | undefined;
    const release = (): void => {
      isOpen = false;
      this.#kept.delete(kept);
      if (this.#kept.size === 0) {
        this.#undoCheck?.();
        this.#undoCheck = undefined;
      }
      onRelease();
    };
    const end = (): void => {
      if (!isOpen) return;
      release();
      reader.cancel().catch(() => undefined);
      try {
        if (target !== undefined) finish(target);
      } catch {
        // The other end has gone already.
      }
    };
    const kept: Kept = { holder, end };
    this.#kept.add(kept);
    this.#checkLater();
    const stream = new ReadableStream<Uint8Array>(
      {
        start(controller) {
          target = controller;
        },
        async pull(controller) {
          try {
            const { done, value } = await reader.read();
            if (!isOpen) return;
            if (!done) controller.enqueue(value);
            else {
              release();
              controller.close();
            }
          } catch (error) {
            if (!isOpen) return;
            release();
            controller.error(error);
          }
        },
        async cancel(reason) {
          if (isOpen) release();
          await reader.cancel(reason);
        },
      },
      // Nothing is read ahead of the client.
      { highWaterMark: 0 },
    );
    return { answer: new Response(stream, { status, headers }), end };
  }
}
