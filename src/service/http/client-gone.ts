/** Requests whose client has disconnected: their work stops at its next call to the store. */
import { QuarkError } from '../../base/errors.ts';
import { wrapStore } from '../../store/front.ts';
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
  return wrapStore(store, (_name, _args, call) => {
    checkClient(signal);
    return call();
  });
}
