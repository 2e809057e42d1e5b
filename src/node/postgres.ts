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
 * - Transactions are READ COMMITTED and lock what they change; CockroachDB runs them SERIALIZABLE.
 */
import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient, QueryArrayConfig } from 'pg';
import { SessionStoreError } from '../base/errors.ts';
import { Lanes } from '../base/lanes.ts';
import type {
  SqlAttempt,
  SqlBatch,
  SqlCall,
  SqlDatabase,
  SqlRow,
  SqlWork,
} from '../store/sql-database.ts';
import {
  commitFailureKind,
  failureKind,
  lastFailureKind,
  postgresFailure,
  type FailureKind,
} from './postgres-errors.ts';
import { sqlCells } from './postgres-cells.ts';

/** Which server answers; they differ in little. */
export type PostgresKind = 'postgresql' | 'cockroachdb' | 'yugabytedb';

/** How a database is used. */
export type PostgresConfig = {
  /** Connections at most, 1 to 1000. All services together must stay under the server's own limit. Default 10. */
  readonly maxConnections: number;
  /** How long to wait for a connection, in milliseconds. Default 10,000. */
  readonly connectTimeoutMs: number;
  /** How long a statement may take, in milliseconds; the server ends it then. Default 60,000. */
  readonly statementTimeoutMs: number;
  /** For how long what failed is attempted again, in milliseconds; 0: once only. Default 15,000. */
  readonly retryTimeoutMs: number;
};

/** The defaults of `openPostgresStorage`. */
export const DEFAULT_POSTGRES_CONFIG: PostgresConfig = Object.freeze({
  maxConnections: 10,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 60_000,
  retryTimeoutMs: 15_000,
});

const FIRST_PAUSE_MS = 4;
const FIRST_RECONNECT_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;
/** What changes nothing when it is carried out outside of its transaction. */
const READ = /^\s*SELECT\b/;
/** So many different statements are prepared once a connection; the rest each time. */
const MAX_PREPARED = 300;

/** How an attempt failed. */
class Failure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, cause: unknown) {
    super('An attempt has failed.', { cause });
    this.kind = kind;
  }
}

type Statement = { readonly text: string; readonly name: string | undefined };

/** A pool of connections as an {@link SqlDatabase}. */
export class PostgresDatabase implements SqlDatabase {
  readonly name: string;
  readonly #pool: Pool;
  readonly #config: PostgresConfig;
  readonly #isPrepared: boolean;
  readonly #lanes = new Lanes();
  readonly #running = new Set<Promise<unknown>>();
  readonly #statements = new Map<string, Statement>();
  #preparedCount = 0;
  /** While nothing gets through: work that waited for other work meanwhile does not wait as long once more. */
  #away: { readonly since: number; readonly last: number } | undefined;
  #kind: PostgresKind = 'postgresql';
  #isClosed = false;

  constructor(name: string, pool: Pool, config: PostgresConfig, isPrepared: boolean) {
    this.name = name;
    this.#pool = pool;
    this.#config = config;
    this.#isPrepared = isPrepared;
    // Each failure reaches the work that meets it; without listeners it would end the process.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
  }

  /** Says which server it is, when that is known. */
  set kind(kind: PostgresKind) {
    this.#kind = kind;
    this.#statements.clear();
  }

  get kind(): PostgresKind {
    return this.#kind;
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

  /** The server does that by itself. */
  async reclaimSpace(): Promise<void> {}

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    await this.#pool.end();
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
    for (let failures = 0; ; failures++) {
      let kind: FailureKind;
      try {
        const result = await attempt(isUnsure);
        this.#away = undefined;
        return result;
      } catch (error) {
        kind = error instanceof Failure ? error.kind : 'final';
        isUnsure ||= kind === 'unsure';
        const now = performance.now();
        const triedMs = now - Math.min(start, this.#noteFailure(kind, now));
        if (kind === 'final' || triedMs > this.#config.retryTimeoutMs) {
          const cause = error instanceof Failure ? error.cause : error;
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

  /** Since when nothing gets through. A failure long after the last one begins anew. */
  #noteFailure(kind: FailureKind, now: number): number {
    const before = this.#away;
    if (kind !== 'lost' && kind !== 'unsure') this.#away = undefined;
    else if (before === undefined || now - before.last > this.#config.retryTimeoutMs)
      this.#away = { since: now, last: now };
    else this.#away = { since: before.since, last: now };
    return this.#away?.since ?? now;
  }

  async #readOnce<T>(work: () => SqlWork<T>): Promise<T> {
    const client = await this.#connect();
    const link = new Link(client, this);
    try {
      const steps = work();
      let step = steps.next();
      while (step.done !== true) {
        const answers = await link.ask(callsOf(step.value));
        step = steps.next(answer(step.value, answers));
      }
      return step.value;
    } finally {
      client.release(link.isBroken);
    }
  }

  async #transactOnce<T>(work: () => SqlWork<T>): Promise<T> {
    const client = await this.#connect();
    const link = new Link(client, this);
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
      client.release(link.isBroken);
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      if (this.#isClosed && this.#running.size === 0) throw closed(this.name);
      throw new Failure(failureKind(error), error);
    }
  }

  /** A statement in the words of the server. */
  statement(text: string): Statement {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const isPrepared =
      this.#isPrepared &&
      this.#preparedCount < MAX_PREPARED &&
      /^\s*(?:SELECT|INSERT|UPDATE|DELETE)/.test(text);
    const statement = {
      text: toPostgres(text, this.#kind),
      name: isPrepared ? `quark_${++this.#preparedCount}` : undefined,
    };
    if (this.#statements.size < 2 * MAX_PREPARED) this.#statements.set(text, statement);
    return statement;
  }

  /** What begins a transaction. */
  get beginText(): string {
    return this.#kind === 'cockroachdb'
      ? 'BEGIN ISOLATION LEVEL SERIALIZABLE'
      : 'BEGIN ISOLATION LEVEL READ COMMITTED';
  }
}

/** One connection while one piece of work has it. */
class Link {
  /** Whether the connection must not be used again. */
  isBroken = false;
  readonly #client: PoolClient;
  readonly #database: PostgresDatabase;
  #begin: Promise<unknown> | undefined;
  #isOpen = false;

  constructor(client: PoolClient, database: PostgresDatabase) {
    this.#client = client;
    this.#database = database;
  }

  /** Begins a transaction, together with what is asked next. */
  begin(): void {
    this.#isOpen = true;
    this.#begin = this.#plain(this.#database.beginText);
    // Looked at with the first answers.
    this.#begin.catch(() => undefined);
  }

  async ask(calls: readonly SqlCall[]): Promise<readonly (readonly SqlRow[])[]> {
    await this.#begun(calls);
    const sent = this.#send(calls);
    const settled = await Promise.allSettled(sent);
    return settled.map((one) => {
      if (one.status === 'fulfilled') return one.value;
      throw this.#failed(failureKind(one.reason), one.reason);
    });
  }

  /** Asks and commits in one go. */
  async askAndCommit(calls: readonly SqlCall[]): Promise<readonly (readonly SqlRow[])[]> {
    await this.#begun(calls);
    const sent = this.#send(calls);
    const commit = this.#plain('COMMIT');
    const settled = await Promise.allSettled(sent);
    const [end] = await Promise.allSettled([commit]);
    this.#isOpen = false;
    for (const one of settled) {
      if (one.status === 'fulfilled') continue;
      // A statement that the server refused took the transaction with it; a lost connection leaves the end open.
      throw this.#failed(lastFailureKind(one.reason), one.reason);
    }
    this.#checkCommit(end);
    return settled.map((one) => (one.status === 'fulfilled' ? one.value : []));
  }

  async commit(): Promise<void> {
    if (!this.#isOpen) return;
    const begin = this.#begin;
    this.#begin = undefined;
    const commit = this.#plain('COMMIT');
    await Promise.allSettled([begin, commit]);
    const [end] = await Promise.allSettled([commit]);
    this.#isOpen = false;
    this.#checkCommit(end);
  }

  /** Ends a transaction that has failed, if it has not ended already. */
  async rollBack(): Promise<void> {
    if (!this.#isOpen || this.isBroken) return;
    this.#isOpen = false;
    await this.#plain('ROLLBACK').catch(() => {
      this.isBroken = true;
    });
  }

  /** Before anything is changed the transaction has to have begun. */
  async #begun(calls: readonly SqlCall[]): Promise<void> {
    if (this.#begin === undefined || calls.every(({ text }) => READ.test(text))) return;
    const [began] = await Promise.allSettled([this.#begin]);
    this.#begin = undefined;
    if (began.status === 'rejected') throw this.#failed(failureKind(began.reason), began.reason);
  }

  #send(calls: readonly SqlCall[]): Promise<readonly SqlRow[]>[] {
    const begin = this.#begin;
    this.#begin = undefined;
    const sent = calls.map((call) => this.#query(call));
    // A transaction that was not begun fails its statements too, with an error that says less.
    return begin === undefined
      ? sent
      : sent.map(async (one, i) => {
          if (i > 0) return one;
          const [began, answered] = await Promise.allSettled([begin, one]);
          if (began.status === 'rejected') throw began.reason;
          if (answered.status === 'rejected') throw answered.reason;
          return answered.value;
        });
  }

  async #query(call: SqlCall): Promise<readonly SqlRow[]> {
    const { text, name } = this.#database.statement(call.text);
    const config: QueryArrayConfig = {
      text,
      values: [...call.params],
      rowMode: 'array',
      types: sqlCells,
      ...(name === undefined ? {} : { name }),
    };
    const result = await this.#client.query(config);
    return result.rows as SqlRow[];
  }

  async #plain(text: string): Promise<string> {
    return (await this.#client.query(text)).command;
  }

  #checkCommit(end: PromiseSettledResult<string>): void {
    if (end.status === 'rejected') throw this.#failed(commitFailureKind(end.reason), end.reason);
    // The server answers so when the transaction had failed before.
    if (end.value === 'ROLLBACK')
      throw new Failure('conflict', new Error('The transaction was rolled back.'));
  }

  #failed(kind: FailureKind, error: unknown): Failure {
    if (kind === 'lost' || kind === 'unsure') this.isBroken = true;
    return new Failure(kind, error);
  }
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

/** What the statements of the SQL store are in the words of the server. */
function toPostgres(text: string, kind: PostgresKind): string {
  let count = 0;
  const common = text
    .replaceAll(/\btext\(([^)]*)\)/g, '$1')
    .replaceAll('ADD COLUMN ', 'ADD COLUMN IF NOT EXISTS ')
    .replaceAll('?', () => `$${++count}`);
  // Text is always ordered by its bytes there, and has another type with a collation.
  return kind === 'cockroachdb' ? common.replaceAll(' COLLATE "C"', '') : common;
}

function closed(name: string): SessionStoreError {
  return new SessionStoreError('closed', `${name} was closed. Open it again.`, {
    details: { database: name },
  });
}
