/**
 * The connection to one IndexedDB database: opened when first needed, given up when another tab wants to change or
 * delete the database, opened again after the browser has ended it.
 *
 * Durability: an acknowledged write has reached the operating system and survives killing the tab and the whole browser
 * (tested in test/kill/ with Chromium, which needs help for it: idb-log.ts). Appends go no further (`relaxed`): waiting
 * for the disk makes them a quarter to a half slower on a fast disk, and much more on others. Changes of runs and merges,
 * which remove what they replace, do wait for the disk (`strict`); browsers that keep one log for all, as Chromium does,
 * then have the appends before them on the disk too. After a loss of power the last appends since then may be missing.
 */
import { openDB } from 'idb';
import {
  isQuarkError,
  messageOf,
  QuarkError,
  SessionStoreError,
  type StoreFailureReason,
} from '../../base/errors.ts';
import {
  hasLayout,
  IDB_LAYOUT_VERSION,
  upgradeIdb,
  type IdbDatabase,
  type IdbLayout,
  type IdbStoreName,
  type IdbTransaction,
} from './idb-layout.ts';
import { storeClosed } from '../run-rules.ts';

/** How long other tabs may keep the database from opening, by holding on to an older or a deleted one. */
const MAX_OPENING_MS = 20_000;

/** Work inside one transaction. It awaits requests of the transaction and nothing else: the browser would commit. */
export type IdbWork<M extends IDBTransactionMode, T> = (
  transaction: IdbTransaction<M>,
) => Promise<T>;

/** See the top of this file. */
export class IdbConnection {
  readonly #name: string;
  readonly #uri: string;
  #database: Promise<IdbDatabase> | undefined;
  #isClosed = false;

  constructor(name: string, uri: string) {
    this.#name = name;
    this.#uri = uri;
  }

  /** Opens the database now, so that a problem shows at once. */
  async open(mayCreate: boolean): Promise<void> {
    await this.#connect(mayCreate);
  }

  /** @throws {SessionStoreError} `closed` */
  checkOpen(): void {
    if (this.#isClosed) throw storeClosed(this.#uri);
  }

  read<T>(stores: IdbStoreName[], work: IdbWork<'readonly', T>): Promise<T> {
    return this.#transact(stores, 'readonly', 'relaxed', work);
  }

  /** All of the work or nothing of it. Once it resolves, it outlives the tab and the browser. */
  write<T>(stores: IdbStoreName[], work: IdbWork<'readwrite', T>): Promise<T> {
    return this.#transact(stores, 'readwrite', 'relaxed', work);
  }

  /** The same, and it survives power loss too. */
  writeToDisk<T>(stores: IdbStoreName[], work: IdbWork<'readwrite', T>): Promise<T> {
    return this.#transact(stores, 'readwrite', 'strict', work);
  }

  /** Transactions that have begun are finished. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const database = this.#database;
    this.#database = undefined;
    try {
      (await database)?.close();
    } catch {
      // It never opened, and its caller got the error.
    }
  }

  async #transact<M extends 'readonly' | 'readwrite', T>(
    stores: IdbStoreName[],
    mode: M,
    durability: IDBTransactionDurability,
    work: IdbWork<M, T>,
  ): Promise<T> {
    for (let isRetry = false; ; isRetry = true) {
      const connecting = this.#connect(true);
      const database = await connecting;
      this.checkOpen();
      try {
        return await this.#attempt(database, stores, mode, durability, work);
      } catch (error) {
        // The browser ended the connection: nothing of the transaction was stored, and a new connection may do. Nothing
        // but that aborts a transaction without an error of its own.
        const wasLost =
          this.#database !== connecting ||
          isNamed(error, 'InvalidStateError') ||
          isNamed(error, 'AbortError');
        if (isRetry || this.#isClosed || isQuarkError(error) || !wasLost)
          throw this.#failure(error);
        database.close();
        if (this.#database === connecting) this.#database = undefined;
      }
    }
  }

  async #attempt<M extends 'readonly' | 'readwrite', T>(
    database: IdbDatabase,
    stores: IdbStoreName[],
    mode: M,
    durability: IDBTransactionDurability,
    work: IdbWork<M, T>,
  ): Promise<T> {
    const transaction = database.transaction(stores, mode, { durability });
    let outcome: unknown;
    const done = transaction.done.catch((error: unknown) => {
      outcome = error;
    });
    try {
      const result = await work(transaction);
      await done;
      if (outcome !== undefined) throw outcome;
      return result;
    } catch (error) {
      try {
        transaction.abort();
      } catch {
        // It has ended already.
      }
      await done;
      // A full disk ends the transaction; its requests only tell that they were aborted.
      throw isNamed(outcome, 'QuotaExceededError') ? outcome : error;
    }
  }

  #connect(mayCreate: boolean): Promise<IdbDatabase> {
    if (this.#isClosed) return Promise.reject(storeClosed(this.#uri));
    if (this.#database !== undefined) return this.#database;
    const connecting = this.#openDatabase(mayCreate, () => {
      if (this.#database === connecting) this.#database = undefined;
    });
    this.#database = connecting;
    // A failed opening is not the answer for good.
    connecting.catch(() => {
      if (this.#database === connecting) this.#database = undefined;
    });
    return connecting;
  }

  async #openDatabase(mayCreate: boolean, onLost: () => void): Promise<IdbDatabase> {
    let wasMissing = false;
    let isForeign = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let opening: Promise<IdbDatabase> | undefined;
    try {
      // Asking for it may throw already, in pages without an origin of their own.
      if (typeof indexedDB === 'undefined') {
        throw new QuarkError(
          'unsupported',
          `There is no IndexedDB here, so ${this.#uri} cannot be opened. Use "memory:", the URL of a service or, in Node, "file:DIR".`,
        );
      }
      opening = openDB<IdbLayout>(this.#name, IDB_LAYOUT_VERSION, {
        upgrade(database, oldVersion, _newVersion, transaction) {
          wasMissing = oldVersion === 0 && !mayCreate;
          isForeign = !hasLayout(database, oldVersion);
          if (wasMissing || isForeign) {
            transaction.done.catch(() => undefined);
            transaction.abort();
            return;
          }
          upgradeIdb(database, oldVersion);
        },
        blocking: (_current, _wanted, event) => {
          onLost();
          (event.target as IDBDatabase).close();
        },
        terminated: onLost,
      });
      const database = await Promise.race([
        opening,
        new Promise<never>((_resolve, reject) => {
          timer = setTimeout(() => reject(this.#blocked()), MAX_OPENING_MS);
        }),
      ]);
      if (hasLayout(database)) return database;
      database.close();
      throw this.#foreign();
    } catch (error) {
      // An opening that comes through later has nobody left to use it.
      opening?.then(
        (database) => database.close(),
        () => undefined,
      );
      if (wasMissing) throw this.#missing();
      if (isForeign) throw this.#foreign();
      throw isNamed(error, 'InvalidStateError') ? this.#withheld(error) : this.#failure(error);
    } finally {
      clearTimeout(timer);
    }
  }

  #failure(error: unknown): unknown {
    if (isQuarkError(error)) return error;
    if (isNamed(error, 'QuotaExceededError')) {
      return this.#error(
        'full',
        `The browser's quota for this site is used up: nothing was written to ${this.#uri}. Remove runs or other data of the site; what a writer holds is written with its next flush.`,
        error,
      );
    }
    if (isNamed(error, 'VersionError')) {
      return this.#error(
        'version',
        `${this.#uri} was written by a newer Quark, perhaps in another tab. Nothing was changed. Reload the page, or update quark-sdk.`,
        error,
      );
    }
    if (isNamed(error, 'SecurityError')) return this.#withheld(error);
    return this.#error(
      'failed',
      `${this.#uri} could not do what was asked; nothing was written (${messageOf(error)}).`,
      error,
    );
  }

  #withheld(cause: unknown): SessionStoreError {
    return this.#error(
      'unwritable',
      `The browser gives this page no IndexedDB, so ${this.#uri} cannot be opened (${messageOf(cause)}). Leave private mode, allow the site to store data, or use "memory:".`,
      cause,
    );
  }

  #missing(): SessionStoreError {
    return this.#error(
      'missing',
      `There is no IndexedDB database "${this.#name}" on this site.`,
      undefined,
    );
  }

  #foreign(): SessionStoreError {
    return this.#error(
      'corrupt',
      `The IndexedDB database "${this.#name}" is not one of Quark's, or parts of it are missing. Nothing was changed. Choose another name ("idb:NAME"), or delete that database.`,
      undefined,
    );
  }

  #blocked(): SessionStoreError {
    return this.#error(
      'blocked',
      `${this.#uri} did not open within ${MAX_OPENING_MS / 1000} s: another tab holds on to an older or deleted one. Close or reload the other tabs of this site, and try again.`,
      undefined,
    );
  }

  #error(reason: StoreFailureReason, message: string, cause: unknown): SessionStoreError {
    return new SessionStoreError(reason, message, {
      details: { uri: this.#uri, name: this.#name },
      cause,
    });
  }
}

function isNamed(error: unknown, name: string): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === name;
}
