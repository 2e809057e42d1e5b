/**
 * Storage that does not answer, as a network drive that hangs. A session without strict mode waits so long for each call and
 * no longer; the call then counts as failed, and is made again as after any failure. Should the first be carried out after
 * all, that changes nothing: segments, runs and changes of runs have identities.
 */
import type { Clock } from '../../base/clock.ts';
import { SessionStoreError } from '../../base/errors.ts';
import type { Store } from '../../store/store.ts';

/** How long one call may take. */
const ANSWER_MS = 60_000;
/** The same after a call that was not answered, until one is. */
const NEXT_ANSWER_MS = 5000;
/** After a sleep of the machine timers are early: an answer that is there already gets this much time to be seen. */
const GRACE_MS = 1000;

/** A call that took too long; its answer may come yet. */
export class UnansweredError extends SessionStoreError {
  constructor(call: string, limitMs: number) {
    const message = `The storage has not answered within ${limitMs / 1000} s (${call}).`;
    super('unreachable', message, { details: { call, limitMs } });
  }
}

/** See the top of this file. */
export class AnswerLimit {
  readonly #clock: Clock;
  #isAnswering = true;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What `work` comes to. @throws {UnansweredError} */
  within<T>(call: string, work: Promise<T>): Promise<T> {
    const limitMs = this.#isAnswering ? ANSWER_MS : NEXT_ANSWER_MS;
    return new Promise<T>((resolve, reject) => {
      const expire = (): void => {
        this.#isAnswering = false;
        reject(new UnansweredError(call, limitMs));
      };
      let cancel = this.#clock.after(limitMs, () => {
        cancel = this.#clock.after(GRACE_MS, expire);
      });
      const answered = (): void => {
        cancel();
        this.#isAnswering = true;
      };
      work.then(
        (result) => {
          answered();
          resolve(result);
        },
        (error: unknown) => {
          answered();
          reject(error);
        },
      );
    });
  }

  /** The store with this limit on every call. */
  limit(store: Store): Store {
    return new Proxy(store, {
      get: (target, member): unknown => {
        const value: unknown = Reflect.get(target, member, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          const result: unknown = Reflect.apply(value, target, args);
          return result instanceof Promise ? this.within(String(member), result) : result;
        };
      },
    });
  }
}
