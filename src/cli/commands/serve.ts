/** `quark serve`: the persistence service. */
import { QuarkError } from '../../index.ts';
import {
  createServiceLog,
  DEFAULT_SERVICE_LIMITS,
  LOG_LEVELS,
  QUOTA_RESOURCES,
  s3OptionsFromEnvironment,
  serveService,
  type LogLevel,
  type ServedService,
  type ServiceLimits,
} from '../../service.ts';
import { defaultQuotas } from '../support/amounts.ts';
import { UsageError, type OptionSpec } from '../support/args.ts';
import { EXIT, type Command, type CommandContext } from '../support/command.ts';
import { PAGE_CONFIG_OPTION, pageConfig } from '../support/config.ts';
import { SERVICE_STORAGE, serviceStorage } from '../support/service-storage.ts';
import { ALLOW_FRAME_OPTION, dashboardDir, framesOf } from '../support/site.ts';

const DEFAULT_PORT = 4747;
const MAX_PORT = 65_535;
const SYNCHRONOUS = ['full', 'normal'] as const;
/** Where no other machine can ask. */
const LOOPBACK = /^(127\.|localhost$|::1$)/i;

const QUOTA_OPTIONS = Object.fromEntries(
  QUOTA_RESOURCES.map((resource): [string, OptionSpec] => [
    `quota-${resource}`,
    {
      kind: 'text',
      value: 'AMOUNT',
      help: `Most ${resource} of a user for whom "quark quota" has set nothing else${resource === 'bytes' ? ', such as 10GB' : ''}. Default: QUARK_QUOTA_${resource.toUpperCase()}, or no limit.`,
    },
  ]),
);

export const serveCommand: Command = {
  spec: {
    name: 'serve',
    summary: 'Run the persistence service: take records of other machines, and show them.',
    positionals: ['[DIR]'],
    options: {
      storage: SERVICE_STORAGE,
      port: {
        kind: 'count',
        value: 'N',
        max: MAX_PORT,
        help: `Port to listen on; 0 takes a free one. Default: QUARK_PORT, or ${DEFAULT_PORT}.`,
      },
      host: {
        kind: 'text',
        value: 'ADDRESS',
        help: 'Address to listen on; 0.0.0.0 for all. Default: QUARK_HOST, or 127.0.0.1.',
      },
      open: {
        kind: 'flag',
        help: 'Let everybody on this machine in without a key, also once there are keys. Default: QUARK_OPEN=1.',
      },
      'require-key': {
        kind: 'flag',
        help: 'Require a key for every request, also from this machine: for a service behind a proxy. Default: QUARK_REQUIRE_KEY=1.',
      },
      'allow-origin': {
        kind: 'list',
        value: 'ORIGIN',
        help: 'Let pages of this origin use the service. Default: QUARK_ALLOW_ORIGIN, with commas.',
      },
      'allow-frame': ALLOW_FRAME_OPTION,
      'max-connections': {
        kind: 'count',
        value: 'N',
        help: `Limit on open connections, over all clients. Default: QUARK_MAX_CONNECTIONS, or ${DEFAULT_SERVICE_LIMITS.maxConnections}.`,
      },
      'max-connections-per-address': {
        kind: 'count',
        value: 'N',
        help: `Limit on open connections from one address. All clients of a proxy share its address; this machine is exempt. Default: QUARK_MAX_CONNECTIONS_PER_ADDRESS, or ${DEFAULT_SERVICE_LIMITS.maxConnectionsPerAddress}.`,
      },
      'min-undo-days': {
        kind: 'count',
        value: 'N',
        max: 36_500,
        help: `Days for which what a key of scope delete deletes can be brought back, at least; less, and deleting tables and artifacts, needs one of scope admin. Default: QUARK_MIN_UNDO_DAYS, or ${DEFAULT_SERVICE_LIMITS.minUndoDays}.`,
      },
      ...QUOTA_OPTIONS,
      'log-level': {
        kind: 'text',
        value: 'LEVEL',
        choices: LOG_LEVELS,
        help: 'What to log, as JSON on standard error. Default: QUARK_LOG_LEVEL, or warn in a terminal and info elsewhere.',
      },
      synchronous: {
        kind: 'text',
        value: 'MODE',
        choices: SYNCHRONOUS,
        help: 'How far a write to DIR has to come before it is acknowledged: full, to the disk, or normal, to the operating system, which forgets the last ones when the power fails. Default: QUARK_SYNCHRONOUS, or full.',
      },
      'no-maintenance': {
        kind: 'flag',
        help: 'Leave merging of small segments to other services on the database. Default: QUARK_MAINTENANCE=off.',
      },
      config: PAGE_CONFIG_OPTION,
      'no-dashboard': { kind: 'flag', help: 'Serve the API only.' },
      json: { kind: 'flag', help: 'Write the address as JSON; errors, too.' },
    },
    notes: [
      'Records are kept in DIR/.quark (SQLite); in this folder, else ./quark-runs, when none is named.',
      'Until "quark keys create" has made the first key, people on this machine need none, and nobody else is let in.',
      'With QUARK_S3_ENDPOINT, _BUCKET, _ACCESS_KEY_ID and _SECRET_ACCESS_KEY (and _REGION, _PREFIX), artifacts and merged segments go to that object store.',
      'The service speaks plain HTTP: put a proxy with TLS in front before other machines use it. With a proxy on this machine, use --require-key: requests through a proxy can look like requests from this machine.',
      'SIGTERM or Ctrl-C finishes the requests under way; a second one ends at once.',
    ],
  },
  async run(context) {
    const { io, args } = context;
    const storage = serviceStorage(context, args.positionals[0]);
    let isEnding = false;
    let end = (): void => undefined;
    const interrupted = new Promise<void>((resolve) => {
      end = resolve;
    });
    const undo = io.onInterrupt(() => {
      if (isEnding) io.exit(EXIT.interrupted);
      isEnding = true;
      end();
    });
    try {
      const service = await start(context, storage);
      try {
        await io.stdout.write(
          args.flag('json')
            ? `${JSON.stringify({
                event: 'serving',
                url: service.url,
                port: service.port,
                open: await service.isOpen(),
              })}\n`
            : await intro(service, hostOf(context), isAlwaysOpen(context)),
        );
        await interrupted;
      } finally {
        await service.close();
      }
      if (!args.flag('json')) await io.stdout.write('Stopped.\n');
    } finally {
      undo();
    }
    return EXIT.ok;
  },
};

async function start(context: CommandContext, storage: string): Promise<ServedService> {
  const { io, args } = context;
  const logger = createServiceLog(logLevel(context), (line) => {
    // A log that nobody reads any longer is no reason to stop.
    io.stderr.write(line).catch(() => undefined);
  });
  const isOpen = isAlwaysOpen(context);
  if (isOpen && !LOOPBACK.test(hostOf(context)))
    throw new UsageError(
      `--open (QUARK_OPEN) is for this machine only, and --host ${hostOf(context)} lets others in. Make keys instead: "quark keys create NAME"`,
      'serve',
    );
  const isKeyed = isOn(context, 'require-key', 'QUARK_REQUIRE_KEY');
  if (isOpen && isKeyed)
    throw new UsageError(
      'Give either --open (QUARK_OPEN) or --require-key (QUARK_REQUIRE_KEY), not both',
      'serve',
    );
  const isIdle = args.flag('no-maintenance') || !hasMaintenance(io.env['QUARK_MAINTENANCE'] ?? '');
  return serveService({
    storage,
    objects: s3OptionsFromEnvironment(io.env),
    synchronous: synchronousOf(context),
    ...(isIdle ? { maintenance: false } : {}),
    host: hostOf(context),
    port: portOf(context),
    keyless: isOpen ? 'always' : isKeyed ? 'never' : 'until_first_key',
    allowOrigins: args.list('allow-origin') ?? listOf(io.env['QUARK_ALLOW_ORIGIN']),
    ...framesOf(context),
    limits: givenLimits(context),
    quotas: defaultQuotas((resource) => {
      const [flag, name] = [`quota-${resource}`, `QUARK_QUOTA_${resource.toUpperCase()}`];
      const given = args.text(flag);
      return given === undefined ? [name, io.env[name]] : [`--${flag}`, given];
    }),
    logger,
    ...(args.flag('no-dashboard') ? {} : { dashboardDir: dashboardDir() }),
    ...(await pageConfig(context)),
  });
}

async function intro(service: ServedService, host: string, isAlways: boolean): Promise<string> {
  const lines = [`Quark service: ${service.url}`, `Records: ${service.storageUri}`];
  if (await service.isOpen())
    lines.push(
      'No key is asked for: everybody on this machine, and nobody else, can read and write.',
      isAlways
        ? 'That stays so when there are keys.'
        : '"quark keys create NAME" makes a key; from the first one on, every request needs one.',
    );
  else lines.push('Every request needs a user key: "quark keys create NAME" makes one.');
  if (!LOOPBACK.test(host))
    lines.push('Other machines can reach it, in plain HTTP: put a proxy with TLS in front.');
  return `${lines.join('\n')}\nPress Ctrl-C to stop.\n`;
}

function isAlwaysOpen(context: CommandContext): boolean {
  return isOn(context, 'open', 'QUARK_OPEN');
}

/** Whether a flag is set, or its variable is 1. */
function isOn({ io, args }: CommandContext, flag: string, variable: string): boolean {
  return args.flag(flag) || io.env[variable] === '1';
}

function hostOf({ io, args }: CommandContext): string {
  return args.text('host') ?? (io.env['QUARK_HOST'] || '127.0.0.1');
}

function portOf({ io, args }: CommandContext): number {
  const given = args.count('port');
  const text = io.env['QUARK_PORT'];
  if (given !== undefined) return given;
  if (text === undefined || text === '') return DEFAULT_PORT;
  if (!/^\d{1,5}$/.test(text) || Number(text) > MAX_PORT)
    throw new UsageError(`QUARK_PORT must be a port number from 0 to ${MAX_PORT}; got "${text}"`);
  return Number(text);
}

/** The limits from flags and variables. */
function givenLimits({ io, args }: CommandContext): Partial<ServiceLimits> {
  const given: Record<string, number> = {};
  for (const [name, flag, variable, least] of [
    ['minUndoDays', 'min-undo-days', 'QUARK_MIN_UNDO_DAYS', 0],
    ['maxConnections', 'max-connections', 'QUARK_MAX_CONNECTIONS', 1],
    [
      'maxConnectionsPerAddress',
      'max-connections-per-address',
      'QUARK_MAX_CONNECTIONS_PER_ADDRESS',
      1,
    ],
  ] as const) {
    const text = io.env[variable] ?? '';
    const count = args.count(flag) ?? (text === '' ? undefined : Number(text));
    if (count === undefined) continue;
    if (!Number.isSafeInteger(count) || count < least)
      throw new UsageError(
        `${variable} must be a whole number of at least ${least}; got "${text}"`,
        'serve',
      );
    given[name] = count;
  }
  return given;
}

function logLevel({ io, args }: CommandContext): LogLevel {
  const given = args.text('log-level') ?? io.env['QUARK_LOG_LEVEL'];
  if (given === undefined || given === '') return io.stderr.isTty ? 'warn' : 'info';
  const known = LOG_LEVELS.find((level) => level === given);
  if (known !== undefined) return known;
  throw new QuarkError(
    'invalid_input',
    `QUARK_LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}; got "${given}".`,
    { details: { field: 'QUARK_LOG_LEVEL' } },
  );
}

function synchronousOf({ args, io }: CommandContext): (typeof SYNCHRONOUS)[number] {
  const given = args.text('synchronous') ?? (io.env['QUARK_SYNCHRONOUS'] || 'full');
  const known = SYNCHRONOUS.find((mode) => mode === given);
  if (known !== undefined) return known;
  throw new UsageError(`QUARK_SYNCHRONOUS must be full or normal; got "${given}"`, 'serve');
}

function hasMaintenance(text: string): boolean {
  if (text === '' || text === 'on' || text === 'off') return text !== 'off';
  throw new UsageError(`QUARK_MAINTENANCE must be on or off; got "${text}"`);
}

function listOf(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
