/** The "Metrics" tab: the curves of training, and the events of the run. */
import type { JSX } from 'preact';
import { isTrainingMetric } from '../../charts/group.ts';
import type { TabProps } from '../feed/tab.ts';
import { Curves } from './curves.tsx';
import { EventList } from './event-list.tsx';

/** The tab that a run's page opens with. */
export function MetricsView(props: TabProps): JSX.Element {
  const { feed } = props;
  void props.watch.nowMs.value;
  return (
    <>
      <Curves {...props} isWanted={isTrainingMetric}>
        <div class="nothing">
          <p>
            {feed.isLive
              ? 'No metrics yet. Curves appear with the first flush.'
              : 'This run recorded no metrics.'}
          </p>
        </div>
      </Curves>
      <EventList events={feed.events} count={feed.events.length} />
    </>
  );
}
