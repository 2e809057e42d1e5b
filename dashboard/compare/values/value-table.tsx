/** The table itself. */
import type { JSX } from 'preact';
import type { ComparedValue, ValueRow } from 'quark-sdk/analysis';
import { formatMetric, formatValue } from '../../parts/format.ts';
import { t, tn } from '../../parts/t.ts';
import type { ComparedColumn, ComparisonState } from '../comparison-state.ts';
import { ScrollTable, Head, RowHead } from '../scroll-table.tsx';
import { RunEnd, RunLink, RunSwatch } from '../run-marks.tsx';

/** Rows of values under the names of the columns. */
export function ValueTable(props: {
  readonly state: ComparisonState;
  readonly columns: readonly ComparedColumn[];
  readonly rows: readonly ValueRow[];
  /** Position of the baseline. */
  readonly baseline: number;
}): JSX.Element {
  const { baseline, columns, rows, state } = props;
  return (
    <ScrollTable
      label={t('Table of values')}
      class="value-scroll"
      head={
        <>
          <Head isFirst>{t('Metric')}</Head>
          {columns.map((column, at) => (
            <ColumnHead
              key={column.key}
              state={state}
              column={column}
              isBaseline={at === baseline}
            />
          ))}
        </>
      }
    >
      {rows.map((row) => (
        <tr key={row.metricKey}>
          <RowHead>{row.metricKey}</RowHead>
          {row.cells.map((cell, at) => (
            <Cell
              key={columns[at]?.key}
              metricKey={row.metricKey}
              cell={cell}
              isBest={row.best.includes(at)}
              isBaseline={at === baseline}
              isBetter={isBetter(row, cell)}
            />
          ))}
        </tr>
      ))}
    </ScrollTable>
  );
}

function ColumnHead(props: {
  readonly state: ComparisonState;
  readonly column: ComparedColumn;
  readonly isBaseline: boolean;
}): JSX.Element {
  const { column, isBaseline, state } = props;
  const summary = state.runs.summaries.find(({ run }) => run.id === column.key);
  return (
    <th scope="col" class="is-number">
      <span class="value-head inline gap-6">
        <RunSwatch styleKey={column.key} />
        <span class="breakable">{column.name}</span>
        {summary !== undefined && <RunLink runId={column.key} name={column.name} />}
      </span>
      {isBaseline && <span class="badge">{t('baseline')}</span>}
      {summary === undefined && (
        <span class="quiet small">{tn(column.runIds.length, '{count} run', '{count} runs')}</span>
      )}
      {summary !== undefined && <RunEnd summary={summary} />}
      <GroupEnds state={state} column={column} />
    </th>
  );
}

/** How many runs of a group did not complete: what they had reached stands for them. */
function GroupEnds(props: {
  readonly state: ComparisonState;
  readonly column: ComparedColumn;
}): JSX.Element | null {
  const { column, state } = props;
  if (column.key === column.runIds[0]) return null;
  const own = new Set(column.runIds);
  const count = state.runs.summaries.filter(
    ({ effectiveStatus, run }) => own.has(run.id) && effectiveStatus !== 'completed',
  ).length;
  if (count === 0) return null;
  return (
    <span class="badge tone-paused">
      {tn(count, '{count} did not complete', '{count} did not complete')}
    </span>
  );
}

function isBetter({ direction }: ValueRow, { difference }: ComparedValue): boolean | undefined {
  if (direction === null || difference === null || difference === 0) return undefined;
  return (direction === 'lower') === difference < 0;
}

function Cell(props: {
  readonly metricKey: string;
  readonly cell: ComparedValue;
  readonly isBest: boolean;
  readonly isBaseline: boolean;
  readonly isBetter: boolean | undefined;
}): JSX.Element {
  const { cell, isBaseline, isBest, metricKey } = props;
  const { adjustedPValue, count, difference, high, low, mean, share } = cell;
  if (count === 0) return <td class="is-number quiet">–</td>;
  return (
    <td class={`is-number value-cell${isBest ? ' is-best' : ''}`}>
      <span class="value-mean">
        {isBest && <span class="badge tone-live">{t('best')}</span>} {formatMetric(metricKey, mean)}
      </span>
      {Number.isFinite(low) && (
        <span class="quiet small nowrap">
          {t('{low} to {high}', { low: formatValue(low), high: formatValue(high) })}
        </span>
      )}
      {!isBaseline && difference !== null && (
        <span class={`small nowrap value-difference${toneOf(props.isBetter)}`}>
          {signed(difference, formatMetric(metricKey, Math.abs(difference)))}
          {share !== null && ` (${signed(share, `${formatShare(share)} %`)})`}
        </span>
      )}
      {adjustedPValue !== null && (
        <span class="small nowrap quiet">
          {cell.isSignificant === true
            ? t('significant, p {p}', { p: pText(adjustedPValue) })
            : t('not significant, p {p}', { p: pText(adjustedPValue) })}
        </span>
      )}
    </td>
  );
}

function toneOf(isBetterThan: boolean | undefined): string {
  if (isBetterThan === undefined) return '';
  return isBetterThan ? ' is-better' : ' is-worse';
}

/** A number with its sign in front: that of the difference, also where it rounds to zero. */
function signed(value: number, size: string): string {
  if (value === 0) return size;
  return `${value > 0 ? '+' : '−'}${size}`;
}

function formatShare(share: number): string {
  return formatValue(Number(Math.abs(100 * share).toPrecision(3)));
}

function pText(p: number): string {
  return p < 1e-4 ? '< 0.0001' : `= ${Number(p.toPrecision(2))}`;
}
