/** Shapes as rows of SQL tables: names of the columns, cells of a value, and the value of a row. */
import { SessionStoreError } from '../../base/errors.ts';
import {
  isOfKind,
  type Field,
  type Fields,
  type FieldKind,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';
import {
  isTextList,
  jsonCell,
  numberCell,
  textCell,
  type SqlRow,
  type SqlValue,
} from './sql-database.ts';

/** A shape in an SQL table, in the order of its declaration. */
export interface SqlShape<F extends Fields, K extends keyof F = never> {
  /** Names of the columns. */
  readonly columns: readonly string[];
  /** The columns as a query selects them: those of text through `text()`. */
  readonly selected: string;
  /** The cells of a row that is written. */
  cells(values: ValuesOf<F>): SqlValue[];
  /** What is in a row of {@link selected}, with the fields that are no columns. @throws {SessionStoreError} `corrupt` */
  read(row: SqlRow, rest: Pick<ValuesOf<F>, K & keyof ValuesOf<F>>): ValuesOf<F>;
}

/** The columns of a shape; `rest` names the fields that other tables have. */
export function sqlShape<F extends Fields, const K extends string & keyof F = never>(
  shape: Shape<F>,
  ...rest: readonly K[]
): SqlShape<F, K> {
  const entries = shape.entries.filter(([name]) => !rest.some((one) => one === name));
  return {
    columns: entries.map(([, column]) => column),
    selected: entries
      .map(([, column, { kind }]) => (CELLS[kind].isText ? `text(${column})` : column))
      .join(', '),
    cells: (values) =>
      entries.map(([name, , field]) => {
        const value: unknown = Reflect.get(values, name);
        return value === null || value === undefined ? null : CELLS[field.kind].write(value, field);
      }),
    read(row, others) {
      const values: Record<string, unknown> = Object.assign({ ...shape.blank }, others);
      for (let column = 0; column < entries.length; column++) {
        const [name, , field] = entries[column] ?? [];
        if (name === undefined || field === undefined) break;
        const isNone = row[column] === null && field.kind !== 'list';
        if (isNone && field.isOptional) continue;
        values[name] =
          isNone && field.isNullable ? null : CELLS[field.kind].read(row, column, field);
      }
      return values as ValuesOf<F>;
    },
  };
}

type CellKind = {
  /** Whether the column is one of text, which drivers may answer as bytes. */
  readonly isText: boolean;
  readonly write: (value: unknown, field: Field<unknown>) => SqlValue;
  readonly read: (row: SqlRow, column: number, field: Field<unknown>) => unknown;
};

const numberKind: CellKind = { isText: false, write: scalar, read: numberCell };

const CELLS: { readonly [K in FieldKind]: CellKind } = {
  text: { isText: true, write: scalar, read: textCell },
  count: numberKind,
  number: numberKind,
  flag: {
    isText: false,
    write: (value) => (value === true ? 1 : 0),
    read: (row, column) => numberCell(row, column) === 1,
  },
  literal: {
    isText: false,
    write: (value, { literals }) => literals.findIndex((item) => item === value),
    read: (row, column, { literals }) => {
      const found = literals[numberCell(row, column)];
      if (found !== undefined) return found;
      throw new SessionStoreError(
        'corrupt',
        `The database is damaged: it names the value ${numberCell(row, column)} of ${literals.join(', ')}. Nothing was changed.`,
      );
    },
  },
  texts: {
    isText: true,
    write: (value) => JSON.stringify(value),
    read: (row, column) => jsonCell(row, column, isTextList),
  },
  // JSON of a tuple for each item; no cell for an empty list.
  list: {
    isText: true,
    write: (value, { items }) =>
      Array.isArray(value) && value.length > 0
        ? JSON.stringify(value.map((item: unknown) => tupleOf(items, Object(item))))
        : null,
    read: (row, column, { items }) =>
      row[column] === null
        ? []
        : jsonCell(row, column, isTupleList(items)).map((tuple) => fromTuple(items, tuple)),
  },
};

function scalar(value: unknown): SqlValue {
  if (typeof value === 'string' || typeof value === 'number') return value;
  throw new Error('A cell holds text or a number.');
}

type Tuple = readonly unknown[];

function tupleOf(items: Shape | undefined, item: object): Tuple {
  return (items?.entries ?? []).map(([name]): unknown => Reflect.get(item, name));
}

function fromTuple(items: Shape | undefined, tuple: Tuple): object {
  return Object.fromEntries((items?.entries ?? []).map(([name], i) => [name, tuple[i]]));
}

function isTupleList(items: Shape | undefined): (value: unknown) => value is readonly Tuple[] {
  return (value): value is readonly Tuple[] =>
    Array.isArray(value) &&
    value.every(
      (tuple) =>
        Array.isArray(tuple) &&
        items?.entries.every(([, , field], i) => isOfKind(field, tuple[i])) === true,
    );
}
