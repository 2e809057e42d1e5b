/** Notes at a step of a run, also of one that has ended: they are events of the run. */
import { checkCount } from '../base/assert.ts';
import { systemClock } from '../base/clock.ts';
import { invalidInput } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { checkId, checkLabel, checkRunId } from '../base/names.ts';
import { checkStore } from '../store/whole-store.ts';
import { appendEvent } from '../read/silences.ts';
import type { EventRecord } from '../records/event.ts';
import type { Store } from '../store/store.ts';

const ADDED = 'step_note';
const REMOVED = 'step_note_removed';

/** A note before it is written. */
export type NewStepNote = {
  /** On one line, at most 512 characters. */
  readonly text: string;
  /** The step that it is about. */
  readonly step: number;
  /** Who writes it. */
  readonly by?: string;
};

/** A note at a step of a run. */
export type StepNote = {
  readonly id: string;
  readonly text: string;
  readonly step: number;
  /** Null where nobody is named. */
  readonly by: string | null;
  /** UTC epoch milliseconds. */
  readonly atMs: number;
};

/**
 * Writes a note at a step of a stored run, as an event of it. Charts show it there.
 *
 * @param note `text` of at most 512 characters on one line, `step` from 0 on, `by`: who writes it
 * @throws {QuarkError} `invalid_input` naming the field; `run_not_found`
 * @throws {SessionStoreError} `read_only`, `unauthorised`, `deleted`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { addStepNote } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => session.runId);
 * const { step, text, by } = await addStepNote(store, runId, { step: 4000, text: 'Learning rate divided by ten.', by: 'kim' });
 * console.log(step, text, by); // 4000 Learning rate divided by ten. kim
 * ```
 */
export async function addStepNote(
  store: Store,
  runId: string,
  note: NewStepNote,
): Promise<StepNote> {
  checkStore(store);
  checkRunId(runId);
  if (typeof note !== 'object' || note === null) throw invalidInput('note', note, 'an object');
  const atMs = systemClock.now();
  const made: StepNote = {
    id: createId('note', atMs),
    text: checkLabel('note.text', note.text),
    step: checkCount('note.step', note.step),
    by: note.by === undefined ? null : checkLabel('note.by', note.by),
    atMs,
  };
  const payload = { note_id: made.id, message: made.text, by: made.by };
  await appendEvent({ runId, store }, { eventType: ADDED, atMs, step: made.step, payload });
  return made;
}

/**
 * Takes a note back. The event that wrote it stays in the run, and counts no longer.
 *
 * @throws {QuarkError} `invalid_input`; `run_not_found`
 * @throws {SessionStoreError} `read_only`, `unauthorised`, `deleted`
 * @example
 * ```js
 * import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
 * import { addStepNote, removeStepNote, stepNotesOf } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => session.runId);
 * const note = await addStepNote(store, runId, { step: 4000, text: 'Learning rate divided by ten.' });
 * await removeStepNote(store, runId, note.id);
 * const events = await (await openRun(store, runId)).readEvents();
 * console.log(stepNotesOf(events)); // []
 * ```
 */
export async function removeStepNote(store: Store, runId: string, noteId: string): Promise<void> {
  checkStore(store);
  checkRunId(runId);
  const payload = { note_id: checkId('noteId', noteId) };
  await appendEvent({ runId, store }, { eventType: REMOVED, atMs: systemClock.now(), payload });
}

/**
 * The notes among the events of a run, without those that were taken back, by step.
 *
 * @example
 * ```js
 * import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
 * import { addStepNote, stepNotesOf } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => session.runId);
 * await addStepNote(store, runId, { step: 4000, text: 'Learning rate divided by ten.' });
 * const reader = await openRun(store, runId);
 * for (const { step, text } of stepNotesOf(await reader.readEvents())) console.log(step, text); // 4000 Learning rate divided by ten.
 * ```
 */
export function stepNotesOf(events: readonly EventRecord[]): readonly StepNote[] {
  const notes = new Map<string, StepNote>();
  const removed = new Set<unknown>();
  for (const { eventType, payload, step, timestamp } of events) {
    const { by, message, note_id: id } = payload;
    if (eventType === REMOVED) removed.add(id);
    if (eventType !== ADDED || step === null || typeof id !== 'string') continue;
    const text = typeof message === 'string' ? message : '';
    const author = typeof by === 'string' ? by : null;
    notes.set(id, { id, text, step, by: author, atMs: Date.parse(timestamp) });
  }
  return [...notes.values()].filter(({ id }) => !removed.has(id)).sort((a, b) => a.step - b.step);
}
