/** Cells under the pointer or the arrow keys, with the exact numbers of the one that is pointed at. */
import { useSignal, useSignalEffect, type ReadonlySignal, type Signal } from '@preact/signals';
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { formatTicks } from '../../parts/format.ts';
import { setting } from '../../parts/signals.ts';
import { shownTheme } from '../../theme/theme.ts';
import { paintHeat } from './heat-canvas.ts';
import { lowerBound } from '../plot/axis.ts';
import { columnLefts, labelledColumns, type GridColumn } from './layer-grid.ts';
import { rampOf, type RampName } from './ramps.ts';
import './heat.css';
import { t } from '../../parts/t.ts';

/** Narrowest column, in CSS pixels. */
export const MIN_COLUMN_PX = 4;
/** Widest column: a run that has just begun has few. */
const MAX_COLUMN_PX = 56;
const LABEL_SPACE_PX = 64;
/** Half a label. */
const LABEL_ROOM_PX = 20;

/** The cells to show. */
export type HeatCells = {
  readonly columns: readonly GridColumn[];
  readonly rowCount: number;
  readonly shades: Int16Array;
  readonly ramp: RampName;
};

/** What is said of a cell. */
export type CellWords = {
  readonly title: string;
  readonly lines: readonly (readonly [name: string, value: string])[];
};

type Cell = { readonly row: number; readonly column: number };

type HeatMapProps = {
  readonly label: string;
  readonly cells: ReadonlySignal<HeatCells>;
  readonly rowPx: number;
  readonly rowGap: number;
  readonly wordsOf: (row: number, column: number) => CellWords | undefined;
  readonly onPick?: (row: number) => void;
  /** Called with the width there is, at first and when it changes. */
  readonly onWidth: (px: number) => void;
  /** Labels of the rows. */
  readonly children: ComponentChildren;
};

/** A heat map beside the labels of its rows. */
export function HeatMap(props: HeatMapProps): JSX.Element {
  const { rowPx } = props;
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host, props.onWidth);
  const chosen = useSignal<Cell | undefined>(undefined);
  const isByKey = useSignal(false);
  const { columns } = props.cells.value;
  const lefts = columnLefts(columns, heatWidth(width.value, columns.length));
  const at = chosen.value;
  const [atLeft, atRight] = at === undefined ? [0, 0] : edgesOf(lefts, at.column);
  const words = at === undefined ? undefined : props.wordsOf(at.row, at.column);
  return (
    <div class="heat">
      <div class="heat-labels">{props.children}</div>
      <div ref={host} class="heat-body">
        <Cells {...props} width={width} lefts={lefts} chosen={chosen} isByKey={isByKey} />
        <div class="heat-axis" aria-hidden="true">
          <AxisLabels columns={columns} lefts={lefts} width={width.value} />
        </div>
        {at !== undefined && words !== undefined && (
          <Tip
            words={words}
            left={(atLeft + atRight) / 2}
            top={(at.row + 1) * rowPx}
            isLeft={atLeft > width.value / 2}
          />
        )}
        <p class="sr-only" role="status">
          {isByKey.value && words !== undefined && spoken(words)}
        </p>
      </div>
    </div>
  );
}

/** The width of an element as it changes, in CSS pixels; 0 before it is known. */
function useWidth(
  host: RefObject<HTMLElement | null>,
  onWidth: (px: number) => void,
): ReadonlySignal<number> {
  const width = useSignal(0);
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const measure = (): void => {
      width.value = element.clientWidth;
      onWidth(element.clientWidth);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  return width;
}

type CellsProps = HeatMapProps & {
  readonly width: ReadonlySignal<number>;
  /** Where each column begins, and where the last one ends, in CSS pixels. */
  readonly lefts: Float64Array;
  readonly chosen: Signal<Cell | undefined>;
  readonly isByKey: Signal<boolean>;
};

/** The cells themselves: the pointer and the arrow keys choose one. */
function Cells(props: CellsProps): JSX.Element {
  const { rowPx, lefts, chosen, isByKey } = props;
  const { columns, rowCount } = props.cells.value;
  const canvas = usePainted(props);
  const point = ({ clientX, clientY }: PointerEvent): void => {
    const frame = canvas.current?.getBoundingClientRect();
    if (frame === undefined) return;
    const column = lowerBound(lefts, clientX - frame.left + Number.MIN_VALUE) - 1;
    const row = Math.floor((clientY - frame.top) / rowPx);
    isByKey.value = false;
    const isInside = column >= 0 && column < columns.length && row >= 0 && row < rowCount;
    chosen.value = isInside ? { row, column } : undefined;
  };
  const at = chosen.value;
  const [left, right] = at === undefined ? [0, 0] : edgesOf(lefts, at.column);
  return (
    <div
      class="heat-cells"
      tabIndex={0}
      role="group"
      aria-label={
        props.onPick === undefined
          ? t('{label}. Arrow keys go from cell to cell.', { label: props.label })
          : t('{label}. Arrow keys go from cell to cell, Enter opens the layer.', {
              label: props.label,
            })
      }
      style={{ width: `${Math.max(1, lefts.at(-1) ?? 1)}px` }}
      onPointerMove={point}
      onPointerDown={point}
      onPointerLeave={() => {
        if (!isByKey.value) chosen.value = undefined;
      }}
      onBlur={setting(chosen, undefined)}
      onClick={() => {
        const here = chosen.peek();
        if (here !== undefined) props.onPick?.(here.row);
      }}
      onKeyDown={(event) => {
        if (chooseByKey(event.key, props)) event.preventDefault();
      }}
    >
      <canvas ref={canvas} />
      {at !== undefined && (
        <span
          class="heat-mark"
          style={{
            left: `${left}px`,
            top: `${at.row * rowPx}px`,
            width: `${right - left}px`,
            height: `${rowPx - props.rowGap}px`,
          }}
        />
      )}
    </div>
  );
}

/** Goes to the cell that a key says. False: the key says nothing. */
function chooseByKey(key: string, { cells, chosen, isByKey, onPick }: CellsProps): boolean {
  const { columns, rowCount } = cells.peek();
  const from = chosen.peek() ?? { row: 0, column: columns.length - 1 };
  if (key === 'Enter' || key === ' ') onPick?.(from.row);
  else if (key === 'Escape') chosen.value = undefined;
  else {
    const to = moved(key, from, rowCount, columns.length);
    if (to === undefined) return false;
    isByKey.value = true;
    chosen.value = chosen.peek() === undefined ? from : to;
  }
  return true;
}

/** A canvas on which the cells are painted whenever they, their size or the theme change. */
function usePainted(
  props: HeatMapProps & { readonly width: ReadonlySignal<number> },
): RefObject<HTMLCanvasElement | null> {
  const canvas = useRef<HTMLCanvasElement>(null);
  useSignalEffect(() => {
    const { columns, rowCount, shades, ramp } = props.cells.value;
    const colors = rampOf(ramp);
    const width = heatWidth(props.width.value, columns.length);
    const element = canvas.current;
    void shownTheme.value;
    if (element === null || props.width.value === 0) return undefined;
    const frame = requestAnimationFrame(() => {
      const style = getComputedStyle(element);
      paintHeat(element, {
        shades,
        columnCount: columns.length,
        lefts: columnLefts(columns, width),
        rowCount,
        width,
        height: Math.max(1, rowCount * props.rowPx),
        ramp: colors,
        rowGap: props.rowGap,
        bad: {
          ground: style.getPropertyValue('--surface').trim(),
          stripe: style.getPropertyValue('--ink').trim(),
        },
      });
      element.dataset['columns'] = String(columns.length);
    });
    return () => cancelAnimationFrame(frame);
  });
  return canvas;
}

function Tip(props: {
  readonly words: CellWords;
  readonly left: number;
  readonly top: number;
  readonly isLeft: boolean;
}): JSX.Element {
  const { words } = props;
  return (
    <div
      class={`heat-tip${props.isLeft ? ' is-left' : ''}`}
      aria-hidden="true"
      style={{ left: `${props.left}px`, top: `${props.top + 6}px` }}
    >
      <strong class="strong">{words.title}</strong>
      <dl>
        {words.lines.map(([name, value]) => (
          <div key={name}>
            <dt class="quiet">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function spoken({ title, lines }: CellWords): string {
  return `${title}: ${lines.map((line) => line.join(' ')).join(', ')}`;
}

/** CSS pixels of all columns together. */
function heatWidth(width: number, columnCount: number): number {
  return Math.max(1, Math.min(MAX_COLUMN_PX * columnCount, width));
}

function edgesOf(lefts: Float64Array, column: number): [left: number, right: number] {
  return [lefts[column] ?? 0, lefts[column + 1] ?? 0];
}

/** Steps under the columns, as many as there is room for. */
function AxisLabels(props: {
  readonly columns: readonly GridColumn[];
  readonly lefts: Float64Array;
  readonly width: number;
}): JSX.Element {
  const { columns, lefts, width } = props;
  const shown = labelledColumns(lefts, LABEL_SPACE_PX).filter(
    (column) => column === 0 || (lefts[column] ?? 0) < width - LABEL_ROOM_PX,
  );
  const texts = formatTicks(shown.map((column) => columns[column]?.firstStep ?? 0));
  return (
    <>
      {shown.map((column, at) => {
        const [left, right] = edgesOf(lefts, column);
        return (
          <span
            key={column}
            style={{ left: `${left + Math.min(MAX_COLUMN_PX, right - left) / 2}px` }}
          >
            {column === 0 && 'step '}
            {texts[at]}
          </span>
        );
      })}
    </>
  );
}

function moved(key: string, from: Cell, rowCount: number, columnCount: number): Cell | undefined {
  const shifts: Readonly<Record<string, readonly [row: number, column: number]>> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    Home: [0, -columnCount],
    End: [0, columnCount],
  };
  const shift = shifts[key];
  if (shift === undefined) return undefined;
  return {
    row: Math.max(0, Math.min(rowCount - 1, from.row + shift[0])),
    column: Math.max(0, Math.min(columnCount - 1, from.column + shift[1])),
  };
}
