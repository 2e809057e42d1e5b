/** By which metrics the run was judged, and the way to say otherwise: what is said is remembered with the run. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { AskedRoles, RoleName } from 'quark-sdk';
import { Button } from '../../parts/controls.tsx';
import { errorText, Warning } from '../../parts/notices.tsx';
import type { RunFeed } from '../../series/run-feed.ts';
import type { RunAnalysis } from '../../worker/run-analysis.ts';
import { sayingRefusal } from '../../changes/write-rights.ts';
import { t } from '../../parts/t.ts';

/** Choices that are no metric. */
const BY_NAME = '';
const NONE = '\0none';

/** The line about roles, and the form behind it. */
export function RolesForm(props: {
  readonly feed: RunFeed;
  readonly analysis: RunAnalysis;
  /** Called when roles were stored: the run is judged again. */
  readonly onSaid: () => void;
}): JSX.Element | null {
  const { analysis, feed, onSaid } = props;
  const isOpen = useSignal(false);
  const refusal = sayingRefusal(
    feed.reader.store,
    t('say which metric plays which role'),
    feed.run.projectName,
  );
  if (analysis.metricKeys.length === 0) return null;
  return (
    <div class="judged-by small">
      <p class="row wrap gap-6">
        <span class="quiet breakable">
          {analysis.judgedBy === ''
            ? t('No metric plays a role.')
            : t('Judged by {metrics}.', { metrics: analysis.judgedBy })}
        </span>
        {!isOpen.value && (
          <Button
            isSmall
            disabled={refusal !== undefined}
            title={refusal ?? t('Say which metrics the run is judged by')}
            onClick={() => {
              isOpen.value = true;
            }}
          >
            {t('Change…')}
          </Button>
        )}
      </p>
      {isOpen.value && (
        <Choices
          feed={feed}
          analysis={analysis}
          onDone={(isSaid) => {
            isOpen.value = false;
            if (isSaid) onSaid();
          }}
        />
      )}
    </div>
  );
}

function Choices(props: {
  readonly feed: RunFeed;
  readonly analysis: RunAnalysis;
  readonly onDone: (isSaid: boolean) => void;
}): JSX.Element {
  const { analysis, feed, onDone } = props;
  const chosen = useSignal<AskedRoles>(analysis.askedRoles);
  const isBusy = useSignal(false);
  const failure = useSignal<unknown>(undefined);
  const save = async (): Promise<void> => {
    isBusy.value = true;
    failure.value = undefined;
    try {
      const { AnalyzerEngine } = await import('quark-sdk/analysis');
      await new AnalyzerEngine(feed.reader).rememberRoles(chosen.value);
      onDone(true);
    } catch (error) {
      failure.value = error;
      isBusy.value = false;
    }
  };
  return (
    <form
      class="roles-form"
      aria-label={t('Roles of metrics')}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {analysis.played.map(({ key, noun, role }) => (
        <label key={role}>
          <span>{noun}</span>
          <select
            value={valueOf(chosen.value[role])}
            onChange={(event) => {
              chosen.value = { ...chosen.value, [role]: roleOf(event.currentTarget.value) };
            }}
          >
            <option value={BY_NAME}>{byName(analysis, role, key)}</option>
            <option value={NONE}>{t('none')}</option>
            {analysis.metricKeys.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      ))}
      <div class="row wrap gap-6">
        <Button isSmall isPrimary type="submit" disabled={isBusy.value}>
          {t('Judge by these')}
        </Button>
        <Button isSmall onClick={() => onDone(false)}>
          {t('Cancel')}
        </Button>
      </div>
      {failure.value !== undefined && (
        <Warning>
          {t('It could not be stored: {error}', { error: errorText(failure.value) })}
        </Warning>
      )}
    </form>
  );
}

function valueOf(key: string | null | undefined): string {
  return key === null ? NONE : (key ?? BY_NAME);
}

function roleOf(value: string): string | null | undefined {
  if (value === NONE) return null;
  return value === BY_NAME ? undefined : value;
}

/** What a role is without anybody saying so; where somebody has, nobody knows before it is tried. */
function byName({ askedRoles }: RunAnalysis, role: RoleName, key: string | null): string {
  if (askedRoles[role] !== undefined) return t('by name');
  return key === null ? t('by name (none found)') : t('by name ({key})', { key });
}
