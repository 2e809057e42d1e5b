/** The layers of a run: one quantity of all of them over time, and all of one. */
import { useComputed, useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { ZOOMS } from '../../charts/chart-text.ts';
import { createChartView, showAll, type ChartView } from '../../charts/chart-view.ts';
import { scaleTicks } from '../../charts/heat/color-scale.ts';
import { HeatLegend } from '../../charts/heat/heat-legend.tsx';
import {
  HeatMap,
  MIN_COLUMN_PX,
  type CellWords,
  type HeatCells,
} from '../../charts/heat/heat-map.tsx';
import { BAD_SHADE, layerGrid, stepsText, type LayerGrid } from '../../charts/heat/layer-grid.ts';
import type { AddressText } from '../../parts/address-text.ts';
import { useAddressed } from '../../parts/addressed.ts';
import { Chip } from '../../parts/controls.tsx';
import { formatCount, formatValue } from '../../parts/format.ts';
import { HowTo } from '../../parts/notices.tsx';
import { setterOf } from '../../parts/signals.ts';
import { FeedGate, useFeed } from '../../parts/use-feed.tsx';
import type { TabProps } from '../feed/tab.ts';
import { LayerFeed } from './feed.ts';
import { LayerDetail } from './layer-detail.tsx';
import {
  LAYER_QUANTITIES,
  quantityOf,
  type LayerQuantity,
  type QuantityId,
} from './layer-quantities.ts';
import type { LayerTable } from './layer-table.ts';
import { costText, probeCost } from './probe-cost.ts';
import './style.css';
import { t } from '../../parts/t.ts';

const ROW_PX = 26;
const SMALL_ROW_PX = 18;
/** From so many layers on rows are smaller. */
const MANY_LAYERS = 24;

/** The "Layers" tab. */
export default function LayersView(props: TabProps): JSX.Element {
  void props.watch.nowMs.value;
  const { reader: run, isLive } = props.feed;
  const layers = useMemo(() => new LayerFeed(run), [run]);
  const reading = useFeed(layers, isLive);
  void reading.revision.value;
  return (
    <FeedGate reading={reading} title={t('The layers cannot be read')}>
      {() =>
        layers.table.quantities.length === 0 ? (
          <HowTo
            title={isLive ? t('No layers yet') : t('No layers were recorded')}
            text={t(
              'With TensorFlow.js one line records activations, gradients and parameters of every layer; in a loop of your own, two do.',
            )}
            code={`// model.fit(xs, ys, { callbacks: ... })
quarkCallback(session, tf, model)

// or in a loop of your own
const hooks = new HookEngine(session, tfjsModel(tf, model, optimizer));
await hooks.step(step, {}, () => trainOnBatch(batch));`}
          />
        ) : (
          <Layers {...props} table={layers.table} revision={reading.revision} />
        )
      }
    </FeedGate>
  );
}

const QUANTITY: AddressText<QuantityId> = {
  write: (id) => (id === 'activation_mean' ? undefined : id),
  read: (text) => LAYER_QUANTITIES.find(({ id }) => id === text)?.id ?? 'activation_mean',
};
const LAYER: AddressText<string | undefined> = { write: (name) => name, read: (text) => text };

type LayersProps = TabProps & {
  readonly table: LayerTable;
  /** Changes when the table did. */
  readonly revision: ReadonlySignal<number>;
};

/** The heat map of one quantity, what the probes cost, and the layer that was chosen. */
function Layers(props: LayersProps): JSX.Element {
  const { table, revision } = props;
  const wanted = useSignal<QuantityId>('activation_mean');
  const chosen = useSignal<string | undefined>(undefined);
  useAddressed('quantity', wanted, QUANTITY);
  useAddressed('layer', chosen, LAYER, 'push');
  const charts = useMemo(createStepView, []);
  useAddressed('zoom', charts.zooms, ZOOMS);
  void revision.value;
  const quantity = useComputed(() => {
    void revision.value;
    const known = table.quantities;
    return quantityOf(known.includes(wanted.value) ? wanted.value : (known[0] ?? wanted.value));
  });
  const types = new Map(table.layers.map(({ name, type }) => [name, type]));
  useEffect(() => {
    if (chosen.value !== undefined && !types.has(chosen.value)) chosen.value = undefined;
  });
  return (
    <section class="layers" aria-label={t('Layers')}>
      <QuantityChoice
        known={table.quantities}
        value={quantity.value.id}
        onChange={setterOf(wanted)}
      />
      <LayerHeat
        {...props}
        quantity={quantity}
        types={types}
        chosen={chosen.value}
        onPick={(name) => {
          chosen.value = chosen.value === name ? undefined : name;
        }}
      />
      <Cost {...props} />
      {chosen.value === undefined ? (
        <p class="quiet heat-note">{t('Choose a layer for its curves and histograms.')}</p>
      ) : (
        <LayerDetail
          key={chosen.value}
          layer={chosen.value}
          type={types.get(chosen.value)}
          table={table}
          view={charts}
          revision={revision}
          run={props.feed.reader}
          isLive={props.feed.isLive}
          onClose={() => {
            chosen.value = undefined;
            showAll(charts);
          }}
        />
      )}
    </section>
  );
}

/** The view of charts over steps, as they were recorded. Another layer is shown at the same steps. */
function createStepView(): ChartView {
  const made = createChartView();
  made.axis.value = 'step';
  made.chosenAxis.value = 'step';
  made.smoothing.value = 0;
  made.isLog.value = false;
  return made;
}

type LayerTypes = ReadonlyMap<string, string | undefined>;

type HeatProps = LayersProps & {
  readonly quantity: ReadonlySignal<LayerQuantity>;
  readonly types: LayerTypes;
  readonly chosen: string | undefined;
  readonly onPick: (name: string) => void;
};

/** One quantity of all layers over steps. */
function LayerHeat(props: HeatProps): JSX.Element {
  const { quantity, table, revision, types } = props;
  const width = useSignal(0);
  const grid = useComputed((): LayerGrid => {
    void revision.value;
    const layers = table.layers.map(({ name }) => ({
      name,
      points: table.points(name, quantity.value.id),
    }));
    const columnCount = Math.max(1, Math.floor(width.value / MIN_COLUMN_PX));
    return layerGrid(layers, quantity.value.scale, columnCount);
  });
  const cells = useComputed((): HeatCells => {
    const { columns, rows, shades } = grid.value;
    const ramp = quantity.value.scale === 'diverging' ? 'diverging' : 'sequential';
    return { columns, rowCount: rows.length, shades, ramp };
  });
  const { rows, columns, scale, stepsPerColumn, shades } = grid.value;
  const { id, label, unit, scale: kind } = quantity.value;
  const rowPx = rows.length > MANY_LAYERS ? SMALL_ROW_PX : ROW_PX;
  return (
    <div class="panel card heat-panel" data-quantity={id}>
      <HeatMap
        label={t('{label} of {rows} layers over {columns} columns of steps', {
          label,
          rows: formatCount(rows.length),
          columns: formatCount(columns.length),
        })}
        cells={cells}
        rowPx={rowPx}
        rowGap={rowPx > SMALL_ROW_PX ? 2 : 1}
        wordsOf={(row, column) => cellWords(grid.value, row, column, types)}
        onPick={(row) => props.onPick(rows[row] ?? '')}
        onWidth={setterOf(width)}
      >
        <LayerNames {...props} names={rows} rowPx={rowPx} />
      </HeatMap>
      <HeatLegend
        ramp={cells.value.ramp}
        unit={kind === 'log' ? t('{unit}, log scale', { unit }) : unit}
        ticks={scaleTicks(scale)}
        hasBad={shades.includes(BAD_SHADE)}
        note={
          stepsPerColumn > 1
            ? t('up to {count} probed steps a column; the most unusual of them is shown', {
                count: stepsPerColumn,
              })
            : undefined
        }
      />
    </div>
  );
}

function LayerNames(
  props: HeatProps & { readonly names: readonly string[]; readonly rowPx: number },
): JSX.Element {
  return (
    <>
      {props.names.map((name) => (
        <button
          key={name}
          type="button"
          class="heat-label muted small path ellipsis"
          style={{ height: `${props.rowPx}px` }}
          aria-pressed={props.chosen === name}
          title={titleOf(name, props.types)}
          onClick={() => props.onPick(name)}
        >
          <bdi>{name}</bdi>
        </button>
      ))}
    </>
  );
}

function titleOf(name: string, types: LayerTypes): string {
  const type = types.get(name);
  return type === undefined ? name : `${name} · ${type}`;
}

function QuantityChoice(props: {
  readonly known: readonly QuantityId[];
  readonly value: QuantityId;
  readonly onChange: (id: QuantityId) => void;
}): JSX.Element {
  return (
    <div class="row wrap gap-6 quantities" role="group" aria-label={t('What the colours show')}>
      {LAYER_QUANTITIES.filter(({ id }) => props.known.includes(id)).map(({ id, label, hint }) => (
        <Chip key={id} title={hint} isOn={id === props.value} onClick={() => props.onChange(id)}>
          {label}
        </Chip>
      ))}
    </div>
  );
}

/** The exact numbers of a cell. */
function cellWords(
  grid: LayerGrid,
  row: number,
  column: number,
  types: LayerTypes,
): CellWords | undefined {
  const name = grid.rows[row];
  const at = grid.columns[column];
  const cell = grid.cells[row * grid.columns.length + column];
  if (name === undefined || at === undefined || cell === undefined) return undefined;
  const lines: [string, string][] = [[at.stepCount > 1 ? t('steps') : t('step'), stepsText(at)]];
  if (cell.count === 0) lines.push([t('value'), t('not recorded')]);
  else if (cell.count === 1) lines.push([t('value'), formatValue(cell.value)]);
  else
    lines.push(
      [t('lowest'), formatValue(cell.min)],
      [t('highest'), formatValue(cell.max)],
      [t('probes'), formatCount(cell.count)],
    );
  if (cell.badCount > 0) lines.push([t('NaN or infinite'), t('elements in it')]);
  return { title: titleOf(name, types), lines };
}

/** What the probes cost in this run, where its step times tell. */
function Cost({ feed, watch, table, revision }: LayersProps): JSX.Element | null {
  void revision.value;
  void watch.revision.value;
  const cost = probeCost(feed.series.get('perf/step_time_ms'), table.probedSteps());
  if (cost === undefined) return null;
  return (
    <p class="quiet heat-note" data-testid="probe-cost">
      {costText(cost)}
    </p>
  );
}
