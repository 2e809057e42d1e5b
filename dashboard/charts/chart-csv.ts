/** The points of a chart as a table: all that were read, not only those that are drawn. */
import type { ChartSettings } from 'quark-sdk/workspace';
import { formatCount } from '../parts/format.ts';
import { t } from '../parts/t.ts';
import { lowerBound } from './plot/axis.ts';
import { metricOfAxis } from './plot/chart-settings.ts';
import type { ShownCurve } from './legend.tsx';
import type { XRange } from './reduce.ts';
import type { CsvCell } from './save/save-csv.ts';

/** A table for `csvBlob`. */
export type ChartTable = {
  readonly header: readonly string[];
  readonly rows: () => Generator<readonly CsvCell[]>;
  /** What the table leaves out. */
  readonly notes: readonly string[];
};

/** One row a point: the curve, where the point is, its value, and what is shown of it smoothed. */
export function chartTable(
  curves: readonly ShownCurve[],
  range: XRange,
  settings: ChartSettings,
  nameOf: (key: string) => string,
): ChartTable {
  const metric = metricOfAxis(settings.axis);
  const isSmoothed = settings.smoothing.amount > 0;
  return {
    header: [
      'curve',
      'key',
      'step',
      'epoch',
      'timestamp',
      ...(metric === undefined ? [] : [metric]),
      'value',
      ...(isSmoothed ? ['smoothed'] : []),
    ],
    notes: notesOf(curves),
    *rows() {
      for (const curve of curves) {
        const { points, series, smoothed } = curve;
        const name = nameOf(curve.key);
        const end = points.xs.length;
        for (let at = lowerBound(points.xs, range.min); at < end; at += 1) {
          const x = points.xs[at] ?? Number.NaN;
          if (x > range.max) break;
          const row = points.rows?.[at] ?? at;
          yield [
            name,
            curve.key,
            known(series.steps[row]),
            known(series.epochs[row]),
            timestamp(series.timesMs[row]),
            ...(metric === undefined ? [] : [x]),
            points.ys[at],
            ...(isSmoothed ? [smoothed?.values[at]] : []),
          ];
        }
      }
    },
  };
}

function notesOf(curves: readonly ShownCurve[]): readonly string[] {
  return curves.flatMap(({ key, series: { length, standsFor } }) => {
    if (standsFor === undefined) return [];
    const values = { key, count: formatCount(length), all: formatCount(standsFor.sampleCount) };
    return [t('{key}: downsampled to {count} of {all} points', values)];
  });
}

/** A step or an epoch that is not known is an empty cell. */
function known(value: number | undefined): CsvCell {
  return value === undefined || Number.isNaN(value) ? undefined : value;
}

function timestamp(timeMs: number | undefined): CsvCell {
  const instant = new Date(timeMs ?? Number.NaN);
  return Number.isNaN(instant.getTime()) ? undefined : instant.toISOString();
}
