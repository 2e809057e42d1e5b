/**
 * Records: flat, immutable rows. A record is declared once; its TypeScript type, its check, its stored form and its
 * `toDict()` derive from the declaration.
 */
import { isQuarkError, SchemaValidationError, show } from '../base/errors.ts';
import type { Column } from './column.ts';

/** Columns by the name they have in code. */
export type Columns = { readonly [name: string]: Column<unknown> };

/** The values of a record, by the names they have in code. */
export type RowOf<C extends Columns> = {
  readonly [K in keyof C]: C[K] extends Column<infer T> ? T : never;
};

/** A value in a dictionary made by `toDict()`. Like JSON, but numbers may be NaN or infinite. */
export type DictValue =
  | string
  | number
  | boolean
  | null
  | readonly DictValue[]
  | { readonly [key: string]: DictValue };

/** A record as a plain dictionary with the names of abiotic-quark (snake_case). */
export type Dict = { readonly [key: string]: DictValue };

/** What every record can do. */
export interface RecordMethods {
  /** The record as a plain dictionary with snake_case names; nested records too. */
  toDict(): Dict;
}

/** A record: its values, which never change, and `toDict()`. */
export type RecordOf<C extends Columns> = RowOf<C> & RecordMethods;

/** The declaration of a record. */
export interface RecordDefinition<C extends Columns = Columns> {
  /** `metric`, `run`, ...: the name in error messages and registries. */
  readonly name: string;
  readonly doc: string;
  readonly columns: C;
  /** Stored name of each column, in the order of the declaration. */
  readonly storedNames: ReadonlyMap<string, string>;
  /** Checks every value and makes a record. @throws {SchemaValidationError} */
  create(values: { readonly [K in keyof C]?: unknown }): RecordOf<C>;
  /** A record of values that are known to be right. */
  wrap(values: RowOf<C>): RecordOf<C>;
  /** Reads a dictionary with stored names. Unknown names are refused. @throws {SchemaValidationError} */
  fromDict(dict: { readonly [key: string]: unknown }): RecordOf<C>;
}

/** The part of a declaration that does not depend on the types of its columns. */
type RecordShape = Pick<RecordDefinition, 'name' | 'columns' | 'storedNames'>;

const DEFINITION = Symbol.for('quark.recordDefinition');

/** `stepTimeMs` to `step_time_ms`: the one mapping between names in code and stored names. */
export function storedName(name: string): string {
  return name.replace(/[A-Z0-9]+/g, (part, at: number) =>
    /[A-Z]/.test(part) && at > 0 ? `_${part.toLowerCase()}` : part.toLowerCase(),
  );
}

/** Declares a record. */
export function defineRecord<C extends Columns>(
  name: string,
  doc: string,
  columns: C,
): RecordDefinition<C> {
  const storedNames = new Map(Object.keys(columns).map((column) => [column, storedName(column)]));
  const prototype: RecordMethods = Object.create(null, {});
  const definition: RecordDefinition<C> = {
    name,
    doc,
    columns,
    storedNames,
    create(values) {
      const row: Record<string, unknown> = {};
      for (const [field, column] of Object.entries(columns))
        row[field] = parseField(name, field, column, values[field]);
      return this.wrap(row as RowOf<C>);
    },
    wrap: (values) => Object.freeze(Object.assign(Object.create(prototype), values)) as RecordOf<C>,
    fromDict(dict) {
      const byStoredName = new Map([...storedNames].map(([field, stored]) => [stored, field]));
      const values: Record<string, unknown> = {};
      for (const [stored, value] of Object.entries(dict)) {
        const field = byStoredName.get(stored);
        if (field === undefined)
          throw validationError(
            name,
            stored,
            value,
            `one of the fields ${[...byStoredName.keys()].join(', ')}`,
          );
        values[field] = value;
      }
      return this.create(values);
    },
  };
  attachDefinition(prototype, definition);
  return Object.freeze(definition);
}

/** Gives a prototype the definition and the methods of its records. `more` says what dictionaries have besides the columns. */
export function attachDefinition(
  prototype: object,
  definition: RecordShape,
  more: (record: object) => Dict = () => ({}),
): void {
  const toDict = function (this: object): Dict {
    return { ...dictOf(definition, this), ...more(this) };
  };
  Object.defineProperties(prototype, {
    [DEFINITION]: { value: definition },
    toDict: { value: toDict },
    toJSON: { value: toDict },
  });
}

/** The definition of a record made by Quark; undefined for anything else. */
export function definitionOf(value: unknown): RecordShape | undefined {
  if (typeof value !== 'object' || value === null || !(DEFINITION in value)) return undefined;
  return value[DEFINITION] as RecordShape;
}

/**
 * Checks a record that Quark made against its declaration; returns nothing.
 *
 * @throws {SchemaValidationError} naming field, value and rule
 * @example
 * ```js
 * import { endRun, MetricsLogger, startRun, validateRecord } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * const record = new MetricsLogger(session).log('train/loss', 0.5, { step: 0 });
 * validateRecord(record); // returns nothing where all is right
 * try {
 *   validateRecord({ step: 0 });
 * } catch (error) {
 *   console.log(error.code, error.message);
 * }
 * await endRun(session);
 * ```
 */
export function validateRecord(record: unknown): void {
  const definition = definitionOf(record);
  if (definition === undefined) {
    throw new SchemaValidationError(`Expected a record made by Quark; got ${show(record)}.`, {
      details: { field: 'record', value: show(record), rule: 'a record made by Quark' },
    });
  }
  for (const [field, column] of Object.entries(definition.columns)) {
    parseField(definition.name, field, column, Reflect.get(record as object, field));
  }
}

/**
 * A record as a plain dictionary, after a check: the names are those of stored columns (`project_name`), and nested records are
 * dictionaries, too.
 *
 * @throws {SchemaValidationError}
 * @example
 * ```js
 * import { dumpRecord, startRun } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * const { run } = await session.endRun();
 * const { id, status, project_name } = dumpRecord(run); // the names of stored columns
 * console.log(id === run.id, status, project_name); // true completed digits
 * ```
 */
export function dumpRecord(record: RecordMethods): Dict {
  validateRecord(record);
  return record.toDict();
}

function dictOf(definition: RecordShape, record: object): Dict {
  const dict: Record<string, DictValue> = {};
  for (const [field, stored] of definition.storedNames)
    dict[stored] = plain(Reflect.get(record, field));
  return dict;
}

function plain(value: unknown): DictValue {
  const definition = definitionOf(value);
  if (definition !== undefined) return dictOf(definition, value as object);
  if (Array.isArray(value)) return value.map(plain);
  return (value ?? null) as DictValue;
}

function parseField(
  record: string,
  field: string,
  column: Column<unknown>,
  value: unknown,
): unknown {
  try {
    return column.parse(field, value);
  } catch (error) {
    if (!isQuarkError(error, 'invalid_input')) throw error;
    throw validationError(
      record,
      String(error.details['field']),
      value,
      String(error.details['rule']),
      error,
    );
  }
}

function validationError(
  record: string,
  field: string,
  value: unknown,
  rule: string,
  cause?: unknown,
): SchemaValidationError {
  return new SchemaValidationError(`${record}.${field} must be ${rule}; got ${show(value)}.`, {
    details: { record, field, value: show(value), rule },
    cause,
  });
}
