/** The plot of a scatter: a point for each run, with a label where somebody points or goes by keys. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import type { RunQuantity } from 'quark-sdk/analysis';
import { drawnWays } from '../../charts/save/save-drawn.ts';
import { SaveMenu } from '../../charts/save/save-menu.tsx';
import { formatMetric } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';
import { hrefOf } from '../../route/route.ts';
import { seriesColor } from '../../theme/palette.ts';
import type { ComparisonState } from '../comparison-state.ts';
import { quantityName } from '../quantities.ts';
import { cutMiddle, quantityScale, type QuantityScale } from '../quantity-scale.ts';
import { styleOfRun } from '../run-styles.ts';
import { useWidth } from '../use-width.ts';

/** A run as a point. */
export type ScatterPoint = {
  readonly runId: string;
  readonly name: string;
  readonly x: number | string;
  readonly y: number | string;
};

const HEIGHT = 460;
const SHORT_HEIGHT = 340;
const NARROW = 560;
const FOOT = 44;
const HEAD = 26;
const RIGHT = 16;
const LETTER = 7;
/** How near the pointer has to be to a point, in pixels. */
const REACH = 24;

type Placed = ScatterPoint & { readonly left: number; readonly top: number };

/** A value in words. */
export function quantityText({ name }: RunQuantity, value: number | string): string {
  return typeof value === 'number' ? formatMetric(name, value) : value;
}

type PlotBox = {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
};

type ScatterProps = {
  readonly state: ComparisonState;
  readonly points: readonly ScatterPoint[];
  readonly x: RunQuantity;
  readonly y: RunQuantity;
  /** Positions of the points in the Pareto front, the best x first. */
  readonly front: readonly number[];
};

/** Where everything is on a plot of this width. */
function layoutOf(
  { points, state }: ScatterProps,
  width: number,
): {
  readonly across: QuantityScale;
  readonly up: QuantityScale;
  readonly plot: PlotBox;
  readonly height: number;
  readonly placed: readonly (Placed | undefined)[];
} {
  const isNarrow = width < NARROW;
  const height = isNarrow ? SHORT_HEIGHT : HEIGHT;
  const tickCount = isNarrow ? 4 : 8;
  const across = quantityScale(
    points.map(({ x }) => x),
    state.logX.value,
    tickCount,
  );
  const up = quantityScale(
    points.map(({ y }) => y),
    state.logY.value,
  );
  const longest = Math.max(4, ...up.ticks.map(({ label }) => label.length));
  const left = 18 + LETTER * Math.min(16, longest);
  const plot = {
    left,
    top: HEAD,
    width: Math.max(0, width - left - RIGHT),
    height: height - HEAD - FOOT,
  };
  const placed = points.map((point): Placed | undefined => {
    const [shareX, shareY] = [across.at(point.x), up.at(point.y)];
    if (shareX === undefined || shareY === undefined) return undefined;
    const [fromLeft, fromTop] = [shareX * plot.width, (1 - shareY) * plot.height];
    return { ...point, left: plot.left + fromLeft, top: plot.top + fromTop };
  });
  return { across, up, plot, height, placed };
}

/** The plot. */
export function ScatterPlot(props: ScatterProps): JSX.Element {
  const { points, x, y } = props;
  const svg = useRef<SVGSVGElement>(null);
  const chosen = useSignal<string | undefined>(undefined);
  const title = t('{y} by {x}', { x: quantityName(x), y: quantityName(y) });
  const current = points.find(({ runId }) => runId === chosen.value);
  return (
    <figure class="card scatter-card">
      <header class="row spread gap-8">
        <h3 class="ellipsis" title={title}>
          {title}
        </h3>
        <SaveMenu
          name={title}
          ways={() =>
            drawnWays({
              name: title,
              svg: svg.current,
              header: ['run', 'name', x.id, y.id],
              rows: () => points.map((one) => [one.runId, one.name, one.x, one.y]),
            })
          }
        />
      </header>
      <Plot {...props} svg={svg} chosen={chosen} title={title} />
      <p class="small scatter-said" aria-live="polite">
        {current === undefined ? (
          <span class="quiet">{t('Point at a run, or use the arrow keys.')}</span>
        ) : (
          <>
            <a class="link" href={hrefOf({ kind: 'run', runId: current.runId })}>
              {current.name}
            </a>{' '}
            {quantityName(x)} {quantityText(x, current.x)}, {quantityName(y)}{' '}
            {quantityText(y, current.y)}
          </>
        )}
      </p>
    </figure>
  );
}

function Plot(
  props: ScatterProps & {
    readonly svg: RefObject<SVGSVGElement | null>;
    /** Id of the run that is pointed at. */
    readonly chosen: Signal<string | undefined>;
    readonly title: string;
  },
): JSX.Element {
  const { chosen, front, svg, title, x, y } = props;
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame).value;
  const { across, height, placed, plot, up } = layoutOf(props, width);
  const shown = placed.filter((point) => point !== undefined);
  const current = shown.find(({ runId }) => runId === chosen.value);
  return (
    <div
      ref={frame}
      class="scatter-frame"
      tabIndex={0}
      role="application"
      aria-label={t(
        '{title}. Arrow keys go from point to point, Enter opens the run. The table below has the same.',
        { title },
      )}
      onPointerMove={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const near = nearest(shown, event.clientX - box.left, event.clientY - box.top);
        if (near !== undefined) chosen.value = near.runId;
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && current !== undefined)
          location.hash = hrefOf({ kind: 'run', runId: current.runId });
        const next = nextPoint(shown, current, event.key);
        if (next === undefined) return;
        event.preventDefault();
        chosen.value = next.runId;
      }}
    >
      <svg ref={svg} class="scatter" width={width} height={height} aria-hidden="true">
        <Axes across={across} up={up} plot={plot} x={quantityName(x)} y={quantityName(y)} />
        {front.length > 0 && <path class="front-line" d={frontPath(front, placed)} />}
        {placed.map((point, at) =>
          point === undefined ? null : (
            <Point
              key={point.runId}
              point={point}
              isFront={front.includes(at)}
              isCurrent={point.runId === chosen.value}
            />
          ),
        )}
        {current !== undefined && <PointLabel point={current} plot={plot} />}
      </svg>
    </div>
  );
}

/** The name of a point, on the side of it where there is more room. */
function PointLabel(props: { readonly point: Placed; readonly plot: PlotBox }): JSX.Element {
  const { plot, point } = props;
  const isRight = point.left > plot.left + plot.width / 2;
  return (
    <text
      class="point-label"
      x={point.left + (isRight ? -10 : 10)}
      y={Math.max(plot.top + 12, point.top - 9)}
      text-anchor={isRight ? 'end' : 'start'}
    >
      {cutMiddle(point.name, Math.floor(plot.width / 2 / LETTER))}
    </text>
  );
}

function Point(props: {
  readonly point: Placed;
  readonly isFront: boolean;
  readonly isCurrent: boolean;
}): JSX.Element {
  const { isCurrent, isFront, point } = props;
  return (
    <circle
      class={`point${isFront ? ' is-front' : ''}${isCurrent ? ' is-current' : ''}`}
      cx={point.left}
      cy={point.top}
      r={isCurrent ? 7 : 5}
      fill={seriesColor(styleOfRun(point.runId).color)}
    />
  );
}

function Axes(props: {
  readonly across: QuantityScale;
  readonly up: QuantityScale;
  readonly plot: PlotBox;
  readonly x: string;
  readonly y: string;
}): JSX.Element {
  const { across, plot, up } = props;
  const foot = plot.top + plot.height;
  const most = Math.max(4, Math.floor(plot.width / Math.max(1, across.ticks.length) / LETTER));
  return (
    <g>
      {up.ticks.map(({ at, label }) => {
        const y = plot.top + (1 - at) * plot.height;
        return (
          <g key={label}>
            <line class="grid-line" x1={plot.left} x2={plot.left + plot.width} y1={y} y2={y} />
            <text class="axis-label" x={plot.left - 7} y={y + 4} text-anchor="end">
              {cutMiddle(label, 16)}
            </text>
          </g>
        );
      })}
      {across.ticks.map(({ at, label }) => {
        const x = plot.left + at * plot.width;
        return (
          <g key={label}>
            <line class="grid-line" x1={x} x2={x} y1={plot.top} y2={foot} />
            <text class="axis-label" x={x} y={foot + 16} text-anchor="middle">
              {cutMiddle(label, most)}
            </text>
          </g>
        );
      })}
      <text class="axis-title" x={plot.left + plot.width} y={foot + 36} text-anchor="end">
        {cutMiddle(props.x, Math.max(8, Math.floor(plot.width / LETTER)))}
        {across.kind === 'log' ? ' (log)' : ''}
      </text>
      <text class="axis-title" x={4} y={14}>
        {cutMiddle(props.y, Math.max(8, Math.floor(plot.width / LETTER)))}
        {up.kind === 'log' ? ' (log)' : ''}
      </text>
    </g>
  );
}

/** The front as steps: what lies beyond it is beaten. */
function frontPath(front: readonly number[], placed: readonly (Placed | undefined)[]): string {
  const points = front.flatMap((at) => placed[at] ?? []);
  return points
    .map(({ left, top }, at) => (at === 0 ? `M${left} ${top}` : `H${left}V${top}`))
    .join('');
}

function nearest(points: readonly Placed[], left: number, top: number): Placed | undefined {
  let best: Placed | undefined;
  let least = REACH ** 2;
  for (const point of points) {
    const distance = (point.left - left) ** 2 + (point.top - top) ** 2;
    if (distance < least) [best, least] = [point, distance];
  }
  return best;
}

/** The nearest point in the direction of an arrow key; the first one where none is chosen. */
function nextPoint(
  points: readonly Placed[],
  from: Placed | undefined,
  key: string,
): Placed | undefined {
  const way = DIRECTIONS[key];
  if (way === undefined) return undefined;
  const [dx, dy] = way;
  const sorted = points.toSorted((a, b) => a.left - b.left || a.top - b.top);
  if (from === undefined) return sorted[0];
  // Along the axis of the arrow, so that each point is come by.
  const along = ({ left, top }: Placed): number => (dx === 0 ? top * dy : left * dx);
  const across = ({ left, top }: Placed): number => (dx === 0 ? left : top);
  const others = sorted
    .filter(({ runId }) => runId !== from.runId)
    .filter(
      (point) =>
        along(point) > along(from) ||
        (along(point) === along(from) && across(point) > across(from)),
    );
  return others.toSorted((a, b) => along(a) - along(b) || across(a) - across(b))[0];
}

const DIRECTIONS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
