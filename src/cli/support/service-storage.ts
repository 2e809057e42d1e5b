/** Where the commands of the service keep their records: from a folder, a URI, or the environment. */
import { resolve } from 'node:path';
import { UsageError, type OptionSpec } from './args.ts';
import {
  openAccess,
  openServiceAccess,
  type AccessBook,
  type Removed,
  type RemoveOptions,
  type ServiceAccess,
  type User,
} from '../../service.ts';
import { defaultDir, STORAGE_OPTIONS, type CommandContext } from './command.ts';
import { onTerminal } from './text.ts';
import { serviceOptions } from './service-options.ts';

/** The option that names the database of a service as a URI. */
export const SERVICE_STORAGE: OptionSpec = {
  kind: 'text',
  value: 'URI',
  help: 'The database instead of a folder. Default: QUARK_STORAGE.',
};

/** The options of commands about users, keys and shares. */
export const ACCESS_OPTIONS = {
  'storage-dir': {
    ...STORAGE_OPTIONS['storage-dir'],
    kind: 'text',
    help: 'Folder of the service, on its machine.',
  },
  storage: SERVICE_STORAGE,
  url: {
    kind: 'text',
    value: 'URL',
    help: 'Ask the service instead, from anywhere, with a key of scope admin in QUARK_USER_KEY. Default: QUARK_PERSISTENCE_URL, where no folder and no --storage is named.',
  },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** Said in the help of the commands that have {@link ACCESS_OPTIONS}. */
export const ADMIN_NOTE =
  'With --url, a key of scope admin manages the keys and shares of its own user. Other users, and first keys, are made at the machine of the service.';

/** Users, keys and shares, beside the database or through the service. */
export type AccessActions = Omit<
  ServiceAccess,
  'close' | 'userName' | 'removeSpace' | 'removeAccount'
> &
  Partial<Pick<ServiceAccess, 'userName'>> &
  Partial<Pick<AccessBook, 'quotas'>>;

/** The address of the service that the options or the environment name; undefined: its database is named instead. */
export function accessUrl(context: Pick<CommandContext, 'io' | 'args'>): string | undefined {
  const { args, io } = context;
  const url = args.text('url');
  const storage = args.text('storage');
  const isNamed = storage !== undefined || args.text('storage-dir') !== undefined;
  if (url !== undefined && isNamed)
    throw new UsageError('Give either --url, or the folder or --storage of the service, not both');
  if (url !== undefined) return url;
  // As all other commands take a service.
  if (storage !== undefined && /^https?:/i.test(storage)) return storage;
  if (isNamed || (io.env['QUARK_STORAGE'] ?? '') !== '') return undefined;
  return serviceOptions(context).persistenceUrl ?? undefined;
}

/** Does `work` with the users, keys and shares of the service that {@link ACCESS_OPTIONS} name. */
export async function withAccess(
  context: Pick<CommandContext, 'io' | 'args'>,
  options: { readonly create: boolean },
  work: (access: AccessActions, removing: RemovalActions) => Promise<void>,
): Promise<void> {
  const opened = await openGivenAccess(context, options);
  try {
    await work(opened.access, opened.removing);
  } finally {
    await opened.close();
  }
}

/** Removes spaces and users, beside the database or through the service. */
export type RemovalActions = {
  /** @param user whose space it is; where a service is asked, the user of the key or an empty text */
  removeSpace(user: string, space: string, options: RemoveOptions): Promise<Removed>;
  removeUser(user: string, options: RemoveOptions): Promise<Removed>;
  /** Names of the spaces of a user; only beside the database. */
  listSpaces?(user: string): Promise<readonly string[]>;
  listUsers?(): Promise<readonly User[]>;
};

async function openGivenAccess(
  context: Pick<CommandContext, 'io' | 'args'>,
  options: { readonly create: boolean },
): Promise<{
  readonly access: AccessActions;
  readonly removing: RemovalActions;
  close(): Promise<void>;
}> {
  const url = accessUrl(context);
  if (url === undefined) {
    const opened = await openAccess(
      serviceStorage(context, context.args.text('storage-dir')),
      options,
    );
    const { access, removals } = opened;
    const removing: RemovalActions = {
      removeSpace: (user, space, how) => removals.removeSpace(user, space, how),
      removeUser: (user, how) => removals.removeUser(user, how),
      listSpaces: (user) => removals.listSpaces(user),
      listUsers: () => access.listUsers(),
    };
    return { access, removing, close: () => opened.close() };
  }
  const { persistenceTimeoutSeconds: seconds, userKey } = serviceOptions(context);
  const access = openServiceAccess(url, {
    ...(typeof userKey === 'string' ? { userKey } : {}),
    ...(typeof seconds !== 'number' ? {} : { timeoutMs: Math.ceil(seconds * 1_000) }),
  });
  const removing: RemovalActions = {
    removeSpace: async (user, space, how) => {
      const own = user === '' ? '' : await access.userName();
      if (own !== user)
        throw new UsageError(
          `--user must be "${onTerminal(own)}", whose key this is; got "${onTerminal(user)}". Spaces of others are removed at the machine of the service`,
        );
      return access.removeSpace(space, how);
    },
    removeUser: (_user, how) => access.removeAccount(how),
  };
  return { access, removing, close: () => access.close() };
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
