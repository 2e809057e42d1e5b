/** Silencing a cause and what follows from it, acknowledging it, and taking that back. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { AlertRecord } from 'quark-sdk';
import type { AlertGroup, Silence } from 'quark-sdk/analysis';
import { Button } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { errorText, Warning } from '../../parts/notices.tsx';
import { account } from '../../sources/server-access.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import { sayingRefusal } from './write-rights.ts';

type Kind = Silence['kind'];
type Group = AlertGroup<Omit<AlertRecord, 'toDict'>>;

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
  readonly group: Group;
  /** What was said of alerts, by their ids. */
  readonly silences: ReadonlyMap<string, Silence>;
  /** Called when something was said or taken back. */
  readonly onSaid: () => void;
}): JSX.Element {
  const { feed, group, onSaid, silences } = props;
  const asked = useSignal<Kind | undefined>(undefined);
  const isBusy = useSignal(false);
  const failure = useSignal<unknown>(undefined);
  const refusal = sayingRefusal(feed.reader.store, 'silence alerts');
  const said = saidOf(group, silences);
  const [silence] = said;
  const act = async (work: () => Promise<unknown>): Promise<void> => {
    isBusy.value = true;
    failure.value = undefined;
    try {
      await work();
      asked.value = undefined;
      onSaid();
    } catch (error) {
      failure.value = error;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <footer class="alert-foot small">
      {[...new Set(said.map(sentence))].map((text) => (
        <p key={text} class="muted breakable">
          {text}
        </p>
      ))}
      {silence !== undefined && refusal === undefined && (
        <Button isSmall disabled={isBusy.value} onClick={() => void act(() => undo(feed, said))}>
          {silence.kind === 'silence' ? 'Undo silence' : 'Undo acknowledgement'}
        </Button>
      )}
      {silence === undefined && asked.value === undefined && (
        <div class="row wrap gap-6">
          {(['silence', 'acknowledge'] as const).map((kind) => (
            <Button
              key={kind}
              isSmall
              disabled={refusal !== undefined}
              title={refusal}
              onClick={() => {
                asked.value = kind;
              }}
            >
              {kind === 'silence' ? 'Silence…' : 'Acknowledge…'}
            </Button>
          ))}
        </div>
      )}
      {asked.value !== undefined && (
        <ReasonForm
          kind={asked.value}
          followerCount={group.consequences.length}
          isBusy={isBusy.value}
          onCancel={() => {
            asked.value = undefined;
          }}
          onAsked={(what) => void act(() => say(feed, group, what))}
        />
      )}
      {failure.value !== undefined && (
        <Warning>It could not be stored: {errorText(failure.value)}</Warning>
      )}
    </footer>
  );
}

async function say(feed: RunFeed, group: Group, asked: Asked): Promise<void> {
  const { AnalyzerEngine, alertIdentity } = await import('quark-sdk/analysis');
  const { isOfAll, kind, reason, untilDay } = asked;
  const by = account.value?.user;
  // The day is that of the person who says it, and counts to its end.
  const until = untilDay === '' ? null : new Date(`${untilDay}T23:59:59`);
  const alerts = isOfAll ? [group.cause, ...group.consequences] : [group.cause];
  const known = new Set<string>();
  for (const alert of alerts) {
    const about = alertIdentity(alert);
    const key = JSON.stringify(about);
    if (known.has(key)) continue;
    known.add(key);
    await new AnalyzerEngine(feed.reader).silence({ ...about, kind, reason, by, until });
  }
}

async function undo(feed: RunFeed, said: readonly Silence[]): Promise<void> {
  const { AnalyzerEngine } = await import('quark-sdk/analysis');
  for (const { metricKey, moduleName, ruleId } of said)
    await new AnalyzerEngine(feed.reader).unsilence({ metricKey, moduleName, ruleId });
}

/** What was said of the alerts of a group, each silence once, that of the cause first. */
function saidOf(
  { cause, consequences }: Group,
  silences: ReadonlyMap<string, Silence>,
): readonly Silence[] {
  return [...new Set([cause, ...consequences].flatMap(({ id }) => silences.get(id) ?? []))];
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
        Reason
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
      <label class="row gap-6" title="The last day on which it holds. Left empty: for ever.">
        Until
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
          with what follows from it ({formatCount(followerCount)})
        </label>
      )}
      <Button isSmall isPrimary type="submit" disabled={isBusy || reason.value.trim() === ''}>
        {kind === 'silence' ? 'Silence' : 'Acknowledge'}
      </Button>
      <Button isSmall onClick={onCancel}>
        Cancel
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

function sentence({ by, kind, reason, until }: Silence): string {
  const what = kind === 'silence' ? 'Silenced' : 'Acknowledged';
  const end = until === null ? '' : ` until ${new Date(until).toLocaleDateString('sv')}`;
  return `${what}${by === null ? '' : ` by ${by}`}${end}: ${reason}`;
}
