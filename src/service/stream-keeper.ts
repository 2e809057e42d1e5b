/** Keeps hold of answers that are long under way, so that they end when their time is over or their reader's right to them. */
import type { Clock } from '../base/clock.ts';
import { SessionStoreError } from '../base/errors.ts';
import type { Principal } from './access/principal.ts';
import { OpenCounter } from './limits.ts';
import { API_PATH, EVENTS_MEDIA_TYPE, ROUTES } from './protocol.ts';
import { routeOf } from './service-routes.ts';

/** Longest life of a stream. A client goes on with its cursor in a new one. */
export const MAX_STREAM_MS = 600_000;

/** Whether an answer is a stream of live updates. */
export function isEventStream(answer: Response): boolean {
  return (answer.headers.get('content-type') ?? '').startsWith(EVENTS_MEDIA_TYPE);
}

/** Answers that are read from the store while they are sent. */
export function isSentInParts(path: string): boolean {
  return [ROUTES.rows, ROUTES.artifact].some((route) => routeOf(path) === `/${API_PATH}${route}`);
}

/** How often it is looked up whether streams may go on: other processes revoke keys and take shares back, too. */
const LOOK_MS = 500;

/** Whose answer it is, and how it is found out whether they may still read it. */
export type StreamHolder = {
  readonly principal: Principal;
  /** Names what `mayGoOn` looks at: the streams of one name share a look. */
  readonly grant: string;
  /** What it throws says nothing: the database may be away. */
  readonly mayGoOn: () => Promise<boolean>;
};

type Kept = { readonly holder: StreamHolder; readonly end: () => void };

/** The open streams of a service, and other answers that are long under way. */
export class StreamKeeper {
  readonly #clock: Clock;
  readonly #users = new OpenCounter();
  readonly #keys = new OpenCounter();
  readonly #kept = new Set<Kept>();
  readonly #streams = new Set<() => void>();
  #undoLook: (() => void) | undefined;

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
      // As if there were nothing more to tell: whoever may, goes on in a new one.
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
        target.error(new SessionStoreError('unauthorised', 'This may no longer be read.')),
      onRelease: () => undefined,
    }).answer;
  }

  /** Ends all streams, as if they had nothing more to tell. */
  endAll(): void {
    for (const end of this.#streams) end();
  }

  /** Looks now whether those that are open may go on. */
  async look(): Promise<void> {
    const looks = new Map<string, Promise<boolean>>();
    for (const { holder, end } of this.#kept) {
      const { grant, mayGoOn } = holder;
      const look = looks.get(grant) ?? mayGoOn().catch(() => true);
      looks.set(grant, look);
      if (!(await look)) end();
    }
  }

  #lookLater(): void {
    if (this.#undoLook !== undefined || this.#kept.size === 0) return;
    this.#undoLook = this.#clock.after(LOOK_MS, () => {
      void this.look().finally(() => {
        this.#undoLook = undefined;
        this.#lookLater();
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
        this.#undoLook?.();
        this.#undoLook = undefined;
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
    this.#lookLater();
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
