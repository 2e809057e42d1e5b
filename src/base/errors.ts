/**
 * Every error Quark throws. One class with a stable `code`; subclasses only for the names of abiotic-quark. Errors cross workers and
 * copies of the package: {@link isQuarkError} and `instanceof` go by `code` and `details`, not by the class.
 */

/** The closed set of error codes. A code never changes its meaning. */
export const ERROR_CODES = [
  'invalid_input',
  'schema_validation',
  'schema_migration',
  'store_failed',
  'run_not_found',
  'invalid_run_state',
  'writer_closed',
  'segment_damaged',
  'kernel_failed',
  'probe_failed',
  'artifact_not_found',
  'retention_failed',
  'rule_failed',
  'unsupported',
  'aborted',
] as const;

/** One of {@link ERROR_CODES}. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/** What went wrong in a store, in the `reason` detail of a {@link SessionStoreError}. */
export const STORE_FAILURE_REASONS = [
  'unknown_scheme',
  'missing',
  'unwritable',
  'full',
  'quota',
  'corrupt',
  'busy',
  'closed',
  'blocked',
  'read_only',
  'unreachable',
  'unauthorised',
  'rejected',
  'deleted',
  'too_large',
  'version',
  'fenced',
  'failed',
] as const;

/** One of {@link STORE_FAILURE_REASONS}. */
export type StoreFailureReason = (typeof STORE_FAILURE_REASONS)[number];

/**
 * What `details` may have, by the code of the error. Each may be missing, as an error may come from a service of another release; other
 * facts may be beside them.
 */
export type ErrorDetailsByCode = {
  /** `field` must be `rule`, and is `value`, shortened. */
  readonly invalid_input: {
    readonly field?: string;
    readonly value?: unknown;
    readonly rule?: string;
  };
  readonly schema_validation: {
    readonly field?: string;
    readonly value?: unknown;
    readonly rule?: string;
  };
  readonly schema_migration: {
    readonly runId?: string;
    readonly table?: string;
    readonly version?: number;
  };
  readonly store_failed: {
    readonly reason?: StoreFailureReason;
    readonly httpStatus?: number;
    /** Milliseconds after which another attempt may succeed. */
    readonly retryAfterMs?: number;
  };
  readonly run_not_found: { readonly runId?: string; readonly where?: string };
  readonly invalid_run_state: {
    readonly runId?: string;
    readonly status?: string;
    readonly reason?: ResumeRefusal;
  };
  readonly writer_closed: { readonly writer?: string };
  readonly segment_damaged: { readonly reason?: string };
  readonly kernel_failed: { readonly reason?: string; readonly method?: string };
  readonly probe_failed: { readonly field?: string };
  readonly artifact_not_found: { readonly runId?: string; readonly artifactId?: string };
  readonly retention_failed: ErrorDetails;
  readonly rule_failed: ErrorDetails;
  readonly unsupported: { readonly uri?: string; readonly path?: string };
  readonly aborted: { readonly httpStatus?: number };
};

/** A {@link QuarkError} of one code: what {@link isQuarkError} finds. */
export type QuarkErrorOf<C extends ErrorCode> = QuarkError & {
  readonly code: C;
  readonly details: ErrorDetails & ErrorDetailsByCode[C];
};

/** Any {@link QuarkError}: to compare its `code` gives its `details` the types of {@link ErrorDetailsByCode}. */
export type AnyQuarkError = { readonly [C in ErrorCode]: QuarkErrorOf<C> }[ErrorCode];

/** Facts about an error that a program may act on: `field`, `value`, `rule`, `path`, `runId`, ... */
export type ErrorDetails = Readonly<Record<string, unknown>>;

/** Options of the {@link QuarkError} constructor. */
export type QuarkErrorOptions = {
  readonly details?: ErrorDetails;
  readonly cause?: unknown;
};

/**
 * The base of all errors thrown by Quark. `code` says what kind it is, `details` has the facts of this one:
 *
 * | `code` | Class | Thrown when |
 * | --- | --- | --- |
 * | `invalid_input` | | an argument breaks a rule; `details`: `field`, `value`, `rule` |
 * | `schema_validation` | {@link SchemaValidationError} | a record has not the form that it must have |
 * | `schema_migration` | {@link SchemaMigrationError} | what an older or newer Quark stored cannot be read |
 * | `store_failed` | {@link SessionStoreError} | a store failed; `details.reason` says how |
 * | `run_not_found` | {@link RunNotFoundError} | a store has no run of this id |
 * | `invalid_run_state` | {@link InvalidRunStateError} | a run has ended, or another session has it |
 * | `writer_closed` | | something is recorded after `close()` or the end of the run |
 * | `segment_damaged` | | stored bytes do not match their checksum or are cut off |
 * | `kernel_failed` | | a worker of the kernels died, or the kernels are closed |
 * | `probe_failed` | | a probe found no layer or parameter, or could not read a tensor |
 * | `artifact_not_found` | | a run has no artifact of this id or name |
 * | `retention_failed` | | a hook of an `ArtifactStore` threw |
 * | `rule_failed` | | a rule of one's own threw |
 * | `unsupported` | | the store, the file or the platform cannot do it |
 * | `aborted` | | a signal was aborted |
 *
 * @example
 * ```js
 * import { MetricsLogger, QuarkError, startRun } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * try {
 *   new MetricsLogger(session).log('train/loss', 0.5, { step: -1 });
 * } catch (error) {
 *   if (!(error instanceof QuarkError)) throw error;
 *   console.log(error.code, error.details); // invalid_input { field: 'step', value: '-1', rule: 'a non-negative integer' }
 * }
 * await session.endRun();
 * ```
 */
export class QuarkError extends Error {
  /** Stable identifier of the kind of error. */
  readonly code: ErrorCode;
  /** Facts about the error, ready for a program. */
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: QuarkErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'QuarkError';
    this.code = code;
    this.details = options.details ?? {};
  }

  /** By `code`, so that errors of another copy of the package count; a class of a program that extends one of these goes by itself. */
  static override [Symbol.hasInstance](error: unknown): boolean {
    const code = BRANDS.get(this);
    return code === undefined
      ? Function.prototype[Symbol.hasInstance].call(this, error)
      : isQuarkError(error) && (code === 'any' || error.code === code);
  }
}

/**
 * Thrown when a store cannot be opened, read or written: `reason`, one of {@link STORE_FAILURE_REASONS}, says why. Without strict mode a
 * session buffers rows instead of throwing it.
 */
export class SessionStoreError extends QuarkError {
  /** Why the store failed. */
  readonly reason: StoreFailureReason;

  constructor(reason: StoreFailureReason, message: string, options: QuarkErrorOptions = {}) {
    super('store_failed', message, { ...options, details: { ...options.details, reason } });
    this.name = 'SessionStoreError';
    this.reason = reason;
  }
}

/** Thrown by whatever takes the id of a run (`openRun`, `resumeRun`, `editRun`, `deleteRun`, ...) when the store has no such run. */
export class RunNotFoundError extends QuarkError {
  constructor(runId: string, where: string) {
    super(
      'run_not_found',
      `No run "${clip(runId)}" in ${where}. List the runs that are there with listRuns() or "quark runs".`,
      {
        details: { runId, where },
      },
    );
    this.name = 'RunNotFoundError';
  }
}

/**
 * Why `resumeRun` was refused, in `details.reason` of its {@link InvalidRunStateError}. `completed`: the run is over. `live`: a live
 * session has it. `taken_over`: another session resumed it first. `duplicated_tab`: this tab is a copy of the one whose page has the run.
 */
export type ResumeRefusal = 'completed' | 'live' | 'taken_over' | 'duplicated_tab';

/**
 * Thrown when the state of a run does not allow a change: logging into a run that has ended, ending it twice, resuming one that
 * completed, deleting rows of one that is live. Those of `resumeRun` say why: see {@link ResumeRefusal}.
 */
export class InvalidRunStateError extends QuarkError {
  constructor(message: string, details: ErrorDetails) {
    super('invalid_run_state', message, { details });
    this.name = 'InvalidRunStateError';
  }
}

/**
 * Thrown when a record does not have the form that is declared for it: by `validateRecord`, `dumpRecord` and where stored records are
 * read. `details` has `field`, `value` and `rule`.
 */
export class SchemaValidationError extends QuarkError {
  constructor(message: string, options: QuarkErrorOptions = {}) {
    super('schema_validation', message, options);
    this.name = 'SchemaValidationError';
  }
}

/** Thrown by `migrateStore` when a segment is damaged or comes from a newer Quark, so that it cannot be rewritten; nothing is changed then. */
export class SchemaMigrationError extends QuarkError {
  constructor(message: string, options: QuarkErrorOptions = {}) {
    super('schema_migration', message, options);
    this.name = 'SchemaMigrationError';
  }
}

/** What an error of each class is known by. */
const BRANDS: ReadonlyMap<unknown, ErrorCode | 'any'> = /* @__PURE__ */ new Map<
  unknown,
  ErrorCode | 'any'
>([
  [QuarkError, 'any'],
  [SessionStoreError, 'store_failed'],
  [RunNotFoundError, 'run_not_found'],
  [InvalidRunStateError, 'invalid_run_state'],
  [SchemaValidationError, 'schema_validation'],
  [SchemaMigrationError, 'schema_migration'],
]);

/**
 * Whether `error` is a {@link QuarkError} (of this code, if one is given), also when it was made in another worker or
 * by another copy of the bundle. With a code, or after comparing `error.code`, `details` has the types of {@link ErrorDetailsByCode}.
 *
 * @example
 * ```js
 * import { isQuarkError, openRun, openStorage } from 'quark-sdk';
 *
 * const store = await openStorage('memory:');
 * try {
 *   await openRun(store, 'run_of_another_store');
 * } catch (error) {
 *   if (!isQuarkError(error, 'run_not_found')) throw error;
 *   console.log(error.details.runId); // run_of_another_store
 * }
 * ```
 */
export function isQuarkError(error: unknown): error is AnyQuarkError;
export function isQuarkError<const C extends ErrorCode>(
  error: unknown,
  code: C,
): error is QuarkErrorOf<C>;
export function isQuarkError(error: unknown, code?: ErrorCode): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error) || !('details' in error))
    return false;
  const found: unknown = error.code;
  if (code !== undefined) return found === code;
  return ERROR_CODES.some((known) => known === found);
}

/**
 * Whether `error` is a {@link SessionStoreError}, optionally of this reason.
 *
 * @example
 * ```js
 * import { isStoreError, openStorage } from 'quark-sdk';
 *
 * try {
 *   await openStorage('no-such-folder', { create: false });
 * } catch (error) {
 *   if (!isStoreError(error, 'missing')) throw error;
 *   console.log(error.message);
 * }
 * ```
 */
export function isStoreError(
  error: unknown,
  reason?: StoreFailureReason,
): error is SessionStoreError {
  return (
    isQuarkError(error, 'store_failed') &&
    (reason === undefined || error.details['reason'] === reason)
  );
}

const MAX_SHOWN_CHARS = 80;

/** A value as it is shown inside a message: short, on one line. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(clip(value));
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null)
    return Object.is(value, -0) ? '-0' : String(value);
  try {
    return clip(JSON.stringify(value) ?? Object.prototype.toString.call(value));
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** The error for an argument that breaks a rule. */
export function invalidInput(field: string, value: unknown, rule: string): QuarkError {
  // A field may have names in it that a user gave: what controls a terminal is escaped in them, as in the value.
  const named = /\p{Cc}/u.test(field) ? show(field) : field;
  return new QuarkError('invalid_input', `${named} must be ${rule}; got ${show(value)}.`, {
    details: { field, value: show(value), rule },
  });
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : show(error);
}

/** What was thrown, as an error. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(messageOf(thrown));
}

function clip(text: string): string {
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}...` : text;
}
