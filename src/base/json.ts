/** JSON values, and the check that a value is one. */
import { invalidInput } from './errors.ts';

/** Anything JSON can say. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** A JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue };

/** Longer JSON is refused: large values belong into artifacts, and a segment of rows has to stay small. */
export const MAX_JSON_CHARS = 1 << 20;

/** Deeper nesting is refused: no person reads it, and recursion has to end somewhere. */
export const MAX_JSON_DEPTH = 64;

/**
 * The JSON text of `value`. Throws when anything in it would be lost: undefined, functions, symbols, bigints, NaN and
 * infinities, dates, typed arrays, class instances, cycles; or when it is longer than {@link MAX_JSON_CHARS}.
 *
 * @throws {QuarkError} `invalid_input`, naming the path inside the value
 */
export function encodeJson(field: string, value: unknown): string {
  const text = encodeLongJson(field, value);
  if (text.length > MAX_JSON_CHARS) {
    throw invalidInput(
      `${field}.length`,
      text.length,
      `at most ${MAX_JSON_CHARS} characters of JSON; keep large values elsewhere and record where`,
    );
  }
  return text;
}

/** Like {@link encodeJson}, of any length: for what is kept outside of rows. */
export function encodeLongJson(field: string, value: unknown): string {
  check(field, value, 0);
  return JSON.stringify(value);
}

/** Like {@link encodeJson}, and the outermost value must be an object. */
export function encodeJsonObject(field: string, value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidInput(field, value, 'a JSON object');
  }
  return encodeJson(field, value);
}

/** A checked JSON object as a deep copy that nobody can change. @throws {QuarkError} `invalid_input` as {@link encodeJsonObject} */
export function copyJsonObject(field: string, value: unknown): JsonObject {
  return freezeJson(JSON.parse(encodeJsonObject(field, value)) as JsonObject);
}

/** A deep copy of a JSON value that nobody can change. */
export function freezeJson<T extends JsonValue>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(freezeJson)) as unknown as T;
  // Not by assignment: "__proto__" is a key like any other.
  const entries = Object.entries(value).map(([key, item]) => [key, freezeJson(item)] as const);
  return Object.freeze(Object.fromEntries(entries)) as T;
}

function check(path: string, value: unknown, depth: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (!Number.isFinite(value))
        throw invalidInput(path, value, 'JSON, which has no NaN or infinity; use null or text');
      return;
    case 'object':
      break;
    default:
      throw invalidInput(
        path,
        value,
        'JSON (text, finite number, boolean, null, array or plain object)',
      );
  }
  if (value === null) return;
  if (depth >= MAX_JSON_DEPTH)
    throw invalidInput(
      `${path.slice(0, 60)}...`,
      '[nested]',
      `JSON of at most ${MAX_JSON_DEPTH} levels, without cycles`,
    );
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) check(`${path}[${i}]`, value[i], depth + 1);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (
    prototype !== null &&
    prototype !== Object.prototype &&
    Object.getPrototypeOf(prototype) !== null
  ) {
    throw invalidInput(
      path,
      value,
      'JSON; convert dates, maps, typed arrays and class instances first',
    );
  }
  for (const [key, item] of Object.entries(value)) check(`${path}.${key}`, item, depth + 1);
}

/**
 * The one text of a JSON value (RFC 8785): names in the order of their UTF-16 code units, no white space. Two values have the same text
 * exactly if they are equal, whatever the order of their names.
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`).join(',')}}`;
}

/** Whether a JSON value is a list. */
function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/**
 * A JSON object with another one put over it: objects are merged name by name, at every depth; everything else replaces what was there.
 * Two programs that change different values lose nothing of each other.
 */
export function mergeJson(base: JsonObject, patch: JsonObject): JsonObject {
  // Not by assignment: "__proto__" is a name like any other.
  const merged = new Map(Object.entries(base));
  for (const [name, value] of Object.entries(patch)) {
    const before = merged.get(name);
    merged.set(name, isObject(before) && isObject(value) ? mergeJson(before, value) : value);
  }
  return Object.fromEntries(merged);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
