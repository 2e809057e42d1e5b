/**
 * What the SQL store needs of a database. Work on a database is written once, as a generator that yields statements
 * and is sent their rows; a synchronous driver runs it in one go, an asynchronous one awaits each statement. Statements
 * that do not need each other's answers are yielded together: over a network they travel together.
 *
 * The statements are PostgreSQL's, with `?` for parameters, as far as SQLite understands them; the SQLite driver
 * rewrites the rest (column types, `FOR UPDATE`, and `text(column)`, by which text columns are read). Transactions are
 * written for READ COMMITTED: what two of them may change at once is locked first, in an order that all keep to.
 */
import { SessionStoreError } from '../../base/errors.ts';

/** What a parameter or a cell can be. A driver may give text and bytes alike as bytes: read cells with the functions below. */
export type SqlValue = string | number | Uint8Array | null;

export type SqlRow = readonly SqlValue[];

/** One statement and its parameters. */
export type SqlCall = {
  readonly text: string;
  readonly params: readonly SqlValue[];
  /** Whether there is at most one row: some drivers answer that faster. */
  readonly isSingle: boolean;
};

/** Statements that run one after the other and are answered together. */
export type SqlBatch = {
  readonly calls: readonly SqlCall[];
  /** Filled by the driver: the rows of each statement. */
  readonly answers: (readonly SqlRow[])[];
  /** Whether the transaction is done with them: its commit may travel with them. */
  readonly isLast: boolean;
};

/**
 * Statements in order, each answered with its rows (a batch with none, its answers are in it); ends with a result. Run
 * again from the start when it lost a race.
 */
export type SqlWork<T> = Generator<SqlCall | SqlBatch, T, readonly SqlRow[]>;

/** What a transaction may need to know about the attempts before it. */
export type SqlAttempt = {
  /** Identifies the transaction, the same at each attempt; null where no attempt ends without its end being known. */
  readonly id: string | null;
  /** True: the connection was lost while an attempt before was being committed, so that it may have been done. */
  readonly mayBeDone: boolean;
};

/** The only attempt at a transaction whose end is always known. */
export const ONLY_ATTEMPT: SqlAttempt = Object.freeze({ id: null, mayBeDone: false });

/** What a database says of its own durability. */
export type DatabaseSafety = {
  /** Whether a transaction that was acknowledged survives the loss of power. */
  readonly isDurable: boolean;
  /** Whether the end of a service without notice may mean that something is lost, as the machine may have gone with it. */
  readonly losesWithService: boolean;
  /** Names the history that the server goes on with: another one after a failover or a point-in-time restore. Null: not known. */
  readonly origin: string | null;
};

/** A database that runs {@link SqlWork}. */
export interface SqlDatabase {
  /** Names the database in messages. */
  readonly name: string;
  /** True where nothing can be written: transactions then fail with reason `read_only`. Default false. */
  readonly isReadOnly?: boolean;
  /** Runs work that only reads. Each statement may see a newer state than the one before. */
  read<T>(work: () => SqlWork<T>): Promise<T>;
  /**
   * Runs work in one transaction; commits when it returns, changes nothing when it throws. Transactions of one lane
   * (those of one run, say) start in the order of the calls; without a lane, and in different ones, they may run at the
   * same time. Work that is attempted again must do or find the same as the attempt before: see {@link SqlAttempt}.
   */
  transaction<T>(work: (attempt: SqlAttempt) => SqlWork<T>, lane?: string): Promise<T>;
  /** The same, before returning; overtakes waiting transactions. */
  transactionNow?<T>(work: (attempt: SqlAttempt) => SqlWork<T>): T;
  /** What the database says of its durability now. */
  safety(): Promise<DatabaseSafety>;
  /** Gives free pages back to the system. */
  reclaimSpace(): Promise<void>;
  /** Waits for running work, then releases the database. */
  close(): Promise<void>;
}

/** A statement, ready to be yielded. */
export function sql(text: string, ...params: readonly SqlValue[]): SqlCall {
  return { text, params, isSingle: false };
}

/** A statement that answers with one row at most. */
export function sqlOne(text: string, ...params: readonly SqlValue[]): SqlCall {
  return { text, params, isSingle: true };
}

/** Runs statements that do not need each other's answers; returns the rows of each. */
export function* together(calls: readonly SqlCall[]): SqlWork<readonly (readonly SqlRow[])[]> {
  const batch: SqlBatch = { calls, answers: [], isLast: false };
  yield batch;
  return batch.answers;
}

/** Runs the last statements of a transaction: nothing is yielded after them, and their rows are of no interest. */
export function* lastly(calls: readonly SqlCall[]): SqlWork<void> {
  yield { calls, answers: [], isLast: true };
}

/** `?, ?, ?`: as many placeholders as there are values. */
export function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ');
}

const decoder = new TextDecoder();

/** A cell that holds text. */
export function textCell(row: SqlRow, column: number): string {
  const cell = row[column];
  if (typeof cell === 'string') return cell;
  if (cell instanceof Uint8Array) return decoder.decode(cell);
  throw unexpectedCell(column, 'text');
}

/** A cell that holds a number. */
export function numberCell(row: SqlRow, column: number): number {
  const cell = row[column];
  if (typeof cell === 'number') return cell;
  throw unexpectedCell(column, 'a number');
}

/** A cell that holds a number or nothing. */
export function optionalNumberCell(row: SqlRow, column: number): number | null {
  return row[column] === null ? null : numberCell(row, column);
}

/** A cell that holds bytes, as a view that nobody else has. */
export function bytesCell(row: SqlRow, column: number): Uint8Array<ArrayBuffer> {
  const cell = row[column];
  if (!(cell instanceof Uint8Array)) throw unexpectedCell(column, 'bytes');
  const { buffer } = cell;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === cell.byteLength)
    return new Uint8Array(buffer);
  return new Uint8Array(cell);
}

/** A cell that holds JSON text of this shape. */
export function jsonCell<T>(
  row: SqlRow,
  column: number,
  isShape: (value: unknown) => value is T,
): T {
  const text = textCell(row, column);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unexpectedCell(column, 'JSON', cause);
  }
  if (!isShape(value)) throw unexpectedCell(column, 'JSON of the expected shape');
  return value;
}

/** Whether a JSON value is a list of texts. */
export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function unexpectedCell(column: number, expected: string, cause?: unknown): SessionStoreError {
  return new SessionStoreError(
    'corrupt',
    `The database is damaged: column ${column} of an answer does not hold ${expected}. Nothing was changed. Copy the database aside, then recover what is readable or start a new one.`,
    { details: { column, expected }, cause },
  );
}

/** Sorts after every character that the name of a note may have. */
export const AFTER_ASCII = '\u007f';
