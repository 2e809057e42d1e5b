/** The controls that the charts of a page share. */
import {
  MAX_SMOOTHING,
  SMOOTHING_KINDS,
  type ChartAxis,
  type SmoothingKind,
} from 'quark-sdk/workspace';
import type { JSX } from 'preact';
import { Button, Segmented } from '../parts/controls.tsx';
import { setterOf } from '../parts/signals.ts';
import { t } from '../parts/t.ts';
import { METRIC_AXIS, type XAxis } from '../series/series.ts';
import { metricOfAxis } from './plot/chart-settings.ts';
import { linkPanels, showAll, type ChartView } from './chart-view.ts';
import { axisPosition } from './plot/axis-ticks.ts';

type AxisOption = { readonly value: XAxis; readonly label: string; readonly hint: string };

function axisOptions(): readonly AxisOption[] {
  return [
    { value: 'step', label: t('Step'), hint: t('Training steps') },
    { value: 'time', label: t('Time'), hint: t('Time since the run started') },
    { value: 'wall', label: t('Clock'), hint: t('Date and time of day') },
    {
      value: 'epoch',
      label: t('Epoch'),
      hint: t('Epochs, with the step within the epoch as fraction'),
    },
  ];
}

/** The controls that the charts of a page share. */
export function ChartToolbar(props: {
  readonly view: ChartView;
  readonly readShare?: number | undefined;
  /** There is one chart only, which has nothing to be linked with. */
  readonly isSingle?: boolean;
  /** Metrics that the horizontal axis can go by. */
  readonly metrics?: readonly string[];
}): JSX.Element {
  const { metrics = [], readShare, view } = props;
  const choose = (axis: ChartAxis): void => {
    view.axis.value = axis;
    view.chosenAxis.value = axis;
    view.insists.value = true;
    showAll(view);
  };
  return (
    <div class="toolbar" role="toolbar" aria-label={t('Charts')}>
      <Segmented<ChartAxis>
        label={t('Horizontal axis')}
        options={axisOptions()}
        value={view.axis.value}
        onChange={choose}
      />
      {metrics.length > 0 && <AxisMetric view={view} metrics={metrics} onChoose={choose} />}
      <SmoothingChoice view={view} />
      <Switches view={view} isSingle={props.isSingle === true} />
      {readShare !== undefined && (
        <span
          class="reading-note quiet nowrap"
          title={t(
            'The charts show the first, lowest, highest and last point of each pixel. All points are there to zoom into as soon as they have been read.',
          )}
        >
          {t('Overview · reading all points, {share} %', { share: Math.floor(100 * readShare) })}
        </span>
      )}
      <CursorReadout view={view} />
      <Button isSmall disabled={view.zooms.value.size === 0} onClick={() => showAll(view)}>
        {t('Show all')}
      </Button>
    </div>
  );
}

/** A list that is longer is cut: nobody picks from ten thousand metrics. */
const MOST_METRICS = 1000;

/** The choice of a metric as the axis. */
function AxisMetric(props: {
  readonly view: ChartView;
  readonly metrics: readonly string[];
  readonly onChoose: (axis: ChartAxis) => void;
}): JSX.Element {
  const chosen = metricOfAxis(props.view.axis.value) ?? '';
  return (
    <select
      class="input axis-metric"
      aria-label={t('Horizontal axis by a metric')}
      title={t('Each point at the value that this metric had at its step')}
      value={chosen}
      onChange={(event) => {
        const { value } = event.currentTarget;
        props.onChoose(value === '' ? 'step' : `${METRIC_AXIS}${value}`);
      }}
    >
      <option value="">{t('By a metric')}</option>
      {props.metrics
        .slice(0, MOST_METRICS)
        .toSorted()
        .map((key) => (
          <option key={key} value={key}>
            {key}
          </option>
        ))}
    </select>
  );
}

/** What a kind of smoothing is called. */
export function kindName(kind: SmoothingKind): string {
  switch (kind) {
    case 'exponential':
      return t('Exponential');
    case 'mean':
      return t('Running mean');
    case 'gaussian':
      return t('Gaussian');
  }
}

function SmoothingChoice({ view }: { readonly view: ChartView }): JSX.Element {
  const { smoothing, smoothingKind } = view;
  return (
    <span class="slider">
      <label class="slider">
        <span>{t('Smoothing')}</span>
        <input
          type="range"
          min="0"
          max={MAX_SMOOTHING}
          step="0.01"
          value={smoothing.value}
          onInput={(event) => {
            smoothing.value = Number(event.currentTarget.value);
          }}
        />
        <output>{smoothing.value === 0 ? t('off') : smoothing.value.toFixed(2)}</output>
      </label>
      {smoothing.value > 0 && (
        <select
          class="input smoothing-kind"
          aria-label={t('Kind of smoothing')}
          value={smoothingKind.value}
          onChange={(event) => {
            const { value } = event.currentTarget;
            smoothingKind.value =
              SMOOTHING_KINDS.find((kind) => kind === value) ?? smoothingKind.value;
          }}
        >
          {SMOOTHING_KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {kindName(kind)}
            </option>
          ))}
        </select>
      )}
    </span>
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
        label={t('Log scale')}
        hint={t('A logarithmic axis of values')}
        isOn={view.isLog.value}
        onChange={setterOf(view.isLog)}
      />
      <Switch
        label={t('Log x')}
        hint={t('A logarithmic horizontal axis')}
        isOn={view.isLogX.value}
        onChange={setterOf(view.isLogX)}
      />
      <Switch
        label={t('Ignore outliers')}
        hint={t(
          'The axis of values leaves out what is far from the middle half of all values. Each chart says what it cuts off.',
        )}
        isOn={view.skipsOutliers.value}
        onChange={setterOf(view.skipsOutliers)}
      />
      {!isSingle && (
        <Switch
          label={t('Link ranges')}
          hint={t('All charts show the same part of the horizontal axis')}
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
  const at = view.cursor.value;
  return (
    <span class="readout muted">
      {at === undefined ? '' : t('at {position}', { position: axisPosition(at.x, at.axis) })}
    </span>
  );
}
