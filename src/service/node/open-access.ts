/** Users, keys and shares of a storage, without the service over it: what an operator's commands work on. */
import { timingSafeEqual } from 'node:crypto';
import { systemClock } from '../../base/clock.ts';
import { AccessBook } from '../access/access-book.ts';
import { Removals } from '../access/removals.ts';
import type { OpenStorageOptions } from '../../store/registry.ts';
import { openSpaces } from '../../store/sql/node/open-spaces.ts';

/** An {@link AccessBook} and what closes it. */
export type OpenedAccess = {
  readonly access: AccessBook;
  /** Removes spaces and users. */
  readonly removals: Removals;
  close(): Promise<void>;
};

/**
 * Opens the users, keys and shares of a storage. A service may have it open at the same time: what is changed here
 * counts there from the next request on.
 *
 * @throws {SessionStoreError} `unknown_scheme`, and what the storage reports
 * @example
 * ```js
 * import { openAccess } from 'quark-sdk/service';
 *
 * const { access, close } = await openAccess('quark-runs'); // also while a service has it open
 * const { key, keyId } = await access.createKey({ user: 'ada', scope: 'read', expiresAt: '2100-01-01' });
 * console.log(key.startsWith('qk_')); // true: the only time that it is shown
 * for (const { userName, scope } of await access.listKeys()) console.log(userName, scope); // ada read
 * await access.revokeKey(keyId);
 * await close();
 * ```
 */
export async function openAccess(
  storage: string,
  options: Pick<OpenStorageOptions, 'create'> = {},
): Promise<OpenedAccess> {
  const spaces = await openSpaces(storage, options);
  const { database } = spaces;
  const access = new AccessBook({ database, clock: systemClock, timingSafeEqual });
  return {
    access,
    removals: new Removals({ spaces, access, clock: systemClock }),
    close: () => spaces.close(),
  };
}
