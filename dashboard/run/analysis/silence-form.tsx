/** Silencing a cause and what follows from it, acknowledging it, and taking that back. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Silence } from 'quark-sdk/analysis';
import { changingIds, makeChanges, type PageChange } from '../../changes/page-changes.ts';
import { Button } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';
import { account } from '../../sources/server-access.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import { saidOf, sayingOf, takingBack, type AlertsOfCause, type Saying } from './alert-changes.ts';
import { sayingRefusal } from '../../changes/write-rights.ts';

type Kind = Silence['kind'];

/** What somebody asks for with the form. */
type Asked = {
  readonly kind: Kind;
  readonly reason: string;
  /** The last day on which it holds, `YYYY-MM-DD`; empty for ever. */
  readonly untilDay: string;
  /** Whether the alerts that follow from the cause are meant, too. */
  readonly isOfAll: boolean;
};

/** What was said of a group of alerts, and the way to say something. */
export function SilenceForm(props: {
  readonly feed: RunFeed;
  readonly group: AlertsOfCause;
  /** What was said of alerts, by their ids. */
  readonly silences: ReadonlyMap<string, Silence>;
  /** Called when something was said or taken back. */
  readonly onSaid: () => void;
}): JSX.Element {
  const { feed, group, onSaid, silences } = props;
  const asked = useSignal<Kind | undefined>(undefined);
  const refusal = sayingRefusal(feed.reader.store, t('silence alerts'), feed.run.projectName);
  const said = saidOf(group, silences);
  const [silence] = said;
  const change = async (one: PageChange): Promise<void> => {
    await makeChanges([one]);
    asked.value = undefined;
    onSaid();
  };
  const isBusy = changingIds.value.has(`${feed.run.id} alerts`);
  return (
    <footer class="alert-foot small">
      <SaidOfAlerts said={said} />
      {silence !== undefined && refusal === undefined && (
        <Button
          isSmall
          disabled={isBusy}
          onClick={() => void change(takingBack(feed, group, said))}
        >
          {silence.kind === 'silence' ? t('Undo silence') : t('Undo acknowledgement')}
        </Button>
      )}
      {silence === undefined && asked.value === undefined && (
        <div class="row wrap gap-6">
          {(['acknowledge', 'silence'] as const).map((kind) => (
            <Button
              key={kind}
              isSmall
              disabled={refusal !== undefined}
              title={refusal ?? hintOf(kind)}
              onClick={() => {
                asked.value = kind;
              }}
            >
              {kind === 'silence' ? t('Silence…') : t('Acknowledge…')}
            </Button>
          ))}
        </div>
      )}
      {asked.value !== undefined && (
        <ReasonForm
          kind={asked.value}
          followerCount={group.consequences.length}
          isBusy={isBusy}
          onCancel={() => {
            asked.value = undefined;
          }}
          onAsked={(what) => void change(sayingOf(feed, group, said, sayingAsked(what)))}
        />
      )}
    </footer>
  );
}

function hintOf(kind: Kind): string {
  return kind === 'silence'
    ? t('It lowers no score, and starts no action of a watch')
    : t('It is known: folded here, and it lowers the score as before');
}

/** Who said what, why, until when and when. */
function SaidOfAlerts({ said }: { readonly said: readonly Silence[] }): JSX.Element {
  const sentences = new Map(said.map((one) => [silenceText(one), one.atMs]));
  return (
    <>
      {[...sentences].map(([text, atMs]) => (
        <p key={text} class="muted breakable">
          <span dir="auto">{text}</span>{' '}
          <time class="quiet" dateTime={new Date(atMs).toISOString()}>
            {new Date(atMs).toLocaleString()}
          </time>
        </p>
      ))}
    </>
  );
}

function sayingAsked({ isOfAll, kind, reason, untilDay }: Asked): Saying {
  return {
    kind,
    reason,
    isOfAll,
    by: account.value?.user,
    // The day is that of the person who says it, and counts to its end.
    until: untilDay === '' ? null : new Date(`${untilDay}T23:59:59`),
  };
}

function ReasonForm(props: {
  readonly kind: Kind;
  readonly followerCount: number;
  readonly isBusy: boolean;
  readonly onCancel: () => void;
  readonly onAsked: (asked: Asked) => void;
}): JSX.Element {
  const { followerCount, isBusy, kind, onAsked, onCancel } = props;
  const reason = useSignal('');
  const untilDay = useSignal('');
  const isOfAll = useSignal(true);
  return (
    <form
      class="row wrap gap-6"
      onSubmit={(event) => {
        event.preventDefault();
        onAsked({
          kind,
          reason: reason.value.trim(),
          untilDay: untilDay.value,
          isOfAll: isOfAll.value,
        });
      }}
    >
      <label class="row gap-6">
        {kind === 'silence' ? t('Reason') : t('Note')}
        <input
          required
          autofocus
          maxLength={500}
          value={reason.value}
          onInput={(event) => {
            reason.value = event.currentTarget.value;
          }}
        />
      </label>
      <label class="row gap-6" title={t('The last day on which it holds. Left empty: for ever.')}>
        {t('Until')}
        <input
          type="date"
          min={today()}
          value={untilDay.value}
          onInput={(event) => {
            untilDay.value = event.currentTarget.value;
          }}
        />
      </label>
      {followerCount > 0 && (
        <label class="row gap-6">
          <input
            type="checkbox"
            checked={isOfAll.value}
            onInput={(event) => {
              isOfAll.value = event.currentTarget.checked;
            }}
          />
          {t('with what follows from it ({count})', { count: formatCount(followerCount) })}
        </label>
      )}
      <Button isSmall isPrimary type="submit" disabled={isBusy || reason.value.trim() === ''}>
        {kind === 'silence' ? t('Silence') : t('Acknowledge')}
      </Button>
      <Button isSmall onClick={onCancel}>
        {t('Cancel')}
      </Button>
    </form>
  );
}

/** The day at the person, `YYYY-MM-DD`. */
function today(): string {
  const now = new Date();
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
}

function silenceText({ by, kind, reason, until }: Silence): string {
  const end =
    until === null
      ? ''
      : ` ${t('until {date}', { date: new Date(until).toLocaleDateString('sv') })}`;
  const who = by === null ? '' : ` ${t('by {user}', { user: by })}`;
  return `${kind === 'silence' ? t('Silenced') : t('Acknowledged')}${who}${end}: ${reason}`;
}
