/** Silencing an alert, acknowledging it, and taking that back. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { AlertRecord } from 'quark-sdk';
import type { Silence } from 'quark-sdk/analysis';
import { Button } from '../../parts/controls.tsx';
import { errorText, Warning } from '../../parts/notices.tsx';
import { account } from '../../sources/server-access.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import { silenceRefusal } from './silence-rights.ts';

type Kind = Silence['kind'];

/** What was said of an alert, and the way to say something. */
export function SilenceForm(props: {
  readonly feed: RunFeed;
  readonly alert: Omit<AlertRecord, 'toDict'>;
  readonly silence: Silence | undefined;
  /** Called when something was said or taken back. */
  readonly onSaid: () => void;
}): JSX.Element {
  const { alert, feed, onSaid, silence } = props;
  const asked = useSignal<Kind | undefined>(undefined);
  const isBusy = useSignal(false);
  const failure = useSignal<unknown>(undefined);
  const refusal = silenceRefusal(feed.reader.store);
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
  const say = async (kind: Kind, reason: string): Promise<void> => {
    const { AnalyzerEngine, alertIdentity } = await import('quark-sdk/analysis');
    const by = account.value?.user;
    await new AnalyzerEngine(feed.reader).silence({ ...alertIdentity(alert), kind, reason, by });
  };
  const undo = async (said: Silence): Promise<void> => {
    const { AnalyzerEngine } = await import('quark-sdk/analysis');
    const { metricKey, moduleName, ruleId } = said;
    await new AnalyzerEngine(feed.reader).unsilence({ metricKey, moduleName, ruleId });
  };
  return (
    <footer class="alert-foot small">
      {silence !== undefined && <p class="muted breakable">{sentence(silence)}</p>}
      {silence !== undefined && refusal === undefined && (
        <Button isSmall disabled={isBusy.value} onClick={() => void act(() => undo(silence))}>
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
          isBusy={isBusy.value}
          onCancel={() => {
            asked.value = undefined;
          }}
          onReason={(kind, reason) => void act(() => say(kind, reason))}
        />
      )}
      {failure.value !== undefined && (
        <Warning>It could not be stored: {errorText(failure.value)}</Warning>
      )}
    </footer>
  );
}

function ReasonForm(props: {
  readonly kind: Kind;
  readonly isBusy: boolean;
  readonly onCancel: () => void;
  readonly onReason: (kind: Kind, reason: string) => void;
}): JSX.Element {
  const { isBusy, kind, onCancel, onReason } = props;
  const reason = useSignal('');
  return (
    <form
      class="row wrap gap-6"
      onSubmit={(event) => {
        event.preventDefault();
        onReason(kind, reason.value.trim());
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
      <Button isSmall isPrimary type="submit" disabled={isBusy || reason.value.trim() === ''}>
        {kind === 'silence' ? 'Silence' : 'Acknowledge'}
      </Button>
      <Button isSmall onClick={onCancel}>
        Cancel
      </Button>
    </form>
  );
}

function sentence({ by, kind, reason, until }: Silence): string {
  const what = kind === 'silence' ? 'Silenced' : 'Acknowledged';
  const end = until === null ? '' : ` until ${until.slice(0, 16).replace('T', ' ')}`;
  return `${what}${by === null ? '' : ` by ${by}`}${end}: ${reason}`;
}
