/** `quark quota`: how much users and projects of a service may store, and how much they do. */
import { QUOTA_RESOURCES, type QuotaReport, type QuotaResource } from '../../../service.ts';
import { defaultQuotas, parseAmount, useText } from '../../support/amounts.ts';
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
  type AccessActions,
} from '../../support/service-storage.ts';
import { counted, onTerminal, table } from '../../support/text.ts';

const amount = (what: string) =>
  ({
    kind: 'text',
    value: 'AMOUNT',
    help: `Most ${what}; "none" leaves it to the default of the service, "unlimited" allows any number.`,
  }) as const;

export const quotaCommand: Command = {
  spec: {
    name: 'quota',
    summary: 'Limit how much users and projects of a service store, and show how much they do.',
    positionals: ['list|set|recount'],
    options: {
      ...ACCESS_OPTIONS,
      user: { kind: 'text', value: 'NAME', help: 'Whose quota. With --url, the user of the key.' },
      project: { kind: 'text', value: 'NAME', help: 'The quota of this project of the user.' },
      space: { kind: 'text', value: 'NAME', help: 'The space of the project. Default: default.' },
      bytes: amount('bytes of segments and artifacts, such as 10GB'),
      runs: amount('runs'),
      segments: amount('segments'),
      json: JSON_OPTION,
    },
    notes: [
      'What would pass a quota is refused: clients say so, wait, and go on by themselves when runs were deleted or the quota was raised. Deleted runs do not count.',
      'A quota below what is stored deletes nothing.',
      '"quark quota recount" counts what is stored anew, to repair the counters.',
      'Quotas of users are set at the machine of the service; with --url, a key of scope admin sets those of projects of its own user. The default of all users: "quark serve --quota-bytes", or QUARK_QUOTA_BYTES, _RUNS and _SEGMENTS.',
    ],
  },
  async run(context) {
    const { args } = context;
    const [action] = args.positionals;
    if (action !== 'list' && action !== 'set' && action !== 'recount')
      throw new UsageError(`"quark quota" can list, set and recount; got "${action}"`, 'quota');
    const isAsking = accessUrl(context) !== undefined;
    if (isAsking && action === 'recount')
      throw new UsageError('"quark quota recount" is for the machine of the service', 'quota');
    const given = amountsOf(context);
    if (action === 'set') checkSet(context, isAsking, given);
    else if (Object.keys(given).length > 0)
      throw new UsageError('Amounts are for "quark quota set"', 'quota');
    await withAccess(context, { create: false }, async (access) => {
      useDefaults(context, access);
      if (action === 'set') await set(context, access, given);
      else if (action === 'recount') await recount(context, access);
      else await list(context, access);
    });
    return EXIT.ok;
  },
};

type Amounts = { readonly [R in QuotaResource]?: number | null };

function amountsOf({ args }: CommandContext): Amounts {
  const given: Partial<Record<QuotaResource, number | null>> = {};
  for (const resource of QUOTA_RESOURCES) {
    const text = args.text(resource);
    if (text === undefined) continue;
    if (text === 'none') given[resource] = null;
    else if (text === 'unlimited') given[resource] = Number.MAX_SAFE_INTEGER;
    else given[resource] = parseAmount(`--${resource}`, resource, text);
  }
  return given;
}

function checkSet({ args }: CommandContext, isAsking: boolean, given: Amounts): void {
  const [user, project] = [args.text('user'), args.text('project')];
  if (isAsking ? project === undefined : user === undefined)
    throw new UsageError(
      `"quark quota set" needs ${isAsking ? '--project: quotas of users are set at the machine of the service' : '--user'}`,
      'quota',
    );
  if (Object.keys(given).length === 0)
    throw new UsageError('"quark quota set" needs --bytes, --runs or --segments', 'quota');
}

/** The defaults that the service was started with, where the environment has them. */
function useDefaults({ io }: CommandContext, access: AccessActions): void {
  if (access.quotas === undefined) return;
  const defaults = defaultQuotas((resource) => {
    const name = `QUARK_QUOTA_${resource.toUpperCase()}`;
    return [name, io.env[name]];
  });
  access.quotas.defaults = { bytes: null, runs: null, segments: null, ...defaults };
}

async function set(context: CommandContext, access: AccessActions, given: Amounts): Promise<void> {
  const { args, io } = context;
  const [project, space] = [args.text('project'), args.text('space')];
  const report = await access.setQuota({
    user: args.text('user') ?? (await access.userName?.()) ?? '',
    ...(project === undefined ? {} : { project }),
    ...(space === undefined ? {} : { space }),
    ...given,
  });
  await io.stdout.write(
    args.flag('json') ? jsonText(persisted(report)) : `${onTerminal(lineOf(report))}\n`,
  );
}

async function recount({ args, io }: CommandContext, access: AccessActions): Promise<void> {
  const count = (await access.quotas?.recount(args.text('user'))) ?? 0;
  await io.stdout.write(
    args.flag('json') ? jsonText({ spaces: count }) : `Counted ${counted(count, 'space')} anew.\n`,
  );
}

async function list({ args, io, style }: CommandContext, access: AccessActions): Promise<void> {
  const user = args.text('user');
  const all = await access.listQuotas();
  const found = all.filter((one) => user === undefined || one.user === user);
  if (args.flag('json')) {
    await io.stdout.write(jsonText(found.map(persisted)));
    return;
  }
  await io.stdout.write(
    table<QuotaReport>(
      [
        { title: 'USER', cell: (one) => one.user, isElastic: true },
        { title: 'SPACE', cell: (one) => one.space ?? '', isElastic: true },
        { title: 'PROJECT', cell: (one) => one.project ?? '', isElastic: true },
        ...QUOTA_RESOURCES.map((resource) => ({
          title: resource.toUpperCase(),
          cell: (one: QuotaReport) => useOfReport(resource, one),
        })),
      ],
      found,
      io.stdout.columns,
      style,
    ),
  );
}

function useOfReport(resource: QuotaResource, one: QuotaReport): string {
  const used = { bytes: one.usedBytes, runs: one.usedRuns, segments: one.usedSegments };
  const limit = one[resource];
  return useText(resource, used[resource], limit === Number.MAX_SAFE_INTEGER ? null : limit);
}

function lineOf(one: QuotaReport): string {
  const of = one.project === null ? one.user : `"${one.project}" of ${one.user} (${one.space})`;
  return `${of}: ${QUOTA_RESOURCES.map((resource) => useOfReport(resource, one)).join(', ')}.`;
}

function persisted(one: QuotaReport): object {
  const { user, space, project, bytes, runs, segments } = one;
  const used = { bytes: one.usedBytes, runs: one.usedRuns, segments: one.usedSegments };
  return { user, space, project, limits: { bytes, runs, segments }, used };
}
