/** The plot of parallel axes. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { RunQuantity } from 'quark-sdk/analysis';
import { drawnWays } from '../../charts/save/save-drawn.ts';
import { SaveMenu } from '../../charts/save/save-menu.tsx';
import { formatCount } from '../../parts/format.ts';
import { setting } from '../../parts/signals.ts';
import { t } from '../../parts/t.ts';
import type { ComparisonState } from '../comparison-state.ts';
import type { LineColors } from '../line-colors.ts';
import { quantityName } from '../quantities.ts';
import { cutMiddle, type QuantityScale } from '../quantity-scale.ts';
import { useWidth } from '../use-width.ts';
import { brushByKey, withBrush, type Brushes } from '../brushes.ts';

/** A quantity and where its values are. */
export type ParallelAxis = { readonly quantity: RunQuantity; readonly scale: QuantityScale };

const HEAD = 40;
const PLOT = 320;
/** Room below the axes for runs without a value. */
const MISSING = 34;
const SIDE = 70;
/** Axes stand this far apart at least; a narrow page scrolls. */
const MIN_GAP = 110;
const LETTER = 6.6;
/** Half of the width in which an axis takes the pointer. */
const GRIP = 14;

type PlotProps = {
  readonly state: ComparisonState;
  readonly axes: readonly ParallelAxis[];
  readonly target: RunQuantity;
  readonly colors: LineColors;
  /** Of each run whether it goes through all brushes. */
  readonly isThrough: readonly boolean[];
  readonly brushes: Signal<Brushes>;
  /** Id of the run that is pointed at. */
  readonly current: Signal<string | undefined>;
};

/** The plot. */
export function ParallelPlot(props: PlotProps): JSX.Element {
  const { axes, brushes, current, state } = props;
  const frame = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const width = Math.max(useWidth(frame).value, 2 * SIDE + (axes.length - 1) * MIN_GAP);
  const gap = axes.length < 2 ? 0 : (width - 2 * SIDE) / (axes.length - 1);
  const left = (at: number): number => (axes.length < 2 ? width / 2 : SIDE + at * gap);
  const runs = state.runs.summaries;
  const title = t('Parallel axes');
  return (
    <figure class="card parallel-card">
      <span class="lanes-save">
        <SaveMenu
          name={title}
          ways={() =>
            drawnWays({
              name: title,
              svg: svg.current,
              header: ['run', 'name', ...axes.map(({ quantity }) => quantity.id)],
              rows: () =>
                runs.map(({ run }, at) => [
                  run.id,
                  state.runs.nameOf(run.id),
                  ...axes.map(({ quantity }) => quantity.values[at]),
                ]),
            })
          }
        />
      </span>
      <div
        ref={frame}
        class="compare-scroll"
        role="region"
        aria-label={t('Lines of the runs')}
        tabIndex={0}
      >
        <svg ref={svg} class="parallel" width={width} height={HEAD + PLOT + MISSING + 12}>
          <Lines {...props} left={left} />
          {axes.map((axis, at) => (
            <Axis
              key={axis.quantity.id}
              axis={axis}
              left={left(at)}
              room={Math.max(60, gap - 12)}
              brushes={brushes}
            />
          ))}
        </svg>
      </div>
      <p class="small parallel-said" aria-live="polite">
        {current.value === undefined ? ' ' : state.runs.nameOf(current.value)}
      </p>
    </figure>
  );
}

/** Marked runs are drawn last, over the others; the one that is pointed at over all. */
function Lines(props: PlotProps & { readonly left: (at: number) => number }): JSX.Element {
  const { axes, colors, current, isThrough, left, state, target } = props;
  const runs = state.runs.summaries;
  const rank = (at: number): number => {
    if (runs[at]?.run.id === current.value) return 2;
    return isThrough[at] === true ? 1 : 0;
  };
  const order = [...runs.keys()].toSorted((a, b) => rank(a) - rank(b));
  return (
    <g aria-hidden="true">
      {order.map((at) => {
        const id = runs[at]?.run.id ?? '';
        const isMarked = isThrough[at] === true;
        const isCurrent = id === current.value;
        return (
          <path
            key={id}
            class={`parallel-line${isMarked ? '' : ' is-out'}${isCurrent ? ' is-current' : ''}`}
            d={linePath(axes, at, left)}
            style={lineStyle(isMarked ? colors.colorOf(target.values[at]) : undefined)}
            onPointerEnter={setting(current, id)}
            onPointerLeave={setting(current, undefined)}
          >
            <title>{state.runs.nameOf(id)}</title>
          </path>
        );
      })}
    </g>
  );
}

function topOf(share: number): number {
  return HEAD + (1 - share) * PLOT;
}

/** A line that is out of the marked parts, or has no value, has the colour of the style sheet. */
function lineStyle(color: string | undefined): { stroke: string } | undefined {
  return color === undefined ? undefined : { stroke: color };
}

/** A run without a value on an axis goes below it. */
function linePath(
  axes: readonly ParallelAxis[],
  run: number,
  left: (at: number) => number,
): string {
  return axes
    .map(({ quantity, scale }, at) => {
      const share = scale.at(quantity.values[run] ?? null);
      const y = share === undefined ? HEAD + PLOT + MISSING - 12 : topOf(share);
      return `${at === 0 ? 'M' : 'L'}${left(at).toFixed(1)} ${y.toFixed(1)}`;
    })
    .join('');
}

function Axis(props: {
  readonly axis: ParallelAxis;
  readonly left: number;
  readonly room: number;
  readonly brushes: Signal<Brushes>;
}): JSX.Element {
  const { axis, brushes, left, room } = props;
  const { quantity, scale } = axis;
  const { id, values } = quantity;
  const brush = brushes.value.get(id);
  const name = quantityName(quantity);
  const missing = values.filter((value) => scale.at(value) === undefined).length;
  return (
    <g>
      <text class="axis-title" x={left} y={16} text-anchor="middle">
        <title>{name}</title>
        {cutMiddle(name, Math.max(6, Math.floor(room / LETTER)))}
      </text>
      <line class="parallel-axis" x1={left} x2={left} y1={HEAD} y2={HEAD + PLOT} />
      {brush !== undefined && (
        <rect
          class="parallel-brush"
          x={left - 7}
          y={topOf(brush.to)}
          width="14"
          height={(brush.to - brush.from) * PLOT}
        />
      )}
      {scale.ticks.map(({ at, label }) => (
        <text key={label} class="tick-label" x={left + 6} y={topOf(at) + 4}>
          {cutMiddle(label, Math.max(4, Math.floor((room - 12) / LETTER)))}
        </text>
      ))}
      {missing > 0 && (
        <text class="tick-label" x={left + 6} y={HEAD + PLOT + MISSING - 8}>
          {t('{count} without', { count: formatCount(missing) })}
        </text>
      )}
      <Grip quantity={quantity} left={left} brushes={brushes} />
    </g>
  );
}

/** What takes the pointer and the keys of an axis. */
function Grip(props: {
  readonly quantity: RunQuantity;
  readonly left: number;
  readonly brushes: Signal<Brushes>;
}): JSX.Element {
  const { brushes, left, quantity } = props;
  const { id } = quantity;
  const drag = useSignal<number | undefined>(undefined);
  const brush = brushes.value.get(id);
  return (
    <rect
      class="parallel-grip"
      x={left - GRIP}
      y={HEAD}
      width={2 * GRIP}
      height={PLOT}
      tabindex={0}
      role="slider"
      aria-orientation="vertical"
      aria-label={t('Part of {name}', { name: quantityName(quantity) })}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(100 * (brush?.from ?? 0))}
      aria-valuetext={
        brush === undefined
          ? t('all of it')
          : t('from {from} to {to} % of the axis', {
              from: Math.round(100 * brush.from),
              to: Math.round(100 * brush.to),
            })
      }
      onKeyDown={(event) => {
        const change = brushByKey(brush, event.key);
        if (change === undefined) return;
        event.preventDefault();
        brushes.value = withBrush(brushes.value, id, change.brush);
      }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.value = shareAt(event);
        brushes.value = withBrush(brushes.value, id, undefined);
      }}
      onPointerMove={(event) => {
        if (drag.value !== undefined)
          brushes.value = withBrush(brushes.value, id, { from: drag.value, to: shareAt(event) });
      }}
      onPointerUp={() => {
        drag.value = undefined;
      }}
    />
  );
}

/** Where the pointer is on an axis, from its foot. */
function shareAt(event: { readonly currentTarget: Element; readonly clientY: number }): number {
  const box = event.currentTarget.getBoundingClientRect();
  return Math.max(0, Math.min(1, 1 - (event.clientY - box.top) / box.height));
}
