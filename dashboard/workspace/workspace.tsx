/** Charts in sections: searched, folded, moved, sized, and saved as views. */
import {
  useComputed,
  useSignal,
  useSignalEffect,
  type ReadonlySignal,
  type Signal,
} from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { Store } from 'quark-sdk';
import { ChartToolbar } from '../charts/chart-toolbar.tsx';
import type { ChartProps, PanelContext } from '../charts/chart-state.ts';
import { rememberChartView, type ChartView } from '../charts/chart-view.ts';
import { useActions } from '../parts/actions.ts';
import { plainText } from '../parts/address-text.ts';
import { useAddressed } from '../parts/addressed.ts';
import { Button, IconButton } from '../parts/controls.tsx';
import { formatCount } from '../parts/format.ts';
import { t } from '../parts/t.ts';
import { AddPanel, searchOf } from './add-panel.tsx';
import { PageDialog } from './dialog.tsx';
import { changePanel, changeSection, dropPanel, shiftPanel } from './edit-layout.ts';
import { FormulaSource } from './formula-series.ts';
import { shownLayout, type Layout, type ShownPanel, type ShownSection } from './layout.ts';
import { MarksDialog, type NoteAccess } from './marks-dialog.tsx';
import { PanelDialog, SectionDialog } from './panel-dialog.tsx';
import { ViewsDialog } from './views-menu.tsx';
import { WorkspaceBar, type OpenDialog } from './workspace-bar.tsx';
import {
  FullPanel,
  WorkspacePanel,
  type Dragged,
  type PanelActions,
  type PanelSource,
  type SeveralCurves,
} from './workspace-panel.tsx';
import { WorkspaceState, type WorkspaceKind } from './workspace-state.ts';
import './workspace.css';

/** What a workspace shows, and where its views are saved. */
export type WorkspaceProps = {
  readonly store: Store;
  readonly project: string;
  readonly charts: ChartView;
  /** The metrics, or where each has several curves, those by their own keys. */
  readonly series: ChartProps['series'];
  /** Where each metric has several curves, such as those of several runs; `context` and `drawing` then know their keys. */
  readonly several?: SeveralCurves;
  /** What unsaved changes are remembered by in this browser, and what is shown without any; unless given, those of the page of a run. */
  readonly kind?: WorkspaceKind;
  /** What charts are searched by; unless given, a search of its own. */
  readonly search?: Signal<string>;
  /** Keys of the metrics that there are; the same list as long as none comes. */
  readonly keys: ReadonlySignal<readonly string[]>;
  readonly context: ReadonlySignal<PanelContext>;
  /** What else every chart is drawn with: names and styles of curves, marks, bands. */
  readonly drawing?: Partial<
    Pick<
      ChartProps,
      | 'axisMetricOf'
      | 'bands'
      | 'hrefOf'
      | 'marks'
      | 'nameOf'
      | 'onStyle'
      | 'ownerOf'
      | 'spreadOf'
      | 'styleOf'
    >
  >;
  /** How much of a long run has been read, 0 to 1, while the charts show an overview of it. */
  readonly readShare?: number | undefined;
  /** Why views cannot be saved here; undefined where they can. */
  readonly refusal: string | undefined;
  /** Notes at steps of the run; undefined where the charts are of several runs. */
  readonly notes?: NoteAccess | undefined;
};

/** The toolbar, the pinned panels, and the sections. */
export function Workspace(props: WorkspaceProps): JSX.Element {
  const { charts, kind, project, store } = props;
  const state = useMemo(
    () => new WorkspaceState({ store, project, charts, ...(kind === undefined ? {} : { kind }) }),
    [store, project, charts, kind],
  );
  const ownSearch = useSignal('');
  const { search = ownSearch } = props;
  const open = useSignal<OpenDialog | undefined>(undefined);
  useAddressed('find', search, plainText());
  useAddressed('layout', state.name, plainText());
  useEffect(() => void state.open(state.name.peek()), [state]);
  // The way back, and a link to another view of the same page.
  useSignalEffect(() => state.followName());
  useSignalEffect(() => {
    void state.current();
    void state.isChanged.value;
    state.remember();
  });
  useSignalEffect(() => rememberChartView(charts));
  const layout = useComputed(() =>
    shownLayout(state.view.value, props.keys.value, searchOf(search.value)),
  );
  const source = useSource(props, state);
  const dragged = useSignal<Dragged | undefined>(undefined);
  useWorkspaceActions(state, props.keys, layout, open);
  const parts: Parts = { ...props, state, layout, source, open, dragged };
  return (
    <>
      <h2 class="sr-only">{t('Charts')}</h2>
      <ChartToolbar view={charts} readShare={props.readShare} metrics={props.keys.value} />
      <WorkspaceBar
        state={state}
        search={search}
        open={open}
        hiddenCount={layout.value.hidden.length}
        hasMarks={props.drawing?.marks !== undefined}
        hasNotes={props.notes !== undefined}
      />
      {layout.value.pinned.length > 0 && (
        <section class="workspace-section" aria-label={t('Pinned')}>
          <header class="section-head row gap-8">
            <h3>{t('Pinned')}</h3>
          </header>
          <Grid {...parts} panels={layout.value.pinned} columns={state.view.value.columns} />
        </section>
      )}
      {layout.value.sections.map((shown) => (
        <Section key={shown.id} {...parts} shown={shown} isSearched={search.value.trim() !== ''} />
      ))}
      {layout.value.sections.length === 0 && layout.value.pinned.length === 0 && (
        <p class="nothing">{t('No chart has such a name.')}</p>
      )}
      <Dialogs {...parts} />
    </>
  );
}

function useWorkspaceActions(
  state: WorkspaceState,
  keys: WorkspaceProps['keys'],
  layout: ReadonlySignal<Layout>,
  open: Signal<OpenDialog | undefined>,
): void {
  useActions(() => [
    {
      id: 'workspace.undo',
      title: t('Undo the last change of the layout'),
      section: t('Charts'),
      keys: 'ctrl+z',
      run: () => state.undo(),
    },
    {
      id: 'workspace.find',
      title: t('Find a chart'),
      section: t('Charts'),
      keys: 'f',
      run: () => document.querySelector<HTMLElement>('.workspace-find')?.focus(),
    },
    {
      id: 'workspace.add',
      title: t('Add a chart'),
      section: t('Charts'),
      run: () => {
        open.value = { kind: 'add' };
      },
    },
    {
      id: 'workspace.views',
      title: t('Saved views of charts'),
      section: t('Charts'),
      run: () => {
        open.value = { kind: 'views' };
      },
    },
    {
      id: 'workspace.fold',
      title: t('Fold or unfold all sections'),
      section: t('Charts'),
      run: () => foldAll(state, keys.peek(), layout.peek()),
    },
  ]);
}

type Parts = WorkspaceProps & {
  readonly state: WorkspaceState;
  readonly layout: ReadonlySignal<Layout>;
  readonly source: PanelSource;
  readonly open: Signal<OpenDialog | undefined>;
  readonly dragged: Signal<Dragged | undefined>;
};

/** Metrics and formulas, with the extents of formulas those of their metrics. */
function useSource(props: WorkspaceProps, { choices }: WorkspaceState): PanelSource {
  const { charts, context, drawing, series, several } = props;
  const formulas = useMemo(
    () =>
      new FormulaSource({
        get: (key) => series.get(key, 'step'),
        lookAt: (keys) => series.lookAt?.(keys),
      }),
    [series],
  );
  const ranged = useComputed((): PanelContext => {
    const given = context.value;
    return {
      ...given,
      extentOf: (axis, keys) =>
        given.extentOf(axis, keys === undefined ? undefined : formulas.metricsOf(keys)),
    };
  });
  const shared = { ...drawing, view: charts, choices };
  if (several !== undefined) return { ...shared, series, several, context };
  return { ...shared, series: formulas, context: ranged };
}

function Section(
  props: Parts & { readonly shown: ShownSection; readonly isSearched: boolean },
): JSX.Element {
  const { keys, open, shown, state } = props;
  // What was searched for is seen, folded or not.
  const isFolded = shown.isFolded && !props.isSearched;
  const gridId = `section-${shown.id}`;
  return (
    <section class="workspace-section" data-section={shown.id} aria-label={shown.title}>
      <header class="section-head row gap-8">
        <h3>
          <button
            type="button"
            class="section-fold"
            aria-expanded={!isFolded}
            aria-controls={gridId}
            onClick={() =>
              state.edit((view) =>
                changeSection({ view, keys: keys.peek() }, shown.id, {
                  isFolded: shown.isFolded ? undefined : true,
                }),
              )
            }
          >
            <span class="section-arrow" aria-hidden="true" />
            {shown.title}
            <span class="quiet">{formatCount(shown.panels.length)}</span>
          </button>
        </h3>
        <IconButton
          class="push"
          icon="more"
          label={t('Settings of section {title}', { title: shown.title })}
          title={t('Title, columns, position and settings of this section')}
          aria-haspopup="dialog"
          onClick={() => {
            open.value = { kind: 'section', id: shown.id };
          }}
        />
      </header>
      <div id={gridId}>
        {!isFolded && (
          <Grid
            {...props}
            panels={shown.panels}
            section={shown}
            columns={shown.section.columns ?? state.view.value.columns}
          />
        )}
      </div>
    </section>
  );
}

const NOTHING = {};

function panelActions(
  { keys, open, state }: Parts,
  shown: ShownPanel,
  ids: readonly string[],
): PanelActions {
  return {
    shift: (by) => state.edit((view) => shiftPanel({ view, keys: keys.peek() }, shown.id, ids, by)),
    dropOn: (id) => state.edit((view) => dropPanel({ view, keys: keys.peek() }, shown.id, id)),
    setWidth: (width) =>
      state.edit((view) => changePanel({ view, keys: keys.peek() }, shown.id, { width })),
    openFull: () => {
      open.value = { kind: 'full', id: shown.id };
    },
    openSettings: () => {
      open.value = { kind: 'panel', id: shown.id };
    },
  };
}

function Grid(
  props: Parts & {
    readonly panels: readonly ShownPanel[];
    readonly section?: ShownSection;
    readonly columns: number | undefined;
  },
): JSX.Element {
  const { columns, dragged, layout, panels, source } = props;
  const ids = panels.map(({ id }) => id);
  const sections = new Map(layout.value.sections.map((one) => [one.id, one]));
  return (
    <div
      class="chart-grid"
      data-columns={columns}
      style={columns === undefined ? undefined : { '--columns': String(columns) }}
    >
      {panels.map((shown) => (
        <WorkspacePanel
          key={shown.id}
          shown={shown}
          source={source}
          section={props.section?.section ?? sections.get(shown.sectionId)?.section ?? NOTHING}
          sectionKeys={keysOfSection(sections.get(shown.sectionId))}
          dragged={dragged}
          actions={panelActions(props, shown, ids)}
        />
      ))}
    </div>
  );
}

function keysOfSection(section: ShownSection | undefined): readonly string[] {
  return section?.panels.flatMap(({ keys }) => keys) ?? [];
}

function Dialogs(props: Parts): JSX.Element | null {
  const { keys, layout, open, source, state } = props;
  const now = open.value;
  if (now === undefined) return null;
  const onClose = (): void => {
    if (open.peek() === now) open.value = undefined;
  };
  const { hidden, pinned, sections } = layout.value;
  if (now.kind === 'views')
    return <ViewsDialog state={state} refusal={props.refusal} onClose={onClose} />;
  if (now.kind === 'add') return <AddPanel state={state} keys={keys.value} onClose={onClose} />;
  if (now.kind === 'marks')
    return <MarksDialog state={state} access={props.notes} onClose={onClose} />;
  if (!('id' in now)) return <HiddenPanels {...props} onClose={onClose} />;
  if (now.kind === 'section') {
    const shown = sections.find(({ id }) => id === now.id);
    return shown === undefined ? null : (
      <SectionDialog state={state} keys={keys.value} shown={shown} onClose={onClose} />
    );
  }
  const all = [...pinned, ...sections.flatMap(({ panels }) => panels), ...hidden];
  const { id: wanted } = now;
  const shown = all.find(({ id }) => id === wanted);
  if (shown === undefined) return null;
  const home = sections.find(({ id }) => id === shown.sectionId);
  const section = home?.section ?? NOTHING;
  if (now.kind === 'full')
    return (
      <PageDialog title={shown.title} class="full-dialog" onClose={onClose}>
        <FullPanel
          shown={shown}
          source={source}
          section={section}
          sectionKeys={keysOfSection(home)}
        />
      </PageDialog>
    );
  return (
    <PanelDialog
      state={state}
      keys={keys.value}
      shown={shown}
      section={section}
      onClose={onClose}
      onFull={() => {
        open.value = { kind: 'full', id: shown.id };
      }}
    />
  );
}

function HiddenPanels(props: Parts & { readonly onClose: () => void }): JSX.Element {
  const { keys, layout, onClose, state } = props;
  return (
    <PageDialog title={t('Hidden charts')} onClose={onClose}>
      <ul class="note-list">
        {layout.value.hidden.map(({ id, title }) => (
          <li key={id} class="row gap-8">
            <span class="breakable">{title}</span>
            <Button
              isSmall
              class="push"
              onClick={() =>
                state.edit((view) =>
                  changePanel({ view, keys: keys.peek() }, id, { isHidden: undefined }),
                )
              }
            >
              {t('Show')}
            </Button>
          </li>
        ))}
      </ul>
    </PageDialog>
  );
}

/** Folds all sections, or unfolds them where all are folded. */
function foldAll(state: WorkspaceState, keys: readonly string[], { sections }: Layout): void {
  const isFolded = sections.every((one) => one.isFolded) ? undefined : true;
  state.edit((view) =>
    sections.reduce((now, { id }) => changeSection({ view: now, keys }, id, { isFolded }), view),
  );
}
