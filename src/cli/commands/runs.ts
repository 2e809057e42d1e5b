/** `quark runs`: the runs of a store, newest first. */
import { listRuns, RUN_STATUSES, type RunSummary } from '../../index.ts';
import {
  EXIT,
  JSON_OPTION,
  jsonText,
  statusStyle,
  STORAGE_OPTIONS,
  summaryJson,
  withStore,
  type Command,
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
          { title: 'STARTED', cell: ({ run }) => localTime(run.startedAt) },
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

/** How long a run took: to its end, or to its last sign of life. */
function took({ run, isLive }: RunSummary): string {
  const endMs = isLive ? Date.now() : Date.parse(run.endedAt ?? run.updatedAt);
  return duration(endMs - Date.parse(run.startedAt));
}
