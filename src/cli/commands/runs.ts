/** `quark runs`: the runs of a store, newest first. */
import {
  hasTimes,
  listDeletedRuns,
  listRuns,
  RUN_STATUSES,
  type DeletedRun,
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
import { duration, localTime, table } from '../support/text.ts';

const DEFAULT_LIMIT = 50;

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
    const runs = await withStore({ io, args }, (store) =>
      listRuns(store, {
        ...(project === undefined ? {} : { project }),
        ...(statuses === undefined
          ? {}
          : { statuses: RUN_STATUSES.filter((status) => statuses.includes(status)) }),
        ...(tags === undefined ? {} : { tags }),
        archived: args.flag('archived'),
        limit: args.count('limit') ?? DEFAULT_LIMIT,
      }),
    );
    if (args.flag('json')) await io.stdout.write(jsonText(runs.map(summaryJson)));
    else if (runs.length === 0) await io.stderr.write('No runs.\n');
    else {
      const text = table<RunSummary>(
        [
          { title: 'RUN', cell: ({ run }) => run.id },
          { title: 'PROJECT', cell: ({ run }) => run.projectName, isElastic: true },
          {
            title: 'STATUS',
            cell: ({ effectiveStatus }) => effectiveStatus,
            style: ({ effectiveStatus }) => statusStyle(style, effectiveStatus),
          },
          { title: 'STARTED', cell: ({ run }) => (hasTimes(run) ? localTime(run.startedAt) : '-') },
          { title: 'TOOK', cell: took, align: 'right' },
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

async function showDeleted({ io, args, style }: CommandContext): Promise<number> {
  const project = args.text('project');
  for (const name of ['status', 'tag', 'archived'])
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
