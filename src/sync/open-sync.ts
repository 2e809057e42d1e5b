/** The way into `sync-storage.ts` for programs that load it only when they have something to send. */
import type { Store } from '../store/store.ts';
import type { OpenSyncOptions, SyncTask } from './sync-storage.ts';

/**
 * Sends what earlier sessions left in a local store: in a page, what a tab had not sent when it was closed.
 *
 * Sending begins at once and goes on until the task's `outbox` is closed, also with what sessions of other tabs or processes
 * write meanwhile; of all that are open on one store, one sends (by a Web Lock in browsers, by a lease elsewhere), and
 * another takes over when it goes. There is a task for each service that runs of this store are meant for; for the one that is
 * named, if one is, and with `includesNew` also where no run is meant for it yet. The local store stays open when a task is closed.
 *
 * @throws {QuarkError} `invalid_input` naming the option
 * @throws {SessionStoreError} `rejected` when the store cannot be the local side
 * @example
 * ```js
 * import { openStorage, openSync, TrainingSession } from 'quark-sdk';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, () => {});
 * const local = await openStorage('quark-runs');
 * const options = { persistenceUrl: 'http://127.0.0.1:59999', userKey: 'qk_example_key', includesAll: true }; // nobody answers there
 * const [task] = await openSync(local, options);
 * const { pendingRuns, state } = await task.status();
 * console.log(pendingRuns, state); // 1 uploading
 * await task.outbox.close();
 * await local.close();
 * ```
 */
export async function openSync(
  local: Store,
  options: OpenSyncOptions = {},
): Promise<readonly SyncTask[]> {
  const sync = await import('./sync-storage.ts');
  return sync.openSync(local, options);
}
