/** How the values, gradients and updates of a layer's parameters are spread, step by step. */
import { useComputed, useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ParameterDistributionRecord, ReadableRun } from 'quark-sdk/probes';
import { HeatLegend } from '../../charts/heat-legend.tsx';
import { HeatMap, MIN_COLUMN_PX, type CellWords, type HeatCells } from '../../charts/heat-map.tsx';
import { stepsText } from '../../charts/layer-grid.ts';
import { Segmented } from '../../parts/controls.tsx';
import { formatCount, formatTick, formatValue, rounded } from '../../parts/format.ts';
import { HowTo } from '../../parts/notices.tsx';
import { setterOf } from '../../parts/signals.ts';
import { FeedGate, useFeed } from '../../parts/use-feed.tsx';
import { HistogramFeed } from './feed.ts';
import { histogramGrid, type HistogramGrid } from './histogram-grid.ts';
import { shortParameter } from './layer-table.ts';

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
const TYPES = ['value', 'gradient', 'update'] as const;

/** The histograms of a layer, one panel a parameter. */
export function Histograms(props: {
  readonly layer: string;
  readonly run: ReadableRun;
  readonly isLive: boolean;
}): JSX.Element {
  const { layer, run } = props;
  const feed = useMemo(() => new HistogramFeed(run, layer), [run, layer]);
  const reading = useFeed(feed, props.isLive);
  void reading.revision.value;
  return (
    <FeedGate reading={reading} title="The histograms cannot be read">
      {() =>
        feed.records.length === 0 ? (
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
        ) : (
          <Panels layer={layer} records={feed.records} revision={reading.revision} />
        )
      }
    </FeedGate>
  );
}

type RecordsProps = {
  readonly records: readonly ParameterDistributionRecord[];
  /** Changes when there are more of them. */
  readonly revision: ReadonlySignal<number>;
};

function Panels(props: RecordsProps & { readonly layer: string }): JSX.Element {
  const { layer, records, revision } = props;
  const wanted = useSignal<DistributionType>('value');
  void revision.value;
  const types = TYPES.filter((type) => records.some((one) => one.distributionType === type));
  const type = types.includes(wanted.value) ? wanted.value : (types[0] ?? wanted.value);
  const parameters = [...new Set(records.map(({ parameterName }) => parameterName))];
  return (
    <section class="histograms" aria-label="Histograms over time">
      <header class="section-head">
        <h3>Histograms over time</h3>
        <Segmented
          label="What is counted"
          options={types.map((value) => ({ value, label: TYPE_LABELS[value] }))}
          value={type}
          onChange={setterOf(wanted)}
        />
      </header>
      <div class="chart-grid">
        {parameters.map((parameter) => (
          <HistogramPanel
            key={`${parameter} ${type}`}
            title={shortParameter(parameter, layer)}
            type={type}
            parameter={parameter}
            records={records}
            revision={revision}
          />
        ))}
      </div>
    </section>
  );
}

function HistogramPanel(
  props: RecordsProps & {
    readonly title: string;
    readonly type: DistributionType;
    readonly parameter: string;
  },
): JSX.Element {
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
      class="panel card heat-panel"
      aria-label={`Histograms of ${parameter}, ${TYPE_LABELS[type].toLowerCase()}`}
      data-histogram={`${parameter} ${type}`}
    >
      <header class="panel-head row gap-8">
        <h3>
          {props.title}
          <span class="quiet layer-type">{type} of an element by step</span>
        </h3>
      </header>
      {columns.length === 0 && <p class="nothing">None of them has a finite element.</p>}
      <HeatMap
        label={`Histograms of ${parameter} over ${formatCount(columns.length)} columns of steps`}
        cells={cells}
        rowPx={ROW_PX}
        rowGap={0}
        wordsOf={(row, column) => histogramWords(grid.value, row, column)}
        onWidth={setterOf(width)}
      >
        {columns.length > 0 && <RowLabels edges={edges} />}
      </HeatMap>
      <HeatLegend
        ramp="sequential"
        unit="share of the elements"
        ticks={[
          { share: 0, text: '0' },
          { share: 1, text: `${formatTick(rounded(maxShare * 100, 2))} %` },
        ]}
        hasBad={false}
      />
    </section>
  );
}

/** Values at some of the edges between rows. */
function RowLabels({ edges }: { readonly edges: Float64Array }): JSX.Element {
  return (
    <>
      {Array.from({ length: ROWS / LABEL_ROWS + 1 }, (_, at) => (
        <span key={at} class="heat-value" style={{ top: `${at * LABEL_ROWS * ROW_PX}px` }}>
          {formatTick(rounded(edges[at * LABEL_ROWS] ?? 0))}
        </span>
      ))}
    </>
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
  return {
    title: `${at.stepCount > 1 ? 'Steps' : 'Step'} ${stepsText(at)}`,
    lines: [
      ['from', formatValue(grid.edges[row + 1] ?? 0)],
      ['to', formatValue(grid.edges[row] ?? 0)],
      ['elements', `${formatValue(share * 100)} %`],
    ],
  };
}
