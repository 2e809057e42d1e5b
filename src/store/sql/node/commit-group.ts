/**
 * Group commit: transactions that wait at the same moment are committed together, so that they wait for the disk once (DeWitt et al.
 * 1984). Each is done as a savepoint, so that one that fails takes nothing back but its own work, and none counts before the commit.
 */
import type { SqlAttempt, SqlWork } from '../sql-database.ts';

/** Work in a transaction, and who waits for it. */
type Waiting = {
  readonly work: (attempt: SqlAttempt) => SqlWork<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
};

type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** What a group needs of a connection. */
export type GroupConnection = {
  /** Runs a statement without rows. */
  readonly run: (text: string) => void;
  readonly drive: (work: (attempt: SqlAttempt) => SqlWork<unknown>) => unknown;
  /** Runs work in a transaction of its own. */
  readonly transact: (work: (attempt: SqlAttempt) => SqlWork<unknown>) => unknown;
  readonly isInTransaction: () => boolean;
  /** Runs one after the other what has the connection for itself. */
  readonly exclusively: (work: () => Promise<void>) => Promise<void>;
  /** Runs work again while another process has the lock; turns what it throws into an error of the store. */
  readonly retry: <T>(work: () => T) => Promise<T>;
  /** Turns what a statement threw into an error of the store. */
  readonly failure: (error: unknown) => unknown;
};

const MAX_TOGETHER = 64;
/** Then what waits longer is committed before more is begun: the thread answers nobody meanwhile. */
const MAX_MS = 20;

/** See the top of this file. */
export class CommitGroup {
  readonly #connection: GroupConnection;
  #waiting: Waiting[] = [];
  #isPlanned = false;

  constructor(connection: GroupConnection) {
    this.#connection = connection;
  }

  /** Does work in a transaction, and resolves once it is committed. Work begins in the order of the calls. */
  run<T>(work: (attempt: SqlAttempt) => SqlWork<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: (value) => resolve(value as T), reject });
      this.#plan();
    });
  }

  /** Resolves when all that waits now is done. */
  async settle(): Promise<void> {
    while (this.#waiting.length > 0 || this.#isPlanned)
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    // After the requests that have arrived by now have been read.
    setImmediate(() => {
      void this.#connection
        .exclusively(() => this.#commitSome())
        .then(() => {
          this.#isPlanned = false;
          if (this.#waiting.length > 0) this.#plan();
        });
    });
  }

  async #commitSome(): Promise<void> {
    const group = this.#waiting.splice(0, MAX_TOGETHER);
    const [first] = group;
    if (first === undefined) return;
    if (group.length === 1) return this.#alone(first);
    let done: readonly Outcome[];
    try {
      done = await this.#connection.retry(() => this.#together(group));
    } catch {
      // A full disk, say: none of it was committed, and each is told why by itself.
      for (const one of group) await this.#alone(one);
      return;
    }
    for (const [i, one] of group.entries()) {
      const outcome = done[i];
      if (outcome === undefined) continue;
      if ('error' in outcome) one.reject(this.#connection.failure(outcome.error));
      else one.resolve(outcome.value);
    }
    this.#waiting.unshift(...group.slice(done.length));
  }

  /** The outcome of each, as far as there was time; nothing is done when it throws. */
  #together(group: readonly Waiting[]): readonly Outcome[] {
    const { drive, isInTransaction, run } = this.#connection;
    const outcomes: Outcome[] = [];
    const startMs = performance.now();
    run('BEGIN IMMEDIATE');
    try {
      for (const { work } of group) {
        if (outcomes.length > 0 && performance.now() - startMs > MAX_MS) break;
        run('SAVEPOINT one');
        try {
          outcomes.push({ value: drive(work) });
        } catch (error) {
          // After severe errors SQLite has taken back all of it.
          if (!isInTransaction()) throw error;
          run('ROLLBACK TO one');
          outcomes.push({ error });
        }
        run('RELEASE one');
      }
      run('COMMIT');
      return outcomes;
    } catch (error) {
      if (isInTransaction()) run('ROLLBACK');
      throw error;
    }
  }

  async #alone({ work, reject, resolve }: Waiting): Promise<void> {
    const { retry, transact } = this.#connection;
    try {
      resolve(await retry(() => transact(work)));
    } catch (error) {
      reject(error);
    }
  }
}
