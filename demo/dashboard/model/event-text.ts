/** Events in words. */
import type { EventRecord } from 'quark-sdk';

/** Severities, gravest first. */
export const SEVERITY_ORDER = ['critical', 'error', 'warning', 'info', 'debug'] as const;

/** How many events there are of each severity. */
export function countSeverities(
  events: readonly Pick<EventRecord, 'severity'>[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { severity } of events) counts.set(severity, (counts.get(severity) ?? 0) + 1);
  return counts;
}

/** Payload entries longer than this, or nested, go into the details. */
const INLINE_CHARS = 60;

/** One line for an event, and the rest of its payload where there is more to say. */
export function eventText(event: Pick<EventRecord, 'payload' | 'status'>): {
  text: string;
  details: string | undefined;
} {
  const { message, ...rest } = event.payload;
  const inline: string[] = [];
  let isLong = false;
  for (const [name, value] of Object.entries(rest)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (text === undefined || text.length > INLINE_CHARS || text.includes('\n')) isLong = true;
    else if (value !== null) inline.push(`${name.replaceAll('_', ' ')} ${text}`);
  }
  const said = typeof message === 'string' && message !== '';
  return {
    text: said ? message : inline.join(' · '),
    details: isLong || (said && inline.length > 0) ? detailText(rest) : undefined,
  };
}

/** Strings stand as they are, so that a stack trace keeps its lines. */
function detailText(payload: Readonly<Record<string, unknown>>): string {
  return Object.entries(payload)
    .map(
      ([name, value]) =>
        `${name}: ${typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)}`,
    )
    .join('\n');
}
