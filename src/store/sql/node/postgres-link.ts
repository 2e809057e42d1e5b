/** A connection leased for one unit of work. The statements of a batch are pipelined. */
import type { QueryArrayConfig } from 'pg';
import type { SqlCall, SqlRow } from '../sql-database.ts';
import { sqlCells } from './postgres-cells.ts';
import {
  commitFailureKind,
  failureKind,
  lastFailureKind,
  type PostgresFailure,
} from './postgres-errors.ts';
import type { Connection } from './postgres-pools.ts';
import type { PostgresWords } from './postgres-words.ts';

/** Statements that change nothing when they run outside of their transaction. */
const READ = /^\s*SELECT\b/;

/** How an attempt failed. */
export class Failure extends Error {
  readonly kind: PostgresFailure;

  constructor(kind: PostgresFailure, cause: unknown) {
    super('An attempt has failed.', { cause });
    this.kind = kind;
  }
}

/** A connection leased for one unit of work. */
export class Link {
  /** Whether the connection must not be used again. */
  isBroken = false;
  readonly #connection: Connection;
  readonly #words: PostgresWords;
  #begin: Promise<unknown> | undefined;
  #isOpen = false;

  constructor(connection: Connection, words: PostgresWords) {
    this.#connection = connection;
    this.#words = words;
  }

  /** Gives the connection back. */
  release(): void {
    this.#connection.client.release(this.isBroken);
  }

  /** Begins a transaction, in one round trip with the next statements. */
  begin(): void {
    this.#isOpen = true;
    const { settings } = this.#connection.manner;
    this.#begin = this.#plain([this.#words.begin, ...settings].join('; '));
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

  /** Queries without a transaction, except for the one that settings may need; all in one round trip. */
  async askAlone(calls: readonly SqlCall[]): Promise<readonly (readonly SqlRow[])[]> {
    if (this.#connection.manner.settings.length === 0) return this.ask(calls);
    this.begin();
    const sent = this.#send(calls);
    const commit = this.#plain('COMMIT');
    const settled = await Promise.allSettled(sent);
    const [end] = await Promise.allSettled([commit]);
    this.#isOpen = false;
    const answers = settled.map((one) => {
      if (one.status === 'fulfilled') return one.value;
      throw this.#failed(failureKind(one.reason), one.reason);
    });
    // Nothing was changed: what was read is good, and a session that does not end its transaction is not used again.
    this.isBroken ||= end.status === 'rejected';
    return answers;
  }

  /** Queries and commits in one round trip. */
  async askAndCommit(calls: readonly SqlCall[]): Promise<readonly (readonly SqlRow[])[]> {
    await this.#begun(calls);
    const sent = this.#send(calls);
    const commit = this.#plain('COMMIT');
    const settled = await Promise.allSettled(sent);
    const [end] = await Promise.allSettled([commit]);
    this.#isOpen = false;
    for (const one of settled) {
      if (one.status === 'fulfilled') continue;
      // A refused statement has rolled the transaction back; after a lost connection the outcome is unknown.
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
    const { text, name } = this.#words.statement(call.text);
    const { client, manner } = this.#connection;
    const config: QueryArrayConfig = {
      text,
      values: [...call.params],
      rowMode: 'array',
      types: sqlCells,
      ...(name === undefined || !manner.isPrepared ? {} : { name }),
    };
    const result = await client.query(config);
    return result.rows as SqlRow[];
  }

  async #plain(text: string): Promise<string> {
    const result: unknown = await this.#connection.client.query(text);
    // Of several statements each has a result.
    const last: unknown = Array.isArray(result) ? result.at(-1) : result;
    return isResult(last) ? last.command : '';
  }

  #checkCommit(end: PromiseSettledResult<string>): void {
    if (end.status === 'rejected') throw this.#failed(commitFailureKind(end.reason), end.reason);
    // The server answers so when the transaction had failed before.
    if (end.value === 'ROLLBACK')
      throw new Failure('conflict', new Error('The transaction was rolled back.'));
  }

  #failed(kind: PostgresFailure, error: unknown): Failure {
    if (kind === 'lost' || kind === 'unsure') this.isBroken = true;
    // A statement refused for this reason was rolled back and is retried in pooler mode.
    const isPooled = kind === 'final' && this.#connection.showsPooler(error);
    return new Failure(isPooled ? 'conflict' : kind, error);
  }
}

function isResult(value: unknown): value is { readonly command: string } {
  return typeof value === 'object' && value !== null && 'command' in value;
}
