/** What charts and tables of a written report show: read of the runs that a query names, and small enough to be stored with the report. */
import { jsDraw } from '../kernel/series/draw/draw-js.ts';
import { findRunRows } from '../read/finding/run-table.ts';
import { openRun } from '../read/run-reader.ts';
import type { Store } from '../store/store.ts';
import {
  checkReport,
  REPORT_LIMITS,
  type ReportBlock,
  type ReportCurve,
  type ReportRows,
  type WrittenReport,
} from './report-shape.ts';

/** Columns that a curve is reduced to: its first, lowest, highest and last value of each. */
const BUCKETS = Math.floor(REPORT_LIMITS.points / 4);
/** Paths of instants, which are numbers of milliseconds. */
const INSTANTS: ReadonlySet<string> = new Set(['startedAt', 'endedAt', 'updatedAt']);

/** Whose runs a report shows, and how it writes numbers. */
export type ReportScope = {
  readonly store: Store;
  /** Name of the project. */
  readonly project: string;
  /** Heading of the column that names the runs; default `Run`. */
  readonly runTitle?: string;
  /** A measured value as text; default: four significant digits. */
  readonly formatValue?: (value: number) => string;
};

/**
 * The curves of a metric of the newest runs of a query, as a chart of a report draws them: 12 runs, 400 points each, with every extreme.
 *
 * @throws {QuarkError} `invalid_input` where the query is none
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { readReportCurves } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store, name: 'baseline', tags: ['sweep'] }, (session) => {
 *   new MetricsLogger(session).logColumns('val/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 * });
 * const scope = { store, project: 'digits' };
 * const [curve] = await readReportCurves(scope, { kind: 'chart', metric: 'val/loss', where: 'tag:sweep' });
 * console.log(curve.label, curve.steps, curve.values); // baseline [ 0, 1, 2 ] [ 0.9, 0.5, 0.4 ]
 * ```
 */
export async function readReportCurves(
  { project, store }: ReportScope,
  { metric, where }: Extract<ReportBlock, { kind: 'chart' }>,
): Promise<readonly ReportCurve[]> {
  const { rows } = await findRunRows(store, { project, where, limit: REPORT_LIMITS.curves });
  const curves = await Promise.all(
    rows.map(async ({ id, name }) => {
      const reader = await openRun(store, id);
      const { series } = await reader.readSeries({ metricKeys: [metric] });
      const [found] = series;
      return found === undefined
        ? []
        : [smallCurve(name ?? id, found.steps ?? found.epochs ?? found.timesMs, found.values)];
    }),
  );
  return curves.flat();
}

function smallCurve(label: string, steps: Float64Array, values: Float64Array): ReportCurve {
  const order = Array.from(steps.keys())
    .filter((at) => Number.isFinite(steps[at]) && Number.isFinite(values[at]))
    .sort((a, b) => (steps[a] ?? 0) - (steps[b] ?? 0));
  const xs = Float64Array.from(order, (at) => steps[at] ?? 0);
  const ys = Float64Array.from(order, (at) => values[at] ?? 0);
  if (xs.length <= REPORT_LIMITS.points) return { label, steps: [...xs], values: [...ys] };
  const { indices } = jsDraw.m4(ys, { positions: xs, buckets: BUCKETS });
  const shown = [...indices].slice(0, REPORT_LIMITS.points);
  return { label, steps: shown.map((at) => xs[at] ?? 0), values: shown.map((at) => ys[at] ?? 0) };
}

/**
 * The newest runs of a query with the values of some columns, as a table of a report shows them: 50 runs.
 *
 * @throws {QuarkError} `invalid_input` where the query or a column is none
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { readReportRows } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * for (const lr of [0.1, 0.01])
 *   await TrainingSession.run({ project: 'digits', storage: store, name: `lr ${lr}`, config: { lr } }, () => {});
 * const scope = { store, project: 'digits' };
 * const { titles, rows } = await readReportRows(scope, { kind: 'runs', where: '', columns: ['config.lr'] });
 * console.log(titles, rows); // [ 'Run', 'config.lr' ] [ [ 'lr 0.01', '0.01' ], [ 'lr 0.1', '0.1' ] ]
 * ```
 */
export async function readReportRows(
  scope: ReportScope,
  { columns, where }: Extract<ReportBlock, { kind: 'runs' }>,
): Promise<ReportRows> {
  const { project, runTitle = 'Run', store } = scope;
  const { rows } = await findRunRows(store, {
    project,
    where,
    columns,
    limit: REPORT_LIMITS.runs,
  });
  return {
    titles: [runTitle, ...columns],
    rows: rows.map(({ id, name, values }) => [
      name ?? id,
      ...columns.map((path) => cellText(path, values[path], scope)),
    ]),
  };
}

function cellText(path: string, value: unknown, { formatValue = plainValue }: ReportScope): string {
  if (value === undefined || value === null) return '–';
  if (typeof value === 'number' && INSTANTS.has(path) && Number.isFinite(value))
    return new Date(value).toISOString().slice(0, 16).replace('T', ' ');
  if (typeof value === 'number') return formatValue(value);
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(
    0,
    REPORT_LIMITS.queryChars,
  );
}

function plainValue(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}

/**
 * The report with everything that is live in it frozen as it is now: what a file of it shows.
 *
 * @throws {QuarkError} `invalid_input` naming the field of the report that is wrong, or where a query is none
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { freezeReport } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('val/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 * });
 * const { blocks } = await freezeReport({ store, project: 'digits' }, {
 *   title: 'Rates',
 *   blocks: [{ kind: 'chart', metric: 'val/loss', where: '' }],
 * });
 * for (const block of blocks) if (block.kind === 'chart') console.log(block.frozen[0].values); // [ 0.9, 0.5, 0.4 ]
 * ```
 */
export async function freezeReport(
  scope: ReportScope,
  report: WrittenReport,
): Promise<WrittenReport> {
  const blocks: ReportBlock[] = [];
  for (const block of checkReport(report).blocks) {
    if (block.kind === 'text' || block.frozen !== undefined) blocks.push(block);
    else if (block.kind === 'chart')
      blocks.push({ ...block, frozen: await readReportCurves(scope, block) });
    else blocks.push({ ...block, frozen: await readReportRows(scope, block) });
  }
  return { ...report, blocks };
}
