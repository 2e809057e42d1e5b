/** Messages between the main thread of a service and its workers. */
import {
  isQuarkError,
  messageOf,
  QuarkError,
  SessionStoreError,
  STORE_FAILURE_REASONS,
  type ErrorCode,
  type ErrorDetails,
} from '../../base/errors.ts';
import type { Job } from './job.ts';

/** Calls that jobs may make on their host. */
export const HOST_METHODS = ['listSegments', 'readSegments', 'readNote', 'writeNote'] as const;

/** One of {@link HOST_METHODS}. */
export type HostMethod = (typeof HOST_METHODS)[number];

/** To a worker. Each of the first three starts a time slice, which lasts until the worker answers with a message that ends it. */
export type ToWorker =
  | { readonly kind: 'start'; readonly id: number; readonly job: Job; readonly hasNotes: boolean }
  | { readonly kind: 'next'; readonly id: number }
  | {
      readonly kind: 'reply';
      readonly id: number;
      readonly call: number;
      readonly value?: unknown;
      readonly isFailed: boolean;
    }
  | { readonly kind: 'stop'; readonly id: number };

/** From a worker. `part`, `done`, `failed` and `call` end its time slice, which used `busyMs` of processor time. */
export type FromWorker =
  | {
      readonly kind: 'part';
      readonly id: number;
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly busyMs: number;
    }
  | { readonly kind: 'done'; readonly id: number; readonly busyMs: number }
  | {
      readonly kind: 'failed';
      readonly id: number;
      readonly error: SentError;
      readonly busyMs: number;
    }
  | {
      readonly kind: 'call';
      readonly id: number;
      readonly call: number;
      readonly method: HostMethod;
      readonly given: readonly unknown[];
      readonly busyMs: number;
    }
  | { readonly kind: 'room'; readonly id: number; readonly bytes: number }
  | { readonly kind: 'warned'; readonly id: number; readonly error: SentError };

/** An error as it travels: as what a call of the host has thrown, by the number of that call, or in its parts. */
export type SentError =
  | { readonly call: number }
  | { readonly code: ErrorCode; readonly message: string; readonly details: ErrorDetails }
  | { readonly message: string; readonly stack: string | undefined };

/** Stands in a worker for what a call of the host has thrown. */
export class HostCallError extends Error {
  override readonly name = 'HostCallError';
  readonly call: number;

  constructor(call: number) {
    super('A call of the host has failed.');
    this.call = call;
  }
}

/** The form of an error in which it travels. */
export function sendError(error: unknown): SentError {
  if (error instanceof HostCallError) return { call: error.call };
  if (!isQuarkError(error))
    return { message: messageOf(error), stack: error instanceof Error ? error.stack : undefined };
  const details = Object.fromEntries(
    Object.entries(error.details).filter(
      ([, value]) => ['string', 'number', 'boolean'].includes(typeof value) || value === null,
    ),
  );
  return { code: error.code, message: error.message, details };
}

/** The error again. @param calls what calls of the host have thrown */
export function receiveError(sent: SentError, calls: ReadonlyMap<number, unknown>): unknown {
  if ('call' in sent) return calls.get(sent.call) ?? new Error('A call of the host has failed.');
  if (!('code' in sent)) {
    const error = new Error(sent.message);
    if (sent.stack !== undefined) error.stack = sent.stack;
    return error;
  }
  const { code, message, details } = sent;
  if (code !== 'store_failed') return new QuarkError(code, message, { details });
  const reason = STORE_FAILURE_REASONS.find((known) => known === details['reason']) ?? 'failed';
  return new SessionStoreError(reason, message, { details });
}

/** The buffers that a message may transfer: those that hold nothing else. */
export function ownBytes(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}
