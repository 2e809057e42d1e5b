/** The naming rules of the specification, each checked in one place. */
import { invalidInput } from './errors.ts';

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const EVENT_TYPE = /^[a-z][a-z0-9_./-]*$/;

/** Longest key, event type, tag or project name. */
export const MAX_NAME_CHARS = 512;

/** A metric or artifact name taken apart. */
export type KeyParts = {
  /** Namespace and name, joined by `/`. */
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
  const cut = key.lastIndexOf('/');
  return { key, namespace: cut < 0 ? null : key.slice(0, cut), name: key.slice(cut + 1) };
}

/** @throws {QuarkError} `invalid_input` */
export function checkEventType(value: unknown): string {
  if (typeof value !== 'string' || !EVENT_TYPE.test(value) || value.length > MAX_NAME_CHARS) {
    throw invalidInput(
      'event_type',
      value,
      'a lowercase letter followed by lowercase letters, digits, "_", ".", "/" or "-"',
    );
  }
  return value;
}

/** Text that a person gave as a name: not blank, not endless, no control characters. */
export function checkLabel(field: string, value: unknown): string {
  if (
    typeof value !== 'string' ||
    value.trim() === '' ||
    value.length > MAX_NAME_CHARS ||
    // oxlint-disable-next-line no-control-regex -- the rule is about control characters
    /[\u0000-\u001f\u007f]/.test(value)
  ) {
    throw invalidInput(
      field,
      value,
      `non-blank text of at most ${MAX_NAME_CHARS} characters on one line`,
    );
  }
  return value;
}

function checkSegments(field: string, text: string): void {
  for (const segment of text.split('/')) {
    if (!SEGMENT.test(segment)) throw invalidInput(field, text, SEGMENT_RULE);
  }
}
