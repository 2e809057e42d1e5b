/** `quark users` and `quark spaces`: list and remove users of a service and their spaces. */
import type { Removed } from '../../../service.ts';
import { UsageError } from '../../support/args.ts';
import {
  EXIT,
  JSON_OPTION,
  jsonText,
  type Command,
  type CommandContext,
} from '../../support/command.ts';
import {
  ACCESS_OPTIONS,
  accessUrl,
  withAccess,
  type RemovalActions,
} from '../../support/service-storage.ts';
import { daysMs } from '../../support/durations.ts';
import { counted, onTerminal } from '../../support/text.ts';

const REMOVE_OPTIONS = {
  ...ACCESS_OPTIONS,
  yes: {
    kind: 'flag',
    help: 'Remove. Without it, nothing is removed, and what would be is shown.',
  },
  keep: {
    kind: 'count',
    value: 'DAYS',
    help: 'How long the runs can be restored with "quark undelete". Default: 30 days.',
  },
  purge: { kind: 'flag', help: 'Remove bytes at once. Nothing can be restored then.' },
  json: JSON_OPTION,
} as const;

export const usersCommand: Command = {
  spec: {
    name: 'users',
    summary: 'List the users of a service, and remove one with all keys, shares and runs.',
    positionals: ['list|rm', '[NAME]'],
    options: REMOVE_OPTIONS,
    notes: [
      'A removed user can do nothing any longer, and the name is free. The runs can be restored by nobody but the operator, until they are purged.',
      'With --url, a key of scope admin removes its own user.',
    ],
  },
  async run(context) {
    const { args } = context;
    const [action, name] = args.positionals;
    const isAsking = accessUrl(context) !== undefined;
    if (action !== 'list' && action !== 'rm')
      throw new UsageError(`"quark users" can list and rm; got "${action}"`, 'users');
    if (isAsking && action === 'list')
      throw new UsageError('"quark users list" is for the machine of the service', 'users');
    if (action === 'rm' && name === undefined)
      throw new UsageError('"quark users rm" needs the name of a user', 'users');
    await withAccess(context, { create: false }, async (access, removing) => {
      const own = await access.userName?.();
      if (own !== undefined && own !== name)
        throw new UsageError(
          `This key is of ${onTerminal(own)}, and removes no other user; got "${onTerminal(name ?? '')}". Others are removed at the machine of the service`,
          'users',
        );
      if (action === 'list') await listUsers(context, removing);
      else
        await remove(context, `The user ${name ?? ''}`, (how) =>
          removing.removeUser(name ?? '', how),
        );
    });
    return EXIT.ok;
  },
};

export const spacesCommand: Command = {
  spec: {
    name: 'spaces',
    summary: 'List the spaces of a user of a service, and remove one with all runs and shares.',
    positionals: ['list|rm', '[SPACE]'],
    options: {
      ...REMOVE_OPTIONS,
      user: { kind: 'text', value: 'NAME', help: 'Whose spaces. With --url, those of the key.' },
    },
    notes: [
      'The projects of a removed space go with its last run.',
      'With --url, a key of scope delete removes spaces of its own user; --purge needs scope admin.',
    ],
  },
  async run(context) {
    const { args } = context;
    const [action, space] = args.positionals;
    const user = args.text('user');
    const isAsking = accessUrl(context) !== undefined;
    if (action !== 'list' && action !== 'rm')
      throw new UsageError(`"quark spaces" can list and rm; got "${action}"`, 'spaces');
    if (isAsking && action === 'list')
      throw new UsageError('"quark spaces list" is for the machine of the service', 'spaces');
    if (!isAsking && user === undefined)
      throw new UsageError(`"quark spaces ${action}" needs --user`, 'spaces');
    if (action === 'rm' && space === undefined)
      throw new UsageError('"quark spaces rm" needs the name of a space', 'spaces');
    await withAccess(context, { create: false }, async (_access, removing) => {
      if (action === 'list') await listSpaces(context, removing, user ?? '');
      else
        await remove(context, `The space ${space ?? ''}`, (how) =>
          removing.removeSpace(user ?? '', space ?? '', how),
        );
    });
    return EXIT.ok;
  },
};

type How = { readonly isDryRun: boolean; readonly purge: boolean; readonly keepMs?: number };

async function remove(
  { args, io }: CommandContext,
  what: string,
  work: (how: How) => Promise<Removed>,
): Promise<void> {
  const isDone = args.flag('yes');
  const days = args.count('keep');
  if (days !== undefined && args.flag('purge'))
    throw new UsageError('Give either --keep or --purge, not both');
  const removed = await work({
    isDryRun: !isDone,
    purge: args.flag('purge'),
    ...(days === undefined ? {} : { keepMs: daysMs(days) }),
  });
  if (args.flag('json')) {
    await io.stdout.write(jsonText({ removed: isDone, ...removed }));
    return;
  }
  const { keys, projects, runs, spaces } = removed;
  const counts = [
    counted(spaces.length, 'space'),
    counted(projects, 'project'),
    counted(runs, 'run'),
    counted(keys, 'key'),
  ].join(', ');
  const said = isDone ? 'is removed' : 'would be removed';
  await io.stdout.write(`${onTerminal(what)} ${said}: ${counts}.\n`);
  if (!isDone) await io.stderr.write('Nothing was removed. Add --yes to remove it.\n');
}

async function listUsers({ args, io }: CommandContext, removing: RemovalActions): Promise<void> {
  const users = (await removing.listUsers?.()) ?? [];
  const found = users.map(({ createdAtMs, id, name }) => ({
    name,
    id,
    created_at: new Date(createdAtMs).toISOString(),
  }));
  await io.stdout.write(
    args.flag('json') ? jsonText(found) : found.map(({ name }) => `${onTerminal(name)}\n`).join(''),
  );
}

async function listSpaces(
  { args, io }: CommandContext,
  removing: RemovalActions,
  user: string,
): Promise<void> {
  const spaces = (await removing.listSpaces?.(user)) ?? [];
  await io.stdout.write(
    args.flag('json') ? jsonText(spaces) : spaces.map((name) => `${onTerminal(name)}\n`).join(''),
  );
}
