/** Whether what is recorded in this tab has reached the service. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { SyncStatus, SyncTask, TrainingSession } from 'quark-sdk';
import { unsentRuns } from '../../dashboard/sources/unsent-runs.ts';
import { Icon, type IconName } from '../../dashboard/parts/icons.tsx';
import { keepPolling } from '../../dashboard/parts/polling.ts';
import {
  destinationMark,
  findDestination,
  type Destination,
} from '../../dashboard/sources/destination.ts';
import {
  destinationText,
  leftoverText,
  syncText,
  unsentText,
  type SyncText,
  type SyncTone,
} from './sync-text.ts';
import { recording } from './training-state.ts';

const POLL_MS = 1000;

const ICONS: Readonly<Record<SyncTone, IconName>> = {
  off: 'cloud',
  ready: 'cloud',
  sent: 'check',
  sending: 'upload',
  waiting: 'clock',
  blocked: 'warning',
};

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

function RunSync({ session }: { readonly session: TrainingSession }): JSX.Element | null {
  const looked = useSignal<{ readonly status: SyncStatus; readonly atMs: number } | undefined>(
    undefined,
  );
  useEffect(
    () =>
      keepPolling(
        async () => {
          looked.value = { status: await session.syncStatus(), atMs: Date.now() };
        },
        () => POLL_MS,
        // The database is being closed, or is gone: what was seen last may no longer be so.
        () => {
          looked.value = undefined;
        },
      ),
    [session],
  );
  const found = looked.value;
  if (found === undefined) return null;
  if (found.status.state === 'off') return <DestinationLine say={unsentText} />;
  return <Line text={syncText(found.status, found.atMs)} />;
}

/** What earlier visits left to be sent; where there is nothing, where runs go. */
function Leftovers({ task }: { readonly task: SyncTask }): JSX.Element {
  const text = useSignal<SyncText | undefined>(undefined);
  useEffect(
    () =>
      keepPolling(
        async () => {
          text.value = leftoverText(await task.status(), Date.now());
        },
        () => POLL_MS,
        () => {
          text.value = undefined;
        },
      ),
    [task],
  );
  return text.value === undefined ? (
    <DestinationLine say={destinationText} />
  ) : (
    <Line text={text.value} />
  );
}

function DestinationLine(props: {
  readonly say: (destination: Destination) => SyncText;
}): JSX.Element | null {
  const destination = useSignal<Destination | undefined>(undefined);
  const mark = destinationMark.value;
  useEffect(() => {
    let isCurrent = true;
    void findDestination().then((found) => {
      if (isCurrent) destination.value = found;
    });
    return () => {
      isCurrent = false;
    };
  }, [mark]);
  return destination.value === undefined ? null : <Line text={props.say(destination.value)} />;
}

/** Read aloud is what the state is called; rows and seconds change too often for that. */
function Line({ text }: { readonly text: SyncText }): JSX.Element {
  return (
    <section
      class={`sync sync-${text.tone}`}
      aria-label="Sending to the service"
      data-sync={text.tone}
    >
      <span class="sync-icon">
        <Icon name={ICONS[text.tone]} />
      </span>
      <p class="sync-headline" role="status">
        {text.headline}
      </p>
      <p class="sync-detail">{text.detail}</p>
    </section>
  );
}
