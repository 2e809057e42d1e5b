/** `quark reports`: the reports that people have written in a project. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { writtenReportHtml, writtenReportMarkdown } from '../../analysis.ts';
import { QuarkError, type Store } from '../../index.ts';
import {
  checkReport,
  deleteReport,
  freezeReport,
  listDeletedReports,
  listReports,
  MAX_DOCUMENT_BYTES,
  parseMarkdown,
  readReport,
  restoreReport,
  saveReport,
  type DocumentHeader,
  type MarkdownSpan,
  type StoredReport,
  type WrittenReport,
} from '../../workspace.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  unwritable,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { localTime, onTerminal, table } from '../support/text.ts';

/** At most one of them. */
const ACTIONS = ['new', 'html', 'rm', 'undelete', 'deleted'] as const;

export const reportsCommand: Command = {
  spec: {
    name: 'reports',
    summary: 'List, show, export, write and remove the reports of a project.',
    positionals: ['PROJECT', '[REPORT]'],
    options: {
      ...STORAGE_OPTIONS,
      html: {
        kind: 'text',
        value: 'FILE',
        help: 'Write the report as one HTML file, with its charts and tables as they are now; - is standard output.',
      },
      new: {
        kind: 'text',
        value: 'FILE',
        help: 'Save a new report of this file: Markdown, or the JSON that --json prints of a report.',
      },
      title: {
        kind: 'text',
        value: 'TEXT',
        help: 'Its title, with --new. Default: the first heading of the file, which is then not part of the text.',
      },
      rm: { kind: 'flag', help: 'Delete the report. It can be restored for 7 days.' },
      undelete: { kind: 'flag', help: 'Restore a deleted report.' },
      deleted: { kind: 'flag', help: 'List the reports that can be restored.' },
      json: JSON_OPTION,
    },
    notes: [
      'Without REPORT the reports are listed; with it, one is shown as Markdown: a chart as a table of the first, lowest and last values.\n' +
        'REPORT is a title, or the id that "quark reports PROJECT" lists. "quark report RUN" writes a report of a run by itself.',
    ],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { args } = context;
      const actions = ACTIONS.filter((name) =>
        name === 'new' || name === 'html' ? args.text(name) !== undefined : args.flag(name),
      );
      if (actions.length > 1)
        throw new UsageError(`--${actions.join(' and --')} do not go together`, 'reports');
      if (args.text('title') !== undefined && actions[0] !== 'new')
        throw new UsageError('--title goes with --new', 'reports');
      const [, report] = args.positionals;
      switch (actions[0]) {
        case 'new':
          return makeReport(context, store);
        case 'html':
          return exportReport(context, store);
        case 'rm':
          return removeReport(context, store);
        case 'undelete':
          return undeleteReport(context, store);
        case 'deleted':
          return showReports(context, store);
        default:
          return report === undefined ? showReports(context, store) : showReport(context, store);
      }
    }),
};

async function showReports({ args, io, style }: CommandContext, store: Store): Promise<number> {
  const [project = ''] = args.positionals;
  const isDeleted = args.flag('deleted');
  const reports = await (isDeleted ? listDeletedReports : listReports)(store, project);
  const nothing = isDeleted ? 'No deleted reports.\n' : 'No reports.\n';
  await io.stdout.write(
    args.flag('json')
      ? jsonText(reports.map(reportDict))
      : reports.length === 0
        ? nothing
        : table(
            [
              { title: 'REPORT', cell: ({ name }) => onTerminal(name), isElastic: true },
              { title: 'ID', cell: ({ id }) => id },
              { title: 'BY', cell: ({ author }) => onTerminal(author ?? '-') },
              {
                title: isDeleted ? 'DELETED' : 'CHANGED',
                cell: ({ updatedAtMs }) => localTime(new Date(updatedAtMs).toISOString()),
              },
            ],
            reports,
            io.stdout.columns,
            style,
          ),
  );
  return EXIT.ok;
}

async function showReport(context: CommandContext, store: Store): Promise<number> {
  const { args, io } = context;
  const [project = ''] = args.positionals;
  const { report, ...header } = await getReport(context, store);
  await io.stdout.write(
    args.flag('json')
      ? jsonText({ ...reportDict(header), ...report })
      : writtenReportMarkdown(await freezeReport({ store, project }, report)),
  );
  return EXIT.ok;
}

async function exportReport(context: CommandContext, store: Store): Promise<number> {
  const { args, io } = context;
  const [project = ''] = args.positionals;
  const out = args.text('html') ?? '-';
  const { report } = await getReport(context, store);
  const html = await writtenReportHtml(await freezeReport({ store, project }, report));
  if (out === '-') await io.stdout.write(html);
  else {
    try {
      await writeFile(resolve(io.cwd, out), html);
    } catch (cause) {
      throw unwritable(out, cause);
    }
    await io.stderr.write(`Wrote ${onTerminal(out)}.\n`);
  }
  return EXIT.ok;
}

async function makeReport({ args, io }: CommandContext, store: Store): Promise<number> {
  const [project = '', report] = args.positionals;
  if (report !== undefined)
    throw new UsageError('A new REPORT gets its title of the file, or by --title', 'reports');
  const file = args.text('new') ?? '';
  const written = reportIn(await textOf(resolve(io.cwd, file), file), file, args.text('title'));
  const done = await saveReport(store, project, written);
  if (done.kind === 'conflict') throw new Error('A new report has an id of its own.');
  const { report: saved } = done;
  await io.stdout.write(
    args.flag('json')
      ? jsonText(reportDict(saved))
      : `Saved ${onTerminal(saved.name)} as ${saved.id}.\n`,
  );
  return EXIT.ok;
}

/** What is longer than a report can be is not read. */
async function textOf(path: string, shown: string): Promise<string> {
  const { size } = await stat(path);
  if (size > 2 * MAX_DOCUMENT_BYTES)
    throw new QuarkError(
      'invalid_input',
      `${shown} has ${size} bytes; a report has at most ${MAX_DOCUMENT_BYTES}.`,
      { details: { field: 'new', value: size, rule: `at most ${MAX_DOCUMENT_BYTES} bytes` } },
    );
  return readFile(path, 'utf8');
}

function reportIn(text: string, file: string, title: string | undefined): WrittenReport {
  if (/\.json$/iu.test(file)) {
    const { blocks, title: stored } = Object(jsonIn(text)) as Partial<WrittenReport>;
    return checkReport({ title: title ?? stored, blocks });
  }
  const [first] = parseMarkdown(text);
  const isTitled = title === undefined && first?.kind === 'heading';
  const [, rest = ''] = isTitled ? (/^\s*[^\n]*\n?([^]*)$/u.exec(text) ?? []) : [text, text];
  const found = isTitled ? plainText(first.spans) : title;
  if (found === undefined || found === '')
    throw new UsageError('The file begins with no heading: give a --title', 'reports');
  return checkReport({ title: found, blocks: [{ kind: 'text', text: rest.trim() }] });
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function plainText(spans: readonly MarkdownSpan[]): string {
  return spans
    .map((span) => ('text' in span ? span.text : 'spans' in span ? plainText(span.spans) : ' '))
    .join('');
}

async function removeReport(context: CommandContext, store: Store): Promise<number> {
  const { args, io } = context;
  const [project = ''] = args.positionals;
  const { id, name } = await getReport(context, store);
  await deleteReport(store, project, id);
  await io.stdout.write(
    args.flag('json')
      ? jsonText({ deleted: id })
      : `Deleted ${onTerminal(name)}. "quark reports ${onTerminal(project)} ${id} --undelete" restores it for 7 days.\n`,
  );
  return EXIT.ok;
}

async function undeleteReport({ args, io }: CommandContext, store: Store): Promise<number> {
  const [project = '', report] = args.positionals;
  const found = chosen(await listDeletedReports(store, project), project, report, ' --deleted');
  const restored = await restoreReport(store, project, found.id);
  if (restored === undefined) throw noReport(project, found.name, ' --deleted');
  await io.stdout.write(
    args.flag('json') ? jsonText(reportDict(restored)) : `Restored ${onTerminal(restored.name)}.\n`,
  );
  return EXIT.ok;
}

async function getReport({ args }: CommandContext, store: Store): Promise<StoredReport> {
  const [project = '', name] = args.positionals;
  const { id } = chosen(await listReports(store, project), project, name);
  const found = await readReport(store, project, id);
  if (found === undefined) throw noReport(project, name ?? '');
  return found;
}

/** The report of a title or an id; several reports may have one title. */
function chosen(
  reports: readonly DocumentHeader[],
  project: string,
  report: string | undefined,
  list = '',
): DocumentHeader {
  if (report === undefined || report === '') throw new UsageError('Name the REPORT', 'reports');
  const byId = reports.find(({ id }) => id === report);
  const [first, second] = byId ? [byId] : reports.filter(({ name }) => name === report);
  if (second !== undefined)
    throw new UsageError(
      `Several reports have the title "${report}": give the id that "quark reports ${project}${list}" lists`,
      'reports',
    );
  if (first === undefined) throw noReport(project, report, list);
  return first;
}

function noReport(project: string, report: string, list = ''): QuarkError {
  return new QuarkError(
    'invalid_input',
    `Project "${project}" has no ${list === '' ? '' : 'deleted '}report "${report}". "quark reports ${project}${list}" lists them.`,
    { details: { field: 'REPORT', value: report, rule: 'a report of the project' } },
  );
}

function reportDict(report: Omit<DocumentHeader, 'sizeBytes'>): object {
  return {
    id: report.id,
    title: report.name,
    author: report.author,
    revision: report.revision,
    created_at: new Date(report.createdAtMs).toISOString(),
    updated_at: new Date(report.updatedAtMs).toISOString(),
  };
}
