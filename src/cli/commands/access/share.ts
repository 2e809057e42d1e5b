/** `quark share`: lets one user of a service see a project of another. */
import { type ProjectShare } from '../../../service.ts';
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
import { onTerminal, table } from '../../support/text.ts';

export const shareCommand: Command = {
  spec: {
    name: 'share',
    summary: 'Share a project of a service with another user, or list what is shared.',
    positionals: ['[PROJECT]'],
    options: {
      ...ACCESS_OPTIONS,
      from: {
        kind: 'text',
        value: 'USER',
        help: 'Whose project it is. With --url, the user of the key.',
      },
      with: { kind: 'text', value: 'USER', help: 'Who is to see it.' },
      space: {
        kind: 'text',
        value: 'NAME',
        help: "Which of the owner's spaces. Default: default.",
      },
      write: { kind: 'flag', help: 'Let the other user write, too.' },
      remove: { kind: 'flag', help: 'Take the share back.' },
      json: JSON_OPTION,
    },
    notes: [
      'Without PROJECT, all shares are listed. The other user opens the space as "OWNER:NAME" (storageDir or QUARK_STORAGE_DIR of a session, the list of spaces on the page).',
      '"local" is the owner of what was recorded before there were keys.',
      ADMIN_NOTE,
    ],
  },
  async run(context) {
    const { args } = context;
    const [project] = args.positionals;
    const owner = args.text('from');
    const user = args.text('with');
    const isAsking = accessUrl(context) !== undefined;
    if (project !== undefined && (user === undefined || (owner === undefined && !isAsking)))
      throw new UsageError(
        `"quark share PROJECT" needs ${isAsking ? '' : '--from and '}--with`,
        'share',
      );
    await withAccess(context, { create: false }, async (access) => {
      if (project === undefined) await list(context, access);
      else await change(context, access, project, user ?? '');
    });
    return EXIT.ok;
  },
};

async function change(
  { io, args }: CommandContext,
  access: AccessActions,
  project: string,
  user: string,
): Promise<void> {
  const owner = args.text('from') ?? (await access.userName?.()) ?? '';
  const space = args.text('space') ?? 'default';
  const share = { owner, space, project, user };
  const rights = args.flag('write') ? 'write' : 'read';
  let text = `${user} can ${rights} "${project}" of ${owner}, in the space "${owner}:${space}".`;
  let isShared = true;
  if (args.flag('remove')) {
    const wasShared = await access.unshare(share);
    isShared = false;
    text = wasShared
      ? `${user} no longer sees "${project}" of ${owner}.`
      : `"${project}" of ${owner} was not shared with ${user}.`;
  } else await access.share({ ...share, access: rights });
  await io.stdout.write(
    args.flag('json')
      ? jsonText({ ...share, access: isShared ? rights : null })
      : `${onTerminal(text)}\n`,
  );
}

async function list({ io, args, style }: CommandContext, access: AccessActions): Promise<void> {
  const shares = await access.listShares();
  if (args.flag('json')) {
    await io.stdout.write(
      jsonText(
        shares.map(({ ownerName, space, project, userName, access: rights }) => ({
          owner: ownerName,
          space,
          project,
          user: userName,
          access: rights,
        })),
      ),
    );
    return;
  }
  if (shares.length === 0) {
    await io.stderr.write('Nothing is shared.\n');
    return;
  }
  await io.stdout.write(
    table<ProjectShare>(
      [
        { title: 'OWNER', cell: ({ ownerName }) => ownerName, isElastic: true },
        { title: 'SPACE', cell: ({ space }) => space, isElastic: true },
        { title: 'PROJECT', cell: ({ project }) => project, isElastic: true },
        { title: 'WITH', cell: ({ userName }) => userName, isElastic: true },
        { title: 'MAY', cell: ({ access: rights }) => rights },
      ],
      shares,
      io.stdout.columns,
      style,
    ),
  );
}
