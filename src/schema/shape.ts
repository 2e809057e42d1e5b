/**
 * Shapes: plain data that is stored and sent, and that is no row of a table: manifests, runs, projects, leases. A shape is
 * declared once, one line a field. Its TypeScript type, its check, its JSON form and its schema in the API's description
 * derive from it here; the cells of an SQL row derive from it in `store/sql/sql-shapes.ts`.
 */
import { checkCount, checkFlag, checkLiteral } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import { storedName } from './record.ts';

/** A JSON Schema (2020-12), as far as the description of the API uses it. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** What a field holds: text, a number of items, any number, true or false, one of a few texts, a list of texts, a list of one shape. */
export type FieldKind = 'text' | 'count' | 'number' | 'flag' | 'literal' | 'texts' | 'list';

/** One field of a shape. `T` is the type of its value in code. */
export interface Field<T> {
  readonly kind: FieldKind;
  /** Whether null stands for "none". */
  readonly isNullable: boolean;
  /** Whether the field may be missing, because older forms lack it. */
  readonly isOptional: boolean;
  /** What the value must be, in words. */
  readonly rule: string;
  /** Checks a value that a caller gives. @throws {QuarkError} `invalid_input` */
  readonly check: (field: string, value: unknown) => T;
  readonly schema: JsonSchema;
  /** The texts of a `literal`. An SQL row holds the index in this list. */
  readonly literals: readonly string[];
  /** The shape of the items of a `list`. */
  readonly items: Shape | undefined;
}

/** A field that may be missing. */
export interface OptionalField<T> extends Field<T> {
  readonly isOptional: true;
}

/** Fields by the names they have in code, in the order in which they are stored. */
export type Fields = { readonly [name: string]: Field<unknown> };

type OptionalNames<F> = {
  [K in keyof F]: F[K] extends OptionalField<unknown> ? K : never;
}[keyof F];
type ValueOf<T> = T extends Field<infer V> ? V : never;

/** The data that a shape describes. */
export type ValuesOf<F> = {
  readonly [K in keyof F as K extends OptionalNames<F> ? never : K]: ValueOf<F[K]>;
} & { readonly [K in keyof F as K extends OptionalNames<F> ? K : never]?: ValueOf<F[K]> };

/** A declared shape. */
export interface Shape<F extends Fields = Fields> {
  /** What one of them is called in messages: `run`, `manifest`, ... */
  readonly name: string;
  readonly fields: F;
  /** Name in code, stored name (snake_case) and declaration of each field, in the order of the declaration. */
  readonly entries: readonly (readonly [name: string, stored: string, field: Field<unknown>])[];
  /** Null for each field that is always there: objects that begin as its copy are made fast. */
  readonly blank: Readonly<Record<string, unknown>>;
  /** The fields that hold lists, and the shape of their items if they have one. */
  readonly lists: readonly (readonly [name: string, items: Shape | undefined])[];
}

/** Makes the error for JSON that does not fit; `path` leads to the field in stored names and is '' for all of it. */
export type Misfit = (path: string, value: unknown, rule: string) => Error;

/** Declares a shape. */
export function defineShape<const F extends Fields>(name: string, fields: F): Shape<F> {
  const entries = Object.entries(fields).map(
    ([field, declared]) => [field, storedName(field), declared] as const,
  );
  const lists = entries.flatMap(([field, , { items, kind }]) =>
    kind === 'list' || kind === 'texts' ? [[field, items] as const] : [],
  );
  const required = entries.filter(([, , { isOptional }]) => !isOptional);
  const blank = Object.fromEntries(required.map(([field]) => [field, null]));
  return Object.freeze({ name, fields, entries, blank, lists });
}

/** The same shape without some of its fields. */
export function withoutFields<F extends Fields, const K extends string & keyof F>(
  shape: Shape<F>,
  ...names: readonly K[]
): Shape<Omit<F, K>> {
  const left = Object.entries(shape.fields).filter(([name]) => !names.some((one) => one === name));
  return defineShape(shape.name, Object.fromEntries(left) as Omit<F, K> & Fields);
}

/** What a declaration may say of a field beside its kind. */
export type FieldRule<T> = {
  /** For the description of the API. */
  readonly doc?: string;
  /** Smallest and largest number. */
  readonly min?: number;
  readonly max?: number;
  /** The check of what a caller gives, where the kind alone says too little. */
  readonly check?: (field: string, value: unknown) => T;
};

function declare<T>(
  kind: FieldKind,
  rule: string,
  schema: JsonSchema,
  check: (field: string, value: unknown) => T,
  { doc, check: own = check }: FieldRule<T>,
): Field<T> {
  return {
    kind,
    rule,
    schema: doc === undefined ? schema : { ...schema, description: doc },
    check: own,
    isNullable: false,
    isOptional: false,
    literals: [],
    items: undefined,
  };
}

/** Text. */
export function text(rule: FieldRule<string> = {}): Field<string> {
  return declare('text', 'text', { type: 'string' }, checkText, rule);
}

/** An integer from `min` (default 0) to `max` (default 2^53 - 1). */
export function count(rule: FieldRule<number> = {}): Field<number> {
  const { min = 0, max } = rule;
  const schema = {
    type: 'integer',
    minimum: min,
    ...(max === undefined ? {} : { maximum: max }),
  };
  const inRange = (name: string, value: unknown): number => {
    const given = checkCount(name, value);
    if (given < min) throw invalidInput(name, value, `an integer of at least ${min}`);
    if (max !== undefined && given > max) throw invalidInput(name, value, `at most ${max}`);
    return given;
  };
  return declare('count', 'an integer', schema, inRange, rule);
}

/** Any number. */
export function number(rule: FieldRule<number> = {}): Field<number> {
  return declare('number', 'a number', { type: 'number' }, checkNumber, rule);
}

/** True or false. */
export function trueOrFalse(rule: FieldRule<boolean> = {}): Field<boolean> {
  return declare('flag', 'true or false', { type: 'boolean' }, checkFlag, rule);
}

/** UTC epoch milliseconds. */
export function instantMs(rule: FieldRule<number> = {}): Field<number> {
  return declare('number', 'a number', { type: 'number' }, checkInstantMs, rule);
}

/** One of these texts. */
export function literal<const T extends string>(
  literals: readonly T[],
  rule: FieldRule<T> = {},
): Field<T> {
  const schema = { enum: literals };
  const known = literals.map((item) => `"${item}"`).join(' or ');
  const check = (name: string, value: unknown): T => checkLiteral(name, value, literals);
  return { ...declare('literal', known, schema, check, rule), literals };
}

/** A list of texts. */
export function texts(rule: FieldRule<readonly string[]> = {}): Field<readonly string[]> {
  const schema = { type: 'array', items: { type: 'string' } };
  return declare('texts', 'a list of texts', schema, checkTexts, rule);
}

/** A list of items of one shape; `ref` names its schema in the description of the API. */
export function list<F extends Fields>(
  items: Shape<F>,
  ref: string,
  rule: FieldRule<readonly ValuesOf<F>[]> = {},
): Field<readonly ValuesOf<F>[]> {
  const schema = { type: 'array', items: { $ref: `#/components/schemas/${ref}` } };
  const check = (name: string, value: unknown): readonly ValuesOf<F>[] => {
    if (!Array.isArray(value)) throw invalidInput(name, value, 'a list');
    for (const item of value) checkShape(items, item);
    return value as readonly ValuesOf<F>[];
  };
  return { ...declare('list', 'a list', schema, check, rule), items };
}

/** The same field, where null stands for "none". */
export function nullable<T>(inner: Field<T>): Field<T | null> {
  const { description, ...plain } = inner.schema;
  const type: unknown = plain['type'];
  const schema =
    type === 'number' ? { type: [type, 'null'] } : { oneOf: [plain, { type: 'null' }] };
  return {
    ...inner,
    isNullable: true,
    schema: description === undefined ? schema : { ...schema, description },
    check: (name, value) => (value === null ? null : inner.check(name, value)),
  };
}

/** The same field, for data that was stored or sent by versions that do not know the field: it may be missing. */
export function optional<T>(inner: Field<T>): OptionalField<T> {
  return { ...inner, isOptional: true };
}

/**
 * Checks the fields of what a caller gives; `prefix` stands before their names in errors.
 *
 * @throws {QuarkError} `invalid_input` naming the first field that does not fit
 */
export function checkShape(shape: Shape, values: unknown, prefix = ''): void {
  const given = objectOf(values);
  if (given === undefined) throw invalidInput(`${prefix}${shape.name}`, values, 'an object');
  for (const [name, , { check, isOptional }] of shape.entries) {
    const value: unknown = Reflect.get(given, name);
    if (value !== undefined || !isOptional) check(`${prefix}${name}`, value);
  }
}

/** The fields of the shape and nothing else, sharing nothing with the object given. */
export function copyShape<F extends Fields>(shape: Shape<F>, values: ValuesOf<F>): ValuesOf<F> {
  return copyFields(shape, values) as ValuesOf<F>;
}

function copyFields(shape: Shape, values: object): object {
  // Assigning to an object that has its fields takes a tenth of the time of adding one field after the other.
  let copy: Record<string, unknown> = Object.assign({ ...shape.blank }, values);
  if (Object.keys(copy).length !== Object.keys(shape.blank).length) {
    const all = copy;
    copy = {};
    for (const [name] of shape.entries) if (all[name] !== undefined) copy[name] = all[name];
  }
  for (const [name, items] of shape.lists) {
    const value = copy[name];
    if (Array.isArray(value))
      copy[name] = value.map((item: unknown) =>
        items === undefined ? item : copyFields(items, Object(item)),
      );
  }
  return copy;
}

/** The persisted form: the same values under their stored names. */
export function shapeToJson<F extends Fields>(shape: Shape<F>, values: ValuesOf<F>): object {
  return fieldsToJson(shape, values);
}

function fieldsToJson(shape: Shape, values: object): object {
  const json: Record<string, unknown> = {};
  for (const [name, stored, { items }] of shape.entries) {
    const value: unknown = Reflect.get(values, name);
    if (value === undefined) continue;
    json[stored] =
      items !== undefined && Array.isArray(value)
        ? value.map((item: unknown) => fieldsToJson(items, Object(item)))
        : value;
  }
  return json;
}

/**
 * Reads the persisted form of a shape. Only the types of the values are checked, not their ranges and grammar: that is
 * {@link checkShape}. Unknown names are passed over.
 *
 * @throws what `misfit` makes
 */
export function shapeFromJson<F extends Fields>(
  shape: Shape<F>,
  json: unknown,
  misfit: Misfit,
): ValuesOf<F> {
  return fieldsFromJson(shape, json, misfit, '') as ValuesOf<F>;
}

function fieldsFromJson(shape: Shape, json: unknown, misfit: Misfit, path: string): object {
  const given = objectOf(json);
  if (given === undefined) throw misfit(path, json, 'an object');
  const values: Record<string, unknown> = {};
  for (const [name, stored, declared] of shape.entries) {
    const value: unknown = Object.hasOwn(given, stored) ? Reflect.get(given, stored) : undefined;
    if (value === undefined && declared.isOptional) continue;
    values[name] = fieldFromJson(declared, value, misfit, `${path}${stored}`);
  }
  return values;
}

function fieldFromJson(
  declared: Field<unknown>,
  value: unknown,
  misfit: Misfit,
  path: string,
): unknown {
  const { isNullable, items, rule } = declared;
  if (value === null && isNullable) return null;
  if (!isOfKind(declared, value)) throw misfit(path, value, rule);
  return items !== undefined && Array.isArray(value)
    ? value.map((item: unknown) => fieldsFromJson(items, item, misfit, `${path}.`))
    : value;
}

/** Whether a JSON value that is not null is of the kind of a field. */
export function isOfKind({ kind, literals }: Field<unknown>, value: unknown): boolean {
  return IS_KIND[kind](value, literals);
}

const IS_KIND: {
  readonly [K in FieldKind]: (value: unknown, literals: readonly string[]) => boolean;
} = {
  text: (value) => typeof value === 'string',
  count: (value) => Number.isSafeInteger(value),
  number: (value) => typeof value === 'number',
  flag: (value) => typeof value === 'boolean',
  literal: (value, literals) => literals.some((item) => item === value),
  texts: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  list: Array.isArray,
};

/** The JSON Schema of a shape: an object with these fields and no others. */
export function schemaOf(shape: Shape): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const [, stored, { isOptional, schema }] of shape.entries) {
    properties[stored] = schema;
    if (!isOptional) required.push(stored);
  }
  return { type: 'object', properties, required, additionalProperties: false };
}

function objectOf(value: unknown): object | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}

function checkText(name: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidInput(name, value, 'text');
  return value;
}

function checkNumber(name: string, value: unknown): number {
  if (typeof value !== 'number') throw invalidInput(name, value, 'a number');
  return value;
}

function checkInstantMs(name: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw invalidInput(name, value, 'UTC epoch milliseconds');
  return value;
}

function checkTexts(name: string, value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw invalidInput(name, value, 'an array of text');
  for (const item of value) checkText(name, item);
  return value;
}
