/** Why a run ended as it did: which events say it, and the line that is said of it. What a program says is hostile text. */
import { onOneLine } from '../base/texts/control-characters.ts';
import type { EventRecord } from './event.ts';
import type { RunStatus } from './literals.ts';

/** Characters of a reason. */
export const MAX_REASON_CHARS = 300;

/** Whether events of a type are about the end of a process: of sessions, and of runs that were imported. */
export function isEndEvent(eventType: string): boolean {
  return /^(?:runtime_|run_failed$|run_interrupted$)/u.test(eventType);
}

/** The first line of a message, bounded and without control characters; null where it says nothing. */
export function reasonLine(message: unknown): string | null {
  if (typeof message !== 'string') return null;
  const [first = ''] = message
    .slice(0, 4096)
    .trim()
    .split(/[\n\r]/u, 1);
  const line = onOneLine(first)
    .replaceAll(/\p{Surrogate}/gu, '\ufffd')
    .replaceAll(/\s+/gu, ' ')
    .trim();
  if (line.length <= MAX_REASON_CHARS) return line === '' ? null : line;
  return `${line.slice(0, MAX_REASON_CHARS - 1).replace(/\p{Surrogate}$/u, '')}…`;
}

/** The reason that an event gives for the end of a run with this status; null for an event about something else. */
export function reasonOfEvent(
  status: RunStatus,
  { eventType, payload, severity }: Pick<EventRecord, 'eventType' | 'payload' | 'severity'>,
): string | null {
  if (!isEndEvent(eventType)) return null;
  const isError = severity === 'error' || severity === 'critical';
  const isInterruption = eventType.endsWith('_interruption') || eventType.endsWith('_interrupted');
  const isAboutIt =
    status === 'failed' ? isError : status === 'interrupted' && (isError || isInterruption);
  return isAboutIt ? reasonLine(payload['message'] ?? payload['reason']) : null;
}

/** How a run ended that did not complete. */
export type RunEnding = {
  /** The step of the last event about it; null where none says one. */
  readonly step: number | null;
  /** What the program said of it: one line, at most 300 characters; null where it said nothing. */
  readonly reason: string | null;
};

/**
 * How a run ended: by its record, and where that names no reason, as in runs that were stored before records had one, by its events.
 *
 * @param run its status, and the reason that was stored with it
 * @param events of the run, in the order in which they happened
 * @example
 * ```js
 * import { createMemoryStore, openRun, startRun } from 'quark-sdk';
 * import { runEnding } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * const session = await startRun({ project: 'digits', storage: store });
 * await session.endRun('failed', new Error('The loss is NaN.'));
 * const reader = await openRun(store, session.runId);
 * const { reason } = runEnding(reader.run, await reader.readEvents());
 * console.log(reason); // The loss is NaN.
 * ```
 */
export function runEnding(
  { status, statusReason }: { readonly status: RunStatus; readonly statusReason: string | null },
  events: readonly Pick<EventRecord, 'eventType' | 'payload' | 'severity' | 'step'>[],
): RunEnding {
  const last = events.findLast(
    ({ eventType, severity }) => isEndEvent(eventType) && severity !== 'debug',
  );
  if (last === undefined) return { step: null, reason: statusReason };
  return { step: last.step, reason: statusReason ?? reasonOfEvent(status, last) };
}
