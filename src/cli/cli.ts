/**
 * The `quark` command: finds the command, runs it, and turns whatever was thrown into a message and an exit code.
 * 0 success, 1 failure, 2 wrong usage, 3 not found, 130 interrupted while training.
 */
import { withControlsShown } from '../base/texts/control-characters.ts';
import { isQuarkError, VERSION } from '../index.ts';
import { columns, helpText, parseCommand, UsageError, usageLine } from './support/args.ts';
import { EXIT, jsonText, type Command } from './support/command.ts';
import { analyzeCommand } from './commands/analyze.ts';
import { alertsCommand, silenceCommand } from './commands/alerts.ts';
import { backupCommand } from './commands/backup.ts';
import { auditCommand } from './commands/access/audit.ts';
import { compareCommand } from './commands/compare.ts';
import { galleryCommand } from './sharing/gallery-command.ts';
import { topCommand } from './top/top-command.ts';
import { mcpCommand } from './mcp/mcp-command.ts';
import { consoleCommand } from './commands/console.ts';
import { dashboardCommand } from './commands/dashboard.ts';
import { demoCommand } from './commands/demo.ts';
import { doctorCommand } from './commands/doctor.ts';
import { artifactsCommand } from './commands/artifacts.ts';
import { eventsCommand } from './commands/events.ts';
import { exportCommand } from './commands/export.ts';
import { gcCommand } from './commands/gc.ts';
import { importCommand } from './commands/import.ts';
import { keysCommand } from './commands/access/keys.ts';
import { metricsCommand } from './commands/metrics.ts';
import { profileCommand } from './commands/profile.ts';
import { queryCommand } from './commands/query.ts';
import { phasesCommand } from './commands/phases.ts';
import { quotaCommand } from './commands/access/quota.ts';
import { reportCommand } from './commands/report.ts';
import { restoreCommand } from './commands/restore.ts';
import { retentionCommand } from './commands/retention.ts';
import { rmCommand } from './commands/rm.ts';
import { runsCommand } from './commands/runs.ts';
import { serveCommand } from './commands/serve.ts';
import { shareCommand } from './commands/access/share.ts';
import { showCommand } from './commands/show.ts';
import { syncCommand } from './commands/sync.ts';
import { noteCommand, renameCommand, tagCommand } from './commands/describe.ts';
import { undeleteCommand } from './commands/undelete.ts';
import { spacesCommand, usersCommand } from './commands/access/users.ts';
import { reportsCommand } from './documents/reports-command.ts';
import { viewsCommand } from './documents/views-command.ts';
import { verifyCommand } from './commands/verify.ts';
import { watchCommand } from './commands/watch.ts';
import { guardTerminal, OutputClosed, type CliIo } from './support/io.ts';
import { closestTo } from '../base/texts/closest.ts';
import { onTerminal, styleFor } from './support/text.ts';

const COMMANDS: readonly Command[] = [
  runsCommand,
  showCommand,
  metricsCommand,
  eventsCommand,
  artifactsCommand,
  consoleCommand,
  mcpCommand,
  topCommand,
  analyzeCommand,
  alertsCommand,
  silenceCommand,
  watchCommand,
  profileCommand,
  phasesCommand,
  compareCommand,
  reportCommand,
  importCommand,
  exportCommand,
  galleryCommand,
  queryCommand,
  rmCommand,
  undeleteCommand,
  renameCommand,
  noteCommand,
  tagCommand,
  viewsCommand,
  reportsCommand,
  dashboardCommand,
  demoCommand,
  serveCommand,
  keysCommand,
  shareCommand,
  auditCommand,
  quotaCommand,
  usersCommand,
  spacesCommand,
  syncCommand,
  verifyCommand,
  backupCommand,
  restoreCommand,
  gcCommand,
  retentionCommand,
  doctorCommand,
];

/** Runs one command line, without the name of the program, and returns its exit code. Throws nothing. */
export async function runCli(args: readonly string[], given: CliIo): Promise<number> {
  const wantsJson = args.includes('--json');
  const io = wantsJson ? given : guardTerminal(given);
  try {
    return await dispatch(args, io);
  } catch (error) {
    if (error instanceof OutputClosed) return EXIT.ok;
    try {
      await io.stderr.write(wantsJson ? errorJson(error) : errorText(error, io));
    } catch (second) {
      if (!(second instanceof OutputClosed)) throw second;
    }
    return exitCodeOf(error);
  }
}

async function dispatch(args: readonly string[], io: CliIo): Promise<number> {
  const [name, ...rest] = args;
  if (name === '--version' || name === '-v') {
    await io.stdout.write(`${VERSION}\n`);
    return EXIT.ok;
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const command = COMMANDS.find(({ spec }) => spec.name === rest[0]);
    await io.stdout.write(command === undefined ? overview() : helpText(command.spec));
    return name === undefined ? EXIT.usage : EXIT.ok;
  }
  const command = COMMANDS.find(({ spec }) => spec.name === name);
  if (command === undefined) {
    const closest = closestTo(
      name,
      COMMANDS.map(({ spec }) => spec.name),
    );
    const advice = closest === undefined ? '' : `. Did you mean "quark ${closest}"?`;
    throw new UsageError(`There is no command "${name}"${advice}`);
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    await io.stdout.write(helpText(command.spec));
    return EXIT.ok;
  }
  return command.run({
    io,
    args: parseCommand(command.spec, rest),
    style: styleFor(io.stdout, io.env),
  });
}

function overview(): string {
  const commands = columns(
    COMMANDS.map(({ spec }) => [[spec.name, ...spec.positionals].join(' '), spec.summary]),
  );
  const exits = columns([
    ['0', 'Success.'],
    ['1', 'Something failed.'],
    ['2', 'The command line does not make sense.'],
    ['3', 'There is no such run or store.'],
    ['130', 'Training was interrupted.'],
  ]);
  return [
    'Reads, judges and serves training runs that quark-sdk has recorded.\n',
    'Usage: quark COMMAND [options]\n',
    `Commands:\n${commands}`,
    '"quark COMMAND --help" explains a command. RUN is the id of a run, the beginning of it, or "latest".\n',
    `Exit codes:\n${exits}`,
    'QUARK_DEBUG=1 adds the stack to errors; NO_COLOR turns colours off; QUARK_STORAGE_DIR names the folder of the runs.\n',
  ].join('\n');
}

function errorText(error: unknown, io: CliIo): string {
  const style = styleFor(io.stderr, io.env);
  const message = messageFor(error);
  const lines = [`${style.red('error:')} ${onTerminal(message)}`];
  if (error instanceof UsageError) {
    const command = COMMANDS.find(({ spec }) => spec.name === error.command);
    if (command !== undefined) lines.push(`Usage: ${usageLine(command.spec)}`);
    lines.push(`See "quark ${command === undefined ? '' : `${command.spec.name} `}--help".`);
  } else if (isDebug(io) && error instanceof Error) {
    for (let at: unknown = error; at instanceof Error; at = at.cause)
      lines.push(withControlsShown(at.stack ?? String(at)));
  } else if (!isQuarkError(error)) {
    lines.push('This should not happen; QUARK_DEBUG=1 shows where it did.');
  }
  return `${lines.join('\n')}\n`;
}

/** What went wrong, for somebody at a command line: the library's own advice names a function beside the command. */
function messageFor(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return isQuarkError(error, 'run_not_found') ? message.replace('listRuns() or ', '') : message;
}

function errorJson(error: unknown): string {
  const message = messageFor(error);
  const code =
    error instanceof UsageError ? 'usage' : isQuarkError(error) ? error.code : 'unexpected';
  const details = isQuarkError(error)
    ? Object.fromEntries(
        Object.entries(error.details).filter(([, value]) => typeof value !== 'function'),
      )
    : {};
  return jsonText({ error: { code, message, details } });
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (isQuarkError(error, 'run_not_found')) return EXIT.notFound;
  if (isQuarkError(error, 'store_failed') && error.details['reason'] === 'missing')
    return EXIT.notFound;
  return EXIT.failure;
}

function isDebug(io: CliIo): boolean {
  return (io.env['QUARK_DEBUG'] ?? '') !== '';
}
