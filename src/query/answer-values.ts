/** Values of an answer, in a form that goes from process to process. */
import type { QueryValue } from './query-messages.ts';

/** A value that DuckDB's own conversion to JavaScript gave. */
export function valueOf(value: unknown): QueryValue {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      return value;
    case 'bigint':
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    case 'object':
      break;
    case 'undefined':
    case 'function':
    case 'symbol':
      return null;
  }
  if (value === null) return null;
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(valueOf);
  // Structs come as plain objects; what has a class of its own has a text.
  if (Object.getPrototypeOf(value) !== Object.prototype) return textOf(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]: [string, unknown]) => [name, valueOf(inner)]),
  );
}

function textOf(value: object): string {
  // oxlint-disable-next-line typescript/no-base-to-string -- values of DuckDB have one of their own
  return String(value);
}

/** What a value counts against the limit of an answer: 8 bytes, and one for each character or byte that it holds. */
export function bytesOf(value: QueryValue): number {
  if (typeof value === 'string') return 8 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (value instanceof Uint8Array) return 8 + value.byteLength;
  let bytes = 8;
  if (isList(value)) for (const item of value) bytes += bytesOf(item);
  else for (const [name, item] of Object.entries(value)) bytes += name.length + bytesOf(item);
  return bytes;
}

function isList(value: QueryValue): value is readonly QueryValue[] {
  return Array.isArray(value);
}
