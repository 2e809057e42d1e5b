/** A table of any length: sorted by a click on a column, filtered by words, with the rows drawn that are on screen. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { TableCell, TableContent } from 'quark-sdk/media';
import { csvBlob } from '../../charts/save/save-csv.ts';
import { downloadName, saveBlob } from '../../charts/save/save-file.ts';
import { Button } from '../../parts/controls.tsx';
import { formatCount, formatValue } from '../../parts/format.ts';
import { rowWindow } from '../../parts/row-window.ts';
import { setterOf } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import { FindBox } from '../media-panel.tsx';
import { cellText, orderedRows, type TableOrder } from './table-rows.ts';

const ROW_PX = 32;
const VIEW_PX = 420;
/** Rows beyond the edges, so that scrolling shows no gap. */
const SPARE_ROWS = 8;
/** More columns are counted and not drawn; the CSV has all. */
const MAX_COLUMNS = 60;
const MAX_CELL_CHARS = 200;

type TableProps = {
  readonly label: string;
  readonly table: TableContent;
  /** What a cell shows instead of its text; undefined: its text. */
  readonly cellView?: (cell: TableCell) => JSX.Element | undefined;
  readonly rowPx?: number;
};

/** A table with its tools. */
export function DataTable(props: TableProps): JSX.Element {
  const { label, table } = props;
  const rowPx = props.rowPx ?? ROW_PX;
  const query = useSignal('');
  const order = useSignal<TableOrder | undefined>(undefined);
  const scrollTop = useSignal(0);
  const columns = table.columns.slice(0, MAX_COLUMNS);
  const shownRows = useMemo(
    () => orderedRows(table, query.value, order.value),
    [table, query.value, order.value],
  );
  const { end: last, first } = rowWindow({
    rowCount: shownRows.length,
    rowHeight: rowPx,
    scrollTop: scrollTop.value,
    height: VIEW_PX,
    around: SPARE_ROWS,
  });
  return (
    <div class="data-table">
      <Tools {...props} query={query} shownRows={shownRows} />
      <div
        class="data-rows"
        tabIndex={0}
        role="region"
        aria-label={t('Rows of {name}', { name: label })}
        style={{ maxHeight: `${VIEW_PX}px` }}
        onScroll={(event) => {
          scrollTop.value = event.currentTarget.scrollTop;
        }}
      >
        <table class="table" aria-rowcount={shownRows.length + 1}>
          <thead>
            <tr>
              <Headers table={table} columns={columns} order={order} />
            </tr>
          </thead>
          <tbody>
            <Gap px={first * rowPx} columns={columns.length} />
            {Array.from(shownRows.subarray(first, last), (at, i) => (
              <tr key={at} aria-rowindex={first + i + 2} style={{ height: `${rowPx}px` }}>
                {columns.map((name, column) => (
                  <Cell key={name} cell={table.rows[at]?.[column] ?? null} view={props.cellView} />
                ))}
              </tr>
            ))}
            <Gap px={(shownRows.length - last) * rowPx} columns={columns.length} />
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** The words that rows are found by, how many there are, and the file of them. */
function Tools(
  props: TableProps & { readonly query: Signal<string>; readonly shownRows: Int32Array },
): JSX.Element {
  const { label, query, shownRows, table } = props;
  return (
    <div class="row wrap gap-10 small">
      <FindBox
        label={t('Find in the rows of {name}', { name: label })}
        placeholder={t('Find in rows')}
        value={query.value}
        onChange={setterOf(query)}
      />
      <span class="quiet" role="status">
        {shownRows.length === table.rows.length
          ? tn(table.rows.length, '{count} row', '{count} rows')
          : t('{shown} of {count} rows', {
              shown: formatCount(shownRows.length),
              count: formatCount(table.rows.length),
            })}
        {table.columns.length > MAX_COLUMNS &&
          ` · ${t('{shown} of {count} columns', { shown: MAX_COLUMNS, count: table.columns.length })}`}
      </span>
      <Button
        isSmall
        class="push"
        onClick={() => {
          void saveCsv(label, table, shownRows);
        }}
      >
        {t('Save as CSV')}
      </Button>
    </div>
  );
}

async function saveCsv(label: string, table: TableContent, order: Int32Array): Promise<void> {
  const rows = Array.from(order, (at) =>
    (table.rows[at] ?? []).map((cell) => (typeof cell === 'boolean' ? String(cell) : cell)),
  );
  saveBlob(downloadName([label], 'csv'), await csvBlob(table.columns, rows));
}

function Gap(props: { readonly px: number; readonly columns: number }): JSX.Element | null {
  if (props.px <= 0) return null;
  return (
    <tr aria-hidden="true" class="data-gap" style={{ height: `${props.px}px` }}>
      <td colSpan={props.columns} />
    </tr>
  );
}

/** Numbers stand at the end of their column, and so does its name. */
function Headers(props: {
  readonly table: TableContent;
  readonly columns: readonly string[];
  readonly order: Signal<TableOrder | undefined>;
}): JSX.Element {
  const [first = []] = props.table.rows;
  return (
    <>
      {props.columns.map((name, column) => (
        <Header
          key={name}
          name={name}
          column={column}
          order={props.order}
          isNumber={typeof first[column] === 'number'}
        />
      ))}
    </>
  );
}

function Header(props: {
  readonly name: string;
  readonly column: number;
  readonly order: Signal<TableOrder | undefined>;
  readonly isNumber: boolean;
}): JSX.Element {
  const { column, name, order } = props;
  const isBy = order.value?.column === column;
  const isDescending = isBy && order.value?.isDescending === true;
  return (
    <th
      scope="col"
      class={props.isNumber ? 'data-number' : ''}
      aria-sort={!isBy ? 'none' : isDescending ? 'descending' : 'ascending'}
    >
      <button
        type="button"
        class="data-head"
        title={name}
        onClick={() => {
          if (!isBy) order.value = { column, isDescending: false };
          else order.value = isDescending ? undefined : { column, isDescending: true };
        }}
      >
        <bdi class="ellipsis">{name === '' ? '–' : name}</bdi>
        <span aria-hidden="true">{!isBy ? '' : isDescending ? '↓' : '↑'}</span>
      </button>
    </th>
  );
}

function Cell(props: {
  readonly cell: TableCell;
  readonly view: ((cell: TableCell) => JSX.Element | undefined) | undefined;
}): JSX.Element {
  const { cell, view } = props;
  const drawn = view?.(cell);
  if (drawn !== undefined) return <td>{drawn}</td>;
  if (typeof cell === 'number')
    return (
      <td class="data-number" title={String(cell)}>
        {formatValue(cell)}
      </td>
    );
  const text = cellText(cell);
  return (
    <td class="data-text" title={text.length > 24 ? text.slice(0, 2000) : undefined}>
      {cell === null ? (
        <span class="quiet">–</span>
      ) : (
        <bdi>{text.length > MAX_CELL_CHARS ? `${text.slice(0, MAX_CELL_CHARS)}…` : text}</bdi>
      )}
    </td>
  );
}
