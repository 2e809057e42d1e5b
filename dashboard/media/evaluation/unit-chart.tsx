/** Curves from 0 to 1 on both axes, with the points under the pointer or the arrow keys. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { formatValue } from '../../parts/format.ts';
import { setting } from '../../parts/signals.ts';
import { t } from '../../parts/t.ts';

/** A curve; arrays of one length. */
export type UnitCurve = {
  readonly id: string;
  readonly name: string;
  readonly color: string;
  /** Dashes and gaps, in CSS pixels. */
  readonly dash: readonly number[];
  readonly xs: Float64Array;
  readonly ys: Float64Array;
  readonly thresholds: Float64Array;
};

const SIDE = 320;
const LEFT = 38;
const FOOT = 34;
const TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1];

type Pointed = { readonly curve: number; readonly point: number };

/** The chart. */
export function UnitChart(props: {
  readonly label: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly curves: readonly UnitCurve[];
  /** Draws the line of a classifier that guesses. */
  readonly hasDiagonal: boolean;
}): JSX.Element {
  const { curves } = props;
  const pointed = useSignal<Pointed | undefined>(undefined);
  const at = pointed.value;
  const curve = at === undefined ? undefined : curves[at.curve];
  const point = (event: PointerEvent & { readonly currentTarget: SVGSVGElement }): void => {
    pointed.value = pointAt(event, curves);
  };
  return (
    <div class="unit-chart">
      <svg
        viewBox={`0 0 ${SIDE + LEFT + 8} ${SIDE + FOOT + 8}`}
        role="group"
        tabIndex={0}
        aria-label={t(
          '{name}: {count} curves. Left and right go along a curve, up and down to another.',
          {
            name: props.label,
            count: curves.length,
          },
        )}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={setting(pointed, undefined)}
        onBlur={setting(pointed, undefined)}
        onKeyDown={(event) => {
          const to = movedPoint(event.key, pointed.peek(), curves);
          if (to === undefined) return;
          event.preventDefault();
          pointed.value = to;
        }}
      >
        <Axes xTitle={props.xTitle} yTitle={props.yTitle} />
        {props.hasDiagonal && (
          <line class="unit-guess" x1={LEFT} y1={8 + SIDE} x2={LEFT + SIDE} y2={8} />
        )}
        <Lines curves={curves} />
        <Mark curve={curve} point={at?.point ?? 0} />
      </svg>
      <p class="small confusion-words" role="status">
        {curve === undefined || at === undefined
          ? t('Point at a curve for its thresholds.')
          : pointWords(props, curve, at.point)}
      </p>
    </div>
  );
}

function Mark(props: {
  readonly curve: UnitCurve | undefined;
  readonly point: number;
}): JSX.Element | null {
  const { curve, point } = props;
  if (curve === undefined) return null;
  const [cx, cy] = [placeX(curve.xs[point] ?? 0), placeY(curve.ys[point] ?? 0)];
  return <circle class="unit-point" fill={curve.color} cx={cx} cy={cy} r={5} />;
}

function Lines({ curves }: { readonly curves: readonly UnitCurve[] }): JSX.Element {
  return (
    <>
      {curves.map(({ color, dash, id, xs, ys }) => (
        <polyline
          key={id}
          class="unit-curve"
          stroke={color}
          stroke-dasharray={dash.join(' ')}
          points={Array.from(xs, (x, i) => `${placeX(x)},${placeY(ys[i] ?? 0)}`).join(' ')}
        />
      ))}
    </>
  );
}

function Axes(props: { readonly xTitle: string; readonly yTitle: string }): JSX.Element {
  return (
    <g class="unit-axes" aria-hidden="true">
      {TICKS.map((tick) => (
        <g key={tick}>
          <line x1={placeX(tick)} y1={8} x2={placeX(tick)} y2={8 + SIDE} />
          <line x1={LEFT} y1={placeY(tick)} x2={LEFT + SIDE} y2={placeY(tick)} />
          <text x={placeX(tick)} y={8 + SIDE + 14} text-anchor="middle">
            {tick}
          </text>
          <text x={LEFT - 5} y={placeY(tick) + 4} text-anchor="end">
            {tick}
          </text>
        </g>
      ))}
      <text x={LEFT + SIDE / 2} y={8 + SIDE + 30} text-anchor="middle">
        {props.xTitle}
      </text>
      <text transform={`translate(10 ${8 + SIDE / 2}) rotate(-90)`} text-anchor="middle">
        {props.yTitle}
      </text>
    </g>
  );
}

function placeX(x: number): number {
  return Math.round((LEFT + x * SIDE) * 10) / 10;
}

function placeY(y: number): number {
  return Math.round((8 + (1 - y) * SIDE) * 10) / 10;
}

function pointAt(
  { clientX, clientY, currentTarget }: PointerEvent & { readonly currentTarget: SVGSVGElement },
  curves: readonly UnitCurve[],
): Pointed | undefined {
  const frame = currentTarget.getBoundingClientRect();
  const scale = (SIDE + LEFT + 8) / frame.width;
  const x = ((clientX - frame.left) * scale - LEFT) / SIDE;
  return nearestPoint(curves, x, 1 - ((clientY - frame.top) * scale - 8) / SIDE);
}

function nearestPoint(curves: readonly UnitCurve[], x: number, y: number): Pointed | undefined {
  let best: Pointed | undefined;
  let least = 0.02;
  for (const [curve, { xs, ys }] of curves.entries())
    for (const [point, px] of xs.entries()) {
      const distance = (px - x) ** 2 + ((ys[point] ?? 0) - y) ** 2;
      if (distance >= least) continue;
      least = distance;
      best = { curve, point };
    }
  return best;
}

function movedPoint(
  key: string,
  from: Pointed | undefined,
  curves: readonly UnitCurve[],
): Pointed | undefined {
  const start = from ?? { curve: 0, point: -1 };
  const count = curves[start.curve]?.xs.length ?? 0;
  const within = (value: number, most: number): number => Math.max(0, Math.min(most, value));
  if (key === 'ArrowRight') return { ...start, point: within(start.point + 1, count - 1) };
  if (key === 'ArrowLeft') return { ...start, point: within(start.point - 1, count - 1) };
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return undefined;
  const curve = within(start.curve + (key === 'ArrowDown' ? 1 : -1), curves.length - 1);
  const x = curves[start.curve]?.xs[start.point] ?? 0;
  const xs = curves[curve]?.xs ?? new Float64Array(0);
  let point = 0;
  for (const [i, other] of xs.entries())
    if (Math.abs(other - x) < Math.abs((xs[point] ?? 0) - x)) point = i;
  return { curve, point };
}

function pointWords(
  { xTitle, yTitle }: { readonly xTitle: string; readonly yTitle: string },
  { name, thresholds, xs, ys }: UnitCurve,
  point: number,
): string {
  return t('{name}: {yTitle} {y}, {xTitle} {x} at threshold {threshold}', {
    name,
    xTitle,
    yTitle,
    x: formatValue(xs[point] ?? Number.NaN),
    y: formatValue(ys[point] ?? Number.NaN),
    threshold: formatValue(thresholds[point] ?? Number.NaN),
  });
}
