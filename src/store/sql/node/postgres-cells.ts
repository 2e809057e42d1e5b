/** Cells of answers of PostgreSQL, from the text they travel as to what the SQL store reads. */
import { SessionStoreError } from '../../../base/errors.ts';
import type { SqlValue } from '../sql-database.ts';

/** Numbers of types in the catalogue of PostgreSQL, the same in CockroachDB and YugabyteDB. */
const BYTEA = 17;
const BIGINT = 20;
const SMALLINT = 21;
const INTEGER = 23;
const REAL = 700;
const DOUBLE = 701;
const NUMERIC = 1700;

/** Reads cells for `pg`: whole numbers as numbers where they are exact, bytes as bytes, all else as text. */
export const sqlCells = {
  getTypeParser(type: number): (text: string) => SqlValue {
    switch (type) {
      case BYTEA:
        return readBytes;
      case BIGINT:
      case SMALLINT:
      case INTEGER:
      case NUMERIC:
        return readWhole;
      case REAL:
      case DOUBLE:
        return Number;
      default:
        return asIs;
    }
  },
};

function readBytes(text: string): Uint8Array {
  // As `bytea_output = hex` has it, the default of every server.
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex');
  throw damaged('bytes in hexadecimal; set bytea_output = hex');
}

function readWhole(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw damaged('a whole number up to 2^53');
}

function asIs(text: string): string {
  return text;
}

function damaged(expected: string): SessionStoreError {
  return new SessionStoreError(
    'corrupt',
    `The database is damaged, or is not Quark's: an answer does not hold ${expected}. Nothing was changed.`,
    { details: { expected } },
  );
}
