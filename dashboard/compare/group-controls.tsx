/** What makes runs a group, and what is shown of a group. */
import type { JSX } from 'preact';
import {
  BAND_KINDS,
  RUN_GROUPINGS,
  varyingSettings,
  type BandKind,
  type RunGrouping,
} from 'quark-sdk/analysis';
import { useActions } from '../parts/actions.ts';
import { Segmented } from '../parts/controls.tsx';
import { setterOf } from '../parts/signals.ts';
import { t } from '../parts/t.ts';
import { groupingOf, type ComparisonState } from './comparison-state.ts';

/** Settings that are offered. */
const MAX_OFFERED = 200;

/** What a grouping is called. */
export function groupingLabel(by: RunGrouping): string {
  switch (by) {
    case 'config':
      return t('Same configuration but for seeds');
    case 'group':
      return t('Groups of the runs');
    case 'tag':
      return t('Tags');
    case 'job_type':
      return t('Type of job');
    default:
      return by.slice('config.'.length);
  }
}

/** What a band is, in words. */
export function bandText(kind: BandKind): string {
  switch (kind) {
    case 'interval':
      return t(
        'Lines are means of the runs of a group; bands are 95 % confidence intervals of the mean (Student).',
      );
    case 'deviation':
      return t(
        'Lines are means of the runs of a group; bands are one standard deviation to each side.',
      );
    case 'range':
      return t(
        'Lines are means of the runs of a group; bands go from the lowest run to the highest.',
      );
  }
}

function bandLabel(kind: BandKind): string {
  switch (kind) {
    case 'interval':
      return t('95 % interval');
    case 'deviation':
      return t('Deviation');
    case 'range':
      return t('Min to max');
  }
}

/** The choice of a grouping. */
export function GroupChoice({ state }: { readonly state: ComparisonState }): JSX.Element {
  void state.recordsRevision.value;
  const { grouping } = state;
  const settings = varyingSettings(state.runs.summaries.map(({ run }) => run));
  useActions(() => [
    {
      id: 'compare.group',
      title: t('Group runs that differ in seeds only'),
      section: t('Comparison'),
      keys: 'g',
      run: () => {
        grouping.value = grouping.peek() === undefined ? 'config' : undefined;
      },
    },
  ]);
  return (
    <label class="compare-choice inline gap-8 muted small">
      <span>{t('Group by')}</span>
      <select
        class="input"
        value={grouping.value ?? ''}
        onChange={(event) => {
          grouping.value = groupingOf(event.currentTarget.value);
        }}
      >
        <option value="">{t('Nothing: each run by itself')}</option>
        {RUN_GROUPINGS.map((by) => (
          <option key={by} value={by}>
            {groupingLabel(by)}
          </option>
        ))}
        <optgroup label={t('A setting')}>
          {settings.slice(0, MAX_OFFERED).map((path) => (
            <option key={path} value={`config.${path}`}>
              {path}
            </option>
          ))}
        </optgroup>
      </select>
    </label>
  );
}

/** The choice of what is drawn around the mean of a group; nothing where runs stand for themselves. */
export function BandChoice({ state }: { readonly state: ComparisonState }): JSX.Element | null {
  if (state.grouping.value === undefined) return null;
  return (
    <Segmented
      label={t('Band')}
      options={BAND_KINDS.map((value) => ({ value, label: bandLabel(value) }))}
      value={state.band.value}
      onChange={setterOf(state.band)}
    />
  );
}

/** The field that names of metrics or settings are searched by. */
export function SearchField(props: {
  readonly state: ComparisonState;
  readonly label: string;
}): JSX.Element {
  const { label, state } = props;
  return (
    <input
      type="search"
      class="input compare-search"
      aria-label={label}
      placeholder={label}
      value={state.search.value}
      onInput={(event) => {
        state.search.value = event.currentTarget.value;
      }}
    />
  );
}

/** Whether a name has what is searched, whatever the case. */
export function hasText(name: string, search: string): boolean {
  return name.toLowerCase().includes(search.trim().toLowerCase());
}
