/** What a thread and its worker of the store say to each other. */
import {
  isQuarkError,
  messageOf,
  QuarkError,
  RunNotFoundError,
  SessionStoreError,
  STORE_FAILURE_REASONS,
  type ErrorCode,
  type ErrorDetails,
} from '../../base/errors.ts';
import type { EngineCalls } from './opfs-engine.ts';

/** The calls of an engine that a thread may make. */
export type EngineCall = keyof EngineCalls | 'close';

/** Where an engine is to work. */
export type EngineAddress = {
  readonly uri: string;
  readonly name: string;
  readonly create: boolean;
  readonly isFull: boolean;
};

/** A call, for the engine of this number. */
export type EngineRequest = { readonly id: number; readonly engine: number } & (
  | { readonly open: EngineAddress }
  | {
      readonly call: EngineCall;
      readonly args: readonly unknown[];
      /** The time of the store's clock. */
      readonly nowMs: number;
    }
);

/** An error as it crosses to another thread. */
type SentError = {
  readonly code: ErrorCode | undefined;
  readonly message: string;
  readonly details: ErrorDetails;
};

/** The answer to a call. */
export type EngineReply = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly error: SentError }
);

export function sendOpfsError(error: unknown): SentError {
  if (!isQuarkError(error)) return { code: undefined, message: messageOf(error), details: {} };
  const { code, message } = error;
  // What is no plain value cannot be sent.
  const details = Object.fromEntries(
    Object.entries(error.details).filter(
      ([, value]) => ['string', 'number', 'boolean'].includes(typeof value) || value === null,
    ),
  );
  return { code, message, details };
}

/** The error again. */
export function receiveOpfsError({ code, details, message }: SentError): Error {
  if (code === undefined) return new Error(message);
  if (code === 'run_not_found')
    return new RunNotFoundError(String(details['runId']), String(details['where']));
  if (code !== 'store_failed') return new QuarkError(code, message, { details });
  const reason = STORE_FAILURE_REASONS.find((known) => known === details['reason']) ?? 'failed';
  return new SessionStoreError(reason, message, { details });
}
