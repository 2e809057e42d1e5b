/** Cells under the pointer or the arrow keys, with the exact numbers of the one that is pointed at. */
import { useSignal, useSignalEffect, type ReadonlySignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { rampOf, type RampName } from './ramps.ts';
import { shownTheme } from '../theme/theme.ts';
import { formatTick } from '../parts/format.ts';
import { labelledColumns, type GridColumn } from './layer-grid.ts';
import { paintHeat } from './heat-canvas.ts';

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

type Place = { readonly row: number; readonly column: number };

/** A heat map beside the labels of its rows. */
export function HeatMap(props: {
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
}): JSX.Element {
  const { cells, rowPx } = props;
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useSignal(0);
  const place = useSignal<Place | undefined>(undefined);
  const isByKey = useSignal(false);

  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const measure = (): void => {
      width.value = element.clientWidth;
      props.onWidth(element.clientWidth);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  useSignalEffect(() => {
    const { columns, rowCount, shades, ramp } = cells.value;
    const colors = rampOf(ramp);
    const columnPx = columnWidth(width.value, columns.length);
    const element = canvas.current;
    void shownTheme.value;
    if (element === null || host.current === null || width.value === 0) return undefined;
    const frame = requestAnimationFrame(() => {
      const style = getComputedStyle(element);
      paintHeat(element, {
        shades,
        columnCount: columns.length,
        rowCount,
        width: Math.max(1, columns.length * columnPx),
        height: Math.max(1, rowCount * rowPx),
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

  const { columns, rowCount } = cells.value;
  const columnPx = columnWidth(width.value, columns.length);
  const at = place.value;
  const words = at === undefined ? undefined : props.wordsOf(at.row, at.column);

  const point = (event: PointerEvent): void => {
    const frame = canvas.current?.getBoundingClientRect();
    if (frame === undefined) return;
    const column = Math.floor((event.clientX - frame.left) / columnPx);
    const row = Math.floor((event.clientY - frame.top) / rowPx);
    isByKey.value = false;
    const isInside = column >= 0 && column < columns.length && row >= 0 && row < rowCount;
    place.value = isInside ? { row, column } : undefined;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const from = place.peek() ?? { row: 0, column: columns.length - 1 };
    if (event.key === 'Enter' || event.key === ' ') props.onPick?.(from.row);
    else if (event.key === 'Escape') place.value = undefined;
    else {
      const to = moved(event.key, from, rowCount, columns.length);
      if (to === undefined) return;
      isByKey.value = true;
      place.value = place.peek() === undefined ? from : to;
    }
    event.preventDefault();
  };
  return (
    <div class="heat">
      <div class="heat-labels">{props.children}</div>
      <div ref={host} class="heat-body">
        <div
          class="heat-cells"
          tabIndex={0}
          role="group"
          aria-label={`${props.label}. Arrow keys go from cell to cell${props.onPick === undefined ? '' : ', Enter opens the layer'}.`}
          style={{ width: `${Math.max(1, columns.length * columnPx)}px` }}
          onPointerMove={point}
          onPointerDown={point}
          onPointerLeave={() => {
            if (!isByKey.value) place.value = undefined;
          }}
          onBlur={() => {
            place.value = undefined;
          }}
          onClick={() => {
            const here = place.peek();
            if (here !== undefined) props.onPick?.(here.row);
          }}
          onKeyDown={onKeyDown}
        >
          <canvas ref={canvas} />
          {at !== undefined && (
            <span
              class="heat-mark"
              style={{
                left: `${at.column * columnPx}px`,
                top: `${at.row * rowPx}px`,
                width: `${columnPx}px`,
                height: `${rowPx - props.rowGap}px`,
              }}
            />
          )}
        </div>
        <div class="heat-axis" aria-hidden="true">
          {labelledColumns(columns.length, columnPx, LABEL_SPACE_PX)
            .filter((column) => column === 0 || column * columnPx < width.value - LABEL_ROOM_PX)
            .map((column) => (
              <span key={column} style={{ left: `${(column + 0.5) * columnPx}px` }}>
                {column === 0 && 'step '}
                {formatTick(columns[column]?.firstStep ?? 0)}
              </span>
            ))}
        </div>
        {at !== undefined && words !== undefined && (
          <Tip
            words={words}
            left={(at.column + 0.5) * columnPx}
            top={(at.row + 1) * rowPx}
            isLeft={at.column * columnPx > width.value / 2}
          />
        )}
        <p class="sr-only" role="status">
          {isByKey.value && words !== undefined && spoken(words)}
        </p>
      </div>
    </div>
  );
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
      <strong>{words.title}</strong>
      <dl>
        {words.lines.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
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

/** CSS pixels of one column. */
function columnWidth(width: number, columnCount: number): number {
  return Math.max(1, Math.min(MAX_COLUMN_PX, width / Math.max(1, columnCount)));
}

function moved(key: string, from: Place, rowCount: number, columnCount: number): Place | undefined {
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
