/** `quark import PATH...`: runs of other tools into the store. */
import { resolve } from 'node:path';
import { importRuns, type ImportedRunReport, type ImportReport } from '../../exchange.ts';
import { openStorage } from '../../index.ts';
import { openInputFiles } from '../../node.ts';
import { UsageError } from '../support/args.ts';
import {
  DEFAULT_STORAGE_DIR,
  EXIT,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  type Command,
} from '../support/command.ts';
import { table } from '../support/text.ts';

const SHOWN_PROBLEMS = 20;

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
      tag: { kind: 'list', value: 'TAG', help: 'Label of every run.' },
      json: JSON_OPTION,
    },
    notes: [
      'Files and folders; what cannot be read is reported, the rest is imported. Importing the same files again changes nothing.\n' +
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
        ...(args.text('project') === undefined ? {} : { project: args.text('project') }),
        ...(args.text('format') === undefined ? {} : { format: args.text('format') }),
        ...(args.list('tag') === undefined ? {} : { tags: args.list('tag') }),
      });
    } finally {
      await store.close();
    }
    if (args.flag('json')) await io.stdout.write(jsonText(report));
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
    return report.runs.length > 0 ? EXIT.ok : EXIT.failure;
  },
};

/** What was not imported, one line each. */
function problemText({ problems, unlistedProblemCount, unknownFiles, runs }: ImportReport): string {
  const shown = problems
    .slice(0, SHOWN_PROBLEMS)
    .map(({ file, place, reason }) => `${file}${place === null ? '' : `, ${place}`}: ${reason}\n`);
  const more = problems.length + unlistedProblemCount - shown.length;
  if (more > 0) shown.push(`... and ${more} more problems; --json lists them.\n`);
  if (unknownFiles.length > 0) {
    const names = unknownFiles.slice(0, 3).join(', ');
    const rest = unknownFiles.length > 3 ? ` and ${unknownFiles.length - 3} more` : '';
    shown.push(`Not recognised: ${names}${rest}.\n`);
  }
  if (runs.length === 0) shown.push('Nothing was imported.\n');
  return shown.join('');
}
