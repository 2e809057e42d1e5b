/** Where the commands of the service keep their records: from a folder, a URI, or the environment. */
import { resolve } from 'node:path';
import { UsageError, type OptionSpec } from './args.ts';
import { openAccess, type AccessBook } from '../service.ts';
import { defaultDir, STORAGE_OPTIONS, type CommandContext } from './command.ts';

/** The option that names the database of a service as a URI. */
export const SERVICE_STORAGE: OptionSpec = {
  kind: 'text',
  value: 'URI',
  help: 'The database instead of a folder. Default: QUARK_STORAGE.',
};

/** The options of commands that look into a service's database from beside it. */
export const ACCESS_OPTIONS = {
  'storage-dir': {
    ...STORAGE_OPTIONS['storage-dir'],
    kind: 'text',
    help: 'Folder of the service.',
  },
  storage: SERVICE_STORAGE,
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** Does `work` with the users, keys and shares of the service that {@link ACCESS_OPTIONS} name. */
export async function withAccess(
  context: Pick<CommandContext, 'io' | 'args'>,
  options: { readonly create: boolean },
  work: (access: AccessBook) => Promise<void>,
): Promise<void> {
  const storage = serviceStorage(context, context.args.text('storage-dir'));
  const opened = await openAccess(storage, options);
  try {
    await work(opened.access);
  } finally {
    await opened.close();
  }
}

/** The URI or folder that was given, else that of the environment, else the folder that all commands look in. */
export function serviceStorage(
  { io, args }: Pick<CommandContext, 'io' | 'args'>,
  dir: string | undefined,
): string {
  const uri = args.text('storage');
  if (uri !== undefined && dir !== undefined)
    throw new UsageError('Give either a folder or --storage, not both');
  if (uri !== undefined) return uri;
  if (dir !== undefined) return resolve(io.cwd, dir);
  const given = io.env['QUARK_STORAGE'];
  return given !== undefined && given !== '' ? given : defaultDir(io);
}
