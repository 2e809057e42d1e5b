/** What a command is, and what the commands share: opening the store and finding a run in it. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  describeDamage,
  findRuns,
  isQuarkError,
  listRuns,
  openRun,
  openStorage,
  QuarkError,
  RunNotFoundError,
  type RunReader,
  type RunSummary,
  type Store,
} from '../../index.ts';
import { UsageError, type CommandSpec, type OptionSpec, type ParsedArgs } from './args.ts';
import type { CliIo } from './io.ts';
import { onTerminal, type Style } from './text.ts';

/** What a command works with. */
export type CommandContext = {
  readonly io: CliIo;
  readonly args: ParsedArgs;
  /** Colours of standard output. */
  readonly style: Style;
};

/** A command; `run` returns the exit code. */
export type Command = {
  readonly spec: CommandSpec;
  readonly run: (context: CommandContext) => Promise<number>;
};

/** The exit codes, as the help text explains them. */
export const EXIT = { ok: 0, failure: 1, usage: 2, notFound: 3, interrupted: 130 } as const;

/** Folder that the demo records into, and where commands look when there is no store in the current one. */
export const DEFAULT_STORAGE_DIR = 'quark-runs';

/** The options that say where the runs are. */
export const STORAGE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'storage-dir': {
    kind: 'text',
    value: 'DIR',
    help: 'Folder whose .quark holds the runs. Default: this folder, else ./quark-runs.',
  },
  storage: {
    kind: 'text',
    value: 'URI',
    help: 'The same as a URI, such as http://127.0.0.1:4173/; a service asks for QUARK_USER_KEY, and --storage-dir is the name of a space there.',
  },
};

/** `--json`, as every command has it. */
export const JSON_OPTION: OptionSpec = {
  kind: 'flag',
  help: 'Write JSON, errors (on standard error) included.',
};

/** Opens the store that the options name, without making one. */
export async function openGivenStore({
  io,
  args,
}: Pick<CommandContext, 'io' | 'args'>): Promise<Store> {
  const uri = args.text('storage');
  const dir = args.text('storage-dir');
  if (uri !== undefined && /^https?:/i.test(uri)) {
    const userKey = io.env['QUARK_USER_KEY'];
    return openStorage(uri, {
      create: false,
      ...(userKey === undefined || userKey === '' ? {} : { userKey }),
      // On a service a folder is a name.
      ...(dir === undefined ? {} : { space: dir }),
    });
  }
  if (uri !== undefined && dir !== undefined)
    throw new UsageError('Give either --storage or --storage-dir, not both');
  if (uri !== undefined) return openStorage(uri, { create: false });
  return openStorage(dir === undefined ? defaultDir(io) : resolve(io.cwd, dir), { create: false });
}

/** The folder that commands look in when none is named. */
export function defaultDir(io: CliIo): string {
  const given = io.env['QUARK_STORAGE_DIR'];
  if (given !== undefined && given !== '') return resolve(io.cwd, given);
  const demoDir = join(io.cwd, DEFAULT_STORAGE_DIR);
  return !existsSync(join(io.cwd, '.quark')) && existsSync(join(demoDir, '.quark'))
    ? demoDir
    : io.cwd;
}

/** Gives the store to `work` and closes it whatever happens. */
export async function withStore<T>(
  context: Pick<CommandContext, 'io' | 'args'>,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openGivenStore(context);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/**
 * The run of this id, or the only one whose id starts with it; `latest` is the newest.
 *
 * @throws {RunNotFoundError}
 * @throws {QuarkError} `invalid_input` when several runs start with it
 */
export async function findRunByPrefix(store: Store, idOrPrefix: string): Promise<RunReader> {
  if (idOrPrefix === 'latest') {
    const [newest] = await listRuns(store, { limit: 1 });
    if (newest === undefined) throw new RunNotFoundError(idOrPrefix, store.uri);
    return openRun(store, newest.run.id);
  }
  try {
    return await openRun(store, idOrPrefix);
  } catch (error) {
    // What cannot be an id can still not be the beginning of one.
    if (!isQuarkError(error, 'run_not_found') && !isQuarkError(error, 'invalid_input')) throw error;
  }
  const id = await completeId(store, idOrPrefix);
  if (id === undefined) throw new RunNotFoundError(idOrPrefix, store.uri);
  return openRun(store, id);
}

async function completeId(store: Store, prefix: string): Promise<string | undefined> {
  // Where the runs are indexed, those that cannot be meant are not read. "_" and "%" stand for more than themselves there.
  const or = [prefix, `run_${prefix}`].map((start) => ({ id: { like: `${start}%` } }));
  const ids = (await findRuns(store, { or }, { archived: 'any' })).map(({ run }) => run.id);
  const matching = ids.filter((id) => id.startsWith(prefix) || id.startsWith(`run_${prefix}`));
  if (matching.length <= 1) return matching[0];
  const shown = matching.slice(0, 5).join(', ');
  throw new QuarkError(
    'invalid_input',
    `${matching.length} runs start with "${prefix}": ${shown}${matching.length > 5 ? ', ...' : ''}. Give more of the id.`,
    {
      details: { field: 'run', value: prefix, rule: 'the id of one run, or the beginning of it' },
    },
  );
}

/** Says which segments could not be read and are missing in what was written. */
export async function warnOfDamage(io: CliIo, reader: RunReader): Promise<void> {
  for (const report of reader.damage) {
    await io.stderr.write(`warning: ${onTerminal(describeDamage(report))}\n`);
  }
}

/** A run with what its lease says of it, in the persisted form. */
export function summaryJson({
  run,
  effectiveStatus,
  isLive,
}: Pick<RunSummary, 'run' | 'effectiveStatus' | 'isLive'>): object {
  return { ...run.toDict(), effective_status: effectiveStatus, is_live: isLive };
}

/** The colour of a status. */
export function statusStyle(style: Style, status: string): (text: string) => string {
  if (status === 'completed') return style.green;
  if (status === 'failed') return style.red;
  return status === 'running' ? style.blue : style.yellow;
}

/** A JSON document for a program. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The error of a file that `--out` names. */
export function unwritable(path: string, cause: unknown): QuarkError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new QuarkError('invalid_input', `${path} cannot be written: ${reason}`, {
    details: { field: 'out', value: path },
    cause,
  });
}
