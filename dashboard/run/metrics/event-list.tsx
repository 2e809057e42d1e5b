/** What happened in a run, newest first. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { EventRecord } from 'quark-sdk';
import { eventText, SEVERITY_ORDER } from '../../annotations/event-text.ts';
import { Button, Chip } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { countBy } from '../../parts/maps.ts';
import { SectionHead } from '../../parts/notices.tsx';
import { adding, toggled } from '../../parts/signals.ts';
import './style.css';
import { t } from '../../parts/t.ts';

const SHOWN_AT_FIRST = 50;
const SHOWN_MORE = 200;

/** Events with their severity, filtered by it. `count` changes when events were added to the array. */
export function EventList(props: {
  readonly events: readonly EventRecord[];
  readonly count: number;
}): JSX.Element {
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  const shownCount = useSignal(SHOWN_AT_FIRST);
  const counts = countBy(props.events, ({ severity }) => severity);
  const matching = props.events.filter(
    // What a program says of its own working, a profile with thousands of checkpoints among it, is there for those who ask.
    ({ severity }) => (chosen.value.size === 0 ? severity !== 'debug' : chosen.value.has(severity)),
  );
  const shown = matching.slice(-shownCount.value).toReversed();
  return (
    <section class="events" aria-label={t('Events')}>
      <SectionHead title={t('Events')}>
        <div class="row wrap gap-6" role="group" aria-label={t('Filter events by severity')}>
          {SEVERITY_ORDER.filter((severity) => counts.has(severity)).map((severity) => (
            <Chip
              key={severity}
              class={`chip-small severity-${severity}`}
              isOn={chosen.value.has(severity)}
              count={formatCount(counts.get(severity) ?? 0)}
              onClick={() => {
                chosen.value = toggled(chosen.value, severity);
              }}
            >
              <span class="dot" aria-hidden="true" />
              {severity}
            </Chip>
          ))}
        </div>
      </SectionHead>
      {props.events.length === 0 ? (
        <p class="nothing">{t('Nothing has happened yet.')}</p>
      ) : (
        <ol class="card ruled">
          {shown.map((event) => (
            <EventRow key={event.sequence ?? event.timestamp} event={event} />
          ))}
        </ol>
      )}
      {matching.length > shown.length && (
        <Button class="more" onClick={adding(shownCount, SHOWN_MORE)}>
          {t('Show {count} more', {
            count: formatCount(Math.min(SHOWN_MORE, matching.length - shown.length)),
          })}
        </Button>
      )}
    </section>
  );
}

/** Grave events are told by shape as well. */
function shapeOf(severity: EventRecord['severity']): string {
  if (severity === 'warning') return 'dot-square';
  return severity === 'error' || severity === 'critical' ? 'dot-diamond' : '';
}

function EventRow({ event }: { readonly event: EventRecord }): JSX.Element {
  const { text, exact, details } = eventText(event);
  const time = new Date(event.timestamp);
  return (
    <li class={`event severity-${event.severity}`} data-type={event.eventType}>
      <span class={`event-mark dot ${shapeOf(event.severity)}`} title={event.severity}>
        <span class="sr-only">{event.severity}</span>
      </span>
      <time class="quiet small nowrap" dateTime={event.timestamp} title={time.toLocaleString()}>
        {time.toLocaleTimeString([], { hour12: false })}
      </time>
      <div>
        <span class="event-type muted code">{event.eventType}</span>
        <span class="event-text breakable" title={exact}>
          {text}
        </span>
        {details !== undefined && (
          <details>
            <summary class="quiet">{t('Details')}</summary>
            <pre>{details}</pre>
          </details>
        )}
      </div>
      <span class="event-position row baseline gap-12 quiet small nowrap">
        {event.epoch !== null && (
          <span>{t('epoch {epoch}', { epoch: formatCount(event.epoch) })}</span>
        )}
        {event.step !== null && <span>{t('step {step}', { step: formatCount(event.step) })}</span>}
      </span>
    </li>
  );
}
