/** `quark export RUN`: a run in the format of another program, or all of it in one file. */
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import {
  exportMlflow,
  exportQuark,
  exportTableArrow,
  exportTableCsv,
  exportTableJsonLines,
  exportTableParquet,
  exportTensorBoard,
  TABLE_NAMES,
  tensorBoardFileName,
  type ExportTableOptions,
  type TableName,
} from '../../exchange.ts';
import { describeDamage, isQuarkError, QuarkError, type RunReader } from '../../index.ts';
import { UsageError } from '../args.ts';
import {
  EXIT,
  findRun,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  unwritable,
  withStore,
  type Command,
  type CommandContext,
} from '../command.ts';
import { plain } from '../text.ts';

type Pieces = AsyncIterable<Uint8Array | string>;

/** A file on its way to the disk: its path below what `--out` names, or that itself. */
type OutFile = { readonly path: string; readonly pieces: Pieces };

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
      force: { kind: 'flag', help: 'Write over files that are there.' },
      json: JSON_OPTION,
    },
    notes: [
      'quark is one file with everything: records, configuration, artifacts. "quark import" puts it into any store as it was.\n' +
        'parquet, csv, jsonl and arrow are a file a table, in a folder; tensorboard is a folder to give to TensorBoard; mlflow is an\n' +
        'mlruns folder. With one --table and a name that ends in its format, --out is the file itself.',
    ],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { io, args } = context;
      const reader = await findRun(store, args.positionals[0] ?? '');
      const format = formatOf(args.text('format'), args.text('out'));
      const tables = args.list('table');
      if (tables !== undefined && TABLE_FORMATS[format] === undefined)
        throw new UsageError(
          `--table goes with ${Object.keys(TABLE_FORMATS).join(', ')}`,
          'export',
        );
      const out = resolve(io.cwd, args.text('out') ?? defaultOut(reader, format));
      const problems: string[] = [];
      const onProblem = (reason: string): void => void problems.push(reason);
      const written = await attempt(() => {
        problems.length = 0;
        const progress = new Progress(context);
        const files = filesOf(reader, format, tables, out, onProblem);
        return writeFiles(files, args.flag('force'), progress);
      });
      for (const reason of problems) await io.stderr.write(`warning: ${plain(reason)}\n`);
      const bytes = written.reduce((sum, file) => sum + file.bytes, 0);
      if (args.flag('json'))
        await io.stdout.write(
          jsonText({ run_id: reader.run.id, format, out, files: written, problems }),
        );
      else
        await io.stdout.write(
          `${written.length === 1 ? '1 file' : `${written.length} files`}, ${megabytes(bytes)}: ${plain(out)}\n`,
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

async function* filesOf(
  reader: RunReader,
  format: string,
  tables: readonly string[] | undefined,
  out: string,
  onProblem: (reason: string) => void,
): AsyncGenerator<OutFile> {
  const tableFormat = TABLE_FORMATS[format];
  if (tableFormat !== undefined) {
    const { extension, write } = tableFormat;
    const isFile = tables?.length === 1 && out.endsWith(`.${extension}`);
    for (const table of TABLE_NAMES) {
      const isAsked = tables?.includes(table) ?? (await hasRows(reader, table));
      if (!isAsked) continue;
      const options = {
        onDamage: (report: Parameters<typeof describeDamage>[0]) =>
          onProblem(describeDamage(report)),
      };
      yield {
        path: isFile ? out : join(out, `${table}.${extension}`),
        pieces: write(reader, table, options),
      };
    }
  } else if (format === 'quark') {
    yield { path: out, pieces: exportQuark(reader, { onProblem }) };
  } else if (format === 'tensorboard') {
    yield { path: join(out, tensorBoardFileName(reader.run)), pieces: exportTensorBoard(reader) };
  } else {
    const root = pathToFileURL(out).href;
    for await (const { path, pieces } of exportMlflow(reader, { root, onProblem }))
      yield { path: join(out, ...path.split('/')), pieces };
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

type Written = { readonly path: string; readonly bytes: number };

/** Each file is written under another name first: what has its name is whole. */
async function writeFiles(
  files: AsyncIterable<OutFile>,
  isForced: boolean,
  progress: Progress,
): Promise<Written[]> {
  const written: Written[] = [];
  for await (const { path, pieces } of files) {
    // The experiment of MLflow is shared by its runs.
    const isShared = path.endsWith('meta.yaml') && (await isOlderExperiment(path));
    if (!isForced && !isShared) await refuseExisting(path);
    await mkdir(dirname(path), { recursive: true }).catch((cause: unknown) => {
      throw unwritable(dirname(path), cause);
    });
    const partial = `${path}.part`;
    try {
      const bytes = await writeFile(partial, pieces, progress);
      await rename(partial, path);
      written.push({ path, bytes });
    } catch (error) {
      await rm(partial, { force: true });
      throw isQuarkError(error) ? error : unwritable(path, error);
    }
  }
  await progress.end();
  return written;
}

async function writeFile(path: string, pieces: Pieces, progress: Progress): Promise<number> {
  const stream = createWriteStream(path);
  // Whoever waits for the end is told of errors.
  const ended = finished(stream);
  ended.catch(() => undefined);
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      const content = typeof piece === 'string' ? Buffer.from(piece) : piece;
      bytes += content.byteLength;
      if (stream.errored !== null) break;
      if (!stream.write(content)) await Promise.race([once(stream, 'drain'), ended]);
      await progress.add(content.byteLength);
    }
    stream.end();
    await ended;
  } finally {
    stream.destroy();
  }
  return bytes;
}

async function refuseExisting(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return;
  throw new QuarkError(
    'invalid_input',
    found.isDirectory()
      ? `${path} is a folder. Name another file with --out.`
      : `${path} is there already. Give --force to write over it, or name another place with --out.`,
    { details: { field: 'out', value: path } },
  );
}

/** Whether this is the description of an experiment that has other runs. */
async function isOlderExperiment(path: string): Promise<boolean> {
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
