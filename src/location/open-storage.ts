/** The way into storage: from a URI, a path or nothing at all to an open store. */
import { asGiven, readOptions } from '../base/options.ts';
import { checkNotAborted } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import { isNode, loadPart } from '../base/runtime.ts';
import {
  findStorage,
  schemeOf,
  unknownScheme,
  type OpenStorageOptions,
  type StorageFactory,
} from '../store/registry.ts';
import type { Store } from '../store/store.ts';

/** Filled by the build with an import of `#node`, which pages get as `page-platform.ts`. */
declare const __QUARK_IMPORT_NODE__: () => Promise<{
  readonly openFileStorage: StorageFactory;
  readonly openPostgresStorage: StorageFactory;
}>;

/** A store that a page cannot load is one that it cannot open now: a session tries again. */
const loadStore = <T>(load: () => Promise<T>): Promise<T> => loadPart('Opening a storage', load);

const openHttp: StorageFactory = async (uri, { signal, space, timeoutMs, userKey }) => {
  const { openHttpStorage } = await loadStore(async () => import('../wire/http-store.ts'));
  return openHttpStorage(uri, {
    ...(signal === undefined ? {} : { signal }),
    ...(space === undefined ? {} : { space }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(userKey === undefined ? {} : { userKey }),
  });
};

const openPostgres: StorageFactory = async (uri, options) =>
  (await __QUARK_IMPORT_NODE__()).openPostgresStorage(uri, options);

/** The protocol of Track's socket backend is not spoken: a service is asked over HTTP. */
const SOCKET_RULE =
  'the address of a Quark service, http://HOST:PORT or https://..., whose HTTP protocol stands for a socket';

/** Stores that come with Quark; each is loaded when it is first asked for. */
const BUILT_IN: Readonly<Record<string, StorageFactory>> = {
  memory: async (uri, options) =>
    (await loadStore(async () => import('../store/memory/memory-store.ts'))).openMemoryStorage(
      uri,
      options,
    ),
  idb: async (uri, options) => {
    const { openIdbStorage } = await loadStore(async () => import('../store/idb/idb-store.ts'));
    return sendingLeftovers(await openIdbStorage(uri, options));
  },
  opfs: async (uri, options) => {
    const [{ openOpfsStorage }, { followTabs }] = await Promise.all([
      loadStore(async () => import('../store/opfs/opfs-store.ts')),
      loadStore(async () => import('../store/idb/idb-store.ts')),
    ]);
    return sendingLeftovers(await openOpfsStorage(uri, options, followTabs));
  },
  file: async (uri, options) => (await __QUARK_IMPORT_NODE__()).openFileStorage(uri, options),
  http: openHttp,
  https: openHttp,
  postgres: openPostgres,
  postgresql: openPostgres,
  cockroach: openPostgres,
  null: async (uri, options) =>
    (await loadStore(async () => import('../store/memory/null-store.ts'))).openNullStorage(
      uri,
      options,
    ),
  tee: async (uri, options) =>
    (await loadStore(async () => import('../store/tee/tee-store.ts'))).openTeeStorage(
      uri,
      options,
      openStorage,
    ),
  socket: () => Promise.reject(invalidInput('storage', 'socket:', SOCKET_RULE)),
};

/**
 * Opens a store. The same location may be opened several times, in one process and in several; close every store you open.
 *
 * @param uri what to open:
 * - `memory:` a new store in memory; `memory:NAME` the one of this name in this process
 * - `idb:NAME` an IndexedDB database of this name (`idb:` means `idb:quark`). What closed pages have left there for a service is sent
 *   in the background, until it has arrived or the store is closed
 * - `opfs:NAME`, in a browser: files of the origin-private file system (`opfs:` means `opfs:quark`), written in a dedicated worker;
 *   `opfs:NAME?synchronous=full` appends survive power loss too
 * - `file:DIR` or a plain path, in Node: the directory `DIR`, stored in `DIR/.quark` (`file:` paths are percent-encoded;
 *   `file:DIR?synchronous=full` survives power loss too). In a browser a plain name is that of an IndexedDB database.
 * - `http://HOST:PORT` or `https://...` a Quark server: `quark dashboard` lets nobody write, `quark serve` those whose key may
 * - `postgresql://USER:PASSWORD@HOST:PORT/DATABASE` (or `postgres:`), `cockroach://...`, in Node: a database of
 *   PostgreSQL 14 or later, CockroachDB or YugabyteDB
 * - `null:` a store that takes everything and stores nothing, for processes that are not to log
 * - `tee:FIRST|SECOND` two stores at once, such as `tee:file:runs|https://...`: both are written to, the first is read. A "|" in a location
 *   is written "%7C"
 * - whatever {@link registerStorage} has added; a scheme registered there wins over a built-in one
 * - nothing: the current directory in Node, `idb:quark` in a browser
 * @throws {QuarkError} `invalid_input` for what is not text or an unknown option
 * @throws {SessionStoreError} `unknown_scheme`, and what the store itself reports: `unwritable`, `corrupt`, `version`, ...
 * @example
 * ```js
 * import { listRuns, openStorage, TrainingSession } from 'quark-sdk';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, () => {});
 * const store = await openStorage('quark-runs', { create: false }); // or idb:NAME, postgresql://..., https://...
 * console.log((await listRuns(store)).length); // 1
 * await store.close();
 * ```
 */
export async function openStorage(uri?: string, options: OpenStorageOptions = {}): Promise<Store> {
  readOptions('options', options, {
    signal: asGiven,
    create: asGiven,
    clock: asGiven,
    userKey: asGiven,
    space: asGiven,
    timeoutMs: asGiven,
  });
  checkNotAborted(options.signal);
  if (uri !== undefined && typeof uri !== 'string')
    throw invalidInput('storage', uri, 'a URI or a path');
  const location = uri === undefined || uri === '' ? defaultLocation() : uri;
  const scheme = schemeOf(location) ?? (isNode() ? 'file' : 'idb');
  const factory = findStorage(scheme) ?? builtIn(scheme);
  if (factory === undefined) throw unknownScheme(location, scheme, Object.keys(BUILT_IN));
  return factory(location, options);
}

/**
 * Begins to load the store that a page opens next, beside other parts: one after the other, each would wait for the network. What is
 * wrong with the location, {@link openStorage} says.
 */
export function preloadStorage(location: unknown): void {
  const uri = typeof location === 'string' && location !== '' ? location : defaultLocation();
  if (isNode() || typeof location === 'object' || findStorage(schemeOf(uri) ?? 'idb') !== undefined)
    return;
  if ((schemeOf(uri) ?? 'idb') === 'idb')
    void import('../store/idb/idb-store.ts').catch(() => undefined);
}

/** What a closed page has left in a store of this browser is sent by any other page. */
async function sendingLeftovers(store: Store): Promise<Store> {
  if (!isNode() && (await hasTargets(store)))
    void import('../sync/leftovers.ts').then(
      ({ sendLeftovers }) => sendLeftovers(store),
      // The next page sends it.
      () => undefined,
    );
  return store;
}

/** Whether runs of the store are meant for a service. */
async function hasTargets({ notes }: Store): Promise<boolean> {
  return ((await notes?.list('sync/remote/').catch(() => [])) ?? []).length > 0;
}

function builtIn(scheme: string): StorageFactory | undefined {
  return Object.hasOwn(BUILT_IN, scheme) ? BUILT_IN[scheme] : undefined;
}

/** What is opened when nothing is named. */
export function defaultLocation(): string {
  return isNode() ? '.' : 'idb:quark';
}
