/** What many runs say together, for a person and as JSON: which settings matter, and which runs are not beaten in two metrics. */
import {
  configImportance,
  METRIC_STATISTICS,
  metricQuantity,
  paretoFront,
  type ConfigImportance,
  type MetricDirection,
  type RunQuantity,
} from '../../analysis.ts';
import type { NamedRun } from './analysis-source.ts';
import { UsageError } from './args.ts';
import { onTerminal, shortNumber, table, type Style } from './text.ts';

/** A metric of runs as `KEY`, or `KEY.last`, `KEY.best`, `KEY.min`, `KEY.max`; by default the best value where the name says which is. */
export function askedQuantity(
  option: string,
  text: string,
  runs: readonly NamedRun[],
): RunQuantity {
  const records = runs.map(({ reader }) => reader.run);
  const statistic = METRIC_STATISTICS.find((one) => text.endsWith(`.${one}`));
  const key = statistic === undefined ? text : text.slice(0, -statistic.length - 1);
  const found = metricQuantity(records, key, statistic ?? 'best');
  const quantity =
    statistic === undefined && found.direction === null
      ? metricQuantity(records, key, 'last')
      : found;
  if (quantity.values.every((value) => value === null))
    throw new UsageError(
      `--${option}: none of the runs has a value of ${onTerminal(text)}`,
      'compare',
    );
  return quantity;
}

/** `val/loss (best)` */
function titleOf({ name, statistic }: RunQuantity): string {
  return onTerminal(statistic === null ? name : `${name} (${statistic})`);
}

/** The answer to `--importance`. */
export async function importanceOf(
  quantity: RunQuantity,
  runs: readonly NamedRun[],
): Promise<ConfigImportance> {
  return configImportance(
    runs.map(({ reader }, at) => {
      const value = quantity.values[at];
      return { config: reader.run.config, value: typeof value === 'number' ? value : null };
    }),
  );
}

/** It as JSON. */
export function importanceJson(found: ConfigImportance, quantity: RunQuantity): object {
  return {
    metric_key: quantity.name,
    statistic: quantity.statistic,
    method: found.method,
    reason: found.reason,
    run_count: found.runCount,
    left_out_count: found.leftOutCount,
    explained: found.explained,
    settings: found.settings.map((one) => ({
      path: one.path,
      same_as: one.sameAs,
      kind: one.kind,
      level_count: one.levelCount,
      importance: one.importance,
      low: one.low,
      high: one.high,
      rank_correlation: one.rankCorrelation,
      adjusted_p_value: one.adjustedPValue,
    })),
    notes: found.notes,
  };
}

const METHODS = {
  forest:
    'Permutation importance in a random forest, over the ranks of the metric; the interval is of random halves of the runs.',
  ranks:
    'The share of the variance of ranks that goes with each setting alone, less what chance gives; the test shuffles the runs.',
  none: '',
} as const;

/** It as a table. */
export function importanceText(
  found: ConfigImportance,
  quantity: RunQuantity,
  width: number | undefined,
  style: Style,
): string {
  const left =
    found.leftOutCount === 0 ? '' : `, ${found.leftOutCount} without a finite value left out`;
  const head = `${style.bold(`What ${titleOf(quantity)} depends on`)} (${found.runCount} runs${left})\n`;
  if (found.reason !== null) return `${head}${onTerminal(found.reason)}\n`;
  const rows = table(
    [
      { title: 'SETTING', cell: ({ path }) => path, isElastic: true },
      { title: 'VALUES', cell: ({ levelCount }) => String(levelCount), align: 'right' },
      { title: 'IMPORTANCE', cell: ({ importance }) => importance.toFixed(2), align: 'right' },
      { title: '95 %', cell: ({ high, low }) => `${low.toFixed(2)} to ${high.toFixed(2)}` },
      {
        title: 'RANK CORRELATION',
        cell: ({ rankCorrelation }) => rankCorrelation?.toFixed(2) ?? '-',
        align: 'right',
      },
      {
        title: 'P',
        cell: ({ adjustedPValue }) => adjustedPValue?.toPrecision(2) ?? '-',
        align: 'right',
      },
    ],
    found.settings,
    width,
    style,
  );
  const explained =
    found.explained === null
      ? ''
      : ` The forest predicts ${Math.round(100 * Math.max(0, found.explained))} % of the variance of runs that it has not seen.`;
  const notes = found.notes.map((note) => `Note: ${onTerminal(note)}\n`).join('');
  return `${head}${rows}\n${METHODS[found.method]}${explained}\n${notes}`;
}

/** The answer to `--pareto`. */
export type ParetoAnswer = {
  readonly x: RunQuantity;
  readonly y: RunQuantity;
  /** Positions of runs in the front, the best x first. */
  readonly front: readonly number[];
  readonly runs: readonly NamedRun[];
};

/** @throws {UsageError} unless the text names two metrics of which it is known which way they are better */
export function paretoOf(text: string, runs: readonly NamedRun[]): ParetoAnswer {
  const [first = '', second = '', ...more] = text.split(',');
  if (first === '' || second === '' || more.length > 0)
    throw new UsageError('--pareto takes two metrics: A,B', 'compare');
  const [x, y] = [first, second].map((one) => askedQuantity('pareto', one.trim(), runs));
  if (x === undefined || y === undefined) throw new UsageError('--pareto takes two metrics: A,B');
  const pairs = runs.map((_, at) => ({ x: numberAt(x, at), y: numberAt(y, at) }));
  const better = { x: directionOfQuantity(x), y: directionOfQuantity(y) };
  return { x, y, front: paretoFront(pairs, better), runs };
}

function numberAt({ values }: RunQuantity, at: number): number | null {
  const value = values[at];
  return typeof value === 'number' ? value : null;
}

function directionOfQuantity({ direction, name }: RunQuantity): MetricDirection {
  if (direction !== null) return direction;
  throw new UsageError(
    `--pareto: the name of ${onTerminal(name)} does not say which way it is better`,
    'compare',
  );
}

/** It as JSON. */
export function paretoJson({ front, runs, x, y }: ParetoAnswer): object {
  const about = ({ direction, name, statistic }: RunQuantity): object => ({
    metric_key: name,
    statistic,
    direction,
  });
  return {
    x: about(x),
    y: about(y),
    front: front.map((at) => ({
      run_id: runs[at]?.reader.run.id,
      x: numberAt(x, at),
      y: numberAt(y, at),
    })),
    run_count: runs.length,
  };
}

/** It as a table. */
export function paretoText(
  { front, runs, x, y }: ParetoAnswer,
  width: number | undefined,
  style: Style,
): string {
  const cell = (quantity: RunQuantity) => (at: number) => shortNumber(numberAt(quantity, at) ?? 0);
  const rows = table<number>(
    [
      { title: 'RUN', cell: (at) => runs[at]?.name ?? '', isElastic: true },
      { title: 'NAME', cell: (at) => runs[at]?.reader.run.name ?? '-', isElastic: true },
      { title: titleOf(x).toUpperCase(), cell: cell(x), align: 'right' },
      { title: titleOf(y).toUpperCase(), cell: cell(y), align: 'right' },
    ],
    front,
    width,
    style,
  );
  return `${rows}\n${front.length} of ${runs.length} runs are not beaten in both: ${titleOf(x)} is better when ${x.direction ?? ''}, ${titleOf(y)} when ${y.direction ?? ''}.\n`;
}
