/** What recording costs the run under way, measured in the run itself. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useFeed } from '../../dashboard/parts/use-feed.tsx';
import type { TabProps } from '../../dashboard/run/feed/tab.ts';
import { LayerFeed } from '../../dashboard/run/layers/feed.ts';
import { costText, probeCost } from '../../dashboard/run/layers/probe-cost.ts';

/** Milliseconds a step with and without probes, once there are enough steps of both. */
export function RecordingCost({ feed, watch }: Omit<TabProps, 'charts'>): JSX.Element | null {
  const layers = useMemo(() => new LayerFeed(feed.reader), [feed]);
  const { revision } = useFeed(layers, feed.isLive);
  void revision.value;
  void watch.revision.value;
  void watch.nowMs.value;
  const cost = probeCost(feed.series.get('perf/step_time_ms'), layers.table.probedSteps());
  if (cost === undefined) return null;
  return (
    <p class="train-cost quiet" data-testid="recording-cost">
      {costText(cost)}
    </p>
  );
}
