/** The scopes of a profile, and two profiles side by side, as tables. */
import type { JSX } from 'preact';
import type { Profile, ProfileLine, StepTotals } from 'quark-sdk/profiler';
import { formatCount, formatMeasuredSpan } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';
import { measureText } from './profile-text.ts';

/** Lines that are shown: a profile may have ten thousand checkpoints with names of their own. */
const MOST_LINES = 500;

/** The scopes of one name in the same scope, in a row. */
export function ScopeTable(props: {
  readonly profile: Profile;
  readonly lines: readonly ProfileLine[];
  readonly onShow: (line: ProfileLine) => void;
}): JSX.Element {
  const { lines, onShow } = props;
  const hasGpu = lines.some(({ scopes }) => peakOf(scopes, 'gpu_bytes') !== undefined);
  return (
    <div class="profile-table" tabIndex={0} role="region" aria-label={t('Scopes as a table')}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t('Scope')}</th>
            <th scope="col">{t('Times')}</th>
            <th scope="col">{t('Time')}</th>
            <th scope="col">{t('Peak')}</th>
            <th scope="col">{t('Change')}</th>
            {hasGpu && <th scope="col">{t('GPU peak')}</th>}
          </tr>
        </thead>
        <tbody>
          {lines.slice(0, MOST_LINES).map((line) => (
            <tr key={line.scopes[0]?.id}>
              <th scope="row" style={{ paddingLeft: `${line.depth * 18}px` }}>
                <button type="button" class="scope-name breakable" onClick={() => onShow(line)}>
                  {line.name}
                </button>
                {line.hasFailed && <span class="is-bad"> {t('failed')}</span>}
              </th>
              <td>{formatCount(line.scopes.length)}</td>
              <td>{formatMeasuredSpan(line.totalMs)}</td>
              <td>{bytesOr(peakOf(line.scopes, 'rss_bytes'))}</td>
              <td>
                {line.rssChange === null
                  ? '–'
                  : `${line.rssChange > 0 ? '+' : ''}${measureText('rss_bytes', line.rssChange)}`}
              </td>
              {hasGpu && <td>{bytesOr(peakOf(line.scopes, 'gpu_bytes'))}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {lines.length > MOST_LINES && (
        <p class="quiet small">
          {t('The first {shown} of {all} scopes. "quark profile" lists all of them.', {
            shown: formatCount(MOST_LINES),
            all: formatCount(lines.length),
          })}
        </p>
      )}
    </div>
  );
}

function peakOf(scopes: ProfileLine['scopes'], measure: string): number | undefined {
  return scopes.reduce<number | undefined>((most, { peaks }) => {
    const value = peaks[measure];
    return value === undefined ? most : Math.max(most ?? value, value);
  }, undefined);
}

function bytesOr(bytes: number | null | undefined): string {
  return bytes === null || bytes === undefined ? '–' : measureText('rss_bytes', bytes);
}

/** Times and peaks of the steps of two profiles. */
export function ComparedTable(props: {
  readonly steps: readonly {
    readonly name: string;
    readonly a: StepTotals | null;
    readonly b: StepTotals | null;
  }[];
  readonly names: readonly [string, string];
}): JSX.Element {
  const { names, steps } = props;
  return (
    <div
      class="profile-table"
      tabIndex={0}
      role="region"
      aria-label={t('Two profiles side by side')}
    >
      <table>
        <thead>
          <tr>
            <th scope="col">{t('Scope')}</th>
            {[t('Time'), t('Peak')].flatMap((what) =>
              names.map((name, at) => (
                // oxlint-disable-next-line react/no-array-index-key -- two runs may have one name
                <th key={`${what} ${at}`} scope="col">
                  {what}, <span class="breakable">{name}</span>
                </th>
              )),
            )}
          </tr>
        </thead>
        <tbody>
          {steps.slice(0, MOST_LINES).map(({ a, b, name }) => (
            <tr key={name}>
              <th scope="row" class="breakable">
                {name}
              </th>
              <td>{a === null ? '–' : formatMeasuredSpan(a.totalMs)}</td>
              <td>{b === null ? '–' : formatMeasuredSpan(b.totalMs)}</td>
              <td>{bytesOr(a?.rssPeakBytes)}</td>
              <td>{bytesOr(b?.rssPeakBytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
