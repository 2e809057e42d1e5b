/** Which service runs are sent to: options, what `configurePersistence` set, the environment. */
import { checkLiteral } from '../base/assert.ts';
import { invalidInput, QuarkError } from '../base/errors.ts';
import { readOptions } from '../base/options.ts';

/** Which service to send runs to, and how. */
export type PersistenceOptions = {
  /** Address of the service, `https://...`; null: none, whatever else is configured. */
  readonly persistenceUrl?: string | null | undefined;
  /** The key that the service knows you by, `qk_...`. */
  readonly userKey?: string | null | undefined;
  /**
   * How long one request may take, and how long the end of a run waits for the service, in seconds. More than 0, at most
   * 3,600. Default 15.
   */
  readonly persistenceTimeoutSeconds?: number | null | undefined;
  /**
   * How long what the service has is stored here too: `always` (default), `until-acknowledged`, or a number of days after
   * the end of the run. A run is removed here only after it has ended and every table of it was found on the service with
   * the same rows.
   */
  readonly keepLocal?: KeepLocal | null | undefined;
  /**
   * What becomes of the copy here when a run was deleted at the service: `keep` (default) or `drop`, which deletes it here, too, so
   * that it can be restored for 30 days. Nothing of it is sent any more in either case.
   */
  readonly onDeletedRemotely?: OnDeletedRemotely | null | undefined;
  /**
   * How often what a service had acknowledged of runs that go on is compared with what it has, and its tombstones are read, in
   * milliseconds: from 1,000 to a day. Default 60,000. A copy of a database that somebody puts back is found within that time.
   */
  readonly compareEveryMs?: number | null | undefined;
};

/** What becomes of the copy of a run that was deleted at the service. */
export type OnDeletedRemotely = 'keep' | 'drop';

/** How long the local copy of a run is stored once the service has it; a number is days after its end. */
export type KeepLocal = 'always' | 'until-acknowledged' | number;

/** A service to send to. */
export type Persistence = {
  readonly url: string;
  readonly userKey: string | undefined;
  readonly timeoutMs: number;
  readonly keepLocal: KeepLocal;
  readonly onDeletedRemotely: OnDeletedRemotely;
  readonly compareEveryMs: number;
};

const orNull =
  <S>(check: (field: string, value: unknown) => S) =>
  (field: string, value: unknown): S | null | undefined =>
    value === null || value === undefined ? value : check(field, value);

/** The rules of {@link PersistenceOptions}. */
export const PERSISTENCE_RULES = {
  persistenceUrl: orNull(checkUrl),
  userKey: orNull(checkKey),
  persistenceTimeoutSeconds: orNull(checkSeconds),
  keepLocal: orNull(checkKeepLocal),
  onDeletedRemotely: orNull((field, value) =>
    checkLiteral(field, value, ['keep', 'drop'] as const),
  ),
  compareEveryMs: orNull(checkCompareMs),
} as const;

/** The names of {@link PersistenceOptions}. */
export const PERSISTENCE_NAMES: readonly string[] = Object.keys(PERSISTENCE_RULES);

/** How often an outbox compares unless told otherwise, in milliseconds. */
export const DEFAULT_COMPARE_MS = 60_000;
const LEAST_COMPARE_MS = 1_000;
const MOST_COMPARE_MS = 24 * 3_600_000;
const DEFAULT_TIMEOUT_SECONDS = 15;
const MAX_TIMEOUT_SECONDS = 3600;
const KEY = /^qk_[A-Za-z0-9_-]{1,256}$/;

let configured: PersistenceOptions = {};

/**
 * Says once for this page or process which service runs are sent to. Options of a run come first, then what was set here,
 * then, in Node, the environment: `QUARK_PERSISTENCE_URL`, `QUARK_USER_KEY`, `QUARK_PERSISTENCE_TIMEOUT_SECONDS`. Calling
 * it again replaces what was set; `{}` takes it back.
 *
 * @throws {QuarkError} `invalid_input` naming the option
 * @example
 * ```js
 * import { configurePersistence, endRun, startRun } from 'quark-sdk';
 *
 * configurePersistence({ persistenceUrl: 'https://quark.example.org', userKey: 'qk_example_key' });
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs', persistenceUrl: null }); // this run stays here
 * console.log((await session.syncStatus()).state); // off
 * await endRun(session);
 * configurePersistence({}); // nothing is sent from here on
 * ```
 */
export function configurePersistence(options: PersistenceOptions): void {
  readOptions('options', options, PERSISTENCE_RULES, '');
  configured = { ...options };
}

/**
 * The service that is configured for these options; undefined when none is.
 *
 * @throws {QuarkError} `invalid_input` naming the option or the environment variable
 */
export function persistenceOf(options: PersistenceOptions): Persistence | undefined {
  for (const [name, rule] of Object.entries(PERSISTENCE_RULES))
    rule(name, Reflect.get(options, name));
  const env = environment();
  const url = pick(options.persistenceUrl, configured.persistenceUrl, () =>
    env('QUARK_PERSISTENCE_URL', checkUrl),
  );
  if (url === null) return undefined;
  const seconds = pick(
    options.persistenceTimeoutSeconds,
    configured.persistenceTimeoutSeconds,
    () =>
      env('QUARK_PERSISTENCE_TIMEOUT_SECONDS', (name, text) => checkSeconds(name, Number(text))),
  );
  return {
    url,
    userKey:
      pick(options.userKey, configured.userKey, () => env('QUARK_USER_KEY', checkKey)) ?? undefined,
    timeoutMs: Math.ceil((seconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000),
    keepLocal: options.keepLocal ?? configured.keepLocal ?? 'always',
    onDeletedRemotely: options.onDeletedRemotely ?? configured.onDeletedRemotely ?? 'keep',
    compareEveryMs: options.compareEveryMs ?? configured.compareEveryMs ?? DEFAULT_COMPARE_MS,
  };
}

function checkKeepLocal(field: string, value: unknown): KeepLocal {
  if (value === 'always' || value === 'until-acknowledged') return value;
  if (typeof value === 'number' && value >= 0 && Number.isFinite(value)) return value;
  throw invalidInput(field, value, '"always", "until-acknowledged" or a number of days');
}

function checkCompareMs(field: string, value: unknown): number {
  if (typeof value === 'number' && value >= LEAST_COMPARE_MS && value <= MOST_COMPARE_MS)
    return value;
  throw invalidInput(
    field,
    value,
    `a number of milliseconds from ${LEAST_COMPARE_MS} to ${MOST_COMPARE_MS}`,
  );
}

function checkUrl(field: string, value: unknown): string {
  const rule = 'an http or https URL without a user name, query or fragment';
  let url: URL | undefined;
  try {
    url = new URL(String(value));
  } catch {
    // Said below.
  }
  const isPlain =
    typeof value === 'string' &&
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    `${url.username}${url.password}${url.search}${url.hash}` === '';
  // A URL that holds a password is not shown.
  if (!isPlain) throw hidden(field, rule, url?.password === '' ? value : undefined);
  return value;
}

function checkKey(field: string, value: unknown): string {
  if (typeof value === 'string' && KEY.test(value)) return value;
  throw hidden(field, 'a key of the service: "qk_" and letters, digits, "_" or "-"', undefined);
}

function checkSeconds(field: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value <= MAX_TIMEOUT_SECONDS) return value;
  throw invalidInput(field, value, `a number of seconds above 0, at most ${MAX_TIMEOUT_SECONDS}`);
}

/** The error for a value that may be secret: it is shown only where it is given here. */
function hidden(field: string, rule: string, shown: unknown): QuarkError {
  if (shown !== undefined) return invalidInput(field, shown, rule);
  return new QuarkError('invalid_input', `${field} must be ${rule}.`, { details: { field, rule } });
}

/** Reads a variable where there are any; null where it is not set. */
function environment(): <T>(name: string, check: (name: string, text: string) => T) => T | null {
  const { process } = globalThis as {
    process?: { env?: Readonly<Record<string, string | undefined>> };
  };
  return (name, check) => {
    const text = process?.env?.[name]?.trim() ?? '';
    return text === '' ? null : check(name, text);
  };
}

/** The first that was given; null counts as given, and means none. */
function pick<T>(
  option: T | null | undefined,
  set: T | null | undefined,
  last: () => T | null,
): T | null {
  if (option !== undefined) return option;
  return set === undefined ? last() : set;
}
