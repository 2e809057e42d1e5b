/** The profiles of a run: what needed time and memory, and what that means. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { findRuns, openRun, type Store } from 'quark-sdk';
import {
  compareProfiles,
  profileFindings,
  profileOutline,
  readProfiles,
  type Profile,
} from 'quark-sdk/profiler';
import { usePromise } from '../../parts/hooks.ts';
import type { AddressText } from '../../parts/address-text.ts';
import { useAddressed } from '../../parts/addressed.ts';
import { formatCount } from '../../parts/format.ts';
import { ErrorNotice, SectionHead, Waiting, Warning } from '../../parts/notices.tsx';
import { runNames } from '../../parts/run-name.ts';
import { t, tn } from '../../parts/t.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import { profileFindingText } from './profile-text.ts';
import { ComparedTable, ScopeTable } from './profile-table.tsx';
import { ProfileWaterfall } from './waterfall.tsx';
import type { ShownSpan } from './waterfall-layout.ts';
import './style.css';

const SPAN: AddressText<ShownSpan | undefined> = {
  write: (span) =>
    span === undefined ? undefined : `${rounded(span.startMs)}-${rounded(span.endMs)}`,
  read: (text) => {
    const [, from, to] = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text ?? '') ?? [];
    const [startMs, endMs] = [Number(from), Number(to)];
    return endMs > startMs ? { startMs, endMs } : undefined;
  },
};
const SCOPE: AddressText<number | undefined> = {
  write: (id) => (id === undefined ? undefined : String(id)),
  read: (text) => (text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined),
};

function rounded(ms: number): string {
  return String(Math.round(ms * 1000) / 1000);
}

/** Type of the event by which a profile begins. */
const PROFILER_STARTED = 'profiler_started';
/** Type of the events that the page reads a profile again for. */
const PROFILER_EVENT = /^profiler_/;
/** Runs that a profile can be compared with, the latest ones of the project. */
const OTHER_RUNS = 50;

/** Nothing for a run without profiles. */
export function RunProfiles({ feed }: { readonly feed: RunFeed }): JSX.Element | null {
  const eventCount = feed.events.filter(({ eventType }) => PROFILER_EVENT.test(eventType)).length;
  const isThere = feed.events.some(({ eventType }) => eventType === PROFILER_STARTED);
  const { error, found, retry } = usePromise(
    isThere ? `${feed.run.id} ${eventCount}` : undefined,
    () => readProfiles(feed.reader),
  );
  const index = useSignal<number | undefined>(undefined);
  if (!isThere) return null;
  if (error !== undefined)
    return <ErrorNotice title={t('The profile cannot be read')} error={error} onRetry={retry} />;
  if (found === undefined) return <Waiting label={t('Reading the profile')} />;
  const profiles = found.value;
  const profile = profiles[index.value ?? profiles.length - 1];
  if (profile === undefined) return null;
  return (
    <section class="profile" aria-label={t('Profile')}>
      <SectionHead title={t('Profile')}>
        {profiles.length > 1 && <ProfileChoice profiles={profiles} shown={profile} index={index} />}
      </SectionHead>
      <OneProfile key={profile.id} profile={profile} feed={feed} />
    </section>
  );
}

function ProfileChoice(props: {
  readonly profiles: readonly Profile[];
  readonly shown: Profile;
  readonly index: Signal<number | undefined>;
}): JSX.Element {
  const { index, profiles, shown } = props;
  return (
    <select
      class="input"
      aria-label={t('Which profile')}
      value={profiles.indexOf(shown)}
      onChange={(event) => {
        index.value = Number(event.currentTarget.value);
      }}
    >
      {profiles.map(({ id, startedAtMs }, at) => (
        <option key={id} value={at}>
          {new Date(startedAtMs).toLocaleString()}
        </option>
      ))}
    </select>
  );
}

function OneProfile({
  feed,
  profile,
}: {
  readonly feed: RunFeed;
  readonly profile: Profile;
}): JSX.Element {
  const span = useSignal<ShownSpan | undefined>(undefined);
  const chosen = useSignal<number | undefined>(undefined);
  useAddressed('span', span, SPAN);
  useAddressed('scope', chosen, SCOPE);
  const findings = profileFindings(profile);
  const { droppedCheckpoints } = profile;
  return (
    <div class="column gap-12">
      {findings.length > 0 && (
        <ul class="profile-findings">
          {findings.map((finding) => {
            const text = profileFindingText(finding);
            return (
              <li key={text} class="breakable" data-kind={finding.kind}>
                {text}
              </li>
            );
          })}
        </ul>
      )}
      {droppedCheckpoints > 0 && (
        <Warning>
          {tn(
            droppedCheckpoints,
            '{count} checkpoint beyond the limit was left out.',
            '{count} checkpoints beyond the limit were left out.',
            { count: formatCount(droppedCheckpoints) },
          )}
        </Warning>
      )}
      <ProfileWaterfall profile={profile} span={span} chosen={chosen} />
      <details>
        <summary>{t('Scopes as a table')}</summary>
        <ScopeTable
          profile={profile}
          lines={profileOutline(profile)}
          onShow={({ scopes }) => {
            chosen.value = scopes[0]?.id;
          }}
        />
      </details>
      <details>
        <summary>{t('Compare with another run')}</summary>
        <OtherProfile feed={feed} profile={profile} />
      </details>
    </div>
  );
}

/** The same steps in the last profile of another run of the project. */
function OtherProfile({
  feed,
  profile,
}: {
  readonly feed: RunFeed;
  readonly profile: Profile;
}): JSX.Element {
  const { store } = feed.reader;
  const { id, projectName } = feed.run;
  const otherId = useSignal<string | undefined>(undefined);
  const { found } = usePromise(projectName, (project) =>
    findRuns(store, { project }, { limit: OTHER_RUNS }),
  );
  const { error, found: other } = usePromise(otherId.value, (runId) => lastProfile(store, runId));
  const runs = (found?.value ?? []).map(({ run }) => run).filter((run) => run.id !== id);
  const names = runNames(runs);
  return (
    <div class="column gap-12">
      <select
        class="input"
        aria-label={t('The other run')}
        value={otherId.value ?? ''}
        onChange={(event) => {
          otherId.value = event.currentTarget.value === '' ? undefined : event.currentTarget.value;
        }}
      >
        <option value="">{t('Choose a run')}</option>
        {runs.map((run) => (
          <option key={run.id} value={run.id}>
            {names.get(run.id)}
          </option>
        ))}
      </select>
      {error !== undefined && <ErrorNotice title={t('The profile cannot be read')} error={error} />}
      {other !== undefined && other.value === null && (
        <p class="quiet">{t('That run has no profile.')}</p>
      )}
      {other !== undefined && other.value !== null && (
        <ComparedTable
          steps={compareProfiles(profile, other.value).steps}
          names={[t('this run'), names.get(other.value.runId ?? '') ?? t('the other run')]}
        />
      )}
    </div>
  );
}

async function lastProfile(store: Store, runId: string): Promise<Profile | null> {
  return (await readProfiles(await openRun(store, runId))).at(-1) ?? null;
}
