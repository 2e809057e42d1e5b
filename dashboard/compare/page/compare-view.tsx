/** The page that compares runs: their curves, values, settings, phases, and what many of them say together. */
import { useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { Store } from 'quark-sdk';
import { isGrowing } from '../../dropped/dropped-files.ts';
import { useActions } from '../../parts/actions.ts';
import { choiceText } from '../../parts/address-text.ts';
import { useAddressed } from '../../parts/addressed.ts';
import { usePolling } from '../../parts/hooks.ts';
import { LazyView } from '../../parts/lazy-view.tsx';
import { Crumb, ErrorNotice, Waiting, Warning } from '../../parts/notices.tsx';
import { t, tn } from '../../parts/t.ts';
import { CompareFeed } from '../compare-feed.ts';
import { ComparedMedia } from '../compared-media.tsx';
import { ComparedRuns, MAX_RUNS } from '../compared-runs.ts';
import {
  createChoices,
  useComparisonAddress,
  type ComparisonState,
  type ComparisonTabProps,
} from '../comparison-state.ts';
import { giveStyles } from '../run-styles.ts';
import '../style.css';

const LIVE_POLL_MS = 2500;
const ENDED_POLL_MS = 15_000;
const GROWING_POLL_MS = 500;

type Tab = {
  readonly id: string;
  readonly title: () => string;
  readonly load: () => Promise<{ readonly default: ComponentType<ComparisonTabProps> }>;
};

/** In the order in which they are shown; the first is the one of an address that names none. */
const TABS: readonly Tab[] = [
  { id: 'charts', title: () => t('Charts'), load: () => import('../charts/view.tsx') },
  { id: 'values', title: () => t('Values'), load: () => import('../values/view.tsx') },
  {
    id: 'settings',
    title: () => t('Settings and code'),
    load: () => import('../settings/view.tsx'),
  },
  { id: 'phases', title: () => t('Phases and alerts'), load: () => import('../phases/view.tsx') },
  { id: 'parallel', title: () => t('Parallel axes'), load: () => import('../parallel/view.tsx') },
  { id: 'scatter', title: () => t('Scatter'), load: () => import('../scatter/view.tsx') },
  { id: 'importance', title: () => t('Importance'), load: () => import('../importance/view.tsx') },
];
const TAB_IDS: readonly [string, ...string[]] = ['charts', ...TABS.slice(1).map(({ id }) => id)];

/** Loads all tabs, for a page that may lose its network. */
export async function loadTabs(): Promise<void> {
  await Promise.all(TABS.map(({ load }) => load()));
}

/** The page that compares runs. */
export default function ComparePage(props: {
  readonly store: Store;
  readonly runIds: readonly string[];
}): JSX.Element {
  const { runIds, store } = props;
  const text = runIds.join();
  return <ComparisonPage key={text} store={store} runIds={runIds} />;
}

function ComparisonPage(props: {
  readonly store: Store;
  readonly runIds: readonly string[];
}): JSX.Element {
  const { runIds, store } = props;
  const recordsRevision = useSignal(0);
  const curvesRevision = useSignal(0);
  const state = useMemo((): ComparisonState => {
    const feed = new CompareFeed(store);
    const runs = new ComparedRuns(store, runIds);
    feed.show(runs.runIds);
    return { store, runs, feed, recordsRevision, curvesRevision, ...createChoices() };
  }, []);
  const tab = useSignal<string>(TAB_IDS[0]);
  useComparisonAddress(state);
  useAddressed('tab', tab, choiceText(TAB_IDS), 'push');
  useMemo(() => giveStyles(state.runs.runIds), []);
  const { error, isRead, retry } = usePolling(
    async () => {
      if (await state.runs.poll()) recordsRevision.value += 1;
    },
    () => {
      if (isGrowing(store)) return GROWING_POLL_MS;
      return state.runs.isLive ? LIVE_POLL_MS : ENDED_POLL_MS;
    },
    [state],
  );
  useTabActions(tab);
  void recordsRevision.value;
  const { summaries } = state.runs;
  const hasRuns = isRead.value && summaries.length > 0;
  return (
    <div class="page compare-page">
      <header class="page-head">
        <Crumb />
        <h1>{t('Comparison')}</h1>
        <p class="page-sub">{tn(state.runs.runIds.length, '{count} run', '{count} runs')}</p>
      </header>
      {error.value !== undefined && isRead.value && (
        <Warning>
          {t('What is new cannot be read just now. What is shown was read before; trying again.')}
        </Warning>
      )}
      {!hasRuns && <Nothing isRead={isRead.value} error={error.value} onRetry={retry} />}
      {hasRuns && (
        <>
          <Missing state={state} asked={runIds.length} />
          <Tabs tab={tab} />
          <TabPanel tab={tab} state={state} />
        </>
      )}
    </div>
  );
}

/** The notice that a page without a comparison shows. */
function Nothing(props: {
  readonly isRead: boolean;
  readonly error: unknown;
  readonly onRetry: () => void;
}): JSX.Element {
  const { error, isRead, onRetry } = props;
  if (isRead) return <p class="nothing">{t('None of these runs is here.')}</p>;
  if (error === undefined) return <Waiting label={t('Reading the runs')} />;
  return <ErrorNotice title={t('The runs cannot be compared')} error={error} onRetry={onRetry} />;
}

/** Runs that were asked for and are not shown. */
function Missing(props: {
  readonly state: ComparisonState;
  readonly asked: number;
}): JSX.Element | null {
  const { asked, state } = props;
  const { runIds, summaries } = state.runs;
  const known = new Set(summaries.map(({ run }) => run.id));
  const missing = runIds.filter((runId) => !known.has(runId));
  const lines = [
    ...(asked > MAX_RUNS
      ? [t('Only the first {most} of {count} runs are compared.', { most: MAX_RUNS, count: asked })]
      : []),
    ...missing.slice(0, 5).map((runId) => t('There is no run {id} here.', { id: runId })),
    ...(missing.length > 5
      ? [tn(missing.length - 5, '{count} more run is not here.', '{count} more runs are not here.')]
      : []),
  ];
  if (lines.length === 0) return null;
  return (
    <ul class="remarks quiet medium">
      {lines.map((line) => (
        <li key={line} class="breakable">
          {line}
        </li>
      ))}
    </ul>
  );
}

function useTabActions(tab: Signal<string>): void {
  useActions(() =>
    TABS.map(({ id, title }, at) => ({
      id: `compare.${id}`,
      title: t('Show: {name}', { name: title() }),
      section: t('Comparison'),
      keys: String(at + 1),
      run: () => {
        tab.value = id;
      },
    })),
  );
}

const SHIFTS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

function Tabs({ tab }: { readonly tab: Signal<string> }): JSX.Element {
  return (
    <div class="compare-tabs row" role="tablist" aria-label={t('Parts of the comparison')}>
      {TABS.map(({ id, title }, at) => (
        <button
          key={id}
          id={`compare-tab-${id}`}
          type="button"
          role="tab"
          aria-selected={tab.value === id}
          aria-controls="compare-panel"
          tabIndex={tab.value === id ? 0 : -1}
          onClick={() => {
            tab.value = id;
          }}
          onKeyDown={(event) => {
            const shift = SHIFTS[event.key];
            if (shift === undefined) return;
            event.preventDefault();
            const next = TABS[(at + shift + TABS.length) % TABS.length];
            if (next === undefined) return;
            tab.value = next.id;
            document.getElementById(`compare-tab-${next.id}`)?.focus();
          }}
        >
          {title()}
        </button>
      ))}
    </div>
  );
}

function TabPanel(props: {
  readonly tab: ReadonlySignal<string>;
  readonly state: ComparisonState;
}): JSX.Element {
  const shown = TABS.find(({ id }) => id === props.tab.value) ?? TABS[0];
  useEffect(() => {
    // On a phone the bar of tabs scrolls.
    document
      .getElementById(`compare-tab-${props.tab.value}`)
      ?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [props.tab.value]);
  if (shown === undefined) return <div />;
  return (
    <div
      id="compare-panel"
      class="compare-panel"
      role="tabpanel"
      aria-labelledby={`compare-tab-${shown.id}`}
    >
      <LazyView key={shown.id} load={shown.load} of={{ state: props.state }} />
      {shown === TABS[0] && (
        <ComparedMedia store={props.state.store} runIds={props.state.runs.runIds} />
      )}
    </div>
  );
}
