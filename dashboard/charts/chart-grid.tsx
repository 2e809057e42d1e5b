/** All charts of a run, with the controls they share. */
import { useComputed, useSignal, useSignalEffect, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Button } from '../parts/controls.tsx';
import { formatCount } from '../parts/format.ts';
import { useOnScreen } from '../parts/hooks.ts';
import { adding } from '../parts/signals.ts';
import type { SeriesSet } from '../series/series.ts';
import { rememberChartView, settleAxis, type ChartView } from './chart-view.ts';
import { ChartToolbar } from './chart-toolbar.tsx';
import { groupMetrics, splitLarge } from './group.ts';
import type { PanelContext } from './chart-state.ts';
import { Panel } from './panel.tsx';
import { t, tn } from '../parts/t.ts';

/** Charts that are there at first; a hundred at once would hold the page up. */
const SHOWN_AT_FIRST = 18;
const SHOWN_MORE = 12;
/** Curves in one chart. */
const MAX_CURVES = 32;

type ChartGridProps = {
  readonly series: SeriesSet;
  /** Changes when points arrived. */
  readonly revision: ReadonlySignal<number>;
  readonly startMs: number;
  readonly view: ChartView;
  /** Which metrics; all of them unless given. */
  readonly isWanted?: (key: string) => boolean;
  /** How much of a long run has been read, 0 to 1, while the charts show an overview of it. */
  readonly readShare?: number | undefined;
};

/** One panel for each group of metrics, under one toolbar. */
export function ChartGrid(props: ChartGridProps): JSX.Element {
  const { series, revision, startMs, view, isWanted = () => true } = props;
  const context = useComputed((): PanelContext => {
    const origin = { startMs, scale: series.epochScale };
    return {
      revision: revision.value,
      originOf: () => origin,
      extentOf: (axis, keys) => series.extent(axis, startMs, keys),
    };
  });
  const keyCount = useComputed(() => {
    void revision.value;
    return series.keys.length;
  });
  const groups = useComputed(() => {
    void keyCount.value;
    return splitLarge(groupMetrics(series.keys.filter((key) => isWanted(key))), MAX_CURVES);
  });
  const shownCount = useSignal(SHOWN_AT_FIRST);
  useSignalEffect(() => rememberChartView(view));
  useSignalEffect(() => {
    void revision.value;
    settleAxis(view, (axis) => series.separates(axis));
  });
  const hiddenCount = groups.value.length - shownCount.value;
  return (
    <>
      <h2 class="sr-only">{t('Charts')}</h2>
      <ChartToolbar view={view} readShare={props.readShare} metrics={series.keys} />
      <div class="chart-grid">
        {groups.value.slice(0, shownCount.value).map((group) => (
          <Panel key={group.id} group={group} series={series} view={view} context={context} />
        ))}
      </div>
      {hiddenCount > 0 && (
        <MoreCharts
          key={shownCount.value}
          count={hiddenCount}
          onMore={adding(shownCount, SHOWN_MORE)}
        />
      )}
    </>
  );
}

/** A button that presses itself when somebody comes near it. */
function MoreCharts(props: { readonly count: number; readonly onMore: () => void }): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  useOnScreen(frame, (isNear) => isNear && props.onMore(), '600px');
  return (
    <div ref={frame}>
      <Button class="more" onClick={props.onMore}>
        {tn(props.count, '{count} more chart', '{count} more charts', {
          count: formatCount(props.count),
        })}
      </Button>
    </div>
  );
}
