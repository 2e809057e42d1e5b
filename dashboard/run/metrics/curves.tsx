/** The charts of some metrics of a run. */
import type { JSX } from 'preact';
import { useChartAddress } from '../../charts/chart-address.ts';
import { ChartGrid } from '../../charts/chart-grid.tsx';
import type { TabProps } from '../feed/tab.ts';

/** The charts of the metrics that `isWanted` names; what is inside where the run has none of them. */
export function Curves(
  props: TabProps & {
    readonly isWanted: (key: string) => boolean;
    readonly children: JSX.Element;
  },
): JSX.Element {
  const { feed, watch, isWanted } = props;
  useChartAddress(props.charts);
  void watch.revision.value;
  if (!feed.series.keys.some((key) => isWanted(key))) return props.children;
  return (
    <ChartGrid
      series={feed.series}
      revision={watch.revision}
      startMs={Date.parse(feed.run.startedAt)}
      view={props.charts}
      isWanted={isWanted}
      readShare={feed.readShare}
    />
  );
}
