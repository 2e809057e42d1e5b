/** The controls of a workspace that are about its layout. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { VIEW_LIMITS } from 'quark-sdk/workspace';
import { Button } from '../parts/controls.tsx';
import { setting } from '../parts/signals.ts';
import { t, tn } from '../parts/t.ts';
import { ViewChoice } from './views-menu.tsx';
import type { WorkspaceState } from './workspace-state.ts';

/** What is open over the workspace. */
export type OpenDialog =
  | { readonly kind: 'views' | 'add' | 'marks' | 'hidden' }
  | { readonly kind: 'panel' | 'full' | 'section'; readonly id: string };

/** Search, columns, and the ways to views, own charts, marks and hidden charts. */
export function WorkspaceBar(props: {
  readonly state: WorkspaceState;
  readonly search: Signal<string>;
  readonly open: Signal<OpenDialog | undefined>;
  readonly hiddenCount: number;
  /** Whether there are marks to choose from. */
  readonly hasMarks: boolean;
  /** Whether notes can be read there. */
  readonly hasNotes: boolean;
}): JSX.Element {
  const { hiddenCount, open, search, state } = props;
  return (
    <div class="workspace-bar row wrap gap-8" role="toolbar" aria-label={t('Sections and views')}>
      <input
        class="input workspace-find"
        type="search"
        aria-label={t('Find charts')}
        placeholder={t('Find charts: words, or /pattern/')}
        title={t(
          'Words in the names of metrics, in any order, or a regular expression between slashes',
        )}
        value={search.value}
        onInput={(event) => {
          search.value = event.currentTarget.value;
        }}
      />
      <LayoutChoices state={state} />
      <Button isSmall aria-haspopup="dialog" onClick={setting(open, { kind: 'add' })}>
        {t('Add a chart')}
      </Button>
      {props.hasMarks && (
        <Button isSmall aria-haspopup="dialog" onClick={setting(open, { kind: 'marks' })}>
          {props.hasNotes ? t('Marks and notes') : t('Marks')}
        </Button>
      )}
      {state.past.value.length > 0 && (
        <Button
          isSmall
          title={t('Take the last change of the layout back (Ctrl+Z)')}
          onClick={() => state.undo()}
        >
          {t('Undo')}
        </Button>
      )}
      {hiddenCount > 0 && (
        <Button isSmall aria-haspopup="dialog" onClick={setting(open, { kind: 'hidden' })}>
          {tn(hiddenCount, '{count} hidden', '{count} hidden')}
        </Button>
      )}
      <span class="push">
        <ViewChoice state={state} onMore={setting(open, { kind: 'views' })} />
      </span>
      {state.problem.value !== undefined && open.value?.kind !== 'views' && (
        <p class="problem small" role="alert">
          {state.problem.value}
        </p>
      )}
    </div>
  );
}

/** How many charts are in a row, and what shares one. */
function LayoutChoices({ state }: { readonly state: WorkspaceState }): JSX.Element {
  return (
    <>
      <label class="row gap-6 quiet small">
        <span>{t('In a row')}</span>
        <select
          class="input"
          value={state.view.value.columns ?? ''}
          onChange={(event) => {
            const { value } = event.currentTarget;
            state.edit(({ columns: _columns, ...view }) =>
              value === '' ? view : { ...view, columns: Number(value) },
            );
          }}
        >
          <option value="">{t('as many as fit')}</option>
          {Array.from({ length: VIEW_LIMITS.columns }, (_, at) => at + 1).map((count) => (
            <option key={count} value={count}>
              {count}
            </option>
          ))}
        </select>
      </label>
      <label
        class="switch small"
        title={t('Metrics of one name, such as train/loss and val/loss, in one chart')}
      >
        <input
          type="checkbox"
          checked={state.view.value.joinsSplits !== false}
          onChange={(event) => {
            const { checked } = event.currentTarget;
            state.edit(({ joinsSplits: _joins, ...view }) =>
              checked ? view : { ...view, joinsSplits: false },
            );
          }}
        />
        <span>{t('Join splits')}</span>
      </label>
    </>
  );
}
