/** What happened at steps of a run, as marks on its charts. */
import type { EventRecord } from 'quark-sdk';
import type { StepNote } from 'quark-sdk/workspace';
import type { ChartMark } from '../../charts/marks.ts';
import { eventText } from './event-text.ts';

/** More marks than this say nothing: the latest are shown. */
const MOST_MARKS = 2000;

/** Marks of the kinds that are not hidden: alerts, phases, notes, and other events that have a step. */
export function runMarks(
  events: readonly EventRecord[],
  notes: readonly StepNote[],
  hidden: ReadonlySet<string>,
): readonly ChartMark[] {
  const marks = events.flatMap((event): ChartMark[] => {
    const { epoch, eventType, step, timestamp } = event;
    if (step === null || eventType.startsWith('step_note')) return [];
    const kind = kindOf(event);
    if (hidden.has(kind)) return [];
    const text = `${eventType}: ${eventText(event).text}`;
    return [{ kind, text, step, epoch: epoch ?? undefined, timeMs: Date.parse(timestamp) }];
  });
  const written = (hidden.has('note') ? [] : notes).map(({ by, step, text }): ChartMark => ({
    kind: 'note',
    step,
    text: by === null ? text : `${text} (${by})`,
  }));
  return [...marks.slice(-MOST_MARKS), ...written.slice(-MOST_MARKS)];
}

function kindOf({ eventType, payload, severity }: EventRecord): ChartMark['kind'] {
  const isAlert = typeof payload['fact'] === 'string' && typeof payload['title'] === 'string';
  if (isAlert || eventType.includes('alert')) return 'alert';
  if (eventType.startsWith('phase')) return 'phase';
  return severity === 'error' || severity === 'critical' ? 'alert' : 'event';
}
