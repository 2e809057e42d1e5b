/** The event that says why a run ends. */
import { messageOf } from '../base/errors.ts';
import type { EventRecord } from '../records/event.ts';
import type { TerminalRunStatus } from '../records/literals.ts';
import { createEvent, logEvent } from './event-logger.ts';
import type { RunHandle } from './run-handle.ts';

/** Messages of errors may hold whole tensors; their beginning says what happened. */
const MAX_ERROR_CHARS = 16_384;

/** The event of a run that ends as interrupted, or as failed. @param error a text or what was thrown */
export function endEvent(
  handle: Pick<RunHandle, 'clock' | 'runId'>,
  error: unknown,
  status: TerminalRunStatus,
): EventRecord {
  const said = shorten(typeof error === 'string' ? error : messageOf(error));
  if (status === 'interrupted')
    return createEvent(
      handle,
      ...logEvent(`Interrupted: ${said}`, {
        identifier: 'Warning',
        eventType: 'runtime_interruption',
      }),
    );
  const payload = {
    error_type: error instanceof Error ? shorten(error.name) : typeof error,
    stack: error instanceof Error ? shorten(error.stack ?? '') || null : null,
  };
  return createEvent(
    handle,
    ...logEvent(said || 'An error without a message was thrown.', {
      identifier: 'Error',
      eventType: 'runtime_error',
      payload,
    }),
  );
}

/** A text, cut after its first 16,384 characters. */
export function shorten(text: string): string {
  return text.length > MAX_ERROR_CHARS ? `${text.slice(0, MAX_ERROR_CHARS)}...` : text;
}
