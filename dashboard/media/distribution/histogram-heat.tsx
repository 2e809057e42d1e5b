/** Histograms over steps as a heat map: a column for one or more steps, the largest values on top. */
import type { ReadonlySignal } from '@preact/signals';
import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import { HeatLegend } from '../../charts/heat/heat-legend.tsx';
import { HeatMap, type CellWords, type HeatCells } from '../../charts/heat/heat-map.tsx';
import { stepsText } from '../../charts/heat/layer-grid.ts';
import { formatCount, formatTick, formatValue, rounded } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';
import type { HistogramGrid } from './histogram-grid.ts';
import './heat.css';

/** Rows of a heat map of histograms. */
export const HEAT_ROWS = 40;
const ROW_PX = 5;
/** Rows from one label to the next. */
const LABEL_ROWS = 8;

/** What is drawn where there is no histogram. */
export const NO_GRID: HistogramGrid = {
  columns: [],
  edges: new Float64Array(0),
  shares: new Float64Array(0),
  shades: new Int16Array(0),
  maxShare: 0,
};

/** The heat map with its legend. */
export function HistogramHeat(props: {
  readonly name: string;
  /** Of {@link HEAT_ROWS} rows. */
  readonly grid: ReadonlySignal<HistogramGrid>;
  readonly onWidth: (px: number) => void;
}): JSX.Element {
  const { grid, name } = props;
  const cells = useComputed((): HeatCells => ({
    columns: grid.value.columns,
    rowCount: grid.value.columns.length === 0 ? 0 : HEAT_ROWS,
    shades: grid.value.shades,
    ramp: 'sequential',
  }));
  const { columns, edges, maxShare } = grid.value;
  return (
    <div class="histogram-heat">
      {columns.length === 0 && <p class="nothing">{t('None of them has a finite element.')}</p>}
      <HeatMap
        label={t('Histograms of {name} over {count} columns of steps', {
          name,
          count: formatCount(columns.length),
        })}
        cells={cells}
        rowPx={ROW_PX}
        rowGap={0}
        wordsOf={(row, column) => histogramWords(grid.value, row, column)}
        onWidth={props.onWidth}
      >
        {columns.length > 0 && <RowLabels edges={edges} />}
      </HeatMap>
      <HeatLegend
        ramp="sequential"
        unit={t('share of the elements')}
        ticks={[
          { share: 0, text: '0' },
          { share: 1, text: `${formatTick(rounded(maxShare * 100, 2))} %` },
        ]}
        hasBad={false}
      />
    </div>
  );
}

/** Values at some of the edges between rows. */
function RowLabels({ edges }: { readonly edges: Float64Array }): JSX.Element {
  return (
    <>
      {Array.from({ length: HEAT_ROWS / LABEL_ROWS + 1 }, (_, at) => (
        <span key={at} class="heat-value" style={{ top: `${at * LABEL_ROWS * ROW_PX}px` }}>
          {formatTick(rounded(edges[at * LABEL_ROWS] ?? 0))}
        </span>
      ))}
    </>
  );
}

function histogramWords(grid: HistogramGrid, row: number, column: number): CellWords | undefined {
  const at = grid.columns[column];
  if (at === undefined) return undefined;
  const share = grid.shares[row * grid.columns.length + column] ?? 0;
  const steps = stepsText(at);
  return {
    title: at.stepCount > 1 ? t('Steps {steps}', { steps }) : t('Step {steps}', { steps }),
    lines: [
      [t('from'), formatValue(grid.edges[row + 1] ?? 0)],
      [t('to'), formatValue(grid.edges[row] ?? 0)],
      [t('elements'), `${formatValue(share * 100)} %`],
    ],
  };
}
