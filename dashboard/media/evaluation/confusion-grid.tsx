/** A confusion matrix on a canvas: cells under the pointer or the arrow keys, with their exact numbers. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { paintHeat } from '../../charts/heat/heat-canvas.ts';
import { EMPTY_SHADE } from '../../charts/heat/layer-grid.ts';
import { rampOf } from '../../charts/heat/ramps.ts';
import { formatCount, formatValue } from '../../parts/format.ts';
import { setting } from '../../parts/signals.ts';
import { t } from '../../parts/t.ts';
import { shownTheme } from '../../theme/theme.ts';
import type { ConfusionScale, ConfusionView } from './confusion.ts';

const MAX_SIDE_PX = 560;
const MAX_CELL_PX = 52;
/** Narrower cells have no label of their class, and no number. */
const MIN_LABEL_PX = 13;
const MIN_NUMBER_PX = 30;

type Cell = { readonly row: number; readonly column: number };

type GridProps = {
  readonly label: string;
  readonly view: ConfusionView;
  readonly scale: ConfusionScale;
  readonly widthPx: number;
};

/** The matrix. */
export function ConfusionGrid(props: GridProps): JSX.Element {
  const { view } = props;
  const size = view.classes.length;
  const labelPx = Math.min(120, props.widthPx * 0.3);
  const room = Math.min(MAX_SIDE_PX, Math.max(120, props.widthPx - labelPx - 8));
  const cellPx = Math.min(MAX_CELL_PX, room / size);
  const chosen = useSignal<Cell | undefined>(undefined);
  const names = cellPx >= MIN_LABEL_PX ? view.classes : [];
  return (
    <div class="confusion">
      <div
        class="confusion-frame"
        style={{ gridTemplateColumns: `${labelPx}px ${cellPx * size}px` }}
      >
        <span class="quiet small confusion-axis">{t('true class')}</span>
        <span class="quiet small">{t('predicted class')}</span>
        <div class="confusion-rows" aria-hidden="true">
          {names.map((name, at) => (
            <span
              key={`${at} ${name}`}
              class="small ellipsis"
              style={{ height: `${cellPx}px` }}
              title={name}
            >
              <bdi>{name}</bdi>
            </span>
          ))}
        </div>
        <Cells {...props} cellPx={cellPx} chosen={chosen} />
        <span />
        <div class="confusion-columns" aria-hidden="true">
          {names.map((name, at) => (
            <span key={`${at} ${name}`} class="small" style={{ width: `${cellPx}px` }} title={name}>
              <bdi class="ellipsis">{name}</bdi>
            </span>
          ))}
        </div>
      </div>
      <p class="small confusion-words" role="status">
        {chosen.value === undefined
          ? t('Point at a cell for its numbers.')
          : cellWords(view, chosen.value)}
      </p>
    </div>
  );
}

/** The cells themselves: the pointer and the arrow keys choose one. */
function Cells(
  props: GridProps & { readonly cellPx: number; readonly chosen: Signal<Cell | undefined> },
): JSX.Element {
  const { cellPx, chosen, scale, view } = props;
  const size = view.classes.length;
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = shownTheme.value;
  useEffect(() => {
    if (canvas.current !== null) paintMatrix(canvas.current, view, scale, cellPx);
  }, [view, scale, cellPx, theme]);
  const at = chosen.value;
  const point = (event: PointerEvent): void => {
    const frame = canvas.current?.getBoundingClientRect();
    if (frame === undefined) return;
    const column = Math.floor((event.clientX - frame.left) / cellPx);
    const row = Math.floor((event.clientY - frame.top) / cellPx);
    const isInside = column >= 0 && column < size && row >= 0 && row < size;
    chosen.value = isInside ? { row, column } : undefined;
  };
  return (
    <div
      class="confusion-cells"
      role="group"
      tabIndex={0}
      aria-label={t(
        '{name}: confusion matrix of {count} classes. Arrow keys go from cell to cell.',
        { name: props.label, count: size },
      )}
      style={{ width: `${cellPx * size}px`, height: `${cellPx * size}px` }}
      onPointerMove={point}
      onPointerDown={point}
      onPointerLeave={setting(chosen, undefined)}
      onBlur={setting(chosen, undefined)}
      onKeyDown={(event) => {
        const to = movedCell(event.key, chosen.peek(), size);
        if (to === undefined) return;
        event.preventDefault();
        chosen.value = to;
      }}
    >
      <canvas ref={canvas} data-classes={size} />
      {at !== undefined && (
        <span
          class="heat-mark"
          style={{
            left: `${at.column * cellPx}px`,
            top: `${at.row * cellPx}px`,
            width: `${cellPx}px`,
            height: `${cellPx}px`,
          }}
        />
      )}
    </div>
  );
}

function movedCell(key: string, from: Cell | undefined, size: number): Cell | undefined {
  const shifts: Readonly<Record<string, readonly [number, number]>> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
  };
  const shift = shifts[key];
  if (shift === undefined) return undefined;
  if (from === undefined) return { row: 0, column: 0 };
  const within = (value: number): number => Math.max(0, Math.min(size - 1, value));
  return { row: within(from.row + shift[0]), column: within(from.column + shift[1]) };
}

function cellWords(view: ConfusionView, { column, row }: Cell): string {
  const size = view.classes.length;
  const count = view.counts[row * size + column] ?? 0;
  const sum = (of: (at: number) => number): number =>
    view.classes.reduce((total, _name, at) => total + (view.counts[of(at)] ?? 0), 0);
  const share = (whole: number): string =>
    whole === 0 ? '–' : `${((100 * count) / whole).toFixed(1)} %`;
  return t(
    'True {from}, predicted {to}: {count} ({row} of the true class, {column} of the predicted)',
    {
      from: view.classes[row] ?? '',
      to: view.classes[column] ?? '',
      count: formatCount(count),
      row: share(sum((at) => row * size + at)),
      column: share(sum((at) => at * size + column)),
    },
  );
}

function paintMatrix(
  canvas: HTMLCanvasElement,
  { classes, values }: ConfusionView,
  scale: ConfusionScale,
  cellPx: number,
): void {
  const size = classes.length;
  const most =
    scale === 'counts'
      ? values.reduce((max, value) => Math.max(max, Number.isNaN(value) ? 0 : value), 0)
      : 1;
  const shades = Int16Array.from(values, (value) =>
    Number.isNaN(value) || most === 0 ? EMPTY_SHADE : Math.round(Math.sqrt(value / most) * 255),
  );
  const ramp = rampOf('sequential');
  paintHeat(canvas, {
    shades,
    columnCount: size,
    lefts: Float64Array.from({ length: size + 1 }, (_, at) => at * cellPx),
    rowCount: size,
    width: size * cellPx,
    height: size * cellPx,
    ramp,
    rowGap: 0,
    bad: { ground: '', stripe: '' },
  });
  const context = canvas.getContext('2d');
  if (context === null || cellPx < MIN_NUMBER_PX) return;
  const ratio = devicePixelRatio;
  context.font = `${11 * ratio}px ${getComputedStyle(canvas).fontFamily}`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (const [at, value] of values.entries()) {
    if (Number.isNaN(value) || value === 0) continue;
    const shade = shades[at] ?? 0;
    const [red = 0, green = 0, blue = 0] = ramp.subarray(3 * shade, 3 * shade + 3);
    context.fillStyle = 0.3 * red + 0.59 * green + 0.11 * blue > 140 ? '#111' : '#fff';
    const text = scale === 'counts' ? shortCount(value) : `${Math.round(100 * value)}`;
    context.fillText(
      text,
      ((at % size) + 0.5) * cellPx * ratio,
      (Math.floor(at / size) + 0.5) * cellPx * ratio,
    );
  }
}

function shortCount(value: number): string {
  return value >= 10_000 ? `${formatValue(Math.round(value / 1000))}k` : formatCount(value);
}
