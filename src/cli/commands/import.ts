/** `quark import PATH...`: runs of other tools into the store. */
import { resolve } from 'node:path';
import {
  FORMAT_NAMES,
  importRuns,
  type ImportedRunReport,
  type ImportReport,
} from '../../exchange.ts';
import { openStorage } from '../../index.ts';
import { openInputFiles } from '../../node.ts';
import { askedPattern, PATTERN_OPTION } from '../support/analysis-source.ts';
import { UsageError } from '../support/args.ts';
import {
  DEFAULT_STORAGE_DIR,
  EXIT,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  type Command,
} from '../support/command.ts';
import { askedRoles, ROLE_OPTIONS } from '../support/role-options.ts';
import { table } from '../support/text.ts';

const SHOWN_PROBLEMS = 20;
const SHOWN_UNKNOWN = 3;

export const importCommand: Command = {
  spec: {
    name: 'import',
    summary: 'Import runs of other tools.',
    positionals: ['PATH...'],
    options: {
      ...STORAGE_OPTIONS,
      project: {
        kind: 'text',
        value: 'NAME',
        help: 'Project of the runs. Default: as in the files, else "imported".',
      },
      format: {
        kind: 'text',
        value: 'FORMAT',
        help: 'Format of all files. Default: found by content.',
      },
      ...PATTERN_OPTION,
      ...ROLE_OPTIONS,
      tag: { kind: 'list', value: 'TAG', help: 'Label of every run.' },
      json: JSON_OPTION,
    },
    notes: [
      'Files and folders; what cannot be read is reported, the rest is imported. Importing the same files again changes nothing.\n' +
        'The exit code is 1 where nothing was imported, and where a text log has losses of which not one was read: the message then\n' +
        'gives the --pattern that reads them.\n' +
        `The runs go into --storage-dir; default: ./${DEFAULT_STORAGE_DIR}.`,
    ],
  },
  async run({ io, args, style }) {
    const uri = args.text('storage');
    const dir = args.text('storage-dir');
    if (uri !== undefined && dir !== undefined)
      throw new UsageError('Give either --storage or --storage-dir, not both', 'import');
    const files = await openInputFiles(args.positionals.map((path) => resolve(io.cwd, path)));
    const given = io.env['QUARK_STORAGE_DIR'];
    const location =
      uri ??
      resolve(io.cwd, dir ?? (given === undefined || given === '' ? DEFAULT_STORAGE_DIR : given));
    const store = await openStorage(location);
    let report: ImportReport;
    try {
      report = await importRuns(files, store, {
        roles: askedRoles(args),
        ...(args.text('project') === undefined ? {} : { project: args.text('project') }),
        ...(args.text('format') === undefined ? {} : { format: args.text('format') }),
        ...askedPattern(args),
        ...(args.list('tag') === undefined ? {} : { tags: args.list('tag') }),
      });
    } finally {
      await store.close();
    }
    if (args.flag('json')) await io.stdout.write(jsonText(jsonOf(report)));
    else {
      if (report.runs.length > 0) {
        await io.stdout.write(
          table<ImportedRunReport>(
            [
              { title: 'RUN', cell: ({ runId }) => runId },
              { title: 'NAME', cell: ({ name }) => name, isElastic: true },
              { title: 'FORMAT', cell: ({ format }) => format },
              {
                title: 'METRICS',
                cell: ({ metrics }) => String(Object.keys(metrics).length),
                align: 'right',
              },
              {
                title: 'POINTS',
                cell: ({ rowCount, isNew }) => (isNew ? String(rowCount) : 'known'),
                align: 'right',
              },
            ],
            report.runs,
            io.stdout.columns,
            style,
          ),
        );
      }
      await io.stderr.write(problemText(report));
    }
    // A log whose losses were all lost is not imported, whatever else of it was.
    const isLost = report.unread.some(({ readCount }) => readCount === 0);
    return report.runs.length > 0 && !isLost ? EXIT.ok : EXIT.failure;
  },
};

/** The report, without the lists that came later where they are empty: programs that compare the text see what they saw. */
function jsonOf({ unknown, unread, ...report }: ImportReport): object {
  return {
    ...report,
    ...(unread.length > 0 ? { unread } : {}),
    ...(unknown.length > 0 ? { unknown } : {}),
  };
}

/** What was not imported, one line each. */
function problemText(report: ImportReport): string {
  const { problems, runs, unknown, unknownFiles, unlistedProblemCount } = report;
  const shown = problems
    .slice(0, SHOWN_PROBLEMS)
    .map(({ file, place, reason }) => `${file}${place === null ? '' : `, ${place}`}: ${reason}\n`);
  const more = problems.length + unlistedProblemCount - shown.length;
  if (more > 0) shown.push(`... and ${more} more problems; --json lists them.\n`);
  for (const { advice, file, seen } of unknown.slice(0, SHOWN_UNKNOWN))
    shown.push(`Not recognised: ${file}: ${seen}. ${advice}\n`);
  const unshown = unknownFiles.length - Math.min(SHOWN_UNKNOWN, unknown.length);
  if (unshown > 0) shown.push(`Not recognised: ${unshown} more files; --json lists them.\n`);
  if (unknownFiles.length > 0)
    shown.push(
      `Known formats: ${FORMAT_NAMES.join(', ')}. --format NAME reads files as one of them.\n`,
    );
  if (runs.length === 0) shown.push('Nothing was imported.\n');
  return shown.join('');
}
