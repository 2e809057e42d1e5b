/** `quark metrics RUN`: a summary of every metric, or the points themselves. */
import type { MetricColumns, MetricFilter } from '../../index.ts';
import { exportMetricsCsv, exportMetricsJsonLines } from '../../exchange.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  STORAGE_OPTIONS,
  warnOfDamage,
  withStore,
  type Command,
} from '../support/command.ts';
import { shortNumber, table, type Style } from '../support/text.ts';

export const metricsCommand: Command = {
  spec: {
    name: 'metrics',
    summary: 'Summarise the metrics of a run, or write their points.',
    positionals: ['RUN'],
    options: {
      ...STORAGE_OPTIONS,
      key: { kind: 'text', value: 'KEY', help: 'Only this metric, such as train/loss.' },
      'step-min': { kind: 'count', value: 'N', help: 'Only points at or after this step.' },
      'step-max': { kind: 'count', value: 'N', help: 'Only points up to this step.' },
      'epoch-min': { kind: 'count', value: 'N', help: 'Only points at or after this epoch.' },
      'epoch-max': { kind: 'count', value: 'N', help: 'Only points up to this epoch.' },
      limit: { kind: 'count', value: 'N', help: 'At most so many points.' },
      csv: { kind: 'flag', help: 'Write every point as CSV.' },
      json: {
        ...JSON_OPTION,
        help: 'Write every point as one JSON object a line; errors (on standard error) as JSON, too.',
      },
    },
    notes: [
      'Numbers are written in full: reading them back gives the same bits. What is no number is NaN, Infinity or -Infinity\n' +
        'in CSV and the same as text in JSON.',
    ],
  },
  run: ({ io, args, style }) => {
    if (args.flag('csv') && args.flag('json'))
      throw new UsageError('Give either --csv or --json, not both', 'metrics');
    return withStore({ io, args }, async (store) => {
      const reader = await findRunByPrefix(store, args.positionals[0] ?? '');
      const filter: MetricFilter = {
        ...optional('metricKey', args.text('key')),
        ...optional('stepMin', args.count('step-min')),
        ...optional('stepMax', args.count('step-max')),
        ...optional('epochMin', args.count('epoch-min')),
        ...optional('epochMax', args.count('epoch-max')),
        ...optional('limit', args.count('limit')),
      };
      if (args.flag('csv') || args.flag('json')) {
        const lines = args.flag('csv')
          ? exportMetricsCsv(reader, filter)
          : exportMetricsJsonLines(reader, filter);
        for await (const part of lines) await io.stdout.write(part);
      } else {
        const summaries = summarise(await reader.readMetricColumns(filter));
        if (summaries.length === 0) await io.stderr.write('No metrics.\n');
        else await io.stdout.write(summaryTable(summaries, io.stdout.columns, style));
      }
      await warnOfDamage(io, reader);
      return EXIT.ok;
    });
  },
};

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [name in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [name in K]: V });
}

/** One metric in a line. Extremes are of the finite values. */
type MetricSummary = {
  readonly key: string;
  count: number;
  nonFinite: number;
  first: number;
  last: number;
  min: number;
  max: number;
  lastStep: number;
};

function summarise(points: MetricColumns): readonly MetricSummary[] {
  const byKey = new Map<number, MetricSummary>();
  for (let row = 0; row < points.rowCount; row++) {
    const index = points.keyIndex[row] ?? 0;
    const value = points.values[row] ?? Number.NaN;
    let summary = byKey.get(index);
    if (summary === undefined) {
      summary = {
        key: points.keys[index] ?? '',
        count: 0,
        nonFinite: 0,
        first: value,
        last: value,
        min: Number.NaN,
        max: Number.NaN,
        lastStep: Number.NaN,
      };
      byKey.set(index, summary);
    }
    summary.count += 1;
    summary.last = value;
    summary.lastStep = points.steps[row] ?? Number.NaN;
    if (!Number.isFinite(value)) {
      summary.nonFinite += 1;
      continue;
    }
    // A comparison with NaN is false: the first finite value takes both places.
    if (!(summary.min <= value)) summary.min = value;
    if (!(summary.max >= value)) summary.max = value;
  }
  return [...byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

function summaryTable(
  summaries: readonly MetricSummary[],
  width: number | undefined,
  style: Style,
): string {
  const right = 'right' as const;
  return table<MetricSummary>(
    [
      { title: 'METRIC', cell: ({ key }) => key, isElastic: true },
      { title: 'COUNT', cell: ({ count }) => String(count), align: right },
      { title: 'FIRST', cell: ({ first }) => shortNumber(first), align: right },
      { title: 'LAST', cell: ({ last }) => shortNumber(last), align: right },
      { title: 'MIN', cell: ({ min }) => shortNumber(min), align: right },
      { title: 'MAX', cell: ({ max }) => shortNumber(max), align: right },
      {
        title: 'STEP',
        cell: ({ lastStep }) => (Number.isNaN(lastStep) ? '' : String(lastStep)),
        align: right,
      },
      ...(summaries.some(({ nonFinite }) => nonFinite > 0)
        ? [
            {
              title: 'NOT FINITE',
              cell: ({ nonFinite }: MetricSummary) => String(nonFinite),
              align: right,
              style: () => style.yellow,
            },
          ]
        : []),
    ],
    summaries,
    width,
    style,
  );
}
