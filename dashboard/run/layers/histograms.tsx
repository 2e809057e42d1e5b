/** How the values, gradients and updates of a layer's parameters are spread, step by step. */
import { useComputed, useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ParameterDistributionRecord, ReadableRun } from 'quark-sdk/probes';
import { formatCount, formatTick, formatValue } from '../../parts/format.ts';
import { histogramGrid, type HistogramGrid } from './histogram-grid.ts';
import { shortParameter } from './layer-table.ts';
import { HistogramFeed } from './feed.ts';
import { HeatLegend } from '../../charts/heat-legend.tsx';
import { HeatMap, MIN_COLUMN_PX, type CellWords, type HeatCells } from '../../charts/heat-map.tsx';
import { HowTo } from '../../parts/how-to.tsx';
import { ErrorNotice, Segmented } from '../../parts/parts.tsx';
import { useFeed } from '../../parts/use-feed.ts';

const ROWS = 40;
const ROW_PX = 5;
/** Rows from one label to the next. */
const LABEL_ROWS = 8;

type DistributionType = ParameterDistributionRecord['distributionType'];
const TYPE_LABELS: Readonly<Record<DistributionType, string>> = {
  value: 'Values',
  gradient: 'Gradients',
  update: 'Updates',
};
/** What goes upwards, and what to the right. */
const AXIS_WORDS: Readonly<Record<DistributionType, string>> = {
  value: 'value of an element by step',
  gradient: 'gradient of an element by step',
  update: 'update of an element by step',
};
const TYPES = ['value', 'gradient', 'update'] as const;

/** The histograms of a layer, one panel a parameter. */
export function Histograms(props: {
  readonly layer: string;
  readonly run: ReadableRun;
  readonly isLive: boolean;
}): JSX.Element {
  const { layer, run } = props;
  const feed = useMemo(() => new HistogramFeed(run, layer), [run, layer]);
  const { revision, error, isRead } = useFeed(feed, props.isLive);
  const wanted = useSignal<DistributionType>('value');
  void revision.value;
  if (error.value !== undefined && !isRead.value)
    return <ErrorNotice title="The histograms cannot be read" error={error.value} />;
  if (!isRead.value) return <div class="heat-waiting" aria-busy="true" aria-label="Reading" />;
  const types = TYPES.filter((type) => feed.records.some((one) => one.distributionType === type));
  const type = types.includes(wanted.value) ? wanted.value : types[0];
  if (type === undefined)
    return (
      <HowTo
        title="No histograms of this layer"
        text="They are recorded when they are asked for."
        code={`quarkCallback(session, tf, model, {
  parameters: {
    captureDistributions: true,
    distributionTypes: ['value', 'gradient', 'update'],
  },
})`}
      />
    );
  const parameters = [...new Set(feed.records.map(({ parameterName }) => parameterName))];
  return (
    <section class="histograms" aria-label="Histograms over time">
      <header class="section-head">
        <h3>Histograms over time</h3>
        <Segmented
          label="What is counted"
          options={types.map((value) => ({ value, label: TYPE_LABELS[value] }))}
          value={type}
          onChange={(next) => {
            wanted.value = next;
          }}
        />
      </header>
      <div class="chart-grid">
        {parameters.map((parameter) => (
          <HistogramPanel
            key={`${parameter} ${type}`}
            title={shortParameter(parameter, layer)}
            type={type}
            parameter={parameter}
            records={feed.records}
            revision={revision}
          />
        ))}
      </div>
    </section>
  );
}

function HistogramPanel(props: {
  readonly title: string;
  readonly type: DistributionType;
  readonly parameter: string;
  readonly records: readonly ParameterDistributionRecord[];
  readonly revision: ReadonlySignal<number>;
}): JSX.Element {
  const { parameter, type } = props;
  const width = useSignal(0);
  const grid = useComputed((): HistogramGrid => {
    void props.revision.value;
    const own = props.records.filter(
      (record) => record.parameterName === parameter && record.distributionType === type,
    );
    return histogramGrid(own, ROWS, Math.floor(width.value / MIN_COLUMN_PX)) ?? NO_GRID;
  });
  const cells = useComputed((): HeatCells => ({
    columns: grid.value.columns,
    rowCount: grid.value.columns.length === 0 ? 0 : ROWS,
    shades: grid.value.shades,
    ramp: 'sequential',
  }));
  const { columns, edges, maxShare } = grid.value;
  return (
    <section
      class="panel heat-panel"
      aria-label={`Histograms of ${parameter}, ${TYPE_LABELS[type].toLowerCase()}`}
      data-histogram={`${parameter} ${type}`}
    >
      <header class="panel-head">
        <h3>
          {props.title}
          <span class="quiet layer-type">{AXIS_WORDS[type]}</span>
        </h3>
      </header>
      {columns.length === 0 && <p class="nothing">None of them has a finite element.</p>}
      <HeatMap
        label={`Histograms of ${parameter} over ${formatCount(columns.length)} columns of steps`}
        cells={cells}
        rowPx={ROW_PX}
        rowGap={0}
        wordsOf={(row, column) => histogramWords(grid.value, row, column)}
        onWidth={(px) => {
          width.value = px;
        }}
      >
        {Array.from({ length: columns.length === 0 ? 0 : ROWS / LABEL_ROWS + 1 }, (_, at) => (
          <span
            key={at}
            class="heat-value"
            style={{ top: `${Math.min(at * LABEL_ROWS, ROWS) * ROW_PX}px` }}
          >
            {formatTick(Number((edges[at * LABEL_ROWS] ?? 0).toPrecision(3)))}
          </span>
        ))}
      </HeatMap>
      <HeatLegend
        ramp="sequential"
        unit="share of the elements"
        ticks={[
          { place: 0, text: '0' },
          { place: 1, text: `${formatTick(Number((maxShare * 100).toPrecision(2)))} %` },
        ]}
        hasBad={false}
      />
    </section>
  );
}

const NO_GRID: HistogramGrid = {
  columns: [],
  edges: new Float64Array(0),
  shares: new Float64Array(0),
  shades: new Int16Array(0),
  maxShare: 0,
};

function histogramWords(grid: HistogramGrid, row: number, column: number): CellWords | undefined {
  const at = grid.columns[column];
  if (at === undefined) return undefined;
  const share = grid.shares[row * grid.columns.length + column] ?? 0;
  const steps =
    at.stepCount === 1
      ? `Step ${formatCount(at.firstStep)}`
      : `Steps ${formatCount(at.firstStep)} – ${formatCount(at.lastStep)}`;
  return {
    title: steps,
    lines: [
      ['from', formatValue(grid.edges[row + 1] ?? 0)],
      ['to', formatValue(grid.edges[row] ?? 0)],
      ['elements', `${formatValue(share * 100)} %`],
    ],
  };
}
