/** Where the commands of the service keep their records: from a folder, a URI, or the environment. */
import { resolve } from 'node:path';
import { UsageError, type OptionSpec } from './args.ts';
import { defaultDir, type CommandContext } from './command.ts';

/** The option that names the database of a service as a URI. */
export const SERVICE_STORAGE: OptionSpec = {
  kind: 'text',
  value: 'URI',
  help: 'The database instead of a folder. Default: QUARK_STORAGE.',
};

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
