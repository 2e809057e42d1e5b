/**
 * Silences and acknowledgements of alerts are events of the run, so that they survive every analysis and go with every copy of the run; the
 * last event about an alert counts.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { NewSilence, Silence, SilencedAlerts } from './shapes/silence.ts';

/** The event of each change. */
export const SILENCE_EVENTS = {
  silence: 'alert_silenced',
  acknowledge: 'alert_acknowledged',
  undo: 'alert_unsilenced',
} as const;

/** What an event says. */
export type SaidEvent = {
  readonly eventType: string;
  readonly timeMs: number;
  readonly payload: JsonValue;
};

/** Whether an event is one of {@link SILENCE_EVENTS}. */
export function isSilenceEvent(eventType: string): boolean {
  return Object.values(SILENCE_EVENTS).some((one) => one === eventType);
}

/** The payload of the event of a silence. */
export function silencePayload(silence: NewSilence): JsonObject {
  const { by, reason, until } = silence;
  return { ...unsilencePayload(silence), reason, by, until };
}

/** The payload of the event that takes back what was said. */
export function unsilencePayload({ metricKey, moduleName, ruleId }: SilencedAlerts): JsonObject {
  return { rule_id: ruleId, module_name: moduleName, metric_key: metricKey };
}

/** The silences that events leave, in the order they were said; those that have ended included. Other events are passed over. */
export function silencesOfEvents(events: Iterable<SaidEvent>): readonly Silence[] {
  const known = new Map<string, Silence>();
  for (const { eventType, payload, timeMs } of events) {
    if (!isSilenceEvent(eventType)) continue;
    const text = (name: string): string | null => textOrNull(payload, name);
    const about = {
      ruleId: text('rule_id') ?? '',
      moduleName: text('module_name'),
      metricKey: text('metric_key'),
    };
    const key = JSON.stringify(about);
    known.delete(key);
    if (eventType === SILENCE_EVENTS.undo) continue;
    known.set(key, {
      ...about,
      kind: eventType === SILENCE_EVENTS.silence ? 'silence' : 'acknowledge',
      reason: text('reason') ?? '',
      by: text('by'),
      until: text('until'),
      atMs: timeMs,
    });
  }
  return [...known.values()];
}

/** A payload may be of any program. */
function textOrNull(payload: unknown, name: string): string | null {
  const value: unknown =
    typeof payload === 'object' && payload !== null ? Reflect.get(payload, name) : undefined;
  return typeof value === 'string' && value !== '' ? value : null;
}
