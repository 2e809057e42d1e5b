/** What stands at steps of a run, as marks on its charts: alerts, events and notes. */
import type { EventRecord } from 'quark-sdk';
import type { StepNote } from 'quark-sdk/workspace';
import type { ChartMark } from '../charts/marks.ts';
import { hrefOf, withAddressParams } from '../route/route.ts';
import type { RunFindings } from '../worker/run-analysis.ts';
import { alertSentences, eventText } from './event-text.ts';

/** More marks of a kind than this say nothing: the latest are shown. */
const MOST_MARKS = 2000;
/** Characters of a finding that are shown at the mark; the evidence has all of it. */
const MAX_CHARS = 240;

/** What is marked. */
export type MarkedRun = {
  readonly runId: string;
  readonly events: readonly EventRecord[];
  readonly notes: readonly StepNote[];
  /** Undefined where no analysis is stored. */
  readonly findings: RunFindings | undefined;
};

/** The marks of a run: stored alerts, notes, and the events that have a step. What a stored alert says is not said again by its event. */
export function runMarks({ events, findings, notes, runId }: MarkedRun): readonly ChartMark[] {
  const stored = alertMarks(runId, findings);
  const known = new Set(stored.map(({ step, title }) => `${title} ${step}`));
  const ofEvents = events.flatMap((event): EventMark[] => {
    const { eventType, payload, step } = event;
    if (step === null || eventType.startsWith('step_note')) return [];
    const kind = kindOf(event);
    const { title } = payload;
    if (kind === 'alert' && typeof title === 'string' && known.has(`${title} ${startOf(event)}`))
      return [];
    return [{ event, kind, step }];
  });
  return [
    ...stored.slice(-MOST_MARKS),
    ...(['alert', 'phase', 'event'] as const).flatMap((kind) =>
      ofEvents
        .filter((one) => one.kind === kind)
        .slice(-MOST_MARKS)
        .map((one) => eventMark(runId, one)),
    ),
    ...notes.slice(-MOST_MARKS).map(({ by, step, text }): ChartMark => ({
      kind: 'note',
      step,
      text: by === null ? text : `${text} (${by})`,
    })),
  ];
}

/** Where the evidence of an alert is: the tab of the analysis, which shows the alert of this rule, at this step where there are several. */
function evidenceHref(runId: string, ruleId: string, step: number | null): string {
  const alert = step === null ? ruleId : `${ruleId}:${step}`;
  return withAddressParams(
    hrefOf({ kind: 'run', runId, view: 'analysis' }),
    new Map([['alert', alert]]),
  );
}

function alertMarks(
  runId: string,
  findings: RunFindings | undefined,
): readonly (ChartMark & { readonly title: string })[] {
  return (findings?.alerts ?? []).flatMap(({ fact, ruleId, stepStart, title }) => {
    if (stepStart === null) return [];
    const text = alertLine(title, fact);
    const href = evidenceHref(runId, ruleId, stepStart);
    return [{ kind: 'alert' as const, title, text, step: stepStart, href }];
  });
}

type EventMark = {
  readonly event: EventRecord;
  readonly kind: ChartMark['kind'];
  readonly step: number;
};

/** The text of an event is made when somebody sees it: a long run has thousands that nobody does. */
function eventMark(runId: string, { event, kind, step }: EventMark): ChartMark {
  const { epoch, eventType, payload, timestamp } = event;
  const rule = eventType === 'user_alert' ? eventType : payload['rule_id'];
  return {
    kind,
    step: kind === 'alert' ? (startOf(event) ?? step) : step,
    epoch: epoch ?? undefined,
    timeMs: kind === 'alert' ? undefined : Date.parse(timestamp),
    href: typeof rule === 'string' ? evidenceHref(runId, rule, startOf(event)) : undefined,
    get text() {
      const [title, said] = alertSentences(payload) ?? [];
      return title === undefined
        ? cut(`${eventType}: ${eventText(event).text}`)
        : alertLine(title, said);
    },
  };
}

/** The first step that an event is about. */
function startOf({ payload, step }: EventRecord): number | null {
  const { step_start: start } = payload;
  return typeof start === 'number' ? start : step;
}

function alertLine(title: string, fact: string | undefined): string {
  return cut(fact === undefined || fact === title ? title : `${title}: ${fact}`);
}

function cut(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1)}…` : text;
}

function kindOf({ eventType, payload, severity }: EventRecord): ChartMark['kind'] {
  if (alertSentences(payload) !== undefined || eventType.includes('alert')) return 'alert';
  if (eventType.startsWith('phase')) return 'phase';
  return severity === 'error' || severity === 'critical' ? 'alert' : 'event';
}
