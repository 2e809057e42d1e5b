/** `quark doctor`: what is wrong with a store or a service, and what to do about it. */
import { resolve } from 'node:path';
import { examineService, examineStore, type DoctorReport, type DoctorFinding } from '../../node.ts';
import { s3OptionsFromEnvironment } from '../../service.ts';
import { isQuarkError } from '../../index.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { serviceStorage } from '../support/service-storage.ts';
import { byteText, counted, onTerminal, type Style } from '../support/text.ts';

/** It could not be examined. */
const COULD_NOT = 2;

type Examination = {
  readonly findings: readonly DoctorFinding[];
  readonly repaired: readonly DoctorFinding[];
  readonly summary: string;
  readonly counts: object;
};

export const doctorCommand: Command = {
  spec: {
    name: 'doctor',
    summary: 'Examine a store or a service: open everything, compare, and say what to do.',
    positionals: [],
    options: {
      'storage-dir': STORAGE_OPTIONS['storage-dir'] ?? { kind: 'text', help: '' },
      storage: {
        kind: 'text',
        value: 'URI',
        help: 'A folder as file: URI, postgresql://..., or the address of a service (http:). Default: QUARK_STORAGE.',
      },
      repair: { kind: 'flag', help: 'Repair what needs no guess, then examine again.' },
      quarantine: {
        kind: 'flag',
        help: 'With --repair: move damaged segments to files, and say so in an event of their run.',
      },
      'quarantine-dir': {
        kind: 'text',
        value: 'DIR',
        help: 'The folder of those files. Default: .quark/quarantine; needed for PostgreSQL.',
      },
      'remove-loose': {
        kind: 'flag',
        help: 'With --repair: remove objects of the bucket that no row of this database knows and that are older than 7 days. Only where no other database uses the same bucket and prefix.',
      },
      acknowledge: {
        kind: 'flag',
        help: 'Note that rows and payloads which are gone for good are known to be: they no longer count as wrong, until more is missing.',
      },
      json: JSON_OPTION,
    },
    notes: [
      'Each line is a finding: how bad it is, what kind, where, what is wrong, and what to do. Others may use the store meanwhile; nothing is changed without --repair.',
      'A service is asked as a client asks it, with the key in QUARK_USER_KEY. With the QUARK_S3_ variables of the service, objects in its bucket are opened, too.',
      'Exit codes: 0 nothing is wrong (notes do not count), 1 something is, 2 it could not be examined.',
    ],
  },
  async run(context) {
    const { args, io, style } = context;
    if (args.flag('quarantine') && !args.flag('repair'))
      throw new UsageError('--quarantine goes with --repair', 'doctor');
    if (args.flag('remove-loose') && !args.flag('repair'))
      throw new UsageError('--remove-loose goes with --repair', 'doctor');
    if (args.text('quarantine-dir') !== undefined && !args.flag('quarantine'))
      throw new UsageError('--quarantine-dir goes with --quarantine', 'doctor');
    let examination: Examination;
    try {
      examination = await examine(context);
    } catch (error) {
      if (error instanceof UsageError || !isQuarkError(error)) throw error;
      if (args.flag('json'))
        await io.stdout.write(
          jsonText({ error: { code: error.code, message: error.message }, findings: [] }),
        );
      else await io.stderr.write(`${style.red('error:')} ${onTerminal(error.message)}\n`);
      return COULD_NOT;
    }
    const { counts, findings, repaired, summary } = examination;
    const isHealthy = findings.every(({ severity }) => severity === 'note');
    if (args.flag('json'))
      await io.stdout.write(
        jsonText({
          is_healthy: isHealthy,
          ...counts,
          findings: findings.map(findingJson),
          repaired: repaired.map(findingJson),
        }),
      );
    else {
      for (const finding of repaired) await io.stdout.write(lineOf(finding, style, 'repaired'));
      for (const finding of findings) await io.stdout.write(lineOf(finding, style));
      await io.stdout.write(
        `${summary} ${isHealthy ? style.green('Nothing is wrong.') : style.red(totals(findings))}\n`,
      );
    }
    return isHealthy ? EXIT.ok : EXIT.failure;
  },
};

async function examine(context: CommandContext): Promise<Examination> {
  const { args, io } = context;
  const storage = serviceStorage(context, args.text('storage-dir'));
  if (/^https?:/i.test(storage)) {
    if (args.flag('repair') || args.flag('acknowledge'))
      throw new UsageError(
        'A service is repaired at its machine, with --storage-dir or --storage postgresql://...',
        'doctor',
      );
    const userKey = io.env['QUARK_USER_KEY'];
    const { findings, runs } = await examineService(storage, {
      userKey: userKey === '' ? undefined : userKey,
    });
    const summary =
      runs === undefined ? 'The service was asked.' : `${counted(runs, 'run')} can be listed.`;
    return { findings, repaired: [], summary, counts: { runs: runs ?? null } };
  }
  const given = args.text('quarantine-dir');
  const isFolder = !/^(?!file:)[a-z][a-z0-9+.-]+:/i.test(storage);
  if (args.flag('quarantine') && given === undefined && !isFolder)
    throw new UsageError(
      '--quarantine needs --quarantine-dir for a store that is not a folder',
      'doctor',
    );
  const folder = given === undefined ? undefined : resolve(io.cwd, given);
  const report = await examineStore(storage, {
    objects: s3OptionsFromEnvironment(io.env),
    repairs: args.flag('repair'),
    removesLoose: args.flag('remove-loose'),
    acknowledges: args.flag('acknowledge'),
    ...(args.flag('quarantine') ? { quarantine: folder ?? '' } : {}),
  });
  return { ...report, summary: summaryOf(report), counts: countsOf(report) };
}

function summaryOf({ blobBytes, blobs, rows, segmentBytes, segments }: DoctorReport): string {
  return `${counted(segments, 'segment')} with ${counted(rows, 'row')} (${byteText(segmentBytes)}) and ${counted(blobs, 'blob')} (${byteText(blobBytes)}) were opened.`;
}

function countsOf({ blobBytes, blobs, name, rows, segmentBytes, segments }: DoctorReport): object {
  return { name, segments, rows, segment_bytes: segmentBytes, blobs, blob_bytes: blobBytes };
}

function lineOf(finding: DoctorFinding, style: Style, done?: string): string {
  const { advice, code, message, severity, where } = finding;
  const paint = { error: style.red, warning: style.yellow, note: style.dim }[severity];
  const head = done === undefined ? paint(severity) : style.green(done);
  const text = `${code}  ${where}: ${message}${done === undefined ? ` ${advice}` : ''}`;
  return `${head}  ${onTerminal(text)}\n`;
}

function totals(findings: readonly DoctorFinding[]): string {
  const of = (severity: string): number =>
    findings.filter((one) => one.severity === severity).length;
  return `${counted(of('error'), 'error')}, ${counted(of('warning'), 'warning')}.`;
}

function findingJson({ advice, code, message, repair, severity, where }: DoctorFinding): object {
  return { severity, code, where, message, advice, repair: repair ?? null };
}
