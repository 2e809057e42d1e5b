/** From what `pg` and the server throw to the errors of a store, and to what may be tried again. */
import {
  isQuarkError,
  messageOf,
  SessionStoreError,
  type StoreFailureReason,
} from '../../../base/errors.ts';

/** What an error says about the attempt that met it. */
export type PostgresFailure =
  /** The attempt lost a race and was rolled back: try again. */
  | 'conflict'
  /** The connection is gone, or could not be made. What was not committed by then is rolled back. */
  | 'lost'
  /** The server does not know whether it committed. */
  | 'unsure'
  /** Trying again would not help. */
  | 'final';

const LOST_CODES: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EAI_AGAIN',
  'ENOENT', // of a socket in the file system, while the server restarts
  '57P01', // the server is shut down
  '57P02', // a server process has crashed
  '57P03', // the server is starting or stopping
  '57P05', // the session was idle for too long
]);

/** Server errors after which the transaction is certainly rolled back, also when they answer a COMMIT. */
const ROLLED_BACK = /^(?:0A|2[2358]|3D|3F|4[0-4]|53|54|25P02)/;

type PoolerWords = {
  readonly words: RegExp;
  readonly kind: PostgresFailure;
  readonly reason: StoreFailureReason;
  readonly advice?: string;
};

const STARTUP_REFUSED =
  /unsupported startup parameter|unsupported frontend options|support command-line options/i;

/** Errors of poolers whose code means a lost connection, and their real meaning. */
const POOLER_WORDS: readonly PoolerWords[] = [
  {
    words: STARTUP_REFUSED,
    kind: 'final',
    reason: 'failed',
    advice:
      'A pooler is in between: leave "pooler=false" out of the address, and let neither the address nor PGOPTIONS ask for other settings than "-c NAME=VALUE"',
  },
  {
    words: /transaction blocks not allowed in statement pooling mode/i,
    kind: 'final',
    reason: 'failed',
    advice: 'Set pool_mode = transaction, or session: Quark needs transactions',
  },
  { words: /no such database|database "[^"]*" does not exist/i, kind: 'final', reason: 'missing' },
  { words: /no such user|authentication failed/i, kind: 'final', reason: 'unauthorised' },
  {
    words: /no more connections allowed|query_wait_timeout|too many connections/i,
    kind: 'lost',
    reason: 'busy',
  },
];
/** The `Retry-After` for a client of a service whose database was busy, in milliseconds. */
const BUSY_RETRY_MS = 1000;

/**
 * Whether a pooler does not ask the server at the moment, because that was away: PgBouncer asks again after 15 s. A client whose
 * `query_wait_timeout` is shorter than that is only told that it waited in the queue.
 */
export function isPoolerWaiting(error: unknown): boolean {
  return isServerError(error) && /server_login_retry|query_wait_timeout/.test(messageOf(error));
}

/** Whether a pooler refuses what belongs to a session: parameters at the start, and statements prepared by name. */
export function isPoolerRefusal(error: unknown): boolean {
  const code = codeOf(error);
  if (code === '42P05' || code === '26000') return true;
  return poolerWords(error)?.words === STARTUP_REFUSED;
}

/** What an error of a statement says. */
export function failureKind(error: unknown): PostgresFailure {
  const code = codeOf(error);
  const pooler = poolerWords(error);
  if (pooler !== undefined) return pooler.kind;
  if (code === '40003') return 'unsure';
  // 40001 and 40P01 everywhere; CockroachDB says "restart transaction" with 40001, older ones with CR000.
  if (code.startsWith('40') || code === 'CR000' || code === '55P03') return 'conflict';
  if (code === '53300') return 'lost';
  if (LOST_CODES.has(code) || code.startsWith('08')) return 'lost';
  if (isServerError(error)) return 'final';
  return /terminated|timeout|not queryable|connection|socket/i.test(messageOf(error))
    ? 'lost'
    : 'final';
}

/** What an error of a statement says that had a COMMIT behind it already. */
export function lastFailureKind(error: unknown): PostgresFailure {
  const isRefused = severityOf(error) === 'ERROR';
  const kind = isRefused ? failureKind(error) : 'unsure';
  // Some poolers report a broken server connection like this: the outcome of its statements is unknown.
  return kind === 'lost' ? 'unsure' : kind;
}

/** What an error says that answered a COMMIT. */
export function commitFailureKind(error: unknown): PostgresFailure {
  const kind = failureKind(error);
  if (kind === 'conflict') return kind;
  return isServerError(error) && kind !== 'unsure' && ROLLED_BACK.test(codeOf(error))
    ? kind
    : 'unsure';
}

/** Whether a statement of DDL met the same one of another process: it waits and then finds the name taken. */
export function isCreatedTwice(error: unknown): boolean {
  return ['23505', '42P07', '42710', '42701', 'XX000'].includes(codeOf(error));
}

/** What is told with the error of a store. */
export type FailureFacts = {
  /** Names the database, without anything secret. */
  readonly name: string;
  /** For how long it was tried. */
  readonly triedMs: number;
  /** Whether it may have been done all the same. */
  readonly isUnsure: boolean;
};

/** The store's error for anything thrown while working on the database. */
export function postgresFailure(error: unknown, facts: FailureFacts): unknown {
  if (isQuarkError(error)) return error;
  const reason = reasonOf(error);
  const code = codeOf(error);
  const advice = poolerWords(error)?.advice;
  const text = advice === undefined ? '' : ` ${advice}.`;
  return new SessionStoreError(reason, `${sentence(reason, facts)}${text} (${describe(error)})`, {
    details: {
      database: facts.name,
      code,
      ...(reason === 'busy' ? { retryAfterMs: BUSY_RETRY_MS } : {}),
      ...(facts.isUnsure ? { outcome: 'unknown' } : {}),
    },
    cause: error,
  });
}

/** SQLSTATE, or the code of a system error; '' when there is none. */
export function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  // Of a host with several addresses, each has failed.
  return error instanceof AggregateError ? codeOf(error.errors[0]) : '';
}

function reasonOf(error: unknown): StoreFailureReason {
  const code = codeOf(error);
  const pooler = poolerWords(error);
  if (pooler !== undefined) return pooler.reason;
  switch (code) {
    case '3D000':
    case '3F000':
      return 'missing';
    case '42501':
      return 'unauthorised';
    case '25006':
      return 'unwritable';
    case '42P01':
    case '42703':
      return 'corrupt';
    case '53300':
    case '55P03':
    case '57014':
      return 'busy';
    case '54000':
      return 'too_large';
    default:
  }
  if (code.startsWith('28')) return 'unauthorised';
  if (code.startsWith('53')) return 'full';
  if (code.startsWith('XX')) return 'corrupt';
  if (code.startsWith('22')) return 'rejected';
  if (code === 'ENOTFOUND') return 'unreachable';
  switch (failureKind(error)) {
    case 'conflict':
      return 'busy';
    case 'lost':
    case 'unsure':
      return /connect.*timeout|timeout exceeded/i.test(messageOf(error)) ? 'busy' : 'unreachable';
    case 'final':
      return 'failed';
  }
}

/** A pooler has one code for most of what it says, 08P01. */
function poolerWords(error: unknown): PoolerWords | undefined {
  if (!isServerError(error) || !/^(?:08|0A)/.test(codeOf(error))) return undefined;
  const message = messageOf(error);
  return POOLER_WORDS.find(({ words }) => words.test(message));
}

function sentence(reason: StoreFailureReason, { name, triedMs, isUnsure }: FailureFacts): string {
  const outcome = isUnsure
    ? 'the connection was lost while a change was committed: it may have been made. Look before you repeat it'
    : 'nothing was written';
  const tried = `tried for ${Math.round(triedMs)} ms`;
  switch (reason) {
    case 'unreachable':
      return `${name} cannot be reached (${tried}); ${outcome}. See whether the server runs and whether this machine may connect to it.`;
    case 'unauthorised':
      return `${name} refuses this user or password, or the user may not do this; ${outcome}. The user needs the right to create and change tables in the schema.`;
    case 'missing':
      return `${name} is not there, or has no schema to work in. Create it with "CREATE DATABASE", or correct the address.`;
    case 'busy':
      return `${name} had no time (${tried}); ${outcome}. Try again, or allow more connections.`;
    case 'full':
      return `${name} has run out of room; ${outcome}. Free some space on the server; what a writer holds is written with its next flush.`;
    case 'unwritable':
      return `${name} only reads: it is a standby, or set read-only; ${outcome}. Connect to the primary server.`;
    case 'corrupt':
      return `${name} is damaged, or lacks a table; ${outcome}. Restore it from a copy.`;
    case 'too_large':
    case 'rejected':
      return `${name} does not take a value; ${outcome}. Text must not hold the character NUL, and numbers must be in range.`;
    default:
      return `${name} could not do what was asked; ${outcome}.`;
  }
}

/** Errors of the server have a severity; those of the driver and the system have none. FATAL ends the connection. */
function severityOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'severity' in error
    ? error.severity
    : undefined;
}

function isServerError(error: unknown): boolean {
  return severityOf(error) !== undefined;
}

function describe(error: unknown): string {
  const code = codeOf(error);
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const message = messageOf(first);
  return code === '' || message.includes(code) ? message : `${code}: ${message}`;
}
