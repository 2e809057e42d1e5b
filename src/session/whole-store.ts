/** Whether a store that is handed in has all that every store has: said when it is handed in, and not by the first call that fails. */
import { QuarkError } from '../base/errors.ts';
import type { Store } from '../store/store.ts';

/** Names of the methods that every store has. */
type StoreMethod = {
  [K in keyof Store]-?: object extends Pick<Store, K>
    ? never
    : Store[K] extends (...args: never) => unknown
      ? K
      : never;
}[keyof Store];

const METHODS: Readonly<Record<StoreMethod, true>> = {
  ensureProject: true,
  listProjects: true,
  createRun: true,
  findRun: true,
  listRuns: true,
  updateRun: true,
  renewLease: true,
  releaseLease: true,
  listLeases: true,
  archiveRun: true,
  restoreRun: true,
  deleteRun: true,
  findDeletedRun: true,
  listDeletedRuns: true,
  purgeDeletedRuns: true,
  appendSegments: true,
  listSegments: true,
  readSegments: true,
  replaceSegments: true,
  replaceTable: true,
  putBlob: true,
  getBlob: true,
  reclaimSpace: true,
  close: true,
};
/** @throws {QuarkError} `invalid_input` naming the methods that are missing */
export function checkWholeStore(store: Store): void {
  const missing = Object.keys(METHODS).filter(
    (name) => typeof Reflect.get(store, name) !== 'function',
  );
  if (missing.length === 0) return;
  throw new QuarkError(
    'invalid_input',
    `storage must have every method of a store; it lacks ${missing.map((name) => `${name}()`).join(', ')}. testStore() of quark-sdk/store/testing checks a store of your own.`,
    {
      details: {
        field: 'storage',
        value: missing.join(', '),
        rule: 'a store with every method of Store',
      },
    },
  );
}
