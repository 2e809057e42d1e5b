/** One line of the table: a run, a group, or a run that is on its way. */
import type { FoundGroup, FoundRun } from 'quark-sdk/workspace';
import type { JSX } from 'preact';
import { RunMenu } from '../changes/run-actions.tsx';
import { Icon } from '../parts/icons.tsx';
import { formatDuration, shortId } from '../parts/format.ts';
import type { MenuItem } from '../parts/menu.tsx';
import { t, tn } from '../parts/t.ts';
import {
  CellContent,
  cellTip,
  hasTipAlways,
  nameOf,
  numberText,
  type CellContext,
} from './cells.tsx';
import {
  CURVE_PREFIX,
  fullTitle,
  sortPathOf,
  type ListColumn,
  type ColumnLayout,
} from './model/columns.ts';
import type { FacetValue } from './model/facet-text.ts';
import { groupValue } from './model/table-model.ts';
import type { ChangeTarget } from '../changes/run-acts.ts';

/** What lines need besides their runs. */
export type LineContext = CellContext & {
  readonly mayDelete: boolean;
  readonly targetOf: (row: FoundRun) => ChangeTarget;
  readonly onPick: (row: FoundRun, isRange: boolean) => void;
  readonly menuOf: (row: FoundRun) => readonly MenuItem[];
};

/** Columns beside those that show values: the one to pick, and the one with the menu. */
export const PICK_PX = 44;
export const MENU_PX = 48;

/** Where a pinned column stays, from the left edge. */
export function pinnedLeft(layout: ColumnLayout, at: number): number {
  return layout.slice(0, at).reduce((sum, { width }) => sum + width, PICK_PX);
}

/** The attributes of a cell: whether it stays in sight, and on which side numbers stand. */
export function cellLook(
  layout: ColumnLayout,
  at: number,
): { class: string; style?: { left: string } } {
  const column = layout[at];
  const isLast = column?.isPinned === true && layout[at + 1]?.isPinned !== true;
  const kind = `cell-${(column?.path ?? '').split(/[.:]/, 1)[0] ?? ''}`;
  return column?.isPinned === true
    ? {
        class: `${kind} pinned${isLast ? ' pinned-last' : ''}`,
        style: { left: `${pinnedLeft(layout, at)}px` },
      }
    : { class: kind };
}

/** A run. */
export function RunLine(props: {
  readonly row: FoundRun;
  readonly index: number;
  readonly layout: ColumnLayout;
  readonly context: LineContext;
  readonly isPicked: boolean;
  readonly isInGroup: boolean;
}): JSX.Element {
  const { row, layout, context } = props;
  return (
    <tr
      class={`run-row${props.isInGroup ? ' in-group' : ''}`}
      data-run={row.id}
      aria-rowindex={props.index + 2}
      aria-selected={props.isPicked}
      onClick={(event) => {
        const isOnControl =
          event.target instanceof Element &&
          event.target.closest('a, button, input, .menu') !== null;
        if (isOnControl || !(event.shiftKey || event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        context.onPick(row, event.shiftKey);
      }}
    >
      <PickCell row={row} context={context} isPicked={props.isPicked} />
      {layout.map(({ path }, at) => (
        <td
          key={path}
          role={path === 'name' ? 'rowheader' : 'gridcell'}
          tabIndex={-1}
          {...cellLook(layout, at)}
          data-tip={path === 'name' ? undefined : cellTip(row, path)}
          data-tip-always={hasTipAlways(row, path) ? '' : undefined}
        >
          <CellContent row={row} path={path} context={context} />
        </td>
      ))}
      <td class="cell-filler" role="presentation" />
      <MenuCell row={row} context={context} />
    </tr>
  );
}

function PickCell(props: {
  readonly row: FoundRun;
  readonly context: LineContext;
  readonly isPicked: boolean;
}): JSX.Element {
  const { row, context } = props;
  return (
    <td class="col-pick pinned" role="gridcell">
      <input
        type="checkbox"
        aria-label={t('Pick {name}', { name: `${nameOf(row)} ${shortId(row.id)}` })}
        checked={props.isPicked}
        onClick={(event) => context.onPick(row, event.shiftKey)}
      />
    </td>
  );
}

/** Empty where nothing of a run can be changed. */
function MenuCell(props: { readonly row: FoundRun; readonly context: LineContext }): JSX.Element {
  const { row, context } = props;
  return (
    <td class="col-actions" role="gridcell">
      {(context.mayEditRow(row) || context.mayDelete) && (
        <RunMenu
          target={context.targetOf(row)}
          isLive={row.isLive}
          isArchived={row.archivedAtMs !== null}
          mayDelete={context.mayDelete}
          more={() => context.menuOf(row)}
        />
      )}
    </td>
  );
}

/** A run as a card of two lines, for narrow screens. */
export function RunCard(props: Parameters<typeof RunLine>[0]): JSX.Element {
  const { row, layout, context } = props;
  const others = layout.filter(({ path }) => path !== 'name' && path !== 'status');
  return (
    <tr
      class="run-row run-card"
      data-run={row.id}
      aria-rowindex={props.index + 2}
      aria-selected={props.isPicked}
    >
      <PickCell row={row} context={context} isPicked={props.isPicked} />
      <td class="cell-name" role="rowheader">
        <CellContent row={row} path="name" context={context} />
      </td>
      <td class="card-values" role="gridcell" tabIndex={-1}>
        <CellContent row={row} path="status" context={context} />
        {others.map(({ path }) => (
          <span key={path} class="card-value" data-path={path}>
            <span class="quiet small">{fullTitle(path)} </span>
            <CellContent row={row} path={path} context={context} />
          </span>
        ))}
      </td>
      <MenuCell row={row} context={context} />
    </tr>
  );
}

/** A run that is on its way. */
export function ReadingLine(props: {
  readonly index: number;
  readonly columns: number;
}): JSX.Element {
  return (
    <tr class="run-row waiting-row" aria-rowindex={props.index + 2} aria-busy="true">
      <td class="col-pick" role="gridcell" />
      <td role="gridcell" colSpan={props.columns + 2}>
        <span class="skeleton" style={{ width: `${160 + ((props.index * 37) % 120)}px` }} />
        <span class="sr-only">{t('Reading')}</span>
      </td>
    </tr>
  );
}

/** Runs with the same value, which fold. */
export function GroupLine(props: {
  readonly group: FoundGroup;
  readonly path: string;
  readonly index: number;
  readonly layout: ColumnLayout;
  readonly isOpen: boolean;
  readonly isNarrow: boolean;
  readonly onToggle: (group: FoundGroup) => void;
}): JSX.Element {
  const { group, layout, isOpen } = props;
  const head = (
    <button
      type="button"
      class="group-toggle inline gap-8"
      aria-expanded={isOpen}
      onClick={() => props.onToggle(group)}
    >
      <Icon name={isOpen ? 'down' : 'forward'} />
      <span class="strong ellipsis">{groupText(props.path, groupValue(group))}</span>
      <span class="quiet">{tn(group.runs, '{count} run', '{count} runs')}</span>
    </button>
  );
  if (props.isNarrow) return <GroupCard {...props} head={head} />;
  return (
    <tr class="run-row group-row" aria-rowindex={props.index + 2}>
      <td class="col-pick pinned" role="gridcell" />
      {layout.map((column, at) => (
        <td
          key={column.path}
          role={at === 0 ? 'rowheader' : 'gridcell'}
          tabIndex={-1}
          {...cellLook(layout, at)}
          data-tip={at === 0 ? groupText(props.path, groupValue(group)) : meanTip(group, column)}
          data-tip-always={at === 0 ? undefined : ''}
        >
          {at === 0 ? head : meanText(group, column)}
        </td>
      ))}
      <td class="cell-filler" role="presentation" />
      <td class="col-actions" role="gridcell" />
    </tr>
  );
}

function GroupCard(props: {
  readonly group: FoundGroup;
  readonly index: number;
  readonly layout: ColumnLayout;
  readonly head: JSX.Element;
}): JSX.Element {
  const { group, layout, head } = props;
  return (
    <tr class="run-row group-row group-card" aria-rowindex={props.index + 2}>
      <td role="rowheader">{head}</td>
      <td role="gridcell" class="card-values">
        {layout.map((column) => {
          const text = meanText(group, column);
          return (
            text !== undefined && (
              <span key={column.path} class="card-value">
                <span class="quiet small">{fullTitle(column.path)} </span>
                {text}
              </span>
            )
          );
        })}
      </td>
    </tr>
  );
}

/** What the runs of a group have in common. */
export function groupText(path: string, value: FacetValue): string {
  const name = fullTitle(path);
  return value === null
    ? t('{name}: none', { name })
    : t('{name}: {value}', {
        name,
        value: typeof value === 'number' ? numberText(path, value) : String(value),
      });
}

function statisticOf(
  group: FoundGroup,
  { path }: ListColumn,
): FoundGroup['of'][number] | undefined {
  const wanted = path.startsWith(CURVE_PREFIX) ? sortPathOf(path) : path;
  return group.of.find((one) => one.path === wanted && one.runs > 0);
}

/** Mean and standard deviation. */
function meanText(group: FoundGroup, column: ListColumn): string | undefined {
  const found = statisticOf(group, column);
  if (found === undefined || found.mean === null) return undefined;
  const write = (value: number): string => statisticText(column.path, value);
  return found.deviation === null
    ? write(found.mean)
    : `${write(found.mean)} ± ${write(found.deviation)}`;
}

function statisticText(path: string, value: number): string {
  return path === 'durationMs' ? formatDuration(value) : numberText(path, value);
}

function meanTip(group: FoundGroup, column: ListColumn): string | undefined {
  const found = statisticOf(group, column);
  if (found?.mean === null || found === undefined) return undefined;
  const { path } = column;
  return [
    t('Mean of {count} values: {mean}', { count: found.runs, mean: found.mean }),
    ...(found.deviation === null
      ? [t('One value has no standard deviation.')]
      : [t('Standard deviation (n − 1): {deviation}', { deviation: found.deviation })]),
    ...(found.min === null || found.max === null
      ? []
      : [
          t('From {min} to {max}', {
            min: statisticText(path, found.min),
            max: statisticText(path, found.max),
          }),
        ]),
  ].join('\n');
}
