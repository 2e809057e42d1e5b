/** The store in a directory: an SQLite database, with large blobs and the folders of the runs beside it. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkNotAborted } from '../../../base/assert.ts';
import { systemClock } from '../../../base/clock.ts';
import { invalidInput, SessionStoreError } from '../../../base/errors.ts';
import { openObjects, type ObjectOptions } from '../../objects/open-objects.ts';
import { schemeOf, type OpenStorageOptions } from '../../registry.ts';
import { checkSpace } from '../../run-rules.ts';
import { createSqlStore, type SqlStoreParts, type StoreSpaces } from '../sql-store.ts';
import type { Store, StoreLocation } from '../../store.ts';
import { createBlobFiles } from './blob-files.ts';
import { makeFolder, removeFolder } from './folders.ts';
import { isOnlyRead, openReadOnlySqlite } from './sqlite-read-only.ts';
import { openSqlite, type Synchronous } from './sqlite.ts';

/** How a folder is written to. */
export type DurabilityOptions = {
  /** How far a write has to come before it counts, unless the URI says so. Default `normal`. */
  readonly synchronous?: Synchronous | undefined;
};

const SYNCHRONOUS: readonly Synchronous[] = ['normal', 'full'];

/**
 * Opens the store in a directory, given as a plain path or as `file:DIR` (percent-encoded; relative to the current directory or
 * absolute). The directory is made if it is not there. `file:DIR?synchronous=full` makes every write wait for the disk, so that
 * it survives power loss too; without it a write survives the end of the process in any way.
 *
 * A store on read-only media, or with files that this user may not write, is opened for reading: `isWritable` is false, and calls
 * that write reject with reason `read_only`. While another process records into it, new records are visible as they are
 * committed. Otherwise the store shows its state at the time of opening.
 *
 * @throws {QuarkError} `invalid_input` when the URI cannot be understood
 * @throws {SessionStoreError} `unwritable`, `full`, `corrupt`, `version`, `busy`, `missing`, `failed`
 * @example
 * ```js
 * import { listRuns, TrainingSession } from 'quark-sdk';
 * import { openFileStorage } from 'quark-sdk/node';
 *
 * const store = await openFileStorage('file:quark-runs?synchronous=full'); // survives power loss
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * console.log((await listRuns(store)).length, store.isWritable); // 1 true
 * await store.close();
 * ```
 */
export async function openFileStorage(
  uri: string,
  options: OpenStorageOptions = {},
): Promise<Store> {
  return createSqlStore(await openParts(uri, options));
}

/**
 * Opens the database in a directory, as {@link openFileStorage} does, for many spaces. What that opens is space ''.
 *
 * @throws {QuarkError} `invalid_input` when the URI cannot be understood
 * @throws {SessionStoreError} `unwritable`, `full`, `corrupt`, `version`, `busy`, `missing`, `failed`
 */
export async function openFileSpaces(
  uri: string,
  options: OpenStorageOptions & ObjectOptions & DurabilityOptions = {},
): Promise<StoreSpaces> {
  const place = await openObjects(options);
  const parts = place(await openParts(uri, options));
  return {
    uri: parts.uri,
    database: parts.database,
    segmentFiles: parts.segmentFiles,
    store(space, storeOptions) {
      const folder = runFolder(parts.location, checkSpace(space));
      return createSqlStore({
        ...parts,
        ...storeOptions,
        space,
        isShared: true,
        ...(parts.prepareRun === undefined
          ? {}
          : {
              prepareRun: (runId: string) => makeFolder(join(folder, runId)),
              removeRun: (runId: string) => removeFolder(join(folder, runId)),
            }),
      });
    },
    close: () => parts.database.close(),
  };
}

async function openParts(
  uri: string,
  options: OpenStorageOptions & DurabilityOptions,
): Promise<SqlStoreParts> {
  checkNotAborted(options.signal);
  const { directory, synchronous } = parseFileUri(uri, options.synchronous);
  const location = locateStore(directory);
  if (options.create === false && !existsSync(location.dbPath)) throw storeMissing(location);
  const isReadOnly = isOnlyRead(location.dbPath);
  if (!isReadOnly) await makeFolder(runFolder(location, ''), synchronous === 'full');
  checkNotAborted(options.signal);
  return {
    uri:
      pathToFileURL(directory).href +
      (parseFileUri(uri).synchronous === 'full' ? '?synchronous=full' : ''),
    location,
    database: isReadOnly
      ? await openReadOnlySqlite(location.dbPath)
      : await openSqlite(location.dbPath, { synchronous }),
    blobFiles: createBlobFiles(location.storeRoot),
    clock: options.clock ?? systemClock,
    ...(isReadOnly
      ? {}
      : {
          prepareRun: (runId: string) => makeFolder(join(runFolder(location, ''), runId)),
          removeRun: (runId: string) => removeFolder(join(runFolder(location, ''), runId)),
        }),
  };
}

/** Where the folders of a space's runs are. A space is one folder: no name has a "+". */
export function runFolder({ storeRoot }: StoreLocation, space: string): string {
  return space === ''
    ? join(storeRoot, 'runs')
    : join(storeRoot, 'spaces', space.replaceAll('/', '+'), 'runs');
}

/** The directory a `file:` URI or plain path names, as an absolute path, and the options in the URI; `unlessNamed` stands for one that is not there. */
export function parseFileUri(
  uri: string,
  unlessNamed: Synchronous = 'normal',
): {
  readonly directory: string;
  readonly synchronous: Synchronous;
} {
  if (typeof uri !== 'string' || uri.includes('\u0000'))
    throw invalidInput('storage', uri, 'a path or a "file:" URI');
  if (schemeOf(uri) !== 'file')
    return { directory: resolve(uri === '' ? '.' : uri), synchronous: unlessNamed };
  const rest = uri.slice('file:'.length);
  const cut = rest.indexOf('?');
  const path = cut < 0 ? rest : rest.slice(0, cut);
  const synchronous = parseOptions(uri, cut < 0 ? '' : rest.slice(cut + 1), unlessNamed);
  return { directory: resolve(decodePath(uri, path)), synchronous };
}

function decodePath(uri: string, path: string): string {
  try {
    // file://HOST/PATH and file:///PATH; "#" is a letter like any other in the name of a directory.
    if (path.startsWith('//')) return fileURLToPath(`file:${path.replaceAll('#', '%23')}`);
    const decoded = decodeURIComponent(path);
    // file:/C:/data names a drive on Windows.
    if (process.platform === 'win32' && /^\/[A-Za-z]:/.test(decoded)) return decoded.slice(1);
    return decoded === '' ? '.' : decoded;
  } catch {
    throw invalidInput(
      'storage',
      uri,
      'a "file:" URI with a percent-encoded path ("%" itself is "%25"), or a plain path',
    );
  }
}

function parseOptions(uri: string, query: string, unlessNamed: Synchronous): Synchronous {
  let synchronous = unlessNamed;
  for (const [name, value] of new URLSearchParams(query)) {
    const found = SYNCHRONOUS.find((known) => known === value);
    if (name !== 'synchronous' || found === undefined) {
      throw invalidInput(
        'storage',
        uri,
        'a "file:" URI whose only option is "synchronous=normal" or "synchronous=full"',
      );
    }
    synchronous = found;
  }
  return synchronous;
}

/** Where the store in a directory has its files. */
export function locateStore(directory: string): StoreLocation {
  const storeRoot = join(directory, '.quark');
  return { storageDir: directory, storeRoot, dbPath: join(storeRoot, 'quark.db') };
}

function storeMissing(location: StoreLocation): SessionStoreError {
  return new SessionStoreError(
    'missing',
    `There is no Quark store in ${location.storageDir}: ${location.dbPath} does not exist. Name the folder that a run was recorded into.`,
    { details: { path: location.dbPath } },
  );
}
