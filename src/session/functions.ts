/** The top-level functions of abiotic-quark: each is the method of the same name. */
import { invalidInput } from '../base/errors.ts';
import type { EventRecord } from '../records/event.ts';
import type { TerminalRunStatus } from '../records/literals.ts';
import type { AddLogOptions } from './event-logger.ts';
import type { RunContext } from './run-context.ts';
import type { TagValue } from './run-edits.ts';
import type { ResumeRunOptions, StartRunOptions } from './run-options.ts';
import { TrainingSession } from './training-session.ts';

/** See {@link TrainingSession.startRun}. */
export function startRun(options: StartRunOptions): Promise<TrainingSession> {
  return TrainingSession.startRun(options);
}

/** See {@link TrainingSession.resumeRun}. */
export function resumeRun(options: ResumeRunOptions): Promise<TrainingSession> {
  return TrainingSession.resumeRun(options);
}

/** See {@link TrainingSession.endRun}. */
export async function endRun(
  session: TrainingSession,
  status: TerminalRunStatus = 'completed',
  reason?: string | Error,
): Promise<RunContext> {
  return checkSession(session).endRun(status, reason);
}

/** See {@link TrainingSession.addTag}. */
export async function addTag(
  session: TrainingSession,
  tag: string,
  value?: TagValue,
): Promise<RunContext> {
  return checkSession(session).addTag(tag, value);
}

/** See {@link TrainingSession.addLog}. */
export async function addLog(
  session: TrainingSession,
  message: string,
  options: AddLogOptions = {},
): Promise<EventRecord> {
  return checkSession(session).addLog(message, options);
}

function checkSession(session: unknown): TrainingSession {
  if (session instanceof TrainingSession) return session;
  const hint = session instanceof Promise ? ' (await the promise first)' : '';
  throw invalidInput('session', session, `a TrainingSession${hint}`);
}
