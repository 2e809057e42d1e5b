/** Whether what is recorded in this tab has reached the service. */
import type { JSX } from 'preact';
import type { SyncTask, TrainingSession } from 'quark-sdk';
import { useLatest, usePromise } from '../../dashboard/parts/hooks.ts';
import { Icon, type IconName } from '../../dashboard/parts/icons.tsx';
import {
  destinationMark,
  findDestination,
  type Destination,
} from '../../dashboard/sources/destination.ts';
import { unsentRuns } from '../../dashboard/sources/unsent-runs.ts';
import {
  destinationText,
  leftoverText,
  syncText,
  unsentText,
  type SyncText,
  type SyncTone,
} from './sync-text.ts';
import { recording } from './training-state.ts';
import { t } from '../../dashboard/parts/t.ts';

const POLL_MS = 1000;

/** How each state looks: a drawing, and the colour behind it. */
const LOOKS: Readonly<Record<SyncTone, { readonly icon: IconName; readonly tone: string }>> = {
  off: { icon: 'cloud', tone: 'none' },
  ready: { icon: 'cloud', tone: 'none' },
  sent: { icon: 'check', tone: 'live' },
  sending: { icon: 'upload', tone: 'accent' },
  waiting: { icon: 'clock', tone: 'paused' },
  blocked: { icon: 'warning', tone: 'bad' },
};

/** Colours of the words of some states. */
const HEADLINES: Readonly<Partial<Record<SyncTone, string>>> = { off: 'muted', blocked: 'is-bad' };

/** The status of the run in this tab; before there is one, where runs go. */
export function SyncIndicator(): JSX.Element | null {
  const session = recording.value;
  const task = unsentRuns.value;
  if (session === undefined && task !== undefined)
    return <Leftovers key={task.target.uri} task={task} />;
  return session === undefined ? (
    <DestinationLine say={destinationText} />
  ) : (
    <RunSync key={session.runId} session={session} />
  );
}

/** Nothing while the database is being closed, or is gone: what was read last may no longer be so. */
function RunSync({ session }: { readonly session: TrainingSession }): JSX.Element | null {
  const status = useLatest(() => session.syncStatus(), POLL_MS, [session]);
  if (status === undefined) return null;
  if (status.state === 'off') return <DestinationLine say={unsentText} />;
  return <Line text={syncText(status, Date.now())} />;
}

/** What earlier visits left to be sent; where there is nothing, where runs go. */
function Leftovers({ task }: { readonly task: SyncTask }): JSX.Element {
  const status = useLatest(() => task.status(), POLL_MS, [task]);
  const text = status && leftoverText(status, Date.now());
  return text === undefined ? <DestinationLine say={destinationText} /> : <Line text={text} />;
}

function DestinationLine(props: {
  readonly say: (destination: Destination) => SyncText;
}): JSX.Element | null {
  const { found } = usePromise(destinationMark.value ?? '', findDestination);
  return found === undefined ? null : <Line text={props.say(found.value)} />;
}

/** Read aloud is what the state is called; rows and seconds change too often for that. */
function Line({ text }: { readonly text: SyncText }): JSX.Element {
  const { icon, tone } = LOOKS[text.tone];
  return (
    <section class="sync" aria-label={t('Sending to the service')} data-sync={text.tone}>
      <span class={`sync-icon disc tone-${tone}`}>
        <Icon name={icon} />
      </span>
      <p class={`sync-headline ${HEADLINES[text.tone] ?? ''}`} role="status">
        {text.headline}
      </p>
      <p class="sync-detail quiet small breakable">{text.detail}</p>
    </section>
  );
}
