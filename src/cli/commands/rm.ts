/** `quark rm`: deletes runs, or puts them into the archive. */
import {
  archiveRun,
  deleteRun,
  isQuarkError,
  listDeletedRuns,
  listRuns,
  QuarkError,
  RUN_STATUSES,
  runSize,
  type RunReader,
  type RunSummary,
  type Store,
} from '../../index.ts';
import { removeWholeProject } from '../support/remove-project.ts';
import { purgeDeleted } from '../support/purge-deleted.ts';
import { removeRows } from '../support/remove-rows.ts';
import { UsageError, type ParsedArgs } from '../support/args.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  statusStyle,
  STORAGE_OPTIONS,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { withAuditedStore } from '../support/audited-store.ts';
import { daysMs } from '../support/durations.ts';
import { byteText, counted, localTime, table } from '../support/text.ts';

const DEFAULT_DAYS = 30;
const FILTERS = ['project', 'status', 'tag', 'before'] as const;

type Chosen = { readonly summary: RunSummary; readonly bytes: number };

export const rmCommand: Command = {
  spec: {
    name: 'rm',
    summary: 'Delete runs, or put them into the archive.',
    positionals: ['[RUN]...'],
    options: {
      ...STORAGE_OPTIONS,
      archive: { kind: 'flag', help: 'Put the runs into the archive, and delete nothing.' },
      project: { kind: 'text', value: 'NAME', help: 'All ended runs of this project.' },
      status: {
        kind: 'list',
        value: 'STATUS',
        help: 'All runs with this status.',
        choices: RUN_STATUSES.filter((status) => status !== 'running'),
      },
      all: {
        kind: 'flag',
        help: 'With --project: the project itself, with all of its runs, archived ones too.',
      },
      running: { kind: 'flag', help: 'With --all: runs that are being recorded, too.' },
      tag: { kind: 'list', value: 'TAG', help: 'All ended runs with this tag.' },
      before: {
        kind: 'text',
        value: 'DATE',
        help: 'All ended runs that were started before this date, such as 2026-01-31.',
      },
      days: {
        kind: 'count',
        value: 'N',
        max: 36_500,
        help: `How long deleted runs can be brought back. Default: ${DEFAULT_DAYS}.`,
      },
      table: {
        kind: 'text',
        value: 'TABLE',
        help: 'Delete this table of RUN, for good, and not the run.',
      },
      artifact: {
        kind: 'text',
        value: 'KEY',
        help: 'Delete the artifacts of RUN with this key or id, for good, and not the run.',
      },
      'purge-now': {
        kind: 'flag',
        help: 'Delete and remove the bytes at once, those of deleted runs too: nothing brings the runs back.',
      },
      'dry-run': { kind: 'flag', help: 'Only say which runs would go, and their sizes.' },
      yes: {
        kind: 'flag',
        help: 'Do not ask. Without it, several runs, a live run and what goes for good are asked about.',
      },
      json: JSON_OPTION,
    },
    notes: [
      'Filters are joined by "and", and leave live runs and archived runs out. "quark undelete RUN" brings a run back.',
      'Sizes are those of the tables. Payloads of artifacts go later, once no run names them.',
    ],
  },
  run: (context) =>
    withAuditedStore(context, async (store, record) => {
      const { args } = context;
      if (args.count('days') === 0)
        throw new UsageError('--days must be at least 1; --purge-now removes bytes at once', 'rm');
      if (args.flag('all')) return removeWholeProject(context, store, record);
      if (args.flag('running')) throw new UsageError('--running goes with --all', 'rm');
      const purged = await purgeDeleted(context, store);
      if (purged !== undefined) return purged;
      return args.text('table') === undefined && args.text('artifact') === undefined
        ? removeRuns(context, store)
        : removeRows(context, store, record);
    }),
};

async function removeRuns(context: CommandContext, store: Store): Promise<number> {
  const { args, io } = context;
  const chosen = await withSizes(store, await chooseRuns(store, args));
  const isDry = args.flag('dry-run');
  const act = args.flag('archive') ? 'archive' : args.flag('purge-now') ? 'purge' : 'delete';
  if (!args.flag('json')) await showChosen(context, chosen);
  const isDone = !isDry && chosen.length > 0 && (await mayGoOn(context, chosen, act));
  if (isDone) await carryOut(store, args, act, chosen);
  if (args.flag('json')) await io.stdout.write(jsonText(reportOf(act, chosen, isDone)));
  else await io.stdout.write(sentenceOf(act, chosen, isDone, daysOf(args)));
  return isDone || isDry || chosen.length === 0 ? EXIT.ok : EXIT.failure;
}

async function chooseRuns(store: Store, args: ParsedArgs): Promise<readonly RunSummary[]> {
  const hasFilter = FILTERS.some((name) => args.text(name) !== undefined || args.list(name));
  if (args.flag('archive') && args.flag('purge-now'))
    throw new UsageError('Give either --archive or --purge-now, not both', 'rm');
  for (const other of ['archive', 'purge-now'])
    if (args.flag(other) && args.count('days') !== undefined)
      throw new UsageError(`--days does not go with --${other}`, 'rm');
  if (hasFilter && args.positionals.length > 0)
    throw new UsageError('Give either runs or filters such as --project, not both', 'rm');
  if (!hasFilter && args.positionals.length === 0)
    throw new UsageError('"quark rm" needs RUN, or a filter such as --project', 'rm');
  if (!hasFilter) {
    const found = new Map<string, RunSummary>();
    for (const given of args.positionals) {
      const reader = await findToRemove(store, given);
      const { effectiveStatus, isLive, run } = reader;
      found.set(run.id, { effectiveStatus, isLive, run, problem: null });
    }
    return [...found.values()];
  }
  const beforeMs = instantOf(args.text('before'));
  const project = args.text('project');
  const tags = args.list('tag');
  const statuses = args.list('status');
  const runs = await listRuns(store, {
    ...(project === undefined ? {} : { project }),
    ...(tags === undefined ? {} : { tags }),
    ...(statuses === undefined
      ? {}
      : { statuses: RUN_STATUSES.filter((status) => statuses.includes(status)) }),
  });
  return runs.filter(
    ({ isLive, run }) =>
      !isLive && (beforeMs === undefined || Date.parse(run.startedAt) < beforeMs),
  );
}

/** The run; of one that is deleted already, until when it can be brought back. */
async function findToRemove(store: Store, given: string): Promise<RunReader> {
  try {
    return await findRunByPrefix(store, given);
  } catch (error) {
    const known = isQuarkError(error, 'run_not_found')
      ? (await listDeletedRuns(store, { purged: true })).find(({ id }) => id === given)
      : undefined;
    if (known === undefined) throw error;
    const until = localTime(new Date(known.purgeAtMs).toISOString());
    const after =
      known.purgedAtMs === undefined
        ? `"quark undelete" brings it back until ${until}; then its bytes go.`
        : 'Its bytes have been removed.';
    const when = localTime(new Date(known.deletedAtMs).toISOString());
    throw new QuarkError('run_not_found', `Run "${known.id}" was deleted on ${when}. ${after}`, {
      details: { runId: known.id },
      cause: error,
    });
  }
}

function instantOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw new UsageError(`--before must be a date such as 2026-01-31; got "${text}"`, 'rm');
  return ms;
}

async function withSizes(store: Store, runs: readonly RunSummary[]): Promise<readonly Chosen[]> {
  const chosen: Chosen[] = [];
  for (const summary of runs)
    chosen.push({ summary, bytes: (await runSize(store, summary.run.id)).bytes });
  return chosen;
}

async function showChosen({ io, style }: CommandContext, chosen: readonly Chosen[]): Promise<void> {
  if (chosen.length === 0) return;
  const text = table<Chosen>(
    [
      { title: 'RUN', cell: ({ summary }) => summary.run.id },
      { title: 'PROJECT', cell: ({ summary }) => summary.run.projectName, isElastic: true },
      {
        title: 'STATUS',
        cell: ({ summary }) => summary.effectiveStatus,
        style: ({ summary }) => statusStyle(style, summary.effectiveStatus),
      },
      { title: 'STARTED', cell: ({ summary }) => localTime(summary.run.startedAt) },
      { title: 'SIZE', cell: ({ bytes }) => byteText(bytes), align: 'right' },
    ],
    chosen,
    io.stdout.columns,
    style,
  );
  await io.stdout.write(text);
}

/** Asks before more than one run goes, and before a run goes for good or is recorded into. */
async function mayGoOn(
  { args, io }: CommandContext,
  chosen: readonly Chosen[],
  act: string,
): Promise<boolean> {
  const isHarmless = chosen.length === 1 && act !== 'purge' && chosen[0]?.summary.isLive !== true;
  if (args.flag('yes') || isHarmless) return true;
  const live = chosen.filter(({ summary }) => summary.isLive).length;
  const recorded = live === 0 ? '' : `, of which ${counted(live, 'run')} being recorded`;
  const verb = { archive: 'Archive', purge: 'Delete for good', delete: 'Delete' }[act] ?? act;
  const answer = await io.ask(`${verb} ${counted(chosen.length, 'run')}${recorded}? [y/N] `);
  if (answer === undefined)
    throw new UsageError(
      `${counted(chosen.length, 'run')} would go, and there is no terminal to ask at: give --yes`,
      'rm',
    );
  return /^y(es)?$/i.test(answer.trim());
}

async function carryOut(
  store: Store,
  args: ParsedArgs,
  act: string,
  chosen: readonly Chosen[],
): Promise<void> {
  const ids = chosen.map(({ summary }) => summary.run.id);
  // A key may be allowed to delete and not to purge: it is refused before anything is deleted.
  if (act === 'purge') await store.purgeDeletedRuns();
  for (const id of ids) {
    if (act === 'archive') await archiveRun(store, id);
    else await deleteRun(store, id, { keepMs: act === 'purge' ? 0 : daysMs(daysOf(args)) });
  }
  if (act !== 'purge') return;
  await store.purgeDeletedRuns(undefined, ids);
  await store.reclaimSpace();
}

function daysOf(args: ParsedArgs): number {
  return args.count('days') ?? DEFAULT_DAYS;
}

function reportOf(act: string, chosen: readonly Chosen[], isDone: boolean): object {
  return {
    act,
    is_done: isDone,
    bytes: chosen.reduce((sum, { bytes }) => sum + bytes, 0),
    runs: chosen.map(({ bytes, summary: { effectiveStatus, run } }) => ({
      id: run.id,
      project_name: run.projectName,
      effective_status: effectiveStatus,
      started_at: run.startedAt,
      bytes,
    })),
  };
}

function sentenceOf(act: string, chosen: readonly Chosen[], isDone: boolean, days: number): string {
  if (chosen.length === 0) return 'No runs.\n';
  const bytes = byteText(chosen.reduce((sum, one) => sum + one.bytes, 0));
  const what = `${counted(chosen.length, 'run')}, ${bytes}`;
  const verb = act === 'archive' ? 'archive' : 'delete';
  if (!isDone) return `Would ${verb} ${what}. Nothing was changed.\n`;
  const after = {
    archive: `"quark runs --archived" lists ${chosen.length === 1 ? 'it' : 'them'}, "quark undelete" takes ${chosen.length === 1 ? 'it' : 'them'} out again.`,
    delete: `"quark undelete" brings ${chosen.length === 1 ? 'it' : 'them'} back within ${counted(days, 'day')}.`,
    purge: `${chosen.length === 1 ? 'Its' : 'Their'} bytes have been removed.`,
  }[act];
  return `${verb === 'archive' ? 'Archived' : 'Deleted'} ${what}. ${after ?? ''}\n`;
}
