/**
 * The key of a series: the key of its metric, and its context where it has one, as in `val/loss {fold=2, subset=dev}`. Two contexts of
 * one metric are two series everywhere, because their keys differ. Names stand in the order of their UTF-16 code units, so that a context
 * has one text only.
 */
import { invalidInput } from './errors.ts';
import {
  checkContextName,
  checkKey,
  checkLabel,
  CONTEXT_START,
  MAX_NAME_CHARS,
  withoutContext,
} from './names.ts';

/**
 * What a series is of, besides its metric: `{ subset: 'val' }`. Names have letters, digits, ".", "_" and "-". Values are texts of one
 * line, finite numbers, true and false.
 */
export type MetricContext = { readonly [name: string]: string | number | boolean };

/** Texts that need no quotes: none of them reads as a number, true or false. */
const BARE = /^[A-Za-z_][A-Za-z0-9._-]*$/;
const VALUE = /^(?:"(?:[^"\\]|\\.)*"|[^",{}\s]+)/;
const NAME = /^[^=,{}"\s]+(?==)/;

/**
 * The key of a series in a context; the key itself where there is none.
 *
 * @param field how errors name the context
 * @throws {QuarkError} `invalid_input` naming the entry of the context
 * @example
 * contextKey('loss', { subset: 'val' }); // 'loss {subset=val}'
 */
export function contextKey(
  key: string,
  context: MetricContext | null | undefined,
  field = 'context',
): string {
  const text = `${key}${contextText(context, field)}`;
  if (text.length > MAX_NAME_CHARS && text.length > key.length)
    throw invalidInput(field, text, `at most ${MAX_NAME_CHARS} characters with its metric`);
  return text;
}

/** What a context adds to a key: ` {subset=val}`; nothing for no context. @throws {QuarkError} `invalid_input` */
export function contextText(context: MetricContext | null | undefined, field = 'context'): string {
  if (context === null || context === undefined) return '';
  if (typeof context !== 'object' || Array.isArray(context))
    throw invalidInput(field, context, 'an object of names and values, or null for none');
  const entries = Object.entries(context).map(([name, value]): [string, string] => [
    checkContextName(`${field}.${name}`, name),
    valueText(`${field}.${name}`, value),
  ]);
  if (entries.length === 0) return '';
  const texts = entries.sort(([a], [b]) => (a < b ? -1 : 1)).map((entry) => entry.join('='));
  return `${CONTEXT_START}${texts.join(', ')}}`;
}

/** The context of a series; null where its key has none, and where what follows the key is no context. */
export function contextOf(key: string): MetricContext | null {
  const bare = withoutContext(key);
  if (bare.length === key.length || !key.endsWith('}')) return null;
  return parseContext(key.slice(bare.length + CONTEXT_START.length, -1)) ?? null;
}

/** The key of a series for programs whose names have no contexts: `loss {subset=val}` is `loss/subset.val`. */
export function contextAsPath(key: string): string {
  const context = contextOf(key);
  if (context === null) return key;
  const parts = Object.entries(context).map(
    ([name, value]) => `${name}.${String(value).replace(/\//g, '_')}`,
  );
  return [withoutContext(key), ...parts].join('/');
}

/** The key of a series, as it is stored. @throws {QuarkError} `invalid_input` */
export function checkSeriesKey(field: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidInput(field, value, 'text');
  const bare = withoutContext(value);
  checkKey(field, bare);
  if (bare.length === value.length) return value;
  const context = contextOf(value);
  if (context === null || contextKey(bare, context, field) !== value)
    throw invalidInput(field, value, 'a metric and its context, such as "loss {subset=val}"');
  return value;
}

function parseContext(text: string): MetricContext | undefined {
  const context = new Map<string, string | number | boolean>();
  let rest = text;
  for (;;) {
    const name = NAME.exec(rest)?.[0];
    if (name === undefined) return undefined;
    const [value] = VALUE.exec(rest.slice(name.length + 1)) ?? [];
    if (value === undefined) return undefined;
    const read = valueOf(value);
    if (read === undefined) return undefined;
    context.set(name, read);
    rest = rest.slice(name.length + 1 + value.length);
    if (rest === '') return Object.fromEntries(context);
    if (!rest.startsWith(', ')) return undefined;
    rest = rest.slice(2);
  }
}

function valueText(field: string, value: unknown): string {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw invalidInput(field, value, 'a finite number');
    return String(value === 0 ? 0 : value);
  }
  const text = checkLabel(field, value);
  return BARE.test(text) && text !== 'true' && text !== 'false' ? text : JSON.stringify(text);
}

function valueOf(text: string): string | number | boolean | undefined {
  if (BARE.test(text)) return text === 'true' ? true : text === 'false' ? false : text;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' || typeof value === 'number' ? value : undefined;
  } catch {
    return undefined;
  }
}
