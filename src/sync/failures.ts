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
 * `permanent`: this very request is never taken. `forgotten`: the service does not know the run (any more). `deleted`: the run was
 * deleted there.
 */
export type FailureKind = 'retry' | 'user' | 'permanent' | 'forgotten' | 'deleted';

const KINDS: Readonly<Record<StoreFailureReason, FailureKind>> = {
  unreachable: 'retry',
  busy: 'retry',
  blocked: 'retry',
  closed: 'retry',
  full: 'retry',
  quota: 'retry',
  failed: 'retry',
  corrupt: 'retry',
  unwritable: 'retry',
  missing: 'retry',
  unauthorised: 'user',
  version: 'user',
  read_only: 'user',
  unknown_scheme: 'user',
  rejected: 'permanent',
  deleted: 'deleted',
  too_large: 'permanent',
  fenced: 'permanent',
};

/** Sorts an error that a remote store threw. What is no error of ours may be a bug: it is tried again and shown. */
export function kindOfFailure(error: unknown): FailureKind {
  if (isQuarkError(error, 'run_not_found')) return 'forgotten';
  if (isQuarkError(error, 'invalid_input')) return 'permanent';
  if (!isStoreError(error)) return 'retry';
  if (isClosedSpace(error)) return 'user';
  // A proxy, a captive portal or another server at this address answers: that is no word of the service.
  if (error.reason === 'rejected' && isFromElsewhere(error.details)) return 'user';
  // What did not arrive as HTTP was spoiled on its way: that says nothing of the record in it.
  if (error.details['field'] === 'request') return 'retry';
  return KINDS[error.reason] ?? 'retry';
}

const BARE_DETAILS: ReadonlySet<string> = new Set([
  'status',
  'where',
  'uri',
  'reason',
  'retryAfterMs',
]);

/** Whether nothing of the space is shared with this key any more, as a service says it: nobody has lost it. */
function isClosedSpace(error: unknown): boolean {
  return isStoreError(error, 'missing') && error.details['status'] === 404;
}

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

/** What is told of a run that is at the service and not open to this key any more. */
export function noAccess(runId: string, remoteUri: string, nowMs: number): SyncProblem {
  return {
    reason: NO_ACCESS,
    message: `This key has no access to run ${runId} at ${remoteUri} any more: its project is not shared any longer, or its owner has moved it. Nothing is lost. It is sent again once it is shared.`,
    atMs: nowMs,
  };
}

/** Whether a run was set aside because this key may not see it. */
export function isNoAccess(problem: SyncProblem | null | undefined): boolean {
  return problem?.reason === NO_ACCESS;
}

const NO_ACCESS = 'no_access';

/** As long as something got through a moment ago, pauses stay short: the network loses requests, and the service is not away. */
const CALM_MS = 2_000;

/**
 * Pauses between attempts: exponential, with full jitter (Brooker 2015), capped. No pause is longer than it has been quiet
 * for, which on a network that loses every other request makes the difference between going on and standing still: with
 * doubling alone the expected pause is the cap.
 */
export class Backoff {
  readonly #firstMs: number;
  readonly #lastMs: number;
  readonly #random: () => number;
  #failures = 0;
  #quietSinceMs: number | undefined;

  constructor(firstMs: number, lastMs: number, random: () => number) {
    this.#firstMs = firstMs;
    this.#lastMs = lastMs;
    this.#random = random;
  }

  /** Call after a success. */
  reset(): void {
    this.#failures = 0;
    this.#quietSinceMs = undefined;
  }

  /** The pause after one more failure at this instant, in milliseconds; at least `atLeastMs`. */
  next(nowMs: number, atLeastMs = 0): number {
    this.#quietSinceMs ??= nowMs;
    const quietMs = Math.max(CALM_MS, nowMs - this.#quietSinceMs);
    const doubledMs = this.#firstMs * 2 ** Math.min(this.#failures++, 30);
    const limit = Math.min(this.#lastMs, doubledMs, quietMs);
    return Math.ceil(atLeastMs + this.#random() * limit);
  }
}

/** Whether a request did not get through, and nobody says when to try again: another one may get through. */
export function isMissed(error: unknown): boolean {
  return isStoreError(error, 'unreachable') && retryAfterMs(error) === 0;
}

/** Whether a failure says something of the service and not of one run. */
export function isAboutAll(error: unknown): boolean {
  // A smaller request may fit, of another run: its turn comes after the pause.
  if (isStoreError(error, 'quota'))
    return error.details['of'] === 'user' && error.details['resource'] !== 'runs';
  // What is not shared for writing any more is about one project.
  if (isStoreError(error, 'unauthorised') && error.details['project'] !== undefined) return false;
  if (isClosedSpace(error)) return true;
  return (
    isStoreError(error) &&
    ['unreachable', 'busy', 'closed', 'unauthorised', 'version', 'full'].includes(error.reason)
  );
}
