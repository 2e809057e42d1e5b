/** From a storage URI to a store. Backends are loaded when they are first asked for. */
import type { Clock } from '../base/clock.ts';
import { closestTo } from '../base/texts/closest.ts';
import { invalidInput, SessionStoreError } from '../base/errors.ts';
import type { Store } from './store.ts';

/** What a factory is given besides the URI. */
export type OpenStorageOptions = {
  readonly signal?: AbortSignal;
  /** False: a store that is not there yet is an error (`missing`) and nothing is made. Default true. */
  readonly create?: boolean;
  /** Decides when leases lapse. Default: the clock of the machine. */
  readonly clock?: Pick<Clock, 'now'>;
  /** The key that a Quark service knows its user by: `qk_...`. Other stores do not look at it, nor at the next two. */
  readonly userKey?: string;
  /** Which of the user's spaces a service is to open; `OWNER:NAME` for one of somebody else's. Default: `default`. */
  readonly space?: string;
  /** How long to wait for one answer of a service, in milliseconds. Default 15,000. */
  readonly timeoutMs?: number;
};

/** Opens the store a URI of its scheme names. */
export type StorageFactory = (uri: string, options: OpenStorageOptions) => Promise<Store>;

const SCHEME = /^[a-z][a-z0-9+.-]*$/;
const factories = new Map<string, StorageFactory>();

/**
 * Makes `openStorage` know another scheme. A scheme registered again is replaced.
 *
 * @throws {QuarkError} `invalid_input` when the scheme is not a lowercase URI scheme
 * @example
 * ```js
 * import { createMemoryStore, openStorage, registerStorage } from 'quark-sdk';
 *
 * registerStorage('lab', async (uri, { clock }) => {
 *   console.log(uri); // lab:bench-3
 *   return createMemoryStore({ clock });
 * });
 * const store = await openStorage('lab:bench-3');
 * await store.close();
 * ```
 */
export function registerStorage(scheme: string, factory: StorageFactory): void {
  if (typeof scheme !== 'string' || !SCHEME.test(scheme)) {
    throw invalidInput('scheme', scheme, 'a URI scheme in lowercase, without the colon');
  }
  if (typeof factory !== 'function') throw invalidInput('factory', factory, 'a function');
  factories.set(scheme, factory);
}

/** The factory of a scheme, if one is registered. */
export function findStorage(scheme: string): StorageFactory | undefined {
  return factories.get(scheme);
}

/** The scheme of a URI in lowercase, or undefined for a plain path or name. One letter is a drive, not a scheme. */
export function schemeOf(uri: string): string | undefined {
  const match = /^([A-Za-z][A-Za-z0-9+.-]+):/.exec(uri);
  return match?.[1]?.toLowerCase();
}

/** @throws {SessionStoreError} `unknown_scheme` */
export function unknownScheme(
  uri: string,
  scheme: string,
  known: readonly string[],
): SessionStoreError {
  const all = [...new Set([...known, ...factories.keys()])].sort();
  const closest = closestTo(scheme, all);
  const meant = closest === undefined ? '' : ` Did you mean "${closest}:"?`;
  return new SessionStoreError(
    'unknown_scheme',
    `No storage is registered for "${scheme}:".${meant} Known schemes: ${all.join(', ')}. Add one with registerStorage(scheme, factory).`,
    { details: { uri, scheme, known: all } },
  );
}
