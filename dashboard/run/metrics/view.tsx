/** The "Metrics" tab: the charts of a run in sections, and the events of the run. */
import type { JSX } from 'preact';
import { t } from '../../parts/t.ts';
import type { TabProps } from '../feed/tab.ts';
import { EventList } from './event-list.tsx';
import { RunWorkspace } from './run-workspace.tsx';

/** The tab that a run's page opens with. */
export function MetricsView(props: TabProps): JSX.Element {
  const { feed, watch } = props;
  void watch.nowMs.value;
  void watch.revision.value;
  return (
    <>
      {feed.series.keys.length > 0 ? (
        <RunWorkspace {...props} />
      ) : (
        <div class="nothing">
          <p>
            {feed.isLive
              ? t('No metrics yet. Curves appear with the first flush.')
              : t('This run recorded no metrics.')}
          </p>
        </div>
      )}
      <EventList events={feed.events} count={feed.events.length} />
    </>
  );
}
