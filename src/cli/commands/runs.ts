/** `quark runs`: the runs of a store, newest first. */
import {
  findRuns,
  listDeletedRuns,
  RUN_STATUSES,
  type DeletedRun,
  type FindRunsQuery,
  type RunSummary,
  type Store,
} from '../../index.ts';
import {
  findRunColumns,
  findRunRows,
  type FoundRun,
  type RunTablePage,
  type RunTableQuery,
  type RunTableScope,
} from '../../workspace.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  summaryJson,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { metricsOfQuery, parseRunConditions } from '../support/run-conditions.ts';
import { columnsGiven, ordersOf, runTable } from '../support/run-table.ts';
import { localTime, table } from '../support/text.ts';

const DEFAULT_LIMIT = 50;
/** Rows of a page. */
const PAGE_SIZE = 1_000;
/** Runs whose records are read at once: their ids travel in a condition. */
const IDS_AT_ONCE = 50;
/** Of more runs without results it is enough to know so many. */
const MAX_COUNTED = 1000;

export const runsCommand: Command = {
  spec: {
    name: 'runs',
    summary: 'List the runs, newest first.',
    positionals: [],
    options: {
      ...STORAGE_OPTIONS,
      project: { kind: 'text', value: 'NAME', help: 'Only runs of this project.' },
      status: {
        kind: 'list',
        value: 'STATUS',
        help: 'Only runs with this status.',
        choices: RUN_STATUSES,
      },
      tag: { kind: 'list', value: 'TAG', help: 'Only runs with this tag.' },
      group: { kind: 'list', value: 'NAME', help: 'Only runs of this group.' },
      name: {
        kind: 'text',
        value: 'PATTERN',
        help: 'Only runs with this name; % stands for any text.',
      },
      where: {
        kind: 'list',
        value: 'CONDITION',
        help: 'Only runs of which this holds: "config.lr < 1e-3 and (val/loss.best < 0.3 or tag:keep)", "tags.workers >= 8", "started > 7d". Words are searched in names, notes and tags. Several are joined by "and".',
      },
      columns: {
        kind: 'list',
        value: 'NAMES',
        help: 'Values to show, such as config.lr,val/loss.best. Default: the last loss.',
      },
      sort: {
        kind: 'list',
        value: 'NAMES',
        help: 'Order by these values; with a "-" in front, as in --sort=-started, the largest first.',
      },
      archived: { kind: 'flag', help: 'Only runs in the archive, which are left out otherwise.' },
      deleted: {
        kind: 'flag',
        help: 'Only deleted runs, and until when they can be brought back.',
      },
      limit: {
        kind: 'count',
        value: 'N',
        help: `At most so many runs. Default: ${DEFAULT_LIMIT}.`,
      },
      json: JSON_OPTION,
    },
    notes: [
      'A run that was cut off counts as interrupted, also where its status still says "running".',
    ],
  },
  async run({ io, args, style }) {
    if (args.flag('deleted')) return showDeleted({ io, args, style });
    const [query, list] = [queryOf(args), args.flag('archived') ? 'archived' : 'active'] as const;
    const orders = ordersOf(args.list('sort'), 'runs');
    const names = columnsGiven(args.list('columns'), 'runs');
    const limit = args.count('limit') ?? DEFAULT_LIMIT;
    await withStore({ io, args }, async (store) => {
      const columns = names ?? (await defaultColumns(store, { where: query, list }));
      const orderBy = orders.length === 0 ? {} : { orderBy: orders };
      const asked = { where: query, list, columns, ...orderBy };
      const { rows, total } = await allRows(store, asked, limit);
      if (args.list('where') !== undefined) await tellOfSilent({ io, args }, query);
      if (args.flag('json'))
        await io.stdout.write(jsonText(await summariesOf(store, rows, names ?? [])));
      else if (rows.length === 0) await io.stderr.write('No runs.\n');
      else await io.stdout.write(runTable(rows, columns, io.stdout.columns, style));
      if (total > rows.length && !args.flag('json'))
        await io.stderr.write(`${rows.length} of ${total} runs; --limit shows more.\n`);
    });
    return EXIT.ok;
  },
};

/** So many rows, page by page. */
async function allRows(
  store: Store,
  query: RunTableQuery,
  limit: number,
): Promise<Pick<RunTablePage, 'rows' | 'total'>> {
  const rows: FoundRun[] = [];
  let [after, total]: [string | null, number] = ['', 0];
  do {
    const pageSize = Math.max(1, Math.min(PAGE_SIZE, limit - rows.length));
    const page: RunTablePage = await findRunRows(store, { ...query, limit: pageSize, after });
    rows.push(...page.rows);
    after = page.cursor;
    total = page.total;
  } while (after !== null && rows.length < limit);
  return { rows: rows.slice(0, limit), total };
}

/** What the options ask for. */
function queryOf(args: CommandContext['args']): FindRunsQuery {
  const given = {
    project: args.text('project'),
    status: args.list('status'),
    tags: args.list('tag'),
    groups: args.list('group'),
  };
  const [name, where] = [args.text('name'), args.list('where')];
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return {
    ...Object.fromEntries(entries),
    ...(name === undefined ? {} : { name: { like: name } }),
    ...(where === undefined ? {} : parseRunConditions(where, 'runs')),
  };
}

/** The last value of the loss that most of the runs have. */
async function defaultColumns(store: Store, scope: RunTableScope): Promise<readonly string[]> {
  const { columns } = await findRunColumns(store, scope);
  const losses = columns.filter(({ kind, path }) => kind === 'metric' && /loss/iu.test(path));
  const [most] = losses.toSorted((a, b) => b.runs - a.runs || a.path.length - b.path.length);
  return most === undefined ? [] : [most.path.slice('metrics.'.length)];
}

/** Runs as JSON, in their order, with the values that were asked for. */
async function summariesOf(
  store: Store,
  rows: readonly FoundRun[],
  columns: readonly string[],
): Promise<readonly object[]> {
  const found = new Map<string, RunSummary>();
  for (let at = 0; at < rows.length; at += IDS_AT_ONCE) {
    const id = rows.slice(at, at + IDS_AT_ONCE).map((row) => row.id);
    for (const one of await findRuns(store, { id }, { archived: 'any' }))
      found.set(one.run.id, one);
  }
  return rows.flatMap(({ id, steps, values }) => {
    const summary = found.get(id);
    if (summary === undefined) return [];
    return [{ ...summaryJson(summary), ...(columns.length === 0 ? {} : { values, steps }) }];
  });
}

/** Says how many ended runs have no results that the conditions on metrics could see. */
async function tellOfSilent(
  { io, args }: Pick<CommandContext, 'io' | 'args'>,
  query: FindRunsQuery,
): Promise<void> {
  const keys = metricsOfQuery(query);
  if (keys.length === 0) return;
  const project = args.text('project');
  const lacking = await withStore({ io, args }, (store) =>
    findRuns(
      store,
      {
        ...(project === undefined ? {} : { project }),
        status: RUN_STATUSES.filter((status) => status !== 'running'),
        and: keys.map((key) => ({ metrics: { [key]: { last: { exists: false } } } })),
      },
      { archived: args.flag('archived'), limit: MAX_COUNTED },
    ),
  );
  const silent = lacking.filter(({ run }) => Object.keys(run.metricSummaries).length === 0).length;
  if (silent > 0)
    await io.stderr.write(
      `${silent} ended runs have no summary of their metrics, because they recorded none or an earlier Quark did. Conditions on metrics do not see what they recorded.\n`,
    );
}

async function showDeleted({ io, args, style }: CommandContext): Promise<number> {
  const project = args.text('project');
  for (const name of ['status', 'tag', 'archived', 'group', 'where'])
    if (args.list(name) !== undefined || args.flag(name))
      throw new UsageError(`--${name} does not go with --deleted`, 'runs');
  const all = await withStore({ io, args }, (store) => listDeletedRuns(store));
  const runs = all
    .filter(({ projectName }) => project === undefined || projectName === project)
    .slice(0, args.count('limit') ?? DEFAULT_LIMIT);
  if (args.flag('json')) await io.stdout.write(jsonText(runs.map(deletedJson)));
  else if (runs.length === 0) await io.stderr.write('No deleted runs.\n');
  else {
    const text = table<DeletedRun>(
      [
        { title: 'RUN', cell: ({ id }) => id },
        { title: 'PROJECT', cell: ({ projectName }) => projectName, isElastic: true },
        { title: 'DELETED', cell: ({ deletedAtMs }) => localTime(isoOf(deletedAtMs)) },
        { title: 'UNTIL', cell: ({ purgeAtMs }) => localTime(isoOf(purgeAtMs)) },
        { title: 'BY', cell: ({ by }) => by ?? '-', isElastic: true },
      ],
      runs,
      io.stdout.columns,
      style,
    );
    await io.stdout.write(text);
  }
  return EXIT.ok;
}

function deletedJson({ id, projectName, deletedAtMs, purgeAtMs, by }: DeletedRun): object {
  return {
    id,
    project_name: projectName,
    deleted_at: isoOf(deletedAtMs),
    restorable_until: isoOf(purgeAtMs),
    by: by ?? null,
  };
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
