/** `quark export RUN`: a run in the format of another program, or all of it in one file. */
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  exportMlflow,
  exportQuark,
  exportTableArrow,
  exportTableCsv,
  exportTableJsonLines,
  exportTableParquet,
  exportTensorBoard,
  EXPORTED_DOCUMENTS,
  TABLE_NAMES,
  tensorBoardFileName,
  type ExportedDocuments,
  type ExportTableOptions,
  type TableName,
} from '../../exchange.ts';
import { describeDamage, isQuarkError, type RunReader } from '../../index.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { OutputFolder, type OutFile } from '../support/output-folder.ts';
import { onTerminal } from '../support/text.ts';

type TableExport = (
  reader: RunReader,
  table: TableName,
  options: ExportTableOptions,
) => AsyncGenerator<Uint8Array | string>;

const TABLE_FORMATS: Readonly<
  Record<string, { readonly extension: string; readonly write: TableExport }>
> = {
  parquet: { extension: 'parquet', write: exportTableParquet },
  csv: { extension: 'csv', write: exportTableCsv },
  jsonl: { extension: 'jsonl', write: exportTableJsonLines },
  arrow: { extension: 'arrow', write: exportTableArrow },
};
const FORMATS = ['quark', ...Object.keys(TABLE_FORMATS), 'tensorboard', 'mlflow'];
/** Systems whose file systems take two names that differ in case alone for one, as they come. */
const IS_CASE_BLIND = process.platform === 'win32' || process.platform === 'darwin';
/** A terminal is rewritten at most this often. */
const REDRAW_MS = 100;
/** A merge may go on while a run is exported, but not again and again. */
const MAX_ATTEMPTS = 3;

export const exportCommand: Command = {
  spec: {
    name: 'export',
    summary: 'Write a run for other programs, or all of it into one file.',
    positionals: ['RUN'],
    options: {
      ...STORAGE_OPTIONS,
      format: {
        kind: 'text',
        value: 'FORMAT',
        choices: FORMATS,
        help: 'Format. Default: as the name of --out ends, else quark.',
      },
      out: {
        kind: 'text',
        value: 'PATH',
        help: 'File or folder to write. Default: ./RUN.quark, or the folder ./RUN.',
      },
      table: {
        kind: 'list',
        value: 'TABLE',
        choices: TABLE_NAMES,
        help: 'Only this table (parquet, csv, jsonl, arrow). Default: every table that has rows.',
      },
      documents: {
        kind: 'text',
        value: 'WHICH',
        choices: EXPORTED_DOCUMENTS,
        help: 'Saved views and reports of the project in a quark file: those that all see (project), your private ones as well (all), or none. Default: project.',
      },
      force: { kind: 'flag', help: 'Write over files that are there.' },
      json: JSON_OPTION,
    },
    notes: [
      'quark is one file with everything: records, configuration, artifacts, documents of the project. "quark import" puts it into any store as it was.\n' +
        'parquet, csv, jsonl and arrow are a file a table, in a folder; tensorboard is a folder to give to TensorBoard; mlflow is an\n' +
        'mlruns folder. With one --table and a name that ends in its format, --out is the file itself.',
    ],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { io, args } = context;
      const reader = await findRunByPrefix(store, args.positionals[0] ?? '');
      const format = formatOf(args.text('format'), args.text('out'));
      const tables = args.list('table');
      if (tables !== undefined && TABLE_FORMATS[format] === undefined)
        throw new UsageError(
          `--table goes with ${Object.keys(TABLE_FORMATS).join(', ')}`,
          'export',
        );
      const documents = EXPORTED_DOCUMENTS.find((one) => one === args.text('documents'));
      if (documents !== undefined && format !== 'quark')
        throw new UsageError('--documents goes with quark', 'export');
      const out = resolve(io.cwd, args.text('out') ?? defaultOut(reader, format));
      const problems: string[] = [];
      const onProblem = (reason: string): void => void problems.push(reason);
      const written = await attempt(() => {
        problems.length = 0;
        const progress = new Progress(context);
        const isFile = isOneFile(format, tables, out);
        const fileName = isFile ? basename(out) : undefined;
        const files = filesOf(reader, { format, tables, fileName, out, onProblem, documents });
        return writeFiles(files, isFile ? dirname(out) : out, args.flag('force'), progress);
      });
      for (const reason of problems) await io.stderr.write(`warning: ${onTerminal(reason)}\n`);
      const bytes = written.reduce((sum, file) => sum + file.bytes, 0);
      if (args.flag('json'))
        await io.stdout.write(
          jsonText({ run_id: reader.run.id, format, out, files: written, problems }),
        );
      else
        await io.stdout.write(
          `${written.length === 1 ? '1 file' : `${written.length} files`}, ${megabytes(bytes)}: ${onTerminal(out)}\n`,
        );
      return EXIT.ok;
    }),
};

function formatOf(asked: string | undefined, out: string | undefined): string {
  if (asked !== undefined) return asked;
  const extension = /\.([a-z]+)$/i.exec(out ?? '')?.[1]?.toLowerCase();
  return FORMATS.find((format) => format === extension) ?? 'quark';
}

function defaultOut({ run }: RunReader, format: string): string {
  if (format === 'quark') return `${run.id}.quark`;
  return format === 'mlflow' ? 'mlruns' : run.id;
}

/** Whether `--out` is the file itself. */
function isOneFile(format: string, tables: readonly string[] | undefined, out: string): boolean {
  const tableFormat = TABLE_FORMATS[format];
  if (tableFormat === undefined) return format === 'quark';
  return tables?.length === 1 && out.endsWith(`.${tableFormat.extension}`);
}

/** The files with their paths below the folder; `fileName` is that of the file that `--out` names. */
async function* filesOf(
  reader: RunReader,
  {
    documents,
    fileName,
    format,
    onProblem,
    out,
    tables,
  }: {
    readonly format: string;
    readonly documents: ExportedDocuments | undefined;
    readonly tables: readonly string[] | undefined;
    readonly fileName: string | undefined;
    readonly out: string;
    readonly onProblem: (reason: string) => void;
  },
): AsyncGenerator<OutFile> {
  const tableFormat = TABLE_FORMATS[format];
  if (tableFormat !== undefined) {
    const { extension, write } = tableFormat;
    for (const table of TABLE_NAMES) {
      const isAsked = tables?.includes(table) ?? (await hasRows(reader, table));
      if (!isAsked) continue;
      const options = {
        onDamage: (report: Parameters<typeof describeDamage>[0]) =>
          onProblem(describeDamage(report)),
      };
      yield {
        path: fileName ?? `${table}.${extension}`,
        pieces: write(reader, table, options),
      };
    }
  } else if (format === 'quark') {
    yield {
      path: fileName ?? basename(out),
      pieces: exportQuark(reader, { documents, onProblem }),
    };
  } else if (format === 'tensorboard') {
    yield { path: tensorBoardFileName(reader.run), pieces: exportTensorBoard(reader) };
  } else {
    const root = pathToFileURL(out).href;
    const options = { root, onProblem, portableNames: IS_CASE_BLIND };
    for await (const { path, pieces } of exportMlflow(reader, options))
      yield { path, pieces, isShared: await isOlderExperiment(join(out, path)) };
  }
}

async function hasRows(reader: RunReader, table: string): Promise<boolean> {
  return (await reader.store.listSegments({ runId: reader.run.id, table })).length > 0;
}

/** Tries again when the run was merged meanwhile. */
async function attempt<T>(work: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await work();
    } catch (error) {
      const isBusy = isQuarkError(error, 'store_failed') && error.details['reason'] === 'busy';
      if (!isBusy || count >= MAX_ATTEMPTS) throw error;
    }
  }
}

/** Writes the files into the folder, in their order. */
async function writeFiles(
  files: AsyncIterable<OutFile>,
  folderPath: string,
  isForced: boolean,
  progress: Progress,
): Promise<{ readonly path: string; readonly bytes: number }[]> {
  const written: { readonly path: string; readonly bytes: number }[] = [];
  let folder: OutputFolder | undefined;
  for await (const file of files) {
    folder ??= await OutputFolder.open(folderPath, isForced);
    written.push(await folder.write(file, (bytes) => progress.add(bytes)));
  }
  await progress.end();
  return written;
}

/** Whether this is the description of an experiment that has other runs: the runs of MLflow share it. */
async function isOlderExperiment(path: string): Promise<boolean> {
  if (basename(path) !== 'meta.yaml') return false;
  const entries = await readdir(dirname(path)).catch((): string[] => []);
  return entries.includes('meta.yaml') && !entries.includes('metrics') && !entries.includes('tags');
}

/** How much was written so far, on a terminal. */
class Progress {
  readonly #io: CommandContext['io'];
  #bytes = 0;
  #drawnMs = 0;
  #isDrawn = false;

  constructor({ io }: CommandContext) {
    this.#io = io;
  }

  async add(bytes: number): Promise<void> {
    this.#bytes += bytes;
    const nowMs = performance.now();
    if (!this.#io.stderr.isTty || nowMs - this.#drawnMs < REDRAW_MS) return;
    this.#drawnMs = nowMs;
    this.#isDrawn = true;
    await this.#io.stderr.write(`\r\u001b[2K${megabytes(this.#bytes)} written`);
  }

  async end(): Promise<void> {
    if (this.#isDrawn) await this.#io.stderr.write('\r\u001b[2K');
  }
}

function megabytes(bytes: number): string {
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
