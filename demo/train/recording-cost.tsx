/** What recording costs the run under way, measured in the run itself. */
import type { ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { costText, probeCost } from '../../dashboard/run/layers/probe-cost.ts';
import { LayerFeed } from '../../dashboard/run/layers/feed.ts';
import type { RunFeed } from '../../dashboard/series/run-feed.ts';
import { useFeed } from '../../dashboard/parts/use-feed.ts';

/** Milliseconds a step with and without probes, once there are enough steps of both. */
export function RecordingCost(props: {
  readonly feed: RunFeed;
  readonly isLive: boolean;
  /** Changes when samples arrived. */
  readonly metricsRevision: ReadonlySignal<number>;
}): JSX.Element | null {
  const { feed } = props;
  const layers = useMemo(() => new LayerFeed(feed.reader), [feed]);
  const { revision } = useFeed(layers, props.isLive);
  void revision.value;
  void props.metricsRevision.value;
  const cost = probeCost(feed.series.get('perf/step_time_ms'), layers.table.probedSteps());
  if (cost === undefined) return null;
  return (
    <p class="train-cost quiet" data-testid="recording-cost">
      {costText(cost)}
    </p>
  );
}
