/** What charts and tables of a report show: read of the runs that a query names, and small enough to be frozen. */
import { openRun, type Store } from 'quark-sdk';
import { SeriesPyramid } from 'quark-sdk/kernels';
import {
  findRunRows,
  REPORT_LIMITS,
  type ReportBlock,
  type ReportCurve,
  type ReportRows,
} from 'quark-sdk/workspace';
import { reduceSeries } from '../charts/reduce.ts';
import { formatValue } from '../parts/format.ts';
import { t } from '../parts/t.ts';

/** Parts of the axis of a curve: each has at most four points. */
const BUCKETS = 90;

/** The curves of a metric of the newest runs of a query. */
export async function readBlockCurves(
  store: Store,
  project: string,
  block: Extract<ReportBlock, { kind: 'chart' }>,
): Promise<readonly ReportCurve[]> {
  const { rows } = await findRunRows(store, {
    project,
    where: block.where,
    limit: REPORT_LIMITS.curves,
  });
  const curves = await Promise.all(
    rows.map(async ({ id, name }) => {
      const reader = await openRun(store, id);
      const { series } = await reader.readSeries({ metricKeys: [block.metric] });
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
  const xs = order.map((at) => steps[at] ?? 0);
  const ys = order.map((at) => values[at] ?? 0);
  if (xs.length <= REPORT_LIMITS.points) return { label, steps: xs, values: ys };
  const pyramid = new SeriesPyramid();
  pyramid.extendTo(Float64Array.from(ys), Float64Array.from(xs));
  const reduced = reduceSeries(pyramid, { min: xs[0] ?? 0, max: xs.at(-1) ?? 0 }, BUCKETS);
  const points = reduced.xs.flatMap((x, at) => {
    const y = reduced.ys[at];
    return y === null || y === undefined ? [] : [[x, y] as const];
  });
  const shown = points.slice(0, REPORT_LIMITS.points);
  return { label, steps: shown.map(([x]) => x), values: shown.map(([, y]) => y) };
}

/** The newest runs of a query with the values of some columns. */
export async function readBlockRows(
  store: Store,
  project: string,
  { columns, where }: Extract<ReportBlock, { kind: 'runs' }>,
): Promise<ReportRows> {
  const { rows } = await findRunRows(store, {
    project,
    where,
    columns,
    limit: REPORT_LIMITS.runs,
  });
  return {
    titles: [t('Run'), ...columns],
    rows: rows.map(({ id, name, values }) => [
      name ?? id,
      ...columns.map((path) => cellText(path, values[path])),
    ]),
  };
}

/** Paths of instants, which are numbers of milliseconds. */
const INSTANTS = new Set(['startedAt', 'endedAt', 'updatedAt']);

function cellText(path: string, value: unknown): string {
  if (value === undefined || value === null) return '–';
  if (typeof value === 'number' && INSTANTS.has(path) && Number.isFinite(value))
    return new Date(value).toISOString().slice(0, 16).replace('T', ' ');
  if (typeof value === 'number') return formatValue(value);
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(
    0,
    REPORT_LIMITS.queryChars,
  );
}
