/** What recording takes of the training thread, by part. */
import type { JSX } from 'preact';
import type { EventRecord } from 'quark-sdk';
import { overheadOf, type OverheadPart } from 'quark-sdk/profiler';
import { formatMeasuredSpan } from '../../parts/format.ts';
import { SectionHead } from '../../parts/notices.tsx';
import { t } from '../../parts/t.ts';
import { overheadPercent } from './overhead-text.ts';

/** Nothing for a run that measured none. */
export function Overhead(props: { readonly events: readonly EventRecord[] }): JSX.Element | null {
  const found = overheadOf(props.events);
  if (found === undefined || found.trainingMs <= 0) return null;
  const { budget, share, spentMs, trainingMs } = found;
  const names: Readonly<Record<OverheadPart, string>> = {
    callback: t('Callback'),
    log: t('Logging'),
    flush: t('Writing'),
    batches: t('Batches'),
    telemetry: t('Telemetry'),
    probes: t('Probes'),
  };
  return (
    <section class="profile" aria-label={t('Cost of recording')}>
      <SectionHead title={t('Cost of recording')} />
      <p class={share > budget ? 'is-bad' : 'quiet'}>
        {t('{share} of the training time, at most {budget}.', {
          share: overheadPercent(share),
          budget: overheadPercent(budget),
        })}
      </p>
      <div class="profile-table" tabIndex={0} role="region" aria-label={t('Cost of recording')}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t('Part')}</th>
              <th scope="col">{t('Share')}</th>
              <th scope="col">{t('Time')}</th>
            </tr>
          </thead>
          <tbody>
            {(Object.keys(names) as OverheadPart[]).map((part) => (
              <tr key={part}>
                <th scope="row">{names[part]}</th>
                <td>{overheadPercent(spentMs[part] / trainingMs)}</td>
                <td>{formatMeasuredSpan(spentMs[part])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
