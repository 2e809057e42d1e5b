/** From the storage that a service is given to the database with its spaces. */
import type { ObjectOptions } from '../../objects/open-objects.ts';
import { schemeOf, unknownScheme, type OpenStorageOptions } from '../../registry.ts';
import type { StoreSpaces } from '../sql-store.ts';
import { openFileSpaces, type DurabilityOptions } from './file-storage.ts';

/** Schemes of storage that can hold many users. */
const SCHEMES = ['file', 'postgres', 'postgresql', 'cockroach'];

/**
 * Opens the database that a URI or a plain path names, for many spaces. With `migrates: false` a PostgreSQL database with an
 * older layout is refused and left as it is.
 *
 * @throws {SessionStoreError} `unknown_scheme`, and what the database and the object store report
 */
export async function openSpaces(
  uri: string,
  options: OpenStorageOptions &
    ObjectOptions &
    DurabilityOptions & { readonly migrates?: boolean } = {},
): Promise<StoreSpaces> {
  const scheme = schemeOf(uri) ?? 'file';
  if (scheme === 'file') return openFileSpaces(uri, options);
  if (SCHEMES.includes(scheme)) {
    // Who keeps records in a folder need not have this driver.
    const { openPostgresSpaces } = await import('./postgres-storage.ts');
    // The server has its own settings for that.
    const { synchronous: _own, ...rest } = options;
    return openPostgresSpaces(uri, rest);
  }
  throw unknownScheme(uri, scheme, SCHEMES);
}
