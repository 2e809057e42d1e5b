/**
 * How many requests of one user are worked on at once. They share a thread with those of all others, so the number is small
 * while others are there. What is beyond it waits: work that is heavy gets slower, and nobody pays for what others took.
 */
import type { Clock } from '../../base/clock.ts';
import { checkClient, clientGone } from '../http/client-gone.ts';
import { tooOften } from './limits.ts';

/** Requests of one user that are worked on at once while others are there, and while nobody is. */
const AT_ONCE = 6;
const AT_ONCE_ALONE = 32;
/** Requests of one user that wait. */
const MAX_WAITING = 256;
/** Longest time until one that waits goes on in any case, in milliseconds. */
const MAX_WAIT_MS = 6_000;
/** After this time a request is no longer counted: it waits for its client. One that a worker computes ends its turn itself. In milliseconds. */
const TURN_MS = 2_000;
/** How often requests that wait are offered a turn again, because other users may have gone. In milliseconds. */
const POLL_MS = 250;
/** A user is there for so long after its last request. */
const THERE_MS = 1_000;

type User = {
  running: number;
  /** When its last request began or ended. */
  seenAtMs: number;
  /** What lets those in that wait, the oldest first. */
  readonly waiting: Set<() => void>;
  /** Ends the polling for requests that wait. */
  undoPoll: (() => void) | undefined;
};

/** What a {@link UserTurns} is made of. */
export type UserTurnsParts = {
  readonly clock: Pick<Clock, 'after'>;
  /** A time that is never set back, in milliseconds. */
  readonly monotonicMs: () => number;
};

/** The requests of every user that are worked on. */
export class UserTurns {
  readonly #parts: UserTurnsParts;
  readonly #users = new Map<string, User>();

  constructor(parts: UserTurnsParts) {
    this.#parts = parts;
  }

  /**
   * Resolves when the turn of a request has come, to what ends it; calling that twice is fine. Ends when the client leaves.
   *
   * @throws {SessionStoreError} `busy` (429) where too many of this user wait already
   * @throws {QuarkError} `aborted`
   */
  async begin(name: string, signal: AbortSignal | undefined): Promise<() => void> {
    checkClient(signal);
    const user = this.#userOf(name);
    if (user.waiting.size === 0 && this.#hasRoom(name, user)) return this.#start(name, user);
    if (user.waiting.size >= MAX_WAITING)
      throw tooOften(`This user has ${MAX_WAITING} requests that wait. Try again later.`);
    return this.#wait(name, user, signal);
  }

  #start(name: string, user: User): () => void {
    user.running += 1;
    user.seenAtMs = this.#parts.monotonicMs();
    let isOpen = true;
    const end = (): void => {
      if (!isOpen) return;
      isOpen = false;
      undo();
      user.running -= 1;
      user.seenAtMs = this.#parts.monotonicMs();
      this.#letIn(name, user);
    };
    const undo = this.#parts.clock.after(TURN_MS, end);
    return end;
  }

  #wait(name: string, user: User, signal: AbortSignal | undefined): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        undo();
        signal?.removeEventListener('abort', leave);
        user.waiting.delete(enter);
      };
      const enter = (): void => {
        end();
        resolve(this.#start(name, user));
      };
      const leave = (): void => {
        end();
        reject(clientGone());
      };
      const undo = this.#parts.clock.after(MAX_WAIT_MS, enter);
      signal?.addEventListener('abort', leave, { once: true });
      user.waiting.add(enter);
      this.#poll(name, user);
    });
  }

  /** The others may be gone without another event. */
  #poll(name: string, user: User): void {
    user.undoPoll ??= this.#parts.clock.after(POLL_MS, () => {
      user.undoPoll = undefined;
      this.#letIn(name, user);
      if (user.waiting.size > 0) this.#poll(name, user);
    });
  }

  #letIn(name: string, user: User): void {
    for (const enter of user.waiting) {
      if (!this.#hasRoom(name, user)) return;
      enter();
    }
    user.undoPoll?.();
    user.undoPoll = undefined;
  }

  #hasRoom(name: string, { running }: User): boolean {
    return running < AT_ONCE || (running < AT_ONCE_ALONE && !this.#areOthersThere(name));
  }

  #areOthersThere(name: string): boolean {
    const nowMs = this.#parts.monotonicMs();
    for (const [other, { running, waiting, seenAtMs }] of this.#users) {
      if (running > 0 || waiting.size > 0 || nowMs - seenAtMs < THERE_MS) {
        if (other !== name) return true;
      } else if (other !== name) this.#users.delete(other);
    }
    return false;
  }

  #userOf(name: string): User {
    const known = this.#users.get(name);
    if (known !== undefined) return known;
    const user: User = {
      running: 0,
      seenAtMs: Number.NEGATIVE_INFINITY,
      waiting: new Set(),
      undoPoll: undefined,
    };
    this.#users.set(name, user);
    return user;
  }
}
