/** Requests whose client has gone: their work stops where it next asks for anything. */
import { QuarkError } from '../base/errors.ts';
import type { Store } from '../store/store.ts';

/** Status of requests whose client did not wait for the answer, in logs and counters; nobody receives it. */
const CLIENT_GONE_STATUS = 499;

/** What stops the work for a client that has gone. */
export function clientGone(): QuarkError {
  return new QuarkError('aborted', 'The client has gone.', {
    details: { httpStatus: CLIENT_GONE_STATUS },
  });
}

/** @throws {QuarkError} `aborted` once the client has gone */
export function checkClient(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw clientGone();
}

/** The same store for as long as the client is there: every later call throws `aborted`. */
export function storeWhile(signal: AbortSignal, store: Store): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        checkClient(signal);
        return Reflect.apply(value, target, given);
      };
    },
  });
}
