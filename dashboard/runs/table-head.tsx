/** The head of the table: what each column is, how it is sorted, and what can be done with it. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { CutName } from '../parts/cut-text.tsx';
import { MenuButton, type MenuItem } from '../parts/menu.tsx';
import { t } from '../parts/t.ts';
import {
  fullTitle,
  movedBy,
  movedTo,
  sortPathOf,
  titleOf,
  withColumn,
  withPin,
  withWidth,
  type ListColumn,
  type ColumnLayout,
} from './model/columns.ts';
import { groupPath, layout as chosenLayout, order } from './list-state.ts';
import { sortedBy } from './model/list-order.ts';
import { cellLook } from './run-line.tsx';

const DRAG_TYPE = 'text/x-quark-column';
/** A column gets so much wider or narrower by its menu, in CSS pixels. */
const WIDTH_STEP_PX = 48;

function change(layout: ColumnLayout): void {
  chosenLayout.value = layout;
}

/** One line with the heads of all columns. */
export function TableHead(props: {
  readonly layout: ColumnLayout;
  readonly isAllPicked: boolean | undefined;
  readonly onPickAll: () => void;
}): JSX.Element {
  const { layout } = props;
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th scope="col" class="col-pick pinned">
          <input
            type="checkbox"
            aria-label={t('Pick all runs of the filter')}
            checked={props.isAllPicked === true}
            ref={(input) => {
              if (input !== null) input.indeterminate = props.isAllPicked === undefined;
            }}
            onChange={props.onPickAll}
          />
        </th>
        {layout.map((column, at) => (
          <ColumnHead key={column.path} column={column} layout={layout} at={at} />
        ))}
        <td class="cell-filler" role="presentation" />
        <th scope="col" class="col-actions">
          <span class="sr-only">{t('Actions')}</span>
        </th>
      </tr>
    </thead>
  );
}

type HeadProps = {
  readonly column: ListColumn;
  readonly layout: ColumnLayout;
  readonly at: number;
};

function ColumnHead(props: HeadProps): JSX.Element {
  const { column, layout, at } = props;
  const { path } = column;
  const isOver = useSignal(false);
  const key = order.value.find(({ by }) => by === sortPathOf(path));
  const cell = cellLook(layout, at);
  return (
    <th
      scope="col"
      {...cell}
      class={`${cell.class}${isOver.value ? ' is-over' : ''}`}
      aria-sort={key === undefined ? 'none' : key.isDescending ? 'descending' : 'ascending'}
      draggable
      onDragStart={(event) => event.dataTransfer?.setData(DRAG_TYPE, path)}
      onDragOver={(event) => {
        if (event.dataTransfer?.types.includes(DRAG_TYPE) !== true) return;
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={() => {
        isOver.value = false;
      }}
      onDrop={(event) => {
        isOver.value = false;
        const moved = event.dataTransfer?.getData(DRAG_TYPE) ?? '';
        if (moved === '') return;
        event.preventDefault();
        const to = chosenLayout.peek().findIndex((one) => one.path === path);
        change(movedTo(chosenLayout.peek(), moved, to));
      }}
    >
      <span class="col-head">
        <SortButton path={path} />
        <MenuButton
          class="col-menu"
          icon="down"
          label={t('Column {name}', { name: fullTitle(path) })}
          items={() => columnItems(chosenLayout.peek(), column)}
        />
      </span>
      <span
        class="col-edge"
        aria-hidden="true"
        draggable
        onDragStart={(event) => {
          event.preventDefault();
          event.stopPropagation();
        }}
        onPointerDown={(event) => followEdge(event, path)}
      />
    </th>
  );
}

/** Sorts by a column, with the shift key by several; Alt and an arrow move the column. */
function SortButton({ path }: { readonly path: string }): JSX.Element {
  const by = sortPathOf(path);
  const position = order.value.findIndex((one) => one.by === by);
  const key = order.value[position];
  const { name, about } = titleOf(path);
  return (
    <button
      type="button"
      class="sort"
      data-tip={`${fullTitle(path)}\n${path}`}
      onClick={(event) => {
        order.value = sortedBy(order.value, by, event.shiftKey);
      }}
      onKeyDown={(event) => {
        const shift = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!event.altKey || shift === undefined) return;
        event.preventDefault();
        change(movedBy(chosenLayout.peek(), path, shift));
      }}
    >
      <CutName text={name} />
      {about !== '' && <span class="col-about quiet">{about}</span>}
      <span class="sort-mark">
        {key !== undefined && (
          <>
            <span aria-hidden="true">{key.isDescending ? '↓' : '↑'}</span>
            {order.value.length > 1 && <sup>{position + 1}</sup>}
          </>
        )}
      </span>
    </button>
  );
}

/** Has the width of a column follow the pointer until it is released. */
function followEdge(event: PointerEvent, path: string): void {
  const edge = event.currentTarget;
  const head = edge instanceof Element ? edge.closest('th') : null;
  if (!(edge instanceof HTMLElement) || head === null) return;
  event.preventDefault();
  const [startX, width] = [event.clientX, head.getBoundingClientRect().width];
  edge.setPointerCapture(event.pointerId);
  const follow = ({ clientX }: PointerEvent): void =>
    change(withWidth(chosenLayout.peek(), path, width + clientX - startX));
  edge.addEventListener('pointermove', follow);
  edge.addEventListener(
    'lostpointercapture',
    () => edge.removeEventListener('pointermove', follow),
    { once: true },
  );
}

function columnItems(layout: ColumnLayout, column: ListColumn): readonly MenuItem[] {
  const { path, isPinned, width } = column;
  const by = sortPathOf(path);
  const sortTo = (isDescending: boolean) => () => {
    order.value = [{ by, isDescending }];
  };
  return [
    { label: t('Sort ascending'), icon: 'up', act: sortTo(false) },
    { label: t('Sort descending'), icon: 'down', act: sortTo(true) },
    {
      label: t('Add to the order'),
      icon: 'rows',
      act: () => {
        order.value = sortedBy(order.value, by, true);
      },
    },
    {
      label: t('Group by this'),
      icon: 'rows',
      act: () => {
        groupPath.value = by;
      },
    },
    {
      label: isPinned ? t('Unpin') : t('Pin'),
      icon: 'pin',
      act: () => change(withPin(layout, path, !isPinned)),
    },
    { label: t('Move left'), icon: 'back', act: () => change(movedBy(layout, path, -1)) },
    { label: t('Move right'), icon: 'forward', act: () => change(movedBy(layout, path, 1)) },
    {
      label: t('Wider'),
      icon: 'expand',
      act: () => change(withWidth(layout, path, width + WIDTH_STEP_PX)),
    },
    {
      label: t('Narrower'),
      icon: 'shrink',
      act: () => change(withWidth(layout, path, width - WIDTH_STEP_PX)),
    },
    {
      label: t('Hide'),
      icon: 'close',
      isDisabled: path === 'name',
      act: () => change(withColumn(layout, path, false)),
    },
  ];
}
