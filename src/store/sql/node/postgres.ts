/**
 * PostgreSQL and what speaks like it (CockroachDB, YugabyteDB), through `pg`, as the {@link SqlDatabase} of the SQL
 * store.
 *
 * - Statements of a batch are pipelined: they cost one round trip, and `COMMIT` travels with them; `BEGIN` with those that
 *   only read. Were it refused, what travels with it would be carried out all the same, each statement by itself.
 * - An attempt that lost a race (40001, 40P01), or whose connection is gone, is made again with growing, random pauses
 *   until `retryTimeoutMs` is over. So a restart of the server is a pause, not an error.
 * - When the connection is lost under a COMMIT nobody knows whether it took effect. The work is told so when it is
 *   attempted again (`mayBeDone`): appends know their identities, changes of runs look for the transaction's id. Only
 *   when the server stays away is the end left open; the error then has `outcome: 'unknown'` in its details.
 * - Behind a pooler every statement is in a transaction, which travels with it and makes its settings: postgres-pools.ts.
 * - Transactions are READ COMMITTED and lock what they change; CockroachDB runs them SERIALIZABLE.
 */
import { randomUUID } from 'node:crypto';
import { SessionStoreError } from '../../../base/errors.ts';
import { Lanes } from '../../../base/lanes.ts';
import {
  sqlOne,
  textCell,
  type DatabaseSafety,
  type SqlAttempt,
  type SqlBatch,
  type SqlCall,
  type SqlDatabase,
  type SqlRow,
  type SqlWork,
} from '../sql-database.ts';
import {
  failureKind,
  isPoolerWaiting,
  postgresFailure,
  type PostgresFailure,
} from './postgres-errors.ts';
import { Failure, Link } from './postgres-link.ts';
import type { PostgresPools } from './postgres-pools.ts';
import { PostgresWords, type PostgresKind } from './postgres-words.ts';

const FIRST_PAUSE_MS = 4;
const FIRST_RECONNECT_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;
/** PgBouncer's `server_login_retry`, as it is by default, and a moment more. */
const POOLER_RETRY_MS = 16_000;

/** A pool of connections as an {@link SqlDatabase}. */
export class PostgresDatabase implements SqlDatabase {
  readonly name: string;
  readonly #pools: PostgresPools;
  readonly #lanes = new Lanes();
  readonly #running = new Set<Promise<unknown>>();
  /** While nothing gets through: work that waited for other work meanwhile does not wait as long once more. */
  #away: { readonly since: number; readonly last: number } | undefined;
  #words = new PostgresWords('postgresql');
  #isClosed = false;

  constructor(name: string, pools: PostgresPools) {
    this.name = name;
    this.#pools = pools;
  }

  /** Says which server it is, when that is known. */
  set kind(kind: PostgresKind) {
    this.#words = new PostgresWords(kind);
  }

  get kind(): PostgresKind {
    return this.#words.kind;
  }

  read<T>(work: () => SqlWork<T>): Promise<T> {
    return this.#track(this.#retry(() => this.#readOnce(work)));
  }

  transaction<T>(work: (attempt: SqlAttempt) => SqlWork<T>, lane?: string): Promise<T> {
    const id = randomUUID();
    const run = (): Promise<T> =>
      this.#retry((mayBeDone) => this.#transactOnce(() => work({ id, mayBeDone })));
    return this.#track(lane === undefined ? run() : this.#lanes.run(lane, run));
  }

  /**
   * What was acknowledged is in the log of the server, unless an operator has told it not to wait for that. CockroachDB and YugabyteDB
   * always wait for a majority of their copies, and have no such settings.
   */
  async safety(): Promise<DatabaseSafety> {
    if (this.kind !== 'postgresql')
      return { isDurable: true, losesWithService: false, origin: null };
    const isDurable = await this.read(readDurability);
    // A server that may not say, or is a replica, has no history that is compared.
    const origin = await this.read(readOrigin).catch(() => null);
    return { isDurable, losesWithService: !isDurable, origin };
  }

  /** The server does that by itself. */
  async reclaimSpace(): Promise<void> {}

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    await this.#pools.end();
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    const forget = (): void => {
      this.#running.delete(work);
    };
    work.then(forget, forget);
    return work;
  }

  /** Attempts work until it is done, or trying longer makes no sense. */
  async #retry<T>(attempt: (mayBeDone: boolean) => Promise<T>): Promise<T> {
    const start = performance.now();
    let isUnsure = false;
    let limitMs = 0;
    for (let failures = 0; ; failures++) {
      let kind: PostgresFailure;
      try {
        const result = await attempt(isUnsure);
        this.#away = undefined;
        return result;
      } catch (error) {
        kind = error instanceof Failure ? error.kind : 'final';
        isUnsure ||= kind === 'unsure';
        const now = performance.now();
        const triedMs = now - Math.min(start, this.#noteFailure(kind, now));
        const cause = error instanceof Failure ? error.cause : error;
        // A pooler that rests may answer in other words between.
        limitMs = Math.max(limitMs, this.#limitMs(cause));
        if (kind === 'final' || triedMs > limitMs) {
          throw postgresFailure(cause, { name: this.name, triedMs, isUnsure });
        }
      }
      const first = kind === 'conflict' ? FIRST_PAUSE_MS : FIRST_RECONNECT_PAUSE_MS;
      const pauseMs = Math.min(first * 2 ** Math.min(failures, 10), MAX_PAUSE_MS);
      await new Promise((resolve) => {
        setTimeout(resolve, pauseMs * (0.5 + Math.random()));
      });
    }
  }

  /** For how long is tried again what has failed like this. The server may be back long before a pooler asks it. */
  #limitMs(cause: unknown): number {
    const { retryTimeoutMs } = this.#pools.config;
    return retryTimeoutMs > 0 && isPoolerWaiting(cause)
      ? retryTimeoutMs + POOLER_RETRY_MS
      : retryTimeoutMs;
  }

  /** Since when nothing gets through. A failure long after the last one begins anew. */
  #noteFailure(kind: PostgresFailure, now: number): number {
    const before = this.#away;
    if (kind !== 'lost' && kind !== 'unsure') this.#away = undefined;
    else if (before === undefined || now - before.last > this.#pools.config.retryTimeoutMs)
      this.#away = { since: now, last: now };
    else this.#away = { since: before.since, last: now };
    return this.#away?.since ?? now;
  }

  async #readOnce<T>(work: () => SqlWork<T>): Promise<T> {
    const link = await this.#connect();
    try {
      const steps = work();
      let step = steps.next();
      while (step.done !== true) {
        const answers = await link.askAlone(callsOf(step.value));
        step = steps.next(answer(step.value, answers));
      }
      return step.value;
    } finally {
      link.release();
    }
  }

  async #transactOnce<T>(work: () => SqlWork<T>): Promise<T> {
    const link = await this.#connect();
    try {
      link.begin();
      const steps = work();
      let step = steps.next();
      while (step.done !== true) {
        const asked = step.value;
        const answers =
          'calls' in asked && asked.isLast
            ? await link.askAndCommit(asked.calls)
            : await link.ask(callsOf(asked));
        step = steps.next(answer(asked, answers));
      }
      await link.commit();
      return step.value;
    } catch (error) {
      await link.rollBack();
      throw error;
    } finally {
      link.release();
    }
  }

  async #connect(): Promise<Link> {
    try {
      return new Link(await this.#pools.connect(), this.#words);
    } catch (error) {
      if (this.#isClosed && this.#running.size === 0) throw closed(this.name);
      throw new Failure(failureKind(error), error);
    }
  }
}

/** With `fsync` off, or without waiting for the log, the server forgets the last transactions in a crash. */
function* readDurability(): SqlWork<boolean> {
  const [row] = yield sqlOne(
    "SELECT text(current_setting('synchronous_commit')), text(current_setting('fsync'))",
  );
  return row !== undefined && textCell(row, 0) !== 'off' && textCell(row, 1) === 'on';
}

/** The cluster and its timeline, the first part of the name of a log file: a failover and a restore begin another one. */
function* readOrigin(): SqlWork<string | null> {
  const [row] = yield sqlOne(
    `SELECT CAST(system_identifier AS TEXT), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
     FROM pg_control_system()`,
  );
  return row === undefined ? null : `${textCell(row, 0)}/${textCell(row, 1)}`;
}

function callsOf(asked: SqlCall | SqlBatch): readonly SqlCall[] {
  return 'calls' in asked ? asked.calls : [asked];
}

function answer(
  asked: SqlCall | SqlBatch,
  answers: readonly (readonly SqlRow[])[],
): readonly SqlRow[] {
  if (!('calls' in asked)) return answers[0] ?? [];
  asked.answers.push(...answers);
  return [];
}

function closed(name: string): SessionStoreError {
  return new SessionStoreError('closed', `${name} was closed. Open it again.`, {
    details: { database: name },
  });
}
