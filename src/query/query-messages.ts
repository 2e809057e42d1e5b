/** What a program and the process of its query say to each other: each message of the program has one answer. */
import type { ErrorCode, ErrorDetails } from '../base/errors.ts';
import type { ColumnKind } from '../schema/column.ts';
import type { RowBatch } from '../codecs/arrow/vectors.ts';

/** A value of an answer. A BIGINT is a number where that is exact, else a bigint; an instant is ISO 8601 text in UTC. */
export type QueryValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | readonly QueryValue[]
  | { readonly [name: string]: QueryValue };

/** A column of an answer: its name and its SQL type. */
export type QueryColumn = { readonly name: string; readonly type: string };

/** A table, by the names that SQL has for it and its columns. */
export type TableSpec = {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly kind: ColumnKind }[];
};

/** Makes the tables and checks the statement. */
type StartMessage = {
  readonly kind: 'start';
  /** Where DuckDB lies. */
  readonly packageUrl: string;
  readonly memoryMib: number;
  readonly tables: readonly TableSpec[];
  readonly sql: string;
};

/** Rows for a table. */
type FillMessage = {
  readonly kind: 'fill';
  readonly table: string;
  /** Of all rows, in tables that have the column. */
  readonly runId: string | null;
  readonly batch: RowBatch;
};

/** Asks the question. The answer is the first rows. */
type AskMessage = { readonly kind: 'ask'; readonly maxRows: number; readonly maxBytes: number };

/** To the process. */
export type ToQuery = StartMessage | FillMessage | AskMessage | { readonly kind: 'more' };

/** Some rows of the answer. */
export type AnswerPart = {
  readonly kind: 'rows';
  readonly columns: readonly QueryColumn[];
  readonly rows: readonly (readonly QueryValue[])[];
  /** How the answer went on after these rows: `full` when the next row is over the limit of bytes. */
  readonly next: 'more' | 'end' | 'cut' | 'full';
};

/** What a request failed with: the parts of a {@link QuarkError}. */
export type QueryFailure = {
  readonly kind: 'failed';
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
  /** The message of DuckDB, where it was the one that refused. */
  readonly reason: string | null;
};

/** From the process. */
export type FromQuery = { readonly kind: 'done' } | AnswerPart | QueryFailure;
