/** `quark rm RUN --purge-now` for runs that are deleted already: their bytes go before their time. */
import { listDeletedRuns, type DeletedRun, type Store } from '../../index.ts';
import { UsageError } from './args.ts';
import { EXIT, jsonText, type CommandContext } from './command.ts';
import { counted, localTime } from './text.ts';

/**
 * Removes the bytes of the deleted runs that are named; returns the exit code, and undefined where the command is about others. A run
 * that is there is never one of them, whatever its id begins with.
 */
export async function purgeDeleted(
  context: CommandContext,
  store: Store,
): Promise<number | undefined> {
  const { args, io } = context;
  if (!args.flag('purge-now') || args.flag('archive') || args.positionals.length === 0)
    return undefined;
  const chosen = await findDeleted(store, args.positionals);
  if (chosen === undefined) return undefined;
  const isDry = args.flag('dry-run');
  const isDone = !isDry && (await mayGoOn(context, chosen));
  const ids = chosen.map(({ id }) => id);
  if (isDone) {
    await store.purgeDeletedRuns(undefined, ids);
    await store.reclaimSpace();
  }
  const what = counted(chosen.length, 'deleted run');
  if (args.flag('json'))
    await io.stdout.write(jsonText({ act: 'purge', is_done: isDone, deleted_runs: ids }));
  else
    await io.stdout.write(
      isDone
        ? `Removed the bytes of ${what}: ${ids.join(', ')}. Nothing brings ${ids.length === 1 ? 'it' : 'them'} back.\n`
        : `Would remove the bytes of ${what}: ${ids.join(', ')}. Nothing was changed.\n`,
    );
  return isDone || isDry ? EXIT.ok : EXIT.failure;
}

/** The deleted runs of these names; undefined where none of them is one. @throws {UsageError} where only some are */
async function findDeleted(
  store: Store,
  given: readonly string[],
): Promise<readonly DeletedRun[] | undefined> {
  const all = await listDeletedRuns(store);
  const there = await store.listRuns();
  const found = given.map((name) => {
    const isMatch = ({ id }: { readonly id: string }): boolean =>
      id === name || id.startsWith(name) || id.startsWith(`run_${name}`);
    const exact = all.find(({ id }) => id === name);
    if (exact !== undefined) return exact;
    const matching = there.some(isMatch) ? [] : all.filter(isMatch);
    return matching.length === 1 ? matching[0] : undefined;
  });
  const deleted = found.filter((one) => one !== undefined);
  if (deleted.length === 0) return undefined;
  if (deleted.length < given.length)
    throw new UsageError(
      `${deleted.map(({ id }) => id).join(', ')} ${deleted.length === 1 ? 'is' : 'are'} deleted already, and others are not: name one kind at a time`,
      'rm',
    );
  return [...new Set(deleted)];
}

async function mayGoOn(
  { args, io }: CommandContext,
  chosen: readonly DeletedRun[],
): Promise<boolean> {
  if (args.flag('yes')) return true;
  const until = localTime(
    new Date(Math.max(...chosen.map(({ purgeAtMs }) => purgeAtMs))).toISOString(),
  );
  const answer = await io.ask(
    `Remove the bytes of ${counted(chosen.length, 'deleted run')} for good, which could be brought back until ${until}? [y/N] `,
  );
  if (answer === undefined)
    throw new UsageError('There is no terminal to ask at: give --yes', 'rm');
  return /^y(es)?$/i.test(answer.trim());
}
