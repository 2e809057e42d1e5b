/** Values of other tools as JSON that a run can hold. */
import type { JsonObject, JsonValue } from '../../../base/json.ts';

const MAX_TEXT_CHARS = 10_000;
const MAX_ITEMS = 10_000;

/**
 * A value as JSON: NaN, infinities and big integers become text, dates ISO text, what is too deep or too long is cut, functions and
 * undefined are left out.
 */
export function toJson(value: unknown, maxDepth: number): JsonValue {
  switch (typeof value) {
    case 'string':
      return value.length > MAX_TEXT_CHARS ? `${value.slice(0, MAX_TEXT_CHARS)}…` : value;
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'bigint':
      return String(value);
    case 'object':
      break;
    default:
      return null;
  }
  if (value === null) return null;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (maxDepth <= 0) return '…';
  if (Array.isArray(value) || ArrayBuffer.isView(value))
    return Array.from(value as ArrayLike<unknown>)
      .slice(0, MAX_ITEMS)
      .map((item) => toJson(item, maxDepth - 1));
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return Object.fromEntries(
    entries
      .filter(([, item]) => item !== undefined && typeof item !== 'function')
      .slice(0, MAX_ITEMS)
      .map(([key, item]) => [String(key), toJson(item, maxDepth - 1)]),
  );
}

/** An object as JSON of at most `maxChars` characters: the longest values go first. */
export function toBoundedJson(
  values: Readonly<Record<string, unknown>>,
  maxDepth: number,
  maxChars: number,
): JsonObject {
  const kept = Object.entries(values).flatMap(([key, value]) =>
    value === undefined || typeof value === 'function'
      ? []
      : [[key, toJson(value, maxDepth)] as const],
  );
  const sized = kept.map(([key, value]) => ({
    key,
    value,
    chars: JSON.stringify(value).length + key.length + 8,
  }));
  let total = sized.reduce((sum, { chars }) => sum + chars, 2);
  const left = new Set<string>();
  for (const { key, chars } of sized.toSorted((a, b) => b.chars - a.chars)) {
    if (total <= maxChars) break;
    left.add(key);
    total -= chars;
  }
  return Object.fromEntries(
    sized.flatMap(({ key, value }) => (left.has(key) ? [] : [[key, value]])),
  );
}
