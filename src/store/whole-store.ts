/** Whether a store that is handed in has all that every store has: said when it is handed in, and not by the first call that fails. */
import { invalidInput, QuarkError } from '../base/errors.ts';
import type { Store } from './store.ts';

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

/**
 * @param field the name of the argument, as errors name it
 * @throws {QuarkError} `invalid_input` for a directory, a URI or a promise instead of an open store, and naming the methods that are missing
 */
export function checkStore(store: unknown, field = 'store'): asserts store is Store {
  const present = Object.keys(METHODS).filter((name) => hasMethod(store, name));
  if (present.length === Object.keys(METHODS).length) return;
  if (present.length === 0) {
    const hint = store instanceof Promise ? 'await the promise first' : 'see openStorage()';
    throw invalidInput(field, store, `an open store (${hint})`);
  }
  const missing = Object.keys(METHODS).filter((name) => !hasMethod(store, name));
  throw new QuarkError(
    'invalid_input',
    `${field} must have every method of a store; it lacks ${missing.map((name) => `${name}()`).join(', ')}. testStore() of quark-sdk/store/testing checks a store of your own.`,
    {
      details: { field, value: missing.join(', '), rule: 'a store with every method of Store' },
    },
  );
}

function hasMethod(store: unknown, name: string): boolean {
  return (
    typeof store === 'object' && store !== null && typeof Reflect.get(store, name) === 'function'
  );
}
