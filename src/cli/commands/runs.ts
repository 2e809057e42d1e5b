/** `quark runs`: the runs of a store, newest first. */
import {
  findRuns,
  hasTimes,
  listDeletedRuns,
  listRuns,
  RUN_STATUSES,
  type DeletedRun,
  type FindRunsQuery,
  type RunSummary,
} from '../../index.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  JSON_OPTION,
  jsonText,
  statusStyle,
  STORAGE_OPTIONS,
  summaryJson,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { parseRunConditions } from '../support/run-conditions.ts';
import { duration, localTime, table } from '../support/text.ts';

const DEFAULT_LIMIT = 50;
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
        help: 'Only runs of which this holds: config.lr<=0.1, val/loss.best<0.3, tags.workers>=8. Several are joined by "and".',
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
    const project = args.text('project');
    const statuses = args.list('status');
    const tags = args.list('tag');
    const options = optionsOf(args);
    const found = conditionsOf(args);
    const runs = await withStore({ io, args }, (store) =>
      found === undefined
        ? listRuns(store, {
            ...(project === undefined ? {} : { project }),
            ...(statuses === undefined
              ? {}
              : { statuses: RUN_STATUSES.filter((status) => statuses.includes(status)) }),
            ...(tags === undefined ? {} : { tags }),
            ...options,
          })
        : findRuns(
            store,
            {
              ...found,
              ...(project === undefined ? {} : { project }),
              ...(statuses === undefined ? {} : { status: statuses }),
              ...(tags === undefined ? {} : { tags }),
            },
            options,
          ),
    );
    if (found !== undefined) await tellOfSilent({ io, args }, found);
    if (args.flag('json')) await io.stdout.write(jsonText(runs.map(summaryJson)));
    else if (runs.length === 0) await io.stderr.write('No runs.\n');
    else {
      const text = table<RunSummary>(
        [
          { title: 'RUN', cell: ({ run }) => run.id },
          ...(runs.some(({ run }) => run.name !== null)
            ? [{ title: 'NAME', cell: nameOf, isElastic: true }]
            : []),
          { title: 'PROJECT', cell: ({ run }) => run.projectName, isElastic: true },
          {
            title: 'STATUS',
            cell: ({ effectiveStatus }) => effectiveStatus,
            style: ({ effectiveStatus }) => statusStyle(style, effectiveStatus),
          },
          { title: 'STARTED', cell: ({ run }) => (hasTimes(run) ? localTime(run.startedAt) : '-') },
          { title: 'TOOK', cell: took, align: 'right' },
          ...(runs.some(({ run }) => run.groups.length > 0)
            ? [{ title: 'GROUPS', cell: groupsOf, isElastic: true }]
            : []),
          { title: 'TAGS', cell: ({ run }) => run.tags.join(', '), isElastic: true },
        ],
        runs,
        io.stdout.columns,
        style,
      );
      await io.stdout.write(text);
    }
    return EXIT.ok;
  },
};

/** The conditions that only `findRuns` knows; undefined where there are none. */
function conditionsOf(args: CommandContext['args']): FindRunsQuery | undefined {
  const [groups, name, where] = [args.list('group'), args.text('name'), args.list('where')];
  if (groups === undefined && name === undefined && where === undefined) return undefined;
  return {
    ...(groups === undefined ? {} : { groups }),
    ...(name === undefined ? {} : { name: { like: name } }),
    ...(where === undefined ? {} : parseRunConditions(where, 'runs')),
  };
}

/** Says how many ended runs have no results that the conditions on metrics could see. */
async function tellOfSilent(
  { io, args }: Pick<CommandContext, 'io' | 'args'>,
  query: FindRunsQuery,
): Promise<void> {
  const keys = metricsOf(query);
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

function metricsOf({ and = [], metrics, not, or = [] }: FindRunsQuery): readonly string[] {
  const inner = [...and, ...or, ...(not === undefined ? [] : [not])];
  return [...Object.keys(metrics ?? {}), ...inner.flatMap(metricsOf)];
}

function optionsOf(args: CommandContext['args']): { archived: boolean; limit: number } {
  return { archived: args.flag('archived'), limit: args.count('limit') ?? DEFAULT_LIMIT };
}

const nameOf = ({ run }: RunSummary): string => run.name ?? '-';
const groupsOf = ({ run }: RunSummary): string => run.groups.join(', ');

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

/** How long a run took: to its end, or to its last sign of life. */
function took({ run, isLive }: RunSummary): string {
  if (!hasTimes(run)) return '-';
  const endMs = isLive ? Date.now() : Date.parse(run.endedAt ?? run.updatedAt);
  return duration(endMs - Date.parse(run.startedAt));
}
