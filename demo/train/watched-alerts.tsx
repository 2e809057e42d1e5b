/** What the rules say of the training under way, as it comes. */
import type { JSX } from 'preact';
import type { AlertRecord } from 'quark-sdk';
import type { AlertGroup } from 'quark-sdk/analysis';
import type { XRange } from '../../dashboard/charts/reduce.ts';
import { formatCount } from '../../dashboard/parts/format.ts';
import { SectionHead, errorText } from '../../dashboard/parts/notices.tsx';
import { AlertList } from '../../dashboard/run/analysis/alert-list.tsx';
import { watching } from './training-state.ts';
import { t } from '../../dashboard/parts/t.ts';

/** Alerts, the latest first. Nothing before somebody watches. */
export function WatchedAlerts(props: {
  readonly isLive: boolean;
  /** Shows these steps in the charts below. */
  readonly onShow: (range: XRange) => void;
}): JSX.Element | null {
  const watched = watching.value;
  if (watched === undefined) return null;
  const { alerts, problem } = watched;
  return (
    <section class="train-alerts" aria-label={t('Alerts')}>
      <SectionHead title={t('Alerts')}>
        <span class="quiet" role="status">
          {stateText(alerts.length, problem, props.isLive)}
        </span>
      </SectionHead>
      {alerts.length > 0 && (
        <div class="train-alert-list" tabIndex={0} role="group" aria-label={t('Alerts so far')}>
          <AlertList groups={alerts.toReversed().map(alone)} axis="step" onShow={props.onShow} />
        </div>
      )}
    </section>
  );
}

/** While a training goes on, alerts stay in the order in which they came. */
function alone(cause: AlertRecord): AlertGroup {
  return { cause, severity: cause.severity, consequences: [] };
}

function stateText(count: number, problem: unknown, isLive: boolean): string {
  if (problem !== undefined)
    return t('There are no alerts, as the rules could not be loaded: {error}', {
      error: errorText(problem),
    });
  if (count > 0) return formatCount(count);
  return isLive ? t('No alerts so far.') : t('No alerts.');
}
