/** Events in words. */
import type { EventRecord } from 'quark-sdk';
import { formatMeasuredSpan } from '../parts/format.ts';

/** Severities, gravest first. */
export const SEVERITY_ORDER = ['critical', 'error', 'warning', 'info', 'debug'] as const;

/** Payload entries longer than this, or nested, go into the details. */
const INLINE_CHARS = 60;

/** Digits that a number on the line of an event shows. */
const INLINE_DIGITS = 5;

/** An event in words. */
export type EventText = {
  /** One line. */
  readonly text: string;
  /** The same line with its numbers in full, where they were rounded. */
  readonly exact: string | undefined;
  /** The rest of the payload, where there is more to say. */
  readonly details: string | undefined;
};

/** One line for an event, and the rest of its payload where there is more to say. */
export function eventText(event: Pick<EventRecord, 'payload' | 'status'>): EventText {
  const { message, ...rest } = event.payload;
  const alert = alertText(rest);
  if (alert !== undefined) return alert;
  const inline: string[] = [];
  const exact: string[] = [];
  let isLong = false;
  for (const [name, value] of Object.entries(rest)) {
    const full = typeof value === 'string' ? value : JSON.stringify(value);
    const entry = inlineEntry(name, value);
    if (full === undefined || entry.length > INLINE_CHARS + name.length || full.includes('\n'))
      isLong = true;
    else if (value !== null) {
      inline.push(entry);
      exact.push(`${name} ${full}`);
    }
  }
  const said = typeof message === 'string' && message !== '';
  const isRounded = inline.some((entry, at) => entry !== spoken(exact[at] ?? ''));
  return {
    text: said ? message : inline.join(' · '),
    exact: !said && isRounded ? exact.join(' · ') : undefined,
    details: isLong || (said && inline.length > 0) ? detailText(rest) : undefined,
  };
}

/** What an alert says, of a rule or of the program: its ids say nothing to a person. Undefined for an event that is none. */
export function alertSentences({
  alert_id: id,
  fact,
  inference,
  text,
  title,
}: EventRecord['payload']): readonly [title: string, ...sentences: string[]] | undefined {
  const said = typeof fact === 'string' ? fact : typeof id === 'string' ? text : undefined;
  if (typeof title !== 'string' || typeof said !== 'string') return undefined;
  return [title, said, ...(typeof inference === 'string' ? [inference] : [])];
}

function alertText(payload: EventRecord['payload']): EventText | undefined {
  const found = alertSentences(payload);
  if (found === undefined) return undefined;
  const [title, ...sentences] = found;
  return { text: title, exact: undefined, details: sentences.join('\n') };
}

/** `loss 1.1526`, `duration 3.2 s`: an entry of a payload, its numbers rounded. */
function inlineEntry(name: string, value: unknown): string {
  if (typeof value === 'string') return `${spokenName(name)} ${value}`;
  if (typeof value === 'number' && name.endsWith('_ms')) {
    return `${spokenName(name.slice(0, -'_ms'.length))} ${formatMeasuredSpan(value)}`;
  }
  return `${spokenName(name)} ${JSON.stringify(value, rounded)}`;
}

function spokenName(name: string): string {
  return name.replaceAll('_', ' ');
}

/** An exact entry as its inline twin would read, had nothing been rounded. */
function spoken(exact: string): string {
  const end = exact.indexOf(' ');
  return spokenName(exact.slice(0, end)) + exact.slice(end);
}

function rounded(_name: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value)
    ? Number(value.toPrecision(INLINE_DIGITS))
    : value;
}

/** Strings stand as they are, so that the lines of a stack trace stay. */
function detailText(payload: Readonly<Record<string, unknown>>): string {
  return Object.entries(payload)
    .map(
      ([name, value]) =>
        `${name}: ${typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)}`,
    )
    .join('\n');
}
