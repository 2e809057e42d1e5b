/** Statements of the SQL store in the words of the server: PostgreSQL, or what speaks like it. */
import { createHash } from 'node:crypto';

/** Which server answers; they differ in little. */
export type PostgresKind = 'postgresql' | 'cockroachdb' | 'yugabytedb';

/** A statement, and the name by which it is prepared where statements are. */
export type Statement = { readonly text: string; readonly name: string | undefined };

/** Limit on different statements that are prepared per connection; others are parsed each time. */
const MAX_PREPARED = 300;
const NAME_LENGTH = 16;

/** Statements that were said before, in the words of one server. */
export class PostgresWords {
  readonly kind: PostgresKind;
  readonly #statements = new Map<string, Statement>();
  #preparedCount = 0;

  constructor(kind: PostgresKind) {
    this.kind = kind;
  }

  /** What begins a transaction. */
  get begin(): string {
    return this.kind === 'cockroachdb'
      ? 'BEGIN ISOLATION LEVEL SERIALIZABLE'
      : 'BEGIN ISOLATION LEVEL READ COMMITTED';
  }

  statement(text: string): Statement {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const own = toPostgres(text, this.kind);
    const isPrepared =
      this.#preparedCount < MAX_PREPARED && /^\s*(?:SELECT|INSERT|UPDATE|DELETE)/.test(text);
    if (isPrepared) this.#preparedCount++;
    const statement = { text: own, name: isPrepared ? nameOf(own) : undefined };
    if (this.#statements.size < 2 * MAX_PREPARED) this.#statements.set(text, statement);
    return statement;
  }
}

/**
 * The name of a statement is derived from its text. If a pooler assigns a session in which another program has prepared
 * statements, an equal name means an equal statement.
 */
function nameOf(text: string): string {
  return `quark_${createHash('sha256').update(text).digest('hex').slice(0, NAME_LENGTH)}`;
}

function toPostgres(text: string, kind: PostgresKind): string {
  let count = 0;
  const common = text
    .replaceAll(/\btext\(([^)]*)\)/g, '$1')
    .replaceAll('ADD COLUMN ', 'ADD COLUMN IF NOT EXISTS ')
    .replaceAll('?', () => `$${++count}`);
  // Text is always ordered by its bytes there, and has another type with a collation.
  return kind === 'cockroachdb' ? common.replaceAll(' COLLATE "C"', '') : common;
}
