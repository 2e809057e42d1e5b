/** Keeps hold of answers that never end by themselves, so that somebody can end them. */
import type { Clock } from '../base/clock.ts';
import type { Principal } from './access/principal.ts';
import { OpenCounter } from './limits.ts';
import { EVENTS_MEDIA_TYPE } from './protocol.ts';

/**
 * Longest life of a stream. A client goes on with its cursor in a new one, and its key is looked at again: a key that
 * was revoked reads on for this long at most.
 */
export const MAX_STREAM_MS = 600_000;

/** Whether an answer is a stream of live updates. */
export function isEventStream(answer: Response): boolean {
  return (answer.headers.get('content-type') ?? '').startsWith(EVENTS_MEDIA_TYPE);
}

/** The open streams of a service. */
export class StreamKeeper {
  readonly #clock: Clock;
  readonly #users = new OpenCounter();
  readonly #keys = new OpenCounter();
  readonly #ends = new Set<() => void>();

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

  /** The same answer with a body that ends in time; counts for the user and the key as long as it is open. */
  keep(answer: Response, { userId, keyId }: Principal): Response {
    const { body, status, headers } = answer;
    if (body === null) return answer;
    const reader = body.getReader();
    const undoCounts = [this.#users.open(userId), this.#keys.open(keyId ?? userId)];
    let isOpen = true;
    let target: ReadableStreamDefaultController<Uint8Array> | undefined;
    const release = (): void => {
      isOpen = false;
      for (const undo of undoCounts) undo();
      undoTimer();
      this.#ends.delete(end);
    };
    const end = (): void => {
      if (!isOpen) return;
      release();
      reader.cancel().catch(() => undefined);
      try {
        target?.close();
      } catch {
        // The other end has gone already.
      }
    };
    const undoTimer = this.#clock.after(MAX_STREAM_MS, end);
    this.#ends.add(end);
    const kept = new ReadableStream<Uint8Array>(
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
    return new Response(kept, { status, headers });
  }

  /** Ends all streams, as if they had nothing more to tell. */
  endAll(): void {
    for (const end of this.#ends) end();
  }
}
