/** Runs as a table of a terminal, with columns of one's own. */
import type { FoundRun, RunOrder, RunValue } from '../../workspace.ts';
import { UsageError } from './args.ts';
import { statusStyle } from './command.ts';
import { duration, localTime, shortNumber, table, type Style, type TableColumn } from './text.ts';

/** The orders of `--sort`: names of values, a "-" in front for the largest first. @throws {UsageError} */
export function ordersOf(
  texts: readonly string[] | undefined,
  command: string,
): readonly RunOrder[] {
  const names = (texts ?? []).flatMap((text) => text.split(',')).map((name) => name.trim());
  if (names.some((name) => name === '' || name === '-'))
    throw new UsageError(
      '--sort takes names of values, such as "-started" or "val/loss.best"',
      command,
    );
  return names.map((name) =>
    name.startsWith('-')
      ? { by: name.slice(1), direction: 'descending' as const }
      : { by: name, direction: 'ascending' as const },
  );
}

/** The names of `--columns`. @throws {UsageError} */
export function columnsGiven(
  texts: readonly string[] | undefined,
  command: string,
): readonly string[] | undefined {
  if (texts === undefined) return undefined;
  const names = texts.flatMap((text) => text.split(',')).map((name) => name.trim());
  if (names.includes(''))
    throw new UsageError('--columns takes names, such as "config.lr,val/loss.best"', command);
  return names;
}

/** Rows under their titles, as wide as the terminal. @param values names of further columns */
export function runTable(
  rows: readonly FoundRun[],
  values: readonly string[],
  width: number | undefined,
  style: Style,
): string {
  const some = (is: (row: FoundRun) => boolean): boolean => rows.some(is);
  const columns: TableColumn<FoundRun>[] = [
    { title: 'RUN', cell: ({ id }) => id, isElastic: values.length > 0, hasEnds: true },
    ...(some(({ name }) => name !== null)
      ? [
          {
            title: 'NAME',
            cell: ({ name }: FoundRun) => name ?? '-',
            isElastic: true,
            hasEnds: true,
          },
        ]
      : []),
    { title: 'PROJECT', cell: ({ project }) => project, isElastic: true, hasEnds: true },
    {
      title: 'STATUS',
      cell: ({ status }) => status,
      style: ({ status }) => statusStyle(style, status),
    },
    { title: 'STARTED', cell: timeText },
    { title: 'TOOK', cell: took, align: 'right' },
    ...values.map((name): TableColumn<FoundRun> => ({
      title: name,
      cell: (row) => valueText(row, name),
      align: 'right',
      isElastic: some(({ values: own }) => typeof own[name] === 'string'),
      hasEnds: true,
    })),
    ...(some(({ groups }) => groups.length > 0)
      ? [{ title: 'GROUPS', cell: ({ groups }: FoundRun) => groups.join(', '), isElastic: true }]
      : []),
    { title: 'TAGS', cell: ({ tags }) => tags.join(', '), isElastic: true },
  ];
  return table(columns, rows, width, style);
}

/** Whether a run has times: those of files without any end as they begin. */
function hasTimesOf({ endedAtMs, startedAtMs }: FoundRun): boolean {
  return endedAtMs !== startedAtMs;
}

function timeText(row: FoundRun): string {
  return hasTimesOf(row) ? localTime(new Date(row.startedAtMs).toISOString()) : '-';
}

/** How long a run took: to its end, or to its last sign of life. */
function took(row: FoundRun): string {
  if (!hasTimesOf(row)) return '-';
  const { endedAtMs, isLive, startedAtMs, updatedAtMs } = row;
  return duration((isLive ? Date.now() : (endedAtMs ?? updatedAtMs ?? startedAtMs)) - startedAtMs);
}

function valueText({ steps, values }: FoundRun, name: string): string {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value === undefined) return '-';
  const step = Object.hasOwn(steps, name) && name.endsWith('.best') ? ` @${steps[name]}` : '';
  return `${textOf(value)}${step}`;
}

function textOf(value: RunValue): string {
  if (typeof value === 'object') return value.map(textOf).join(', ');
  return typeof value === 'number' ? shortNumber(value) : String(value);
}
