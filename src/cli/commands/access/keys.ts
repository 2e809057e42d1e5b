/** `quark keys`: makes, lists and revokes the keys of a service. */
import { KEY_SCOPES, type UserKey } from '../../../service.ts';
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
  ADMIN_NOTE,
  withAccess,
  type AccessActions,
} from '../../support/service-storage.ts';
import { durationMs } from '../../support/durations.ts';
import { localTime, onTerminal, table } from '../../support/text.ts';

export const keysCommand: Command = {
  spec: {
    name: 'keys',
    summary: 'Make, list and revoke the user keys of a service.',
    positionals: ['create|list|revoke', '[NAME]'],
    options: {
      ...ACCESS_OPTIONS,
      scope: {
        kind: 'text',
        value: 'SCOPE',
        choices: KEY_SCOPES,
        help: 'What a new key allows: write and delete contain read, admin contains all. Default: write.',
      },
      expires: {
        kind: 'text',
        value: 'WHEN',
        help: 'When a new key ends: a date, or a time from now such as 12h, 90d, 4w. Default: never; with --url, with the key that makes it.',
      },
      label: { kind: 'text', value: 'TEXT', help: 'What a new key is for.' },
      json: JSON_OPTION,
    },
    notes: [
      '"quark keys create USER" makes a key, and the user with the first one. The key is shown this once: only its hash is kept.',
      '"quark keys revoke KEY_ID" takes the "qk_" and 12 characters that "quark keys list" shows. It counts at once.',
      `${ADMIN_NOTE} USER may be left out there, and a new key ends with the one that makes it unless --expires names an earlier instant.`,
    ],
  },
  async run(context) {
    const { args } = context;
    const [action, name] = args.positionals;
    const isCreating = action === 'create';
    if (action !== 'create' && action !== 'list' && action !== 'revoke')
      throw new UsageError(`"quark keys" can create, list and revoke; got "${action}"`, 'keys');
    const needsName = action === 'revoke' || (isCreating && accessUrl(context) === undefined);
    if (needsName && name === undefined)
      throw new UsageError(
        `"quark keys ${action}" needs ${isCreating ? 'the name of a user' : 'the id of a key'}`,
        'keys',
      );
    await withAccess(context, { create: isCreating }, async (access) => {
      if (isCreating) await create(context, access, name);
      else if (action === 'revoke') await revoke(context, access, name ?? '');
      else await list(context, access);
    });
    return EXIT.ok;
  },
};

async function create(
  { io, args }: CommandContext,
  access: AccessActions,
  user: string | undefined,
): Promise<void> {
  const scope = KEY_SCOPES.find((known) => known === args.text('scope'));
  const expires = args.text('expires');
  const label = args.text('label');
  const made = await access.createKey({
    ...(user === undefined ? {} : { user }),
    ...(scope === undefined ? {} : { scope }),
    ...(expires === undefined ? {} : { expiresAt: instantOf(expires) }),
    ...(label === undefined ? {} : { label }),
  });
  if (args.flag('json')) {
    await io.stdout.write(jsonText({ key: made.key, ...persisted(made) }));
    return;
  }
  // The key alone on standard output: QUARK_USER_KEY=$(quark keys create ...).
  await io.stderr.write(
    `A key of ${onTerminal(made.userName)}, scope ${made.scope}, ${ending(made)}. It is not shown again:\n`,
  );
  await io.stdout.write(`${made.key}\n`);
}

async function revoke(
  { io, args }: CommandContext,
  access: AccessActions,
  id: string,
): Promise<void> {
  const revoked = await access.revokeKey(id);
  await io.stdout.write(
    args.flag('json')
      ? jsonText(persisted(revoked))
      : `The key ${revoked.keyId} of ${onTerminal(revoked.userName)} is of no use any longer.\n`,
  );
}

async function list({ io, args, style }: CommandContext, access: AccessActions): Promise<void> {
  const keys = await access.listKeys();
  if (args.flag('json')) {
    await io.stdout.write(jsonText(keys.map(persisted)));
    return;
  }
  if (keys.length === 0) {
    await io.stderr.write('No keys. "quark keys create USER" makes the first one.\n');
    return;
  }
  await io.stdout.write(
    table<UserKey>(
      [
        { title: 'KEY', cell: ({ keyId }) => keyId },
        { title: 'USER', cell: ({ userName }) => userName, isElastic: true },
        { title: 'SCOPE', cell: ({ scope }) => scope },
        { title: 'MADE', cell: ({ createdAtMs }) => timeText(createdAtMs) },
        { title: 'STATE', cell: ending },
        { title: 'LABEL', cell: ({ label }) => label, isElastic: true },
      ],
      keys,
      io.stdout.columns,
      style,
    ),
  );
}

function ending({ revokedAtMs, expiresAtMs }: UserKey): string {
  if (revokedAtMs !== null) return `revoked ${timeText(revokedAtMs)}`;
  if (expiresAtMs === null) return 'never ends';
  return `${expiresAtMs <= Date.now() ? 'ended' : 'ends'} ${timeText(expiresAtMs)}`;
}

function persisted(key: UserKey): object {
  return {
    key_id: key.keyId,
    user: key.userName,
    scope: key.scope,
    label: key.label,
    created_at: isoText(key.createdAtMs),
    expires_at: key.expiresAtMs === null ? null : isoText(key.expiresAtMs),
    revoked_at: key.revokedAtMs === null ? null : isoText(key.revokedAtMs),
  };
}

function instantOf(text: string): string | number {
  const aheadMs = durationMs(text);
  if (aheadMs !== undefined) return Date.now() + aheadMs;
  if (Number.isNaN(Date.parse(text)))
    throw new UsageError(
      `--expires must be a date, or a time from now such as 12h, 90d or 4w; got "${text}"`,
      'keys',
    );
  return text;
}

function isoText(ms: number): string {
  return new Date(ms).toISOString();
}

function timeText(ms: number): string {
  return localTime(isoText(ms));
}
