/** The layers of a run: one quantity of all of them over time, and all of one. */
import { useComputed, useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { ReadableRun } from 'quark-sdk/probes';
import { scaleTicks } from '../../charts/color-scale.ts';
import { formatCount, formatValue } from '../../parts/format.ts';
import { BAD_SHADE, layerGrid, type LayerGrid } from '../../charts/layer-grid.ts';
import { LAYER_QUANTITIES, quantityOf, type QuantityId } from './layer-quantities.ts';
import type { LayerTable } from './layer-table.ts';
import { costText, probeCost } from './probe-cost.ts';
import { LayerFeed } from './feed.ts';
import type { SeriesSet } from '../../series/series.ts';
import { HeatLegend } from '../../charts/heat-legend.tsx';
import { HeatMap, MIN_COLUMN_PX, type CellWords, type HeatCells } from '../../charts/heat-map.tsx';
import { HowTo } from '../../parts/how-to.tsx';
import type { TabProps } from '../feed/tab.ts';
import { LayerDetail } from './layer-detail.tsx';
import { ErrorNotice } from '../../parts/parts.tsx';
import { useFeed } from '../../parts/use-feed.ts';

const ROW_PX = 26;
const SMALL_ROW_PX = 18;
/** From so many layers on rows are smaller. */
const MANY_LAYERS = 24;

/** The "Layers" tab. */
export default function LayersView({ feed: ofRun, watch }: TabProps): JSX.Element {
  void watch.nowMs.value;
  const { reader: run, isLive } = ofRun;
  const feed = useMemo(() => new LayerFeed(run), [run]);
  const { revision, error, isRead } = useFeed(feed, isLive);
  if (error.value !== undefined && !isRead.value)
    return <ErrorNotice title="The layers cannot be read" error={error.value} />;
  if (!isRead.value) return <div class="heat-waiting" aria-busy="true" aria-label="Reading" />;
  void revision.value;
  if (feed.table.quantities.length === 0)
    return (
      <HowTo
        title={isLive ? 'No layers yet' : 'No layers were recorded'}
        text="With TensorFlow.js one line records activations, gradients and parameters of every layer; in a loop of your own, two do."
        code={`// model.fit(xs, ys, { callbacks: ... })
quarkCallback(session, tf, model)

// or in a loop of your own
const hooks = new HookEngine(session, tfjsModel(tf, model, optimizer));
await hooks.step(step, {}, () => trainOnBatch(batch));`}
      />
    );
  return (
    <LayerHeat
      table={feed.table}
      revision={revision}
      run={run}
      isLive={isLive}
      metrics={ofRun.series}
      metricsRevision={watch.revision}
    />
  );
}

function LayerHeat(props: {
  readonly table: LayerTable;
  readonly revision: ReadonlySignal<number>;
  readonly run: ReadableRun;
  readonly isLive: boolean;
  readonly metrics: SeriesSet;
  readonly metricsRevision: ReadonlySignal<number>;
}): JSX.Element {
  const { table, revision } = props;
  const wanted = useSignal<QuantityId>('activation_mean');
  const width = useSignal(0);
  const chosen = useSignal<string | undefined>(undefined);
  const quantity = useComputed(() => {
    void revision.value;
    const known = table.quantities;
    return quantityOf(known.includes(wanted.value) ? wanted.value : (known[0] ?? wanted.value));
  });
  const grid = useComputed((): LayerGrid => {
    void revision.value;
    const { id, scale } = quantity.value;
    const layers = table.layers.map(({ name }) => ({ name, points: table.points(name, id) }));
    return layerGrid(layers, scale, Math.max(1, Math.floor(width.value / MIN_COLUMN_PX)));
  });
  const ramp = quantity.value.scale === 'diverging' ? 'diverging' : 'sequential';
  const cells = useComputed((): HeatCells => ({
    columns: grid.value.columns,
    rowCount: grid.value.rows.length,
    shades: grid.value.shades,
    ramp: quantity.value.scale === 'diverging' ? 'diverging' : 'sequential',
  }));
  const { rows, scale, stepsPerColumn, shades } = grid.value;
  const rowPx = rows.length > MANY_LAYERS ? SMALL_ROW_PX : ROW_PX;
  const types = new Map(table.layers.map(({ name, type }) => [name, type]));
  const pick = (row: number): void => {
    const name = rows[row];
    chosen.value = chosen.value === name ? undefined : name;
  };
  useEffect(() => {
    if (chosen.value !== undefined && !types.has(chosen.value)) chosen.value = undefined;
  });
  return (
    <section class="layers" aria-label="Layers">
      <QuantityChoice
        known={table.quantities}
        value={quantity.value.id}
        onChange={(id) => {
          wanted.value = id;
        }}
      />
      <div class="panel heat-panel" data-quantity={quantity.value.id}>
        <HeatMap
          label={`${quantity.value.label} of ${formatCount(rows.length)} layers over ${formatCount(grid.value.columns.length)} columns of steps`}
          cells={cells}
          rowPx={rowPx}
          rowGap={rowPx > SMALL_ROW_PX ? 2 : 1}
          wordsOf={(row, column) => cellWords(grid.value, row, column, types)}
          onPick={pick}
          onWidth={(px) => {
            width.value = px;
          }}
        >
          {rows.map((name, row) => (
            <button
              key={name}
              type="button"
              class="heat-label"
              style={{ height: `${rowPx}px` }}
              aria-pressed={chosen.value === name}
              title={`${name}${types.get(name) === undefined ? '' : ` · ${types.get(name)}`}`}
              onClick={() => pick(row)}
            >
              <bdi>{name}</bdi>
            </button>
          ))}
        </HeatMap>
        <HeatLegend
          ramp={ramp}
          unit={`${quantity.value.unit}${quantity.value.scale === 'log' ? ', log scale' : ''}`}
          ticks={scaleTicks(scale)}
          hasBad={shades.includes(BAD_SHADE)}
          note={
            stepsPerColumn > 1
              ? `${stepsPerColumn} probed steps a column; the most unusual of them is shown`
              : undefined
          }
        />
      </div>
      <Cost
        table={table}
        revision={revision}
        metrics={props.metrics}
        metricsRevision={props.metricsRevision}
      />
      {chosen.value === undefined ? (
        <p class="quiet heat-hint">Choose a layer for its curves and histograms.</p>
      ) : (
        <LayerDetail
          key={chosen.value}
          layer={chosen.value}
          type={types.get(chosen.value)}
          table={table}
          revision={revision}
          run={props.run}
          isLive={props.isLive}
          onClose={() => {
            chosen.value = undefined;
          }}
        />
      )}
    </section>
  );
}

function QuantityChoice(props: {
  readonly known: readonly QuantityId[];
  readonly value: QuantityId;
  readonly onChange: (id: QuantityId) => void;
}): JSX.Element {
  return (
    <div class="chips quantities" role="group" aria-label="What the colours show">
      {LAYER_QUANTITIES.filter(({ id }) => props.known.includes(id)).map(({ id, label, hint }) => (
        <button
          key={id}
          type="button"
          class="chip"
          title={hint}
          aria-pressed={id === props.value}
          onClick={() => props.onChange(id)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/** The exact numbers of a cell. */
function cellWords(
  grid: LayerGrid,
  row: number,
  column: number,
  types: ReadonlyMap<string, string | undefined>,
): CellWords | undefined {
  const name = grid.rows[row];
  const at = grid.columns[column];
  const cell = grid.cells[row * grid.columns.length + column];
  if (name === undefined || at === undefined || cell === undefined) return undefined;
  const type = types.get(name);
  const steps =
    at.firstStep === at.lastStep
      ? formatCount(at.firstStep)
      : `${formatCount(at.firstStep)} – ${formatCount(at.lastStep)}`;
  const lines: [string, string][] = [[at.stepCount > 1 ? 'steps' : 'step', steps]];
  if (cell.count === 0) lines.push(['value', 'not recorded']);
  else if (cell.count === 1) lines.push(['value', formatValue(cell.value)]);
  else
    lines.push(
      ['lowest', formatValue(cell.min)],
      ['highest', formatValue(cell.max)],
      ['probes', formatCount(cell.count)],
    );
  if (cell.badCount > 0) lines.push(['NaN or infinite', 'elements in it']);
  return { title: type === undefined ? name : `${name} · ${type}`, lines };
}

/** What the probes cost in this run, where its step times tell. */
function Cost(props: {
  readonly table: LayerTable;
  readonly revision: ReadonlySignal<number>;
  readonly metrics: SeriesSet;
  readonly metricsRevision: ReadonlySignal<number>;
}): JSX.Element | null {
  void props.revision.value;
  void props.metricsRevision.value;
  const cost = probeCost(props.metrics.get('perf/step_time_ms'), props.table.probedSteps());
  if (cost === undefined) return null;
  return (
    <p class="quiet heat-cost" data-testid="probe-cost">
      {costText(cost)}
    </p>
  );
}
