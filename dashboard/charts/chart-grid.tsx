/** All charts of a run, with the controls they share. */
import { useComputed, useSignal, useSignalEffect, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Button, Segmented } from '../parts/controls.tsx';
import { formatCount, formatElapsed } from '../parts/format.ts';
import { useOnScreen } from '../parts/hooks.ts';
import { adding, setterOf } from '../parts/signals.ts';
import type { SeriesSet, XAxis } from '../series/series.ts';
import {
  linkPanels,
  rememberChartView,
  settleAxis,
  showAll,
  SMOOTHING_MAX,
  type ChartView,
} from './chart-view.ts';
import { groupMetrics, splitLarge } from './group.ts';
import type { PanelContext } from './chart-state.ts';
import { Panel } from './panel.tsx';
import 'uplot/dist/uPlot.min.css';
import './charts.css';

const AXES: readonly { value: XAxis; label: string; hint: string }[] = [
  { value: 'step', label: 'Step', hint: 'Training steps' },
  { value: 'time', label: 'Time', hint: 'Time since the run started' },
  { value: 'epoch', label: 'Epoch', hint: 'Epochs, with the step within the epoch as fraction' },
];

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
    const extent = series.extent(view.axis.value, startMs) ?? { min: 0, max: 1 };
    return {
      revision: revision.value,
      originOf: () => origin,
      extent,
      extentOf: (keys) => series.extent(view.axis.value, startMs, keys),
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
      <h2 class="sr-only">Charts</h2>
      <ChartToolbar view={view} readShare={props.readShare} />
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
        {formatCount(props.count)} more charts
      </Button>
    </div>
  );
}

/** The controls that the charts of a page share. */
export function ChartToolbar(props: {
  readonly view: ChartView;
  readonly readShare?: number | undefined;
  /** There is one chart only, which has nothing to be linked with. */
  readonly isSingle?: boolean;
}): JSX.Element {
  const { readShare, view } = props;
  return (
    <div class="toolbar" role="toolbar" aria-label="Charts">
      <Segmented
        label="Horizontal axis"
        options={AXES}
        value={view.axis.value}
        onChange={(axis) => {
          view.axis.value = axis;
          view.chosenAxis.value = axis;
          view.insists.value = true;
          showAll(view);
        }}
      />
      <Smoothing view={view} />
      <Switches view={view} isSingle={props.isSingle === true} />
      {readShare !== undefined && (
        <span
          class="reading-note quiet nowrap"
          title="The charts show the first, lowest, highest and last point of each pixel. All points are there to zoom into as soon as they have been read."
        >
          Overview · reading all points, {Math.floor(100 * readShare)} %
        </span>
      )}
      <CursorReadout view={view} />
      <Button isSmall disabled={view.zooms.value.size === 0} onClick={() => showAll(view)}>
        Show all
      </Button>
    </div>
  );
}

function Smoothing({ view }: { readonly view: ChartView }): JSX.Element {
  return (
    <label class="slider">
      <span>Smoothing</span>
      <input
        type="range"
        min="0"
        max={SMOOTHING_MAX}
        step="0.01"
        value={view.smoothing.value}
        onInput={(event) => {
          view.smoothing.value = Number(event.currentTarget.value);
        }}
      />
      <output>{view.smoothing.value === 0 ? 'off' : view.smoothing.value.toFixed(2)}</output>
    </label>
  );
}

function Switches({
  view,
  isSingle,
}: {
  readonly view: ChartView;
  readonly isSingle: boolean;
}): JSX.Element {
  return (
    <>
      <Switch
        label="Log scale"
        hint="A logarithmic axis of values"
        isOn={view.isLog.value}
        onChange={setterOf(view.isLog)}
      />
      <Switch
        label="Ignore outliers"
        hint="The axis of values leaves out what is far from the middle half of all values. Each chart says what it cuts off."
        isOn={view.skipsOutliers.value}
        onChange={setterOf(view.skipsOutliers)}
      />
      {!isSingle && (
        <Switch
          label="Link ranges"
          hint="All charts show the same part of the horizontal axis"
          isOn={view.isLinked.value}
          onChange={(isOn) => linkPanels(view, isOn)}
        />
      )}
    </>
  );
}

function Switch(props: {
  readonly label: string;
  readonly hint: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}): JSX.Element {
  return (
    <label class="switch" title={props.hint}>
      <input
        type="checkbox"
        checked={props.isOn}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      <span>{props.label}</span>
    </label>
  );
}

function CursorReadout({ view }: { readonly view: ChartView }): JSX.Element {
  const x = view.cursorX.value;
  return (
    <span class="readout muted">
      {x === undefined ? '' : `at ${positionText(x, view.axis.value)}`}
    </span>
  );
}

function positionText(x: number, axis: XAxis): string {
  switch (axis) {
    case 'step':
      return `step ${formatCount(x)}`;
    case 'time':
      return formatElapsed(x);
    case 'epoch':
      return `epoch ${x.toFixed(2)}`;
  }
}
