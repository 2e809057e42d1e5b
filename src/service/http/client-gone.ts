/** Requests whose client has disconnected: their work stops at its next call to the store. */
import { QuarkError } from '../../base/errors.ts';
import type { Store } from '../../store/store.ts';

/** Status of requests whose client disconnected before the answer, for logs and counters. It is never sent. */
const CLIENT_GONE_STATUS = 499;

/** The error that stops the work for a disconnected client. */
export function clientGone(): QuarkError {
  return new QuarkError('aborted', 'The client has disconnected.', {
    details: { httpStatus: CLIENT_GONE_STATUS },
  });
}

/** @throws {QuarkError} `aborted` once the client has disconnected */
export function checkClient(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw clientGone();
}

/** The same store while the client is connected; afterwards every call throws `aborted`. */
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
