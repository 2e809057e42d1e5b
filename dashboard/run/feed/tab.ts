/** What a tab of a run's page declares, and what its view is given. */
import type { ComponentType } from 'preact';
import type { RunReader } from 'quark-sdk';
import type { ChartView } from '../../charts/chart-view.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import type { RunWatch } from './run-watch.ts';

/** The run that a view shows. */
export type TabProps = {
  /** The same object for as long as the page shows the run: what a view reads of it changes with the signals of `watch`. */
  readonly feed: RunFeed;
  readonly watch: RunWatch;
  /** Axis, smoothing and zoom of the charts, which the tabs share. */
  readonly charts: ChartView;
};

/** One tab. `id` is the value of `view` in the address. */
export type RunTab = {
  readonly id: string;
  readonly title: () => string;
  /** Whether the run has something for the tab, which is asked again while it has not. Without it the tab is always there. */
  readonly isOffered?: (run: RunReader) => Promise<boolean>;
} & (
  | {
      /** Drawn with the page. */
      readonly view: ComponentType<TabProps>;
    }
  | {
      /** Loads the code and the styles of the view when somebody opens the tab. */
      readonly load: () => Promise<{ readonly default: ComponentType<TabProps> }>;
    }
);
