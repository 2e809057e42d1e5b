/**
 * Columns: the kinds of value a record may hold. A column knows the type of its value in code, checks it, and says how
 * it is stored; everything else about a record derives from its columns.
 */
import { checkInstant } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import {
  encodeJson,
  freezeJson,
  type JsonObject,
  type JsonValue,
  copyJsonObject,
} from '../base/json.ts';
import { definitionOf, type Columns, type RecordDefinition, type RecordOf } from './record.ts';

/**
 * How a column is stored in Arrow:
 * `key` dictionary of text; `text` and `json` utf8; `f64` float64; `count` and `instant` (UTC epoch milliseconds) a
 * number without NaN, int32 where all values fit and float64 else; `bool`; lists of float64 or utf8.
 */
export type ColumnKind =
  | 'key'
  | 'text'
  | 'json'
  | 'f64'
  | 'count'
  | 'instant'
  | 'bool'
  | 'f64_list'
  | 'text_list';

/** One column of a record. `T` is the type of its value in code. */
export interface Column<T> {
  readonly kind: ColumnKind;
  readonly isNullable: boolean;
  /** What the column says, for people. */
  readonly doc: string;
  /** Unit of a number, in the notation of the field name's suffix: `ms`, `bytes`, `percent`, `ratio`. */
  readonly unit: string | undefined;
  /** The values a literal column may take. */
  readonly literals: readonly string[] | undefined;
  /** Checks a value that may be anything and returns it in its normal form. @throws {QuarkError} `invalid_input` */
  readonly parse: (field: string, value: unknown) => T;
  /**
   * The grammar of a name, or of each name in a list; undefined for what is no name. What comes from elsewhere is held against it before it is stored. What is stored
   * is read without it. @throws {QuarkError} `invalid_input`
   */
  readonly checkName: ((field: string, value: unknown) => unknown) | undefined;
}

type Notes = { readonly unit?: string; readonly literals?: readonly string[] };

function column<T>(
  kind: ColumnKind,
  doc: string,
  parse: (field: string, value: unknown) => T,
  notes: Notes = {},
): Column<T> {
  return {
    kind,
    isNullable: false,
    doc,
    unit: notes.unit,
    literals: notes.literals,
    parse,
    checkName: undefined,
  };
}

/** The same column, for names of this grammar. */
export function named<T>(
  inner: Column<T>,
  checkName: (field: string, value: unknown) => unknown,
): Column<T> {
  return { ...inner, checkName };
}

/** The same column, where a value may be missing: null in code, null in storage. */
export function nullable<T>(inner: Column<T>): Column<T | null> {
  return {
    ...inner,
    isNullable: true,
    parse: (field, value) =>
      value === null || value === undefined ? null : inner.parse(field, value),
  };
}

/** The same column, with a value where older records have none. */
export function absentAs<T>(inner: Column<T>, fallback: T): Column<T> {
  return {
    ...inner,
    parse: (field, value) => (value === undefined ? fallback : inner.parse(field, value)),
  };
}

/** Text that repeats from row to row: names, types. */
export function key(doc: string): Column<string> {
  return column('key', doc, parseText);
}

/** Text from a closed set. */
export function literal<const T extends string>(doc: string, literals: readonly T[]): Column<T> {
  const rule = `one of ${literals.map((item) => `"${item}"`).join(', ')}`;
  return column(
    'key',
    doc,
    (field, value) => {
      const found = literals.find((item) => item === value);
      if (found === undefined) throw invalidInput(field, value, rule);
      return found;
    },
    { literals },
  );
}

/** Text that rarely repeats. */
export function text(doc: string): Column<string> {
  return column('text', doc, parseText);
}

/** A JSON object. */
export function jsonObject(doc: string): Column<JsonObject> {
  return column('json', doc, (field, value) => copyJsonObject(field, value));
}

/** Any JSON value. */
export function json(doc: string): Column<JsonValue> {
  return column('json', doc, (field, value) =>
    freezeJson(JSON.parse(encodeJson(field, value)) as JsonValue),
  );
}

/** Another record. */
export function nested<C extends Columns>(
  doc: string,
  definition: RecordDefinition<C>,
): Column<RecordOf<C>> {
  return column('json', doc, (field, value) => {
    if (definitionOf(value)?.name !== definition.name)
      throw invalidInput(field, value, `a ${definition.name} record`);
    for (const [name, { parse }] of Object.entries(definition.columns))
      parse(`${field}.${name}`, Reflect.get(value as object, name));
    return value as RecordOf<C>;
  });
}

/** Limits of a number column. */
export type NumberRule = {
  readonly unit?: string;
  readonly min?: number;
  readonly max?: number;
  readonly isFinite?: boolean;
};

/** A float64. NaN and infinities are values too unless the rule says otherwise. */
export function f64(doc: string, rule: NumberRule = {}): Column<number> {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = rule;
  const range = `${rule.isFinite === true ? 'a finite number' : 'a number'}${rangeText(min, max)}`;
  const parse = (field: string, value: unknown): number => {
    if (
      typeof value !== 'number' ||
      value < min ||
      value > max ||
      (rule.isFinite === true && !Number.isFinite(value))
    ) {
      throw invalidInput(field, value, range);
    }
    return value;
  };
  return column('f64', doc, parse, rule.unit === undefined ? {} : { unit: rule.unit });
}

/** An integer from 0 to 2^53 - 1. */
export function count(doc: string, unit?: string): Column<number> {
  const parse = (field: string, value: unknown): number => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
      throw invalidInput(field, value, 'a non-negative integer');
    }
    return value;
  };
  return column('count', doc, parse, unit === undefined ? {} : { unit });
}

/** An instant: ISO 8601 text in code, UTC epoch milliseconds in storage. */
export function instant(doc: string): Column<string> {
  return column(
    'instant',
    doc,
    (field, value) => new Date(checkInstant(field, value)).toISOString(),
    { unit: 'ms' },
  );
}

/** True or false. */
export function bool(doc: string): Column<boolean> {
  return column('bool', doc, (field, value) => {
    if (typeof value !== 'boolean') throw invalidInput(field, value, 'true or false');
    return value;
  });
}

/** A list of float64. */
export function f64List(doc: string): Column<readonly number[]> {
  return column('f64_list', doc, (field, value) => parseList(field, value, parseNumber));
}

/** A list of non-negative integers. */
export function countList(doc: string): Column<readonly number[]> {
  const { parse } = count(doc);
  return column('f64_list', doc, (field, value) => parseList(field, value, parse));
}

/** A list of text. */
export function textList(doc: string): Column<readonly string[]> {
  return column('text_list', doc, (field, value) => parseList(field, value, parseText));
}

function parseText(field: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidInput(field, value, 'text');
  return value;
}

function parseNumber(field: string, value: unknown): number {
  if (typeof value !== 'number') throw invalidInput(field, value, 'a number');
  return value;
}

function parseList<T>(
  field: string,
  value: unknown,
  parse: (field: string, value: unknown) => T,
): readonly T[] {
  if (!Array.isArray(value) && !ArrayBuffer.isView(value))
    throw invalidInput(field, value, 'a list');
  const items: readonly unknown[] = Array.isArray(value)
    ? value
    : Array.from(value as Float64Array);
  return Object.freeze(items.map((item, i) => parse(`${field}[${i}]`, item)));
}

function rangeText(min: number, max: number): string {
  if (Number.isFinite(min) && Number.isFinite(max)) return ` from ${min} to ${max}`;
  if (Number.isFinite(min)) return ` of at least ${min}`;
  if (Number.isFinite(max)) return ` of at most ${max}`;
  return '';
}
