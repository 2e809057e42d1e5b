/** The tabs of a run's page, each with an address of its own. */
import type { JSX } from 'preact';
import { LazyView } from '../parts/lazy-view.tsx';
import { hrefOf } from '../route/route.ts';
import type { RunTab, TabProps } from './feed/tab.ts';
import { RUN_TABS } from './tabs.ts';

/** The tab that an address names. */
export function tabOf(view: string | undefined): RunTab {
  return RUN_TABS.find(({ id }) => id === view) ?? RUN_TABS[0];
}

/** Links to the tabs. */
export function RunTabs(props: { readonly runId: string; readonly shown: RunTab }): JSX.Element {
  return (
    <nav class="run-tabs tab-links" aria-label="Parts of this run">
      {RUN_TABS.map((tab, index) => (
        <a
          key={tab.id}
          href={hrefOf({
            kind: 'run',
            runId: props.runId,
            view: index === 0 ? undefined : tab.id,
          })}
          aria-current={tab === props.shown ? 'page' : undefined}
        >
          {tab.title}
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
