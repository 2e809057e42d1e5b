/** The top-level functions of abiotic-quark: each is the method of the same name. */
import { invalidInput } from '../base/errors.ts';
import type { EventRecord } from '../records/event.ts';
import type { TerminalRunStatus } from '../records/literals.ts';
import type { AddLogOptions } from './event-logger.ts';
import type { RunContext } from './run-context.ts';
import type { TagValue } from './run-edits.ts';
import type { ResumeRunOptions, StartRunOptions } from './run-options.ts';
import { TrainingSession } from './training-session.ts';

/**
 * Starts a run in a project and returns the session that records it; {@link endRun} ends it. The same as
 * {@link TrainingSession.startRun}, where the errors are listed. {@link TrainingSession.run} ends the run in every case.
 *
 * @throws {QuarkError} `invalid_input` naming the option
 * @example
 * ```js
 * import { endRun, MetricsLogger, startRun } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs', config: { lr: 0.1 } });
 * const metrics = new MetricsLogger(session);
 * for (let step = 0; step < 3; step++) metrics.log('train/loss', 1 / (step + 1), { step });
 * const { run } = await endRun(session);
 * console.log(run.status, Object.keys(run.metricSummaries)); // completed [ 'train/loss' ]
 * ```
 */
export function startRun(options: StartRunOptions): Promise<TrainingSession> {
  return TrainingSession.startRun(options);
}

/**
 * Continues a run that was interrupted or failed. The same as {@link TrainingSession.resumeRun}, where the errors are listed.
 *
 * @param options `runId`, and where the run is stored: `storageDir` or `storage`
 * @throws {RunNotFoundError} when the storage has no such run
 * @throws {InvalidRunStateError} when the run cannot be resumed: `details.reason` is a {@link ResumeRefusal}
 * @example
 * ```js
 * import { endRun, MetricsLogger, resumeRun, startRun } from 'quark-sdk';
 *
 * const first = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * new MetricsLogger(first).log('train/loss', 0.9, { step: 0 });
 * await endRun(first, 'interrupted');
 *
 * const session = await resumeRun({ runId: first.runId, storageDir: 'quark-runs' });
 * new MetricsLogger(session).log('train/loss', 0.4, { step: 1 });
 * const { status } = await endRun(session);
 * console.log(session.runId === first.runId, status); // true completed
 * ```
 */
export function resumeRun(options: ResumeRunOptions): Promise<TrainingSession> {
  return TrainingSession.resumeRun(options);
}

/**
 * Ends the run of a session and returns its context as it is then. The same as {@link TrainingSession.endRun}.
 *
 * @param status `completed`, `failed` or `interrupted`; default `completed`
 * @param reason why it failed or was interrupted: a text or an error
 * @throws {QuarkError} `invalid_input` for what is no session, and for a reason of a run that completed
 * @throws {InvalidRunStateError} when the run has ended already
 * @example
 * ```js
 * import { endRun, startRun } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * const { run } = await endRun(session, 'failed', new Error('The loss is NaN.'));
 * console.log(run.status, run.statusReason); // failed The loss is NaN.
 * ```
 */
export async function endRun(
  session: TrainingSession,
  status: TerminalRunStatus = 'completed',
  reason?: string | Error,
): Promise<RunContext> {
  return checkSession(session).endRun(status, reason);
}

/**
 * Adds a label to the run, also with a value (`workers=8`). The same as {@link TrainingSession.addTag}.
 *
 * @param value text of one line, a finite number, true or false; default: none
 * @returns the context of the run with the label
 * @throws {QuarkError} `invalid_input`, `invalid_run_state`
 * @example
 * ```js
 * import { addTag, endRun, startRun } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * await addTag(session, 'baseline');
 * const { tags } = await addTag(session, 'workers', 8);
 * console.log(tags); // [ 'baseline', 'workers=8' ]
 * await endRun(session);
 * ```
 */
export async function addTag(
  session: TrainingSession,
  tag: string,
  value?: TagValue,
): Promise<RunContext> {
  return checkSession(session).addTag(tag, value);
}

/**
 * Records a message with the run; it is durable when the promise resolves. The same as {@link TrainingSession.addLog}.
 *
 * @returns the event that it is: of the type `user_log` and the severity `info`, unless `options` says otherwise
 * @throws {QuarkError} `invalid_input`, `invalid_run_state`
 * @example
 * ```js
 * import { addLog, endRun, startRun } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * const event = await addLog(session, 'The learning rate was halved.', { step: 400, payload: { lr: 0.05 } });
 * console.log(event.eventType, event.severity); // user_log info
 * console.log(event.payload); // { lr: 0.05, message: 'The learning rate was halved.', identifier: 'Info' }
 * await endRun(session);
 * ```
 */
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
