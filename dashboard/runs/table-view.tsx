/** The table: of its lines, those on screen are on the page. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Tips } from '../parts/cut-text.tsx';
import { t } from '../parts/t.ts';
import { listScroll, storeListScroll } from '../route/scroll.ts';
import type { ColumnLayout } from './model/columns.ts';
import { selection } from './list-state.ts';
import { isNarrow } from './narrow.ts';
import {
  firstSeen,
  tableWindow,
  scrollTopAfter,
  scrollTopOf,
  type TableSpan,
} from './model/table-window.ts';
import {
  GroupLine,
  MENU_PX,
  PICK_PX,
  RunCard,
  RunLine,
  ReadingLine,
  type LineContext,
} from './run-line.tsx';
import { TableHead } from './table-head.tsx';
import type { TableModel } from './model/table-model.ts';
import type { VisibleTable } from './use-table.ts';

/** Heights of lines, in CSS pixels. */
const ROW_PX = 44;
const CARD_PX = 84;
/** Pages around what is seen that are read ahead, in lines. */
const AHEAD = 60;
/** Lines are read once scrolling by more than this many screens a frame has paused. */
const FAST_SCREENS = 2;
const PAUSE_MS = 80;

/** What can be done with the table from outside. */
export type TableHandle = {
  /** Goes to another line, as far as there is one, and gives it the focus. */
  move: (lines: number) => void;
  /** The run that the reader is at; undefined before they are at one. */
  active: () => string | undefined;
};

type TableProps = {
  readonly model: TableModel;
  readonly layout: ColumnLayout;
  readonly context: LineContext;
  readonly seen: VisibleTable;
  readonly handle: { current: TableHandle | null };
  readonly isAllPicked: boolean | undefined;
  readonly onPickAll: () => void;
};

/** See the top of this file. */
export function TableView(props: TableProps): JSX.Element {
  const { model, layout, seen } = props;
  const frame = useRef<HTMLDivElement>(null);
  const narrow = isNarrow.value;
  const scroll = useSignal({ top: 0, viewport: 600 });
  const total = model.sections.value.total;
  const view: TableSpan = {
    scrollTop: scroll.value.top,
    viewport: scroll.value.viewport,
    rowHeight: narrow ? CARD_PX : ROW_PX,
    total,
  };
  useFrame(frame, scroll, total > 0);
  useReading(model, view, seen, frame);
  const active = useActiveLine(frame, model, view, props.handle);
  const width = PICK_PX + MENU_PX + layout.reduce((sum, column) => sum + column.width, 0);
  return (
    <div ref={frame} class="table-frame card" onFocusIn={active.follow}>
      <table
        class={`runs${narrow ? ' is-narrow' : ''}`}
        role="grid"
        aria-label={t('Runs')}
        aria-rowcount={total + 1}
        aria-multiselectable
        style={narrow ? undefined : { width: `${width}px` }}
        onKeyDown={active.onKeyDown}
      >
        {!narrow && <Heads {...props} />}
        <Lines {...props} view={view} isNarrow={narrow} />
      </table>
      <Tips frame={frame} />
    </div>
  );
}

function Heads(props: TableProps): JSX.Element {
  const { layout } = props;
  return (
    <>
      <colgroup>
        <col style={{ width: `${PICK_PX}px` }} />
        {layout.map((column) => (
          <col key={column.path} style={{ width: `${column.width}px` }} />
        ))}
        <col />
        <col style={{ width: `${MENU_PX}px` }} />
      </colgroup>
      <TableHead layout={layout} isAllPicked={props.isAllPicked} onPickAll={props.onPickAll} />
    </>
  );
}

/** The lines on screen, with room for the others. */
function Lines(
  props: TableProps & { readonly view: TableSpan; readonly isNarrow: boolean },
): JSX.Element {
  const { model, layout, context, seen, view } = props;
  const { first, end, top, height } = tableWindow(view);
  const bottom = Math.max(0, height - top - (end - first) * view.rowHeight);
  const span = props.isNarrow ? 1 : layout.length + 3;
  return (
    <tbody
      onPointerEnter={() => {
        seen.isHeld = true;
      }}
      onPointerLeave={() => {
        seen.isHeld = false;
      }}
    >
      <Spacer height={top} span={span} />
      {Array.from({ length: end - first }, (_, at) => (
        <TableLineView
          key={first + at}
          index={first + at}
          model={model}
          layout={layout}
          context={context}
          isNarrow={props.isNarrow}
        />
      ))}
      <Spacer height={bottom} span={span} />
    </tbody>
  );
}

/** Room for lines that are not on the page. */
function Spacer(props: { readonly height: number; readonly span: number }): JSX.Element | null {
  if (props.height === 0) return null;
  return (
    <tr class="spacer" aria-hidden="true">
      <td colSpan={props.span} style={{ height: `${props.height}px` }} />
    </tr>
  );
}

function TableLineView(props: {
  readonly index: number;
  readonly model: TableModel;
  readonly layout: ColumnLayout;
  readonly context: LineContext;
  readonly isNarrow: boolean;
}): JSX.Element {
  const { index, model, layout, context } = props;
  const found = model.at(index);
  const id = found?.kind === 'row' ? found.row?.id : undefined;
  const isPicked = id !== undefined && selection.value.ids.has(id);
  if (found?.kind === 'head')
    return (
      <GroupLine
        group={found.group}
        path={model.request.groupPath}
        index={index}
        layout={layout}
        isOpen={found.isOpen}
        isNarrow={props.isNarrow}
        onToggle={(group) => model.toggle(group)}
      />
    );
  if (found?.row === undefined) return <ReadingLine index={index} columns={layout.length} />;
  const Line = props.isNarrow ? RunCard : RunLine;
  return (
    <Line
      row={found.row}
      index={index}
      layout={layout}
      context={context}
      isPicked={isPicked}
      isInGroup={model.isGrouped}
    />
  );
}

/** Follows how far the frame is scrolled and how high it is, and goes where this entry of the history was left. */
function useFrame(
  frame: { current: HTMLDivElement | null },
  scroll: { value: { readonly top: number; readonly viewport: number } },
  isFilled: boolean,
): void {
  useLayoutEffect(() => {
    const { current } = frame;
    if (current === null) return undefined;
    const follow = (): void => {
      scroll.value = { top: current.scrollTop, viewport: current.clientHeight };
      storeListScroll(current.scrollTop);
    };
    const measure = (): void => {
      scroll.value = { top: current.scrollTop, viewport: current.clientHeight };
    };
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    measure();
    current.addEventListener('scroll', follow, { passive: true });
    return () => {
      observer.disconnect();
      current.removeEventListener('scroll', follow);
    };
  }, []);
  const isRestored = useRef(false);
  useLayoutEffect(() => {
    if (!isFilled || isRestored.current || frame.current === null) return;
    isRestored.current = true;
    frame.current.scrollTop = listScroll();
  }, [isFilled]);
}

/** Reads the lines on screen, and tells what is seen. */
function useReading(
  model: TableModel,
  view: TableSpan,
  seen: VisibleTable,
  frame: { current: HTMLDivElement | null },
): void {
  const lastTop = useRef(view.scrollTop);
  const latest = useRef(view);
  latest.current = view;
  seen.first = Math.max(0, firstSeen(view));
  seen.end = Math.min(view.total, seen.first + Math.ceil(view.viewport / view.rowHeight) + 1);
  seen.shift = (lines) => {
    if (frame.current !== null) frame.current.scrollTop = scrollTopAfter(lines, latest.current);
  };
  seen.toTop = () => {
    if (frame.current !== null) frame.current.scrollTop = 0;
  };
  const [first, end] = [seen.first, seen.end];
  useEffect(() => {
    const isFast = Math.abs(view.scrollTop - lastTop.current) > FAST_SCREENS * view.viewport;
    lastTop.current = view.scrollTop;
    const read = (): void =>
      model.want(Math.max(0, first - AHEAD), Math.min(view.total, end + AHEAD));
    if (!isFast) {
      read();
      return undefined;
    }
    const timer = setTimeout(read, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [model, first, end, view.total]);
}

const SHIFTS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** The line that the reader is at, by keys or by the focus. */
function useActiveLine(
  frame: { current: HTMLDivElement | null },
  model: TableModel,
  view: TableSpan,
  handle: { current: TableHandle | null },
): {
  readonly follow: (event: FocusEvent) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
} {
  const active = useRef<{ index: number; id: string | undefined } | undefined>(undefined);
  const isToFocus = useRef(false);
  const move = (lines: number): void => {
    const { id, index = firstSeen(view) - 1 } = active.current ?? {};
    const from = (id === undefined ? undefined : model.lineOf(id)) ?? index;
    const to = Math.max(0, Math.min(view.total - 1, from + lines));
    const line = model.at(to);
    active.current = { index: to, id: line?.kind === 'row' ? line.row?.id : undefined };
    isToFocus.current = true;
    if (frame.current !== null) frame.current.scrollTop = scrollTopOf(to, view);
    focus();
  };
  const frameId = useRef(0);
  const focus = (): void => {
    cancelAnimationFrame(frameId.current);
    if (!isToFocus.current || active.current === undefined) return;
    const line = frame.current?.querySelector(`tr[aria-rowindex="${active.current.index + 2}"]`);
    const target = line?.querySelector<HTMLElement>('.run-link, .group-toggle');
    if (target === null || target === undefined) {
      // The line is being read.
      frameId.current = requestAnimationFrame(focus);
      return;
    }
    isToFocus.current = false;
    target.focus({ preventScroll: true });
  };
  useEffect(() => () => cancelAnimationFrame(frameId.current), []);
  // The line may have come on the page just now.
  useLayoutEffect(focus);
  handle.current = { move, active: () => active.current?.id };
  return {
    follow: ({ target }) => {
      // Somebody went elsewhere.
      isToFocus.current = false;
      const row = target instanceof Element ? target.closest('tr[aria-rowindex]') : null;
      if (row === null || row.closest('thead') !== null) return;
      const index = Number(row.getAttribute('aria-rowindex')) - 2;
      active.current = { index, id: row.getAttribute('data-run') ?? undefined };
    },
    onKeyDown: (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const page = Math.max(1, Math.floor(view.viewport / view.rowHeight) - 1);
      const lines =
        SHIFTS[event.key] ??
        { PageDown: page, PageUp: -page, Home: -view.total, End: view.total }[event.key];
      const isInHead = event.target instanceof Element && event.target.closest('thead') !== null;
      if (lines !== undefined && !(isInHead && event.key !== 'ArrowDown')) {
        event.preventDefault();
        move(isInHead ? 0 : lines);
      } else if (moveToCell(event)) event.preventDefault();
    },
  };
}

/** Goes to the cell beside the one with the focus. */
function moveToCell({ key, target }: KeyboardEvent): boolean {
  const shift = { ArrowRight: 1, ArrowLeft: -1 }[key];
  const cell = target instanceof Element ? target.closest('tbody td') : null;
  if (shift === undefined || cell === null) return false;
  const cells = [
    ...(cell.parentElement?.querySelectorAll<HTMLElement>('td:not([role=presentation])') ?? []),
  ];
  const next = cells[cells.findIndex((one) => one === cell) + shift];
  if (next === undefined) return false;
  const inside = next.querySelector<HTMLElement>('.run-link, input, .menu-button button');
  (inside ?? next).focus();
  return true;
}

/** Whether all runs of the filter are picked; undefined: some of them. */
export function pickedShare(count: number, total: number | undefined): boolean | undefined {
  if (count === 0) return false;
  return total !== undefined && count >= total ? true : undefined;
}
