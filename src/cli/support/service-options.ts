/** Which service a command talks to. */
import { resolve } from 'node:path';
import type { PersistenceOptions } from '../../index.ts';
import { UsageError, type OptionSpec } from './args.ts';
import type { CommandContext } from './command.ts';

/** `--url`, as every command that talks to a service has it. */
export const SERVICE_OPTION: OptionSpec = {
  kind: 'text',
  value: 'URL',
  help: 'Address of the service. Default: QUARK_PERSISTENCE_URL, else where the runs were recorded for.',
};

/** The service that the options and the environment name, and the place that names the space there. */
export function serviceOptions({
  args,
  io,
}: Pick<CommandContext, 'args' | 'io'>): PersistenceOptions & { readonly storageDir?: string } {
  const { env } = io;
  const url = args.text('url') ?? given(env['QUARK_PERSISTENCE_URL']);
  const key = given(env['QUARK_USER_KEY']);
  const seconds = given(env['QUARK_PERSISTENCE_TIMEOUT_SECONDS']);
  const dir = args.text('storage-dir');
  if (seconds !== undefined && !(Number(seconds) > 0))
    throw new UsageError(
      `QUARK_PERSISTENCE_TIMEOUT_SECONDS must be a number above 0; it is "${seconds}"`,
    );
  return {
    ...(url === undefined ? {} : { persistenceUrl: url }),
    ...(key === undefined ? {} : { userKey: key }),
    ...(seconds === undefined ? {} : { persistenceTimeoutSeconds: Number(seconds) }),
    ...(dir === undefined ? {} : { storageDir: resolve(io.cwd, dir) }),
  };
}

function given(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text.trim();
}
