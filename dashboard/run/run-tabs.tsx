/** The tabs of a run's page, each with an address of its own. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { RunReader } from 'quark-sdk';
import { LazyView } from '../parts/lazy-view.tsx';
import { keepPolling } from '../parts/polling.ts';
import { whenQuiet } from '../parts/turns.ts';
import { hrefOf } from '../route/route.ts';
import type { RunTab, TabProps } from './feed/tab.ts';
import { RUN_TABS } from './tabs.ts';
import { t } from '../parts/t.ts';

/** The tab that an address names. */
export function tabOf(view: string | undefined): RunTab {
  return RUN_TABS.find(({ id }) => id === view) ?? RUN_TABS[0];
}

/** How often a run is asked for what it had nothing of, in milliseconds: one that goes on, and one that has ended. */
const ASK_LIVE_MS = 5000;
const ASK_ENDED_MS = 30_000;

/** The ids of the tabs that the run has something for. */
function useOffered(run: RunReader | undefined): ReadonlySet<string> {
  const offered = useSignal<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (run === undefined) return undefined;
    offered.value = new Set();
    return keepPolling(
      async () => {
        await whenQuiet();
        for (const { id, isOffered } of RUN_TABS)
          if (isOffered !== undefined && !offered.peek().has(id) && (await isOffered(run)))
            offered.value = new Set([...offered.peek(), id]);
      },
      () => (run.isLive ? ASK_LIVE_MS : ASK_ENDED_MS),
      () => {
        // The page says that the store cannot be read; the tab comes when it can.
      },
    );
  }, [run]);
  return offered.value;
}

/** Links to the tabs. */
export function RunTabs(props: {
  readonly runId: string;
  readonly shown: RunTab;
  /** The run, once it is there: tabs that it has nothing for are left out. */
  readonly run?: RunReader | undefined;
}): JSX.Element {
  const offered = useOffered(props.run);
  const tabs = RUN_TABS.filter(
    (tab) => tab.isOffered === undefined || tab === props.shown || offered.has(tab.id),
  );
  return (
    <nav class="run-tabs tab-links" aria-label={t('Parts of this run')}>
      {tabs.map((tab, index) => (
        <a
          key={tab.id}
          href={hrefOf({
            kind: 'run',
            runId: props.runId,
            view: index === 0 ? undefined : tab.id,
          })}
          aria-current={tab === props.shown ? 'page' : undefined}
        >
          {tab.title()}
        </a>
      ))}
    </nav>
  );
}

/** The view of a tab. */
export function TabView({ tab, of }: { readonly tab: RunTab; readonly of: TabProps }): JSX.Element {
  if ('load' in tab) return <LazyView key={tab.id} load={tab.load} of={of} />;
  const View = tab.view;
  return <View key={tab.id} {...of} />;
}
