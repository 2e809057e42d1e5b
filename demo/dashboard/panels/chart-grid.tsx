/** All charts of a run, with the controls they share. */
import { useComputed, useSignalEffect, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { epochScaleOf } from '../model/axis.ts';
import { rememberChartView, SMOOTHING_MAX, type ChartView } from '../model/chart-view.ts';
import { formatCount, formatElapsed } from '../model/format.ts';
import { groupMetrics } from '../model/group.ts';
import type { SeriesSet, XAxis } from '../model/series.ts';
import { Segmented } from '../views/parts.tsx';
import { cachedOnAxis, extentOf } from './chart-data.ts';
import { Panel, type PanelContext } from './panel.tsx';

const AXES: readonly { value: XAxis; label: string; hint: string }[] = [
  { value: 'step', label: 'Step', hint: 'Training steps' },
  { value: 'time', label: 'Time', hint: 'Time since the run started' },
  { value: 'epoch', label: 'Epoch', hint: 'Epochs, with the step within the epoch as fraction' },
];

const NO_EPOCHS = { firstStep: new Map<number, number>(), stepsPerEpoch: 1 };

type ChartGridProps = {
  readonly series: SeriesSet;
  /** Changes when points arrived. */
  readonly revision: ReadonlySignal<number>;
  readonly startMs: number;
  readonly view: ChartView;
  /** Which metrics; all of them unless given. */
  readonly isWanted?: (key: string) => boolean;
};

/** One panel for each group of metrics, under one toolbar. */
export function ChartGrid(props: ChartGridProps): JSX.Element {
  const { series, revision, startMs, view, isWanted = () => true } = props;
  const context = useComputed((): PanelContext => {
    const axis = view.axis.value;
    const all = series.all();
    const scale = axis === 'epoch' ? epochScaleOf(all) : NO_EPOCHS;
    const extent = extentOf(all.map((one) => cachedOnAxis(one, axis, startMs, scale)));
    return { revision: revision.value, startMs, scale, extent: extent ?? { min: 0, max: 1 } };
  });
  const groups = useComputed(() => {
    void revision.value;
    return groupMetrics(series.keys.filter((key) => isWanted(key)));
  });
  useSignalEffect(() => rememberChartView(view));
  return (
    <>
      <ChartToolbar view={view} />
      <div class="chart-grid">
        {groups.value.map((group) => (
          <Panel key={group.id} group={group} series={series} view={view} context={context} />
        ))}
      </div>
    </>
  );
}

function ChartToolbar({ view }: { readonly view: ChartView }): JSX.Element {
  return (
    <div class="toolbar" role="toolbar" aria-label="Charts">
      <Segmented
        label="Horizontal axis"
        options={AXES}
        value={view.axis.value}
        onChange={(axis) => {
          view.axis.value = axis;
          view.zoom.value = undefined;
        }}
      />
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
      <label class="switch">
        <input
          type="checkbox"
          checked={view.isLog.value}
          onChange={(event) => {
            view.isLog.value = event.currentTarget.checked;
          }}
        />
        <span>Log scale</span>
      </label>
      <span class="toolbar-space" />
      <CursorReadout view={view} />
      <button
        type="button"
        class="button button-small"
        disabled={view.zoom.value === undefined}
        onClick={() => {
          view.zoom.value = undefined;
        }}
      >
        Show all
      </button>
    </div>
  );
}

function CursorReadout({ view }: { readonly view: ChartView }): JSX.Element {
  const x = view.cursorX.value;
  return (
    <span class="readout">{x === undefined ? '' : `at ${positionText(x, view.axis.value)}`}</span>
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
