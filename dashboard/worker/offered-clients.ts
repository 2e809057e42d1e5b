/** Workers that hold the runs of a store: what is asked about such a run is answered there. */
import type { Store } from 'quark-sdk';
import type { ImportClient } from './import-client.ts';

const offered = new WeakMap<Store, ImportClient>();

/** From now on questions about the runs of this store go to this worker. */
export function offerClient(store: Store, client: ImportClient): void {
  offered.set(store, client);
}

/** The worker that holds the runs of a store; undefined for a store that any worker can open. */
export function offeredClient(store: Store): ImportClient | undefined {
  return offered.get(store);
}
