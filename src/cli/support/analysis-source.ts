/** What the commands of analysis work on: a stored run, or the runs in files of other tools, imported into memory. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { importRuns, type UnknownFile } from '../../exchange.ts';
import {
  createMemoryStore,
  isQuarkError,
  openRun,
  QuarkError,
  type RunReader,
  type Store,
} from '../../index.ts';
import { openInputFiles } from '../../node.ts';
import { UsageError, type OptionSpec } from './args.ts';
import { findRunByPrefix, warnOfDamage, withStore, type CommandContext } from './command.ts';
import { onTerminal } from './text.ts';

/** A run with the name it was asked for by. */
export type NamedRun = {
  readonly name: string;
  readonly reader: RunReader;
  /** Whether it lies in a store, where results can be kept. */
  readonly isStored: boolean;
};

/** The option that says how lines of text logs are read, as the import and the commands of analysis have it. */
export const PATTERN_OPTION: Readonly<Record<'pattern', OptionSpec>> = {
  pattern: {
    kind: 'list',
    value: 'PATTERN',
    help: 'How lines of text logs are read: "round (?<step>\\d+) loss (?<loss>\\S+)".',
  },
};

/** The patterns that were given, as an option of the import. */
export function askedPattern(args: CommandContext['args']): { pattern?: readonly string[] } {
  const pattern = args.list('pattern');
  return pattern === undefined ? {} : { pattern };
}

/** What every command of analysis says of its arguments. */
export const SOURCE_NOTE =
  'RUN is the id of a stored run, the beginning of one, or "latest". PATH is a file or folder of another tool, or an export: it is\n' +
  'imported into memory, and nothing is stored. What is a file or folder here is taken for one.';

/**
 * Gives the runs that the arguments name to `work`, in their order; a file may hold several.
 *
 * @throws {RunNotFoundError}
 * @throws {QuarkError} `invalid_input` when a file holds no run, or a pattern is none
 * @throws {UsageError} for a pattern where no file is
 */
export async function withRuns<T>(
  context: Pick<CommandContext, 'io' | 'args'>,
  names: readonly string[],
  work: (runs: readonly NamedRun[]) => Promise<T>,
): Promise<T> {
  const isFile = (name: string): boolean => existsSync(resolve(context.io.cwd, name));
  if (context.args.list('pattern') !== undefined && !names.some(isFile))
    throw new UsageError(`--pattern is for files; ${names.join(', ')} is none`, 'import');
  const fromFiles = new Map<string, readonly NamedRun[]>();
  for (const name of names)
    if (isFile(name)) fromFiles.set(name, await importedRuns(context, name));
  const run = async (store: Parameters<typeof findRunByPrefix>[0] | undefined): Promise<T> => {
    const runs: NamedRun[] = [];
    for (const name of names) {
      const imported = fromFiles.get(name);
      if (imported !== undefined) runs.push(...imported);
      else if (store !== undefined) runs.push(await storedRun(store, name));
    }
    const result = await work(runs);
    for (const { reader } of runs) await warnOfDamage(context.io, reader);
    return result;
  };
  return names.every((name) => fromFiles.has(name))
    ? run(undefined)
    : withStore(context, (store) => run(store));
}

/** A path in the place of a run is a file that is missing: ids have no such characters. */
async function storedRun(store: Store, name: string): Promise<NamedRun> {
  try {
    return { name, reader: await findRunByPrefix(store, name), isStored: true };
  } catch (error) {
    if (!isQuarkError(error, 'run_not_found') || !/[./\\]/u.test(name)) throw error;
    throw new QuarkError('run_not_found', `There is no file or folder ${name}, and no such run.`, {
      details: { runId: name, where: store.uri },
      cause: error,
    });
  }
}

/** Whether results are to be kept. @throws {UsageError} when there is no place to keep them */
export function checkSaves(
  args: CommandContext['args'],
  runs: readonly NamedRun[],
  command: string,
): boolean {
  const file = runs.find(({ isStored }) => !isStored);
  if (args.flag('save') && file !== undefined)
    throw new UsageError(
      `--save is for stored runs; ${file.name} is a file: import it first`,
      command,
    );
  return args.flag('save');
}

function notRecognised(name: string, unknown: UnknownFile | undefined): string {
  if (unknown === undefined) return `No run was recognised in ${name}.`;
  return `No run was recognised in ${name}: ${unknown.file} has ${unknown.seen}. ${unknown.advice}`;
}

async function importedRuns(
  { args, io }: Pick<CommandContext, 'io' | 'args'>,
  name: string,
): Promise<readonly NamedRun[]> {
  const store = createMemoryStore();
  const files = await openInputFiles([resolve(io.cwd, name)]);
  const { problems, runs, unknown, unlistedProblemCount } = await importRuns(
    files,
    store,
    askedPattern(args),
  );
  const [problem] = problems;
  if (runs.length === 0)
    throw new QuarkError(
      'invalid_input',
      problem === undefined
        ? notRecognised(name, unknown[0])
        : `No run could be read from ${name}: ${problem.reason}`,
      { details: { field: 'PATH', value: name, rule: 'a file or folder with a run' } },
    );
  const count = problems.length + unlistedProblemCount;
  if (problem !== undefined)
    await io.stderr.write(
      `warning: ${onTerminal(problem.file)}: ${onTerminal(problem.reason)}${count > 1 ? ` (and ${count - 1} more problems)` : ''}\n`,
    );
  const named: NamedRun[] = [];
  for (const { name: own, runId } of runs) {
    const reader = await openRun(store, runId);
    named.push({ name: runs.length === 1 ? name : `${name}: ${own}`, reader, isStored: false });
  }
  return named;
}
