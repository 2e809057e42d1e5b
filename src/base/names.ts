/** The naming rules of abiotic-quark, each checked in one function. */
import { invalidInput } from './errors.ts';

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const TYPE = /^[a-z][a-z0-9_./-]*$/;
const TYPE_RULE = 'a lowercase letter followed by lowercase letters, digits, "_", ".", "/" or "-"';
// oxlint-disable-next-line no-control-regex -- the rule is about control characters
const CONTROL = /[\u0000-\u001f\u007f]/;
const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const RUN_ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$/;
const TABLE = /^[a-z][a-z0-9_]{0,63}$/;
/** PostgreSQL takes no U+0000, and half a pair of surrogates has no UTF-8. */
// oxlint-disable-next-line no-control-regex -- the rule is about a control character
const NOT_STORABLE = /\u0000|\p{Surrogate}/u;

/** Longest key, event type, tag, module name or project name. */
export const MAX_NAME_CHARS = 512;
/** Longest path of a payload: a key with the id of its artifact and the name of a file. */
const MAX_PATH_CHARS = 1024;

/** A metric or artifact name taken apart. */
export type KeyParts = {
  /** Namespace and name, joined by `/`; of a series with a context, with the context: see `contextKey`. */
  readonly key: string;
  /** All segments but the last, or null for a bare name. */
  readonly namespace: string | null;
  /** The last segment. */
  readonly name: string;
};

const SEGMENT_RULE =
  'segments joined by "/", each starting with a letter or digit and holding letters, digits, ".", "_" or "-"';

/**
 * Takes a full key (`my_eval/f1`) or a name and its namespace apart.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function parseKey(field: string, name: unknown, namespace?: unknown): KeyParts {
  if (typeof name !== 'string') throw invalidInput(field, name, 'text');
  if (namespace !== undefined && namespace !== null) {
    if (typeof namespace !== 'string') throw invalidInput('namespace', namespace, 'text');
    checkSegments('namespace', namespace);
  }
  const key = typeof namespace === 'string' ? `${namespace}/${name}` : name;
  checkSegments(field, name);
  if (key.length > MAX_NAME_CHARS)
    throw invalidInput(field, key, `at most ${MAX_NAME_CHARS} characters with its namespace`);
  return splitKey(key);
}

/** Takes a key apart without a check: it is stored already. */
export function splitKey(key: string): KeyParts {
  const bare = withoutContext(key);
  const cut = bare.lastIndexOf('/');
  return { key, namespace: cut < 0 ? null : bare.slice(0, cut), name: bare.slice(cut + 1) };
}

/** A key without the context of its series: the `loss` of `loss {subset=val}`. */
export function withoutContext(key: string): string {
  const cut = key.indexOf(CONTEXT_START);
  return cut < 0 ? key : key.slice(0, cut);
}

/** Begins the context in the key of a series. No key contains it otherwise. */
export const CONTEXT_START = ' {';

/** Whether a name is a key as it is. */
export function isKey(name: string): boolean {
  return name.length <= MAX_NAME_CHARS && name.split('/').every((one) => SEGMENT.test(one));
}

/** A name inside a context. @throws {QuarkError} `invalid_input` */
export function checkContextName(field: string, value: unknown): string {
  if (typeof value !== 'string' || !SEGMENT.test(value) || value.length > MAX_NAME_CHARS)
    throw invalidInput(
      field,
      value,
      'a name that starts with a letter or digit and holds letters, digits, ".", "_" or "-"',
    );
  return value;
}

/** The key of a metric or an artifact, with its namespace. @throws {QuarkError} `invalid_input` */
export function checkKey(field: string, value: unknown): string {
  return parseKey(field, value).key;
}

/** The path of a payload, relative to its run: no part of it leads up or out. @throws {QuarkError} `invalid_input` */
export function checkRelativePath(field: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidInput(field, value, 'text');
  checkSegments(field, value);
  if (value.length > MAX_PATH_CHARS)
    throw invalidInput(field, value, `at most ${MAX_PATH_CHARS} characters`);
  return value;
}

/** @throws {QuarkError} `invalid_input` */
export function checkEventType(value: unknown): string {
  return checkType('event_type', value);
}

/** The type of an event or an artifact. @throws {QuarkError} `invalid_input` */
export function checkType(field: string, value: unknown): string {
  if (typeof value !== 'string' || !TYPE.test(value) || value.length > MAX_NAME_CHARS)
    throw invalidInput(field, value, TYPE_RULE);
  return value;
}

/** Text that a person gave as a name: not blank, not endless, no control characters. */
export function checkLabel(field: string, value: unknown): string {
  if (
    typeof value !== 'string' ||
    value.trim() === '' ||
    value.length > MAX_NAME_CHARS ||
    CONTROL.test(value)
  ) {
    throw invalidInput(
      field,
      value,
      `non-blank text of at most ${MAX_NAME_CHARS} characters on one line`,
    );
  }
  return value;
}

/** An identifier of a writer, a lease holder or a project. @throws {QuarkError} `invalid_input` */
export function checkId(field: string, value: unknown): string {
  if (typeof value !== 'string' || !ID.test(value)) {
    throw invalidInput(
      field,
      value,
      '1 to 128 letters, digits, ".", "_", ":" or "-", the first a letter or digit',
    );
  }
  return value;
}

/** A run's id; also the name of its folder in a file store. @throws {QuarkError} `invalid_input` */
export function checkRunId(value: unknown): string {
  if (typeof value !== 'string' || !RUN_ID.test(value)) {
    throw invalidInput(
      'runId',
      value,
      '1 to 128 letters, digits, ".", "_" or "-", starting with a letter or digit, not ending in "."',
    );
  }
  return value;
}

/** The name of a table. @throws {QuarkError} `invalid_input` */
export function checkTable(value: unknown): string {
  if (typeof value !== 'string' || !TABLE.test(value))
    throw invalidInput('table', value, 'a lowercase name of letters, digits and "_"');
  return value;
}

/** Text that every database stores unchanged. @throws {QuarkError} `invalid_input` */
export function checkStorable(field: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || NOT_STORABLE.test(value))
    throw invalidInput(field, value, 'non-empty text without U+0000 and half pairs of surrogates');
  return value;
}

/** The SHA-256 that names a blob. @throws {QuarkError} `invalid_input` */
export function checkHash(field: string, value: unknown): string {
  if (typeof value !== 'string' || !/^[0-9a-f]{64}$/.test(value))
    throw invalidInput(field, value, '64 lowercase hex digits');
  return value;
}

/** Text of another program as a label; undefined where nothing is left of it. */
export function toLabel(text: string): string | undefined {
  const label = text
    // oxlint-disable-next-line no-control-regex -- the rule is about control characters
    .replace(/[\u0000-\u001f\u007f]+/g, ' ')
    .trim()
    .slice(0, MAX_NAME_CHARS)
    .replace(/\p{Surrogate}/gu, '')
    .trimEnd();
  return label === '' ? undefined : label;
}

/** A name as a key: what a key may not hold becomes "_". Undefined where nothing is left of it. */
export function toKey(name: string): string | undefined {
  const segments = name
    .split(/[/\\]+/)
    .map((segment) =>
      segment
        .trim()
        .replace(/[^A-Za-z0-9._-]+/g, '_')
        .replace(/^[^A-Za-z0-9]+/, '')
        .replace(/_+$/, ''),
    )
    .filter((segment) => segment !== '');
  const key = segments.join('/').slice(0, MAX_NAME_CHARS);
  return key === '' ? undefined : key;
}

/** The name that a framework gives a layer or parameter; empty for the model itself. @throws {QuarkError} `invalid_input` */
export function checkModuleName(field: string, value: unknown): string {
  if (typeof value !== 'string' || value.length > MAX_NAME_CHARS || CONTROL.test(value))
    throw invalidInput(
      field,
      value,
      `text of at most ${MAX_NAME_CHARS} characters without control characters`,
    );
  return value;
}

function checkSegments(field: string, text: string): void {
  for (const segment of text.split('/')) {
    if (!SEGMENT.test(segment)) throw invalidInput(field, text, SEGMENT_RULE);
  }
}
