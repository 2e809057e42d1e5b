/** Distributions and histograms over steps, as heat maps or as ridges. */
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { MIN_COLUMN_PX } from '../../charts/heat/heat-map.tsx';
import { stepsText } from '../../charts/heat/layer-grid.ts';
import { rampOf } from '../../charts/heat/ramps.ts';
import { choiceText } from '../../parts/address-text.ts';
import { useAddressed } from '../../parts/addressed.ts';
import { Segmented } from '../../parts/controls.tsx';
import { formatCount, formatTick, rounded } from '../../parts/format.ts';
import { usePromise } from '../../parts/hooks.ts';
import { setterOf } from '../../parts/signals.ts';
import { t } from '../../parts/t.ts';
import { loadContent, payloadOf } from '../content.ts';
import { ContentProblem } from '../item-caption.tsx';
import { MediaPanel } from '../media-panel.tsx';
import type { KindProps } from '../kind-view.ts';
import { mediaOf, type GalleryItem, type MediaRun } from '../media-feed.ts';
import { itemNear, positionOf, evenlySpread } from '../media-steps.ts';
import { pageDrawing } from '../save/drawing-words.ts';
import { MediaSave } from '../save/media-save.tsx';
import {
  onSignedLog,
  ridgesOf,
  stepDistribution,
  stepHistogram,
  withValues,
} from './distributions.ts';
import { histogramGrid, type HistogramGrid, type StepHistogram } from './histogram-grid.ts';
import { histogramSvg, histogramTable } from './histogram-files.ts';
import { HEAT_ROWS, HistogramHeat, NO_GRID } from './histogram-heat.tsx';

/** Most histograms that are read of one name: evenly spread over its steps. */
const MAX_READ = 120;
const AT_ONCE = 8;
const RIDGES = 24;
const FORMS = ['heat', 'ridges'] as const;
const AXES = ['linear', 'log'] as const;

type Shown = Extract<GalleryItem, { readonly kind: 'distribution' | 'histogram' }>;

/** The distributions of runs. */
export default function DistributionsView({ keys, runs, step }: KindProps): JSX.Element {
  const form = useSignal<(typeof FORMS)[number]>('heat');
  const axis = useSignal<(typeof AXES)[number]>('linear');
  useAddressed('distribution', form, choiceText(FORMS));
  useAddressed('value-axis', axis, choiceText(AXES));
  return (
    <>
      <div class="media-tools row wrap gap-12">
        <Segmented
          label={t('How distributions are drawn')}
          options={[
            { value: 'heat', label: t('Heat map') },
            { value: 'ridges', label: t('Ridges') },
          ]}
          value={form.value}
          onChange={setterOf(form)}
        />
        <Segmented
          label={t('Axis of values')}
          options={[
            { value: 'linear', label: t('Linear') },
            { value: 'log', label: t('Logarithmic') },
          ]}
          value={axis.value}
          onChange={setterOf(axis)}
        />
      </div>
      <div class="text-grid">
        {keys.flatMap((key) =>
          runs.map((run) => (
            <DistributionPanel
              key={`${run.runId} ${key}`}
              name={key}
              run={run}
              step={step.value}
              isOneOfMany={runs.length > 1}
              isLog={axis.value === 'log'}
              isRidges={form.value === 'ridges'}
            />
          )),
        )}
      </div>
    </>
  );
}

function DistributionPanel(props: {
  readonly name: string;
  readonly run: MediaRun;
  readonly step: number | undefined;
  readonly isOneOfMany: boolean;
  readonly isLog: boolean;
  readonly isRidges: boolean;
}): JSX.Element {
  const { isLog, isRidges, name, run } = props;
  const items: readonly Shown[] = [
    ...mediaOf(run, 'distribution'),
    ...mediaOf(run, 'histogram'),
  ].filter((item) => item.key === name);
  const read = evenlySpread(items, MAX_READ);
  const input = useMemo(() => read, [read.map(({ record }) => record.id).join()]);
  const { found, error } = usePromise(input, (wanted) => loadAll(run, wanted));
  const width = useSignal(0);
  const loaded = useSignal<readonly StepHistogram[]>([]);
  const asLog = useSignal(isLog);
  const columnLimit = useSignal<number | undefined>(undefined);
  loaded.value = found?.value ?? loaded.peek();
  asLog.value = isLog;
  columnLimit.value = isRidges ? RIDGES : undefined;
  const grid = useComputed((): HistogramGrid => {
    const most = columnLimit.value ?? Math.floor(width.value / MIN_COLUMN_PX);
    if (!asLog.value) return histogramGrid(loaded.value, HEAT_ROWS, most) ?? NO_GRID;
    const logged = histogramGrid(loaded.value.map(onSignedLog), HEAT_ROWS, most);
    return logged === undefined ? NO_GRID : withValues(logged);
  });
  const item = itemNear(items, props.step);
  return (
    <MediaPanel
      name={name}
      run={run}
      item={item}
      step={props.step}
      isOneOfMany={props.isOneOfMany}
      more={statisticsText(item)}
    >
      {error !== undefined && <ContentProblem error={error} />}
      <GridSave name={name} grid={grid.value} />
      {isRidges ? (
        <Ridges name={name} grid={grid.value} />
      ) : (
        <HistogramHeat name={name} grid={grid} onWidth={setterOf(width)} />
      )}
      {read.length < items.length && (
        <p class="quiet small">
          {t('{shown} of {count} steps are read, evenly spread.', {
            shown: formatCount(read.length),
            count: formatCount(items.length),
          })}
        </p>
      )}
    </MediaPanel>
  );
}

function GridSave(props: {
  readonly name: string;
  readonly grid: HistogramGrid;
}): JSX.Element | null {
  const { grid, name } = props;
  if (grid.columns.length === 0) return null;
  return (
    <MediaSave
      name={name}
      files={{
        svg: () => histogramSvg(grid, rampOf('sequential'), pageDrawing(name)),
        table: () => histogramTable(grid),
      }}
    />
  );
}

function statisticsText(item: Shown | undefined): string | undefined {
  if (item?.kind !== 'distribution') return undefined;
  const { elementCount, max, mean, min, std } = item.metadata;
  const text = (value: number | null): string =>
    value === null ? '–' : formatTick(rounded(value));
  return t('{count} values, mean {mean} ± {std}, {min} to {max}', {
    count: formatCount(elementCount),
    mean: text(mean),
    std: text(std),
    min: text(min),
    max: text(max),
  });
}

async function loadAll(run: MediaRun, items: readonly Shown[]): Promise<readonly StepHistogram[]> {
  const found: StepHistogram[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    // oxlint-disable-next-line no-await-in-loop -- a few at a time, so that a long list does not fill the queue of requests
    const loaded = await Promise.all(items.slice(at, at + AT_ONCE).map((item) => load(run, item)));
    found.push(...loaded.filter((one) => one !== undefined));
  }
  return found;
}

async function load({ source }: MediaRun, item: Shown): Promise<StepHistogram | undefined> {
  const step = positionOf(item);
  if (item.kind === 'histogram') return stepHistogram(step, await payloadOf(source, item.record));
  const { kind, record } = item;
  return stepDistribution(step, await loadContent(source, { kind, record }));
}

const FRAME = { width: 420, height: 260, peak: 70 };
const LEFT = 56;

function Ridges(props: { readonly name: string; readonly grid: HistogramGrid }): JSX.Element {
  const { grid, name } = props;
  const { columns, edges } = grid;
  if (columns.length === 0) return <p class="nothing">{t('None of them has a finite element.')}</p>;
  const ridges = ridgesOf(grid, FRAME);
  const labelled = evenlySpread(ridges, 8);
  return (
    <svg
      class="ridges"
      role="img"
      viewBox={`0 0 ${FRAME.width + LEFT} ${FRAME.height + 22}`}
      aria-label={t('Distributions of {name} at {count} steps, the last in front', {
        name,
        count: columns.length,
      })}
    >
      {ridges.map(({ column, points }) => (
        <polygon
          key={column}
          style={{ fillOpacity: 0.35 + (0.5 * (column + 1)) / columns.length }}
          points={points.map(([x, y]) => `${(x + LEFT).toFixed(1)},${y.toFixed(1)}`).join(' ')}
        />
      ))}
      {labelled.map(({ column, points }) => {
        const at = columns[column];
        return (
          <text key={column} x={LEFT - 6} y={(points[0]?.[1] ?? 0) + 3} text-anchor="end">
            {at === undefined ? '' : stepsText(at)}
          </text>
        );
      })}
      {[0, 0.25, 0.5, 0.75, 1].map((share) => {
        const edge = edges[Math.round((1 - share) * (edges.length - 1))] ?? 0;
        return (
          <text
            key={share}
            x={LEFT + share * FRAME.width}
            y={FRAME.height + 16}
            text-anchor={share === 0 ? 'start' : share === 1 ? 'end' : 'middle'}
          >
            {formatTick(rounded(edge))}
          </text>
        );
      })}
    </svg>
  );
}
