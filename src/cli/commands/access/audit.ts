/** `quark audit`: who deleted, made and changed what in a service. */
import { AUDIT_ACTIONS, type AuditFilter, type AuditLine } from '../../../service.ts';
import { UsageError } from '../../support/args.ts';
import { EXIT, JSON_OPTION, jsonText, type Command } from '../../support/command.ts';
import { ACCESS_OPTIONS, withAccess, type AccessActions } from '../../support/service-storage.ts';
import { durationMs } from '../../support/durations.ts';
import { localTime, table } from '../../support/text.ts';

/** Lines of one request. */
const PAGE = 500;
const DEFAULT_LINES = 100;

export const auditCommand: Command = {
  spec: {
    name: 'audit',
    summary: 'Show who made keys, changed shares and quotas, and deleted what in a service.',
    positionals: [],
    options: {
      ...ACCESS_OPTIONS,
      since: {
        kind: 'text',
        value: 'WHEN',
        help: 'All lines from then on: a date, or a time before now such as 12h, 7d, 4w. Default: the latest lines.',
      },
      until: { kind: 'text', value: 'WHEN', help: 'No lines after then.' },
      action: {
        kind: 'text',
        value: 'ACTION',
        help: `An action, or its family such as "run". Actions: ${AUDIT_ACTIONS.join(', ')}.`,
      },
      user: { kind: 'text', value: 'NAME', help: 'What this user did.' },
      target: {
        kind: 'text',
        value: 'ID',
        help: 'What was done to this run, key, user or project.',
      },
      limit: { kind: 'count', value: 'N', help: 'Most lines. Default: 100; with --since, all.' },
      json: JSON_OPTION,
    },
    notes: [
      'Lines are only ever added. Oldest first.',
      'At the machine of the service the lines of all users are shown; with --url, those about what belongs to the user of the key, and of what that user did.',
    ],
  },
  async run(context) {
    const { args, io, style } = context;
    const sinceMs = instantOf('since', args.text('since'));
    const untilMs = instantOf('until', args.text('until'));
    const action = actionOf(args.text('action'));
    const user = args.text('user');
    const target = args.text('target');
    const filter = {
      ...(action === undefined ? {} : { action }),
      ...(user === undefined ? {} : { user }),
      ...(target === undefined ? {} : { target }),
      ...(sinceMs === undefined ? {} : { sinceMs }),
      ...(untilMs === undefined ? {} : { untilMs }),
    };
    const limit = args.count('limit') ?? (sinceMs === undefined ? DEFAULT_LINES : Infinity);
    await withAccess(context, { create: false }, async (access) => {
      const lines = await linesOf(access, filter, limit);
      if (args.flag('json')) await io.stdout.write(jsonText(lines.map(persisted)));
      else if (lines.length === 0) await io.stderr.write('No lines.\n');
      else await io.stdout.write(table(COLUMNS, lines, io.stdout.columns, style));
    });
    return EXIT.ok;
  },
};

const COLUMNS: Parameters<typeof table<AuditLine>>[0] = [
  { title: 'ID', cell: ({ id }) => String(id), align: 'right' },
  { title: 'WHEN', cell: ({ atMs }) => localTime(new Date(atMs).toISOString()) },
  { title: 'WHO', cell: (line) => line.user ?? line.userId ?? 'at the machine' },
  { title: 'KEY', cell: ({ keyId }) => keyId ?? '' },
  { title: 'FROM', cell: ({ from }) => from ?? '' },
  { title: 'ACTION', cell: ({ action }) => action },
  { title: 'TARGET', cell: (line) => `${line.targetKind} ${line.targetId}`, isElastic: true },
  { title: 'SPACE', cell: ({ space }) => space ?? '', isElastic: true },
  { title: 'DETAIL', cell: ({ detail }) => detailText(detail), isElastic: true },
];

/** The latest lines that match, or all from an instant on; oldest first. */
async function linesOf(
  access: AccessActions,
  filter: AuditFilter,
  limit: number,
): Promise<readonly AuditLine[]> {
  const lines: AuditLine[] = [];
  const isForward = filter.sinceMs !== undefined;
  for (;;) {
    const last = lines.at(-1)?.id;
    const from = isForward ? { after: last ?? 0 } : last === undefined ? {} : { before: last };
    const wanted = Math.min(PAGE, limit - lines.length);
    if (wanted === 0) break;
    const page = await access.listAudit({ ...filter, ...from, limit: wanted });
    lines.push(...page);
    if (page.length < wanted) break;
  }
  return isForward ? lines : lines.toReversed();
}

function persisted(line: AuditLine): object {
  return {
    id: line.id,
    at: new Date(line.atMs).toISOString(),
    key_id: line.keyId,
    user_id: line.userId,
    user: line.user,
    action: line.action,
    target_kind: line.targetKind,
    target_id: line.targetId,
    owner_id: line.ownerId,
    space: line.space,
    from: line.from,
    detail: line.detail,
  };
}

function detailText(detail: AuditLine['detail']): string {
  return Object.entries(detail)
    .flatMap(([name, value]) =>
      value === null || value === ''
        ? []
        : [`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`],
    )
    .join(' ');
}

/** @throws {UsageError} for what is no action, and no family of actions */
function actionOf(action: string | undefined): string | undefined {
  const isKnown = AUDIT_ACTIONS.some((one) => one === action || one.startsWith(`${action}.`));
  if (action === undefined || isKnown) return action;
  throw new UsageError(
    `--action must be one of ${AUDIT_ACTIONS.join(', ')}, or what is before the dot; got "${action}"`,
    'audit',
  );
}

function instantOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const agoMs = durationMs(text);
  if (agoMs !== undefined) return Date.now() - agoMs;
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw new UsageError(
      `--${option} must be a date, or a time before now such as 12h, 7d or 4w; got "${text}"`,
      'audit',
    );
  return ms;
}
