/** `quark rm --project NAME --all`: deletes a project with all of its runs. */
import { deleteProject, runSize, type Store } from '../../index.ts';
import { recorded, type RecordAct } from './audited-store.ts';
import { UsageError } from './args.ts';
import { EXIT, jsonText, type CommandContext } from './command.ts';
import { daysMs } from './durations.ts';
import { byteText, counted, onTerminal } from './text.ts';

/** Options of `quark rm` that are about some runs. */
const RUN_TEXTS = ['before', 'table', 'artifact'] as const;

type Found = {
  readonly name: string;
  readonly runIds: readonly string[];
  readonly live: number;
  /** Bytes of the tables of the runs. */
  readonly bytes: number;
};

/** Deletes the project that `--project` names; returns the exit code. */
export async function removeWholeProject(
  context: CommandContext,
  store: Store,
  record: RecordAct,
): Promise<number> {
  const { args, io } = context;
  const found = await findProject(context, store);
  const days = args.count('days');
  const keepMs = args.flag('purge-now') ? 0 : days === undefined ? undefined : daysMs(days);
  const isDone = !args.flag('dry-run') && (await mayGoOn(context, found));
  if (isDone) {
    // A key that may not purge is refused before anything is deleted.
    if (args.flag('purge-now')) await store.purgeDeletedRuns(undefined, []);
    const act = {
      action: 'project.delete',
      target: { kind: 'project', id: found.name },
      detail: { runs: found.runIds.length },
    } as const;
    await recorded(record, act, () =>
      deleteProject(store, found.name, {
        running: args.flag('running'),
        ...(keepMs === undefined ? {} : { keepMs }),
      }),
    );
    if (args.flag('purge-now')) {
      await store.purgeDeletedRuns(undefined, found.runIds);
      await store.reclaimSpace();
    }
  }
  const { bytes, live, name, runIds } = found;
  const what = `project ${onTerminal(name)} with ${counted(runIds.length, 'run')}, ${byteText(bytes)}`;
  const after = args.flag('purge-now')
    ? 'Their bytes have been removed.'
    : '"quark undelete" brings it back with each of its runs.';
  await io.stdout.write(
    args.flag('json')
      ? jsonText({
          act: args.flag('purge-now') ? 'purge' : 'delete',
          is_done: isDone,
          project_name: name,
          runs: runIds,
          running: live,
          bytes,
        })
      : isDone
        ? `Deleted ${what}. ${after}\n`
        : `Would delete ${what}. Nothing was changed.\n`,
  );
  return isDone || args.flag('dry-run') ? EXIT.ok : EXIT.failure;
}

async function findProject({ args }: CommandContext, store: Store): Promise<Found> {
  const name = args.text('project');
  const isAboutRuns =
    args.positionals.length > 0 ||
    args.flag('archive') ||
    RUN_TEXTS.some((option) => args.text(option) !== undefined) ||
    [args.list('status'), args.list('tag')].some((list) => list !== undefined);
  if (name === undefined || isAboutRuns)
    throw new UsageError(
      '--all takes --project NAME, and neither runs nor filters: all of the project goes',
      'rm',
    );
  if (args.flag('purge-now') && args.count('days') !== undefined)
    throw new UsageError('--days does not go with --purge-now', 'rm');
  const runs = await store.listRuns({ projectName: name });
  const claimed = new Set((await store.listLeases()).map(({ runId }) => runId));
  const live = runs.filter(({ id, status }) => status === 'running' && claimed.has(id)).length;
  let bytes = 0;
  for (const { id } of runs) bytes += (await runSize(store, id)).bytes;
  return { name, runIds: runs.map(({ id }) => id), live, bytes };
}

/** Asks, as with more than one run. */
async function mayGoOn({ args, io }: CommandContext, found: Found): Promise<boolean> {
  // What is refused is refused before anybody is asked.
  if (args.flag('yes') || (found.live > 0 && !args.flag('running'))) return true;
  const liveOnes = found.live === 0 ? '' : `, of which ${found.live} being recorded`;
  const runs = counted(found.runIds.length, 'run');
  const verb = args.flag('purge-now') ? 'Delete for good' : 'Delete';
  const answer = await io.ask(
    `${verb} project ${onTerminal(found.name)} with ${runs}${liveOnes}? [y/N] `,
  );
  if (answer === undefined)
    throw new UsageError('There is no terminal to ask at: give --yes', 'rm');
  return /^y(es)?$/i.test(answer.trim());
}
