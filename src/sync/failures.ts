/** What a failure of the service means for the one who sends. */
import {
  isQuarkError,
  isStoreError,
  messageOf,
  type ErrorDetails,
  type StoreFailureReason,
} from '../base/errors.ts';
import type { SyncProblem } from '../store/sync-control.ts';

/**
 * `retry`: it passes by itself. `user`: somebody has to do something (a key, an update); it is asked again, slowly.
 * `permanent`: this very request is never taken. `forgotten`: the service does not know the run (any more).
 */
export type FailureKind = 'retry' | 'user' | 'permanent' | 'forgotten';

const KINDS: Readonly<Record<StoreFailureReason, FailureKind>> = {
  unreachable: 'retry',
  busy: 'retry',
  blocked: 'retry',
  closed: 'retry',
  full: 'retry',
  failed: 'retry',
  corrupt: 'retry',
  unwritable: 'retry',
  missing: 'retry',
  unauthorised: 'user',
  version: 'user',
  read_only: 'user',
  unknown_scheme: 'user',
  rejected: 'permanent',
  too_large: 'permanent',
};

/** Sorts an error that a remote store threw. What is no error of ours may be a bug: it is tried again and shown. */
export function kindOfFailure(error: unknown): FailureKind {
  if (isQuarkError(error, 'run_not_found')) return 'forgotten';
  if (isQuarkError(error, 'invalid_input')) return 'permanent';
  if (!isStoreError(error)) return 'retry';
  // A proxy, a captive portal or another server at this address answers: that is no word of the service.
  if (error.reason === 'rejected' && isFromElsewhere(error.details)) return 'user';
  return KINDS[error.reason] ?? 'retry';
}

const BARE_DETAILS: ReadonlySet<string> = new Set([
  'status',
  'where',
  'uri',
  'reason',
  'retryAfterMs',
]);

/** Whether an answer says nothing but its status: what a service refuses, it refuses with a reason. */
function isFromElsewhere(details: ErrorDetails): boolean {
  const names = Object.keys(details);
  return names.some((name) => name !== 'reason') && names.every((name) => BARE_DETAILS.has(name));
}

/** How long the service asked to be left alone, in milliseconds; 0 when it did not say. */
export function retryAfterMs(error: unknown): number {
  if (!isQuarkError(error)) return 0;
  const given = error.details['retryAfterMs'];
  return typeof given === 'number' && given > 0 ? Math.min(given, MAX_RETRY_AFTER_MS) : 0;
}

/** An hour: a service that names a longer time is asked once in a while all the same. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** An error as a status shows it. */
export function problemOf(error: unknown, atMs: number): SyncProblem {
  const reason = isStoreError(error)
    ? error.reason
    : isQuarkError(error)
      ? error.code
      : error instanceof Error
        ? error.name
        : 'unknown';
  return { reason, message: messageOf(error), atMs };
}

/** Pauses between attempts: exponential, with full jitter (Brooker 2015), capped. */
export class Backoff {
  readonly #firstMs: number;
  readonly #lastMs: number;
  readonly #random: () => number;
  #failures = 0;

  constructor(firstMs: number, lastMs: number, random: () => number) {
    this.#firstMs = firstMs;
    this.#lastMs = lastMs;
    this.#random = random;
  }

  /** Call after a success. */
  reset(): void {
    this.#failures = 0;
  }

  /** The pause after one more failure, in milliseconds; at least `atLeastMs`. */
  next(atLeastMs = 0): number {
    const limit = Math.min(this.#lastMs, this.#firstMs * 2 ** Math.min(this.#failures++, 30));
    return Math.ceil(atLeastMs + this.#random() * limit);
  }
}
