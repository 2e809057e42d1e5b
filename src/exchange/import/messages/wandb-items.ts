/** Items of W&B's records: a key, or a path of keys, and a value as JSON. History, summary, configuration and statistics are lists of them. */
import { parseLenientJson } from '../../../codecs/json/lenient-json.ts';
import type { ProtoReader } from '../../../codecs/protobuf/reader.ts';
import { ProtoReader as Reader } from '../../../codecs/protobuf/reader.ts';

/** One item. */
export type WandbItem = {
  readonly path: readonly string[];
  /** JSON. */
  readonly text: string;
};

const KEY = 1;
const NESTED_KEY = 2;
const VALUE_JSON = 16;
const MAX_PATH = 64;
/** A longer path is no key. What lies below it stays one value: each of its leaves would repeat the path. */
const MAX_PATH_CHARS = 4_096;

/** Reads the item that `field` is at; undefined when it is damaged or has no key. */
export function readItem(field: ProtoReader): WandbItem | undefined {
  const message = new Reader().enter(field);
  const path: string[] = [];
  let text = '';
  while (message.next()) {
    if (message.field === KEY) {
      const key = message.text();
      if (key !== '') path.push(key);
    } else if (message.field === NESTED_KEY && path.length < MAX_PATH) path.push(message.text());
    else if (message.field === VALUE_JSON) text = message.text();
  }
  return message.isBroken || path.length === 0 ? undefined : { path, text };
}

const PLAIN_NUMBER = /^-?\d/;

/** The value of JSON text; @throws {QuarkError} `invalid_input` */
export function parseValue(text: string, maxDepth: number): unknown {
  if (PLAIN_NUMBER.test(text)) {
    const value = Number(text);
    if (value === value) return value;
  }
  return parseLenientJson(text, maxDepth);
}

/** A tree of values by path, for configuration and summary. Maps, so that no key means anything but itself. */
export type ValueTree = Map<string, unknown>;

/** Puts a value at its path. */
export function setValue(tree: ValueTree, path: readonly string[], value: unknown): void {
  let level = tree;
  for (const key of path.slice(0, -1)) {
    let inner = level.get(key);
    if (!(inner instanceof Map)) {
      inner = new Map<string, unknown>(isPlain(inner) ? Object.entries(inner) : []);
      level.set(key, inner);
    }
    level = inner as ValueTree;
  }
  level.set(path.at(-1) ?? '', value);
}

/** Takes the value at a path away. */
export function removeValue(tree: ValueTree, path: readonly string[]): void {
  let level: unknown = tree;
  for (const key of path.slice(0, -1)) level = level instanceof Map ? level.get(key) : undefined;
  if (level instanceof Map) level.delete(path.at(-1) ?? '');
}

/** Every value that is no object, with its path joined by "/". Objects with a `_type` are values: histograms, images, tables; so is what lies below a path that is too long. */
export function* leavesOf(value: unknown, path: string): Generator<readonly [string, unknown]> {
  const entries =
    value instanceof Map ? [...value] : isPlain(value) ? Object.entries(value) : undefined;
  if (
    entries === undefined ||
    path.length > MAX_PATH_CHARS ||
    entries.some(([key]) => key === '_type')
  ) {
    yield [path, value];
    return;
  }
  for (const [key, item] of entries)
    yield* leavesOf(item, path === '' ? String(key) : `${path}/${String(key)}`);
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
