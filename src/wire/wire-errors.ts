/** Errors on the wire: `{"code", "message", "details"}` with the HTTP status that fits. */
import {
  ERROR_CODES,
  InvalidRunStateError,
  isQuarkError,
  QuarkError,
  RunNotFoundError,
  SessionStoreError,
  show,
  STORE_FAILURE_REASONS,
  type ErrorCode,
  type ErrorDetails,
  type StoreFailureReason,
} from '../base/errors.ts';
import { API_PATH, STATUS_OF_REASON } from './protocol.ts';

/** An error as it travels: its HTTP status and its body. */
export type WireError = {
  readonly status: number;
  readonly body: {
    readonly code: string;
    readonly message: string;
    readonly details: ErrorDetails;
  };
  /** For the header of this name, in whole seconds. */
  readonly retryAfterSeconds?: number;
};

/**
 * What is told of a failure of the server's own. What the error says may be about that machine (paths, addresses); it
 * is nobody's business at the other end.
 */
const SERVER_FAILURES: Partial<Readonly<Record<StoreFailureReason, string>>> = {
  full: 'The server has no space left. Nothing was changed. Try again later, or tell who runs it.',
  busy: 'The server is busy. Nothing was changed. Try again.',
  blocked: 'The server is busy. Nothing was changed. Try again.',
  closed: 'The server is shutting down. Nothing was changed. Try again.',
  corrupt: 'What was asked for is damaged on the server. Tell who runs it.',
  unreachable: 'The server cannot reach its store. Nothing was changed. Try again later.',
};

/** The connection to the store broke between a change and its acknowledgement. */
const UNKNOWN_OUTCOME =
  'The server has lost its store. It is not known whether this was written: ask again.';

/** The error as it travels. A detail `httpStatus` from 400 to 499 says which status it is to have. */
export function encodeError(error: unknown): WireError {
  if (isQuarkError(error, 'run_not_found')) {
    // Not as it is: the original names the location of the server's store, and a function of the library.
    const runId = String(error.details['runId']);
    const message = `No run ${show(runId)} is here. GET /${API_PATH}/runs lists those that are, as "quark runs" does.`;
    return { status: 404, body: { code: 'run_not_found', message, details: { runId } } };
  }
  const status = isQuarkError(error) ? statusOf(error) : 500;
  if (!isQuarkError(error) || status >= 500) {
    const reason = isQuarkError(error, 'store_failed') ? reasonOf(error.details) : 'failed';
    const retryAfterMs = isQuarkError(error) ? error.details['retryAfterMs'] : undefined;
    const isUnknown = isQuarkError(error) && error.details['outcome'] === 'unknown';
    const message =
      (isUnknown ? UNKNOWN_OUTCOME : SERVER_FAILURES[reason]) ?? 'The server failed to answer.';
    const details: ErrorDetails = isUnknown ? { reason, outcome: 'unknown' } : { reason };
    return withRetry(status, { code: 'store_failed', message, details }, retryAfterMs);
  }
  const { code, message } = error;
  const details = plainDetails(error.details);
  return withRetry(status, { code, message, details }, details['retryAfterMs']);
}

function withRetry(status: number, body: WireError['body'], retryAfterMs: unknown): WireError {
  if (typeof retryAfterMs !== 'number' || !(retryAfterMs >= 0)) return { status, body };
  const details = { ...body.details, retryAfterMs };
  return { status, body: { ...body, details }, retryAfterSeconds: Math.ceil(retryAfterMs / 1_000) };
}

/**
 * The error that an answer other than 200 stands for.
 *
 * @param where names the store in its message
 * @param retryAfter the header of this name: how long the server, or a proxy before it, asks to wait
 */
export function decodeError(
  status: number,
  body: unknown,
  where: string,
  retryAfter: string | null = null,
): QuarkError {
  const waitMs = waitOf(retryAfter);
  const facts = { status, where, ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }) };
  const fallback = new SessionStoreError(
    reasonOfStatus(status),
    `${where} answered with HTTP status ${status}. Is a Quark server running at this address?`,
    { details: facts },
  );
  if (typeof body !== 'object' || body === null || !('code' in body) || !('message' in body))
    return fallback;
  const code = ERROR_CODES.find((known) => known === body.code);
  if (code === undefined || typeof body.message !== 'string') return fallback;
  const given =
    'details' in body && typeof body.details === 'object' && body.details !== null
      ? body.details
      : {};
  const details: ErrorDetails = { ...facts, ...given, where, status };
  if (code === 'run_not_found') {
    const runId = details['runId'];
    return new RunNotFoundError(typeof runId === 'string' ? runId : '', where);
  }
  if (code === 'invalid_run_state') return new InvalidRunStateError(body.message, details);
  if (code !== 'store_failed') return new QuarkError(code, body.message, { details });
  // Services of before have called what came too slowly rejected, as if it were wrong.
  const reason = status === 408 ? 'busy' : reasonOf(details);
  return new SessionStoreError(reason, body.message, { details });
}

function reasonOf(details: ErrorDetails): StoreFailureReason {
  return STORE_FAILURE_REASONS.find((known) => known === details['reason']) ?? 'failed';
}

/** For answers that did not come from a Quark server, but from what stands before it. */
function reasonOfStatus(status: number): StoreFailureReason {
  return REASON_OF_STATUS.get(status) ?? (status >= 500 ? 'failed' : 'rejected');
}

const REASON_OF_STATUS: ReadonlyMap<number, StoreFailureReason> = new Map([
  [401, 'unauthorised'],
  [403, 'unauthorised'],
  [413, 'too_large'],
  [408, 'busy'],
  [425, 'busy'],
  [429, 'busy'],
  [503, 'busy'],
  [502, 'unreachable'],
  [504, 'unreachable'],
  [507, 'full'],
]);

/** Longest pause that a server may ask for: an hour. A typing error at the other end does not stop a client for years. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** `Retry-After` in milliseconds: seconds, or an instant in the form of HTTP. */
function waitOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  const ms = /^\d{1,12}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

function statusOf(error: QuarkError): number {
  const given = error.details['httpStatus'];
  if (typeof given === 'number' && given >= 400 && given < 500) return given;
  return error.code === 'store_failed'
    ? STATUS_OF_REASON[reasonOf(error.details)]
    : STATUS_OF_CODE[error.code];
}

const STATUS_OF_CODE: Readonly<Record<Exclude<ErrorCode, 'store_failed'>, number>> = {
  invalid_input: 400,
  schema_validation: 400,
  run_not_found: 404,
  artifact_not_found: 404,
  unsupported: 404,
  invalid_run_state: 409,
  writer_closed: 503,
  aborted: 503,
  schema_migration: 500,
  segment_damaged: 500,
  kernel_failed: 500,
  probe_failed: 500,
  retention_failed: 500,
  rule_failed: 500,
};

/** The details that are plain values; objects inside them may be anything. */
function plainDetails(details: ErrorDetails): ErrorDetails {
  return Object.fromEntries(
    Object.entries(details).filter(
      ([, value]) => ['string', 'number', 'boolean'].includes(typeof value) || value === null,
    ),
  );
}
