/** What happened in a run, newest first. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { EventRecord } from 'quark-sdk';
import { countSeverities, eventText, SEVERITY_ORDER } from './event-text.ts';
import { formatCount } from '../../parts/format.ts';

const SHOWN_AT_FIRST = 50;

/** Events with their severity, filtered by it. `count` changes when events were added to the array. */
export function EventList(props: {
  readonly events: readonly EventRecord[];
  readonly count: number;
}): JSX.Element {
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  const shownCount = useSignal(SHOWN_AT_FIRST);
  const counts = countSeverities(props.events);
  const matching = props.events.filter(
    (event) => chosen.value.size === 0 || chosen.value.has(event.severity),
  );
  const shown = matching.slice(-shownCount.value).toReversed();
  return (
    <section class="events" aria-label="Events">
      <header class="section-head">
        <h2>Events</h2>
        <div class="chips" role="group" aria-label="Filter events by severity">
          {SEVERITY_ORDER.filter((severity) => (counts.get(severity) ?? 0) > 0).map((severity) => (
            <button
              key={severity}
              type="button"
              class={`chip chip-small severity-${severity}`}
              aria-pressed={chosen.value.has(severity)}
              onClick={() => {
                const next = new Set(chosen.value);
                if (!next.delete(severity)) next.add(severity);
                chosen.value = next;
              }}
            >
              {severity}
              <span class="chip-count">{formatCount(counts.get(severity) ?? 0)}</span>
            </button>
          ))}
        </div>
      </header>
      {props.events.length === 0 ? (
        <p class="nothing">Nothing has happened yet.</p>
      ) : (
        <ol class="event-list">
          {shown.map((event) => (
            <EventRow key={event.sequence ?? event.timestamp} event={event} />
          ))}
        </ol>
      )}
      {matching.length > shown.length && (
        <button
          type="button"
          class="button more"
          onClick={() => {
            shownCount.value += 200;
          }}
        >
          Show {formatCount(Math.min(200, matching.length - shown.length))} more
        </button>
      )}
    </section>
  );
}

function EventRow({ event }: { readonly event: EventRecord }): JSX.Element {
  const { text, exact, details } = eventText(event);
  const time = new Date(event.timestamp);
  return (
    <li class={`event severity-${event.severity}`} data-type={event.eventType}>
      <span class="event-mark" title={event.severity}>
        <span class="sr-only">{event.severity}</span>
      </span>
      <time dateTime={event.timestamp} title={time.toLocaleString()}>
        {time.toLocaleTimeString([], { hour12: false })}
      </time>
      <div class="event-body">
        <span class="event-type">{event.eventType}</span>
        <span class="event-text" title={exact}>
          {text}
        </span>
        {details !== undefined && (
          <details>
            <summary>Details</summary>
            <pre>{details}</pre>
          </details>
        )}
      </div>
      <span class="event-place">
        {event.epoch !== null && <span>epoch {formatCount(event.epoch)}</span>}
        {event.step !== null && <span>step {formatCount(event.step)}</span>}
      </span>
    </li>
  );
}
