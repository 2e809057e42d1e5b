/**
 * Tables of any program: CSV, TSV, and what calls itself so. Lightning's and Keras' CSVLogger, Ultralytics' results.csv and spreadsheets
 * are told apart by nothing but their columns, so they are one format.
 */
import { fileName, folderOf, type InputFile } from '../../../codecs/input.ts';
import type { ImportContext, Importer } from '../sink/importer.ts';
import { columnsOf, isHeader, sniffTable, type CsvColumns } from '../tables/csv-columns.ts';
import { CsvReader } from '../../../codecs/csv/csv-reader.ts';
import { reasonNoRun } from '../tables/own-tables.ts';
import { isCommonStem, runNameOf } from '../sink/run-names.ts';
import { TableImport } from '../tables/table-import.ts';
import { CELL_NUMBER, CELL_TEXT } from '../../../codecs/table-rows.ts';
import { configFromYaml, isYamlName } from '../tables/yaml-config.ts';

const HEAD_BYTES = 65_536;
/** Settings that programs write beside their table. */
const SETTINGS_NAMES = new Set(['hparams.yaml', 'args.yaml']);
/** What they call the table: Lightning, Ultralytics, timm. */
const TABLE_NAMES = ['metrics.csv', 'results.csv', 'summary.csv'];

/** CSV and TSV. */
export const csv: Importer = {
  format: 'csv',
  title: 'CSV or TSV table (Lightning, Keras, Ultralytics, any other)',
  detect({ text, file, bytes, hasFile }) {
    const folder = folderOf(file.path);
    const beside = (name: string): boolean => hasFile(folder === '' ? name : `${folder}/${name}`);
    if (SETTINGS_NAMES.has(fileName(file.path)) && TABLE_NAMES.some(beside)) return 0.9;
    return sniffTable(text, bytes.length >= file.sizeBytes, file.path)?.confidence ?? 0;
  },
  group(files) {
    const settings = files.filter(({ path }) => SETTINGS_NAMES.has(fileName(path)));
    return files
      .filter((file) => !settings.includes(file))
      .map((file) => [
        file,
        ...settings.filter(({ path }) => folderOf(path) === folderOf(file.path)),
      ]);
  },
  async read(files, context) {
    const tables = files.filter(({ path }) => !isYamlName(path));
    const settings = files.filter(({ path }) => isYamlName(path));
    for (const file of tables) {
      const config: Record<string, unknown> = {};
      for (const one of settings) Object.assign(config, await configFromYaml(one, context));
      await new CsvImport(file, context, config).read();
    }
  },
};

class CsvImport {
  readonly #file: InputFile;
  readonly #context: ImportContext;
  readonly #table: TableImport;
  #columns: CsvColumns | undefined;
  #isNoRun = false;
  #misfit: { from: number; to: number; cells: number; count: number } | undefined;

  constructor(file: InputFile, context: ImportContext, config: Readonly<Record<string, unknown>>) {
    this.#file = file;
    this.#context = context;
    const run = { identity: file.path, name: runNameOf(file.path) };
    this.#table = new TableImport({ file, context, run, config, unit: 'line' });
  }

  async read(): Promise<void> {
    const { limits } = this.#context;
    const head = await this.#file.slice(0, HEAD_BYTES);
    const isWhole = head.length >= this.#file.sizeBytes;
    const found = sniffTable(new TextDecoder().decode(head), isWhole, this.#file.path);
    const reader = new CsvReader({
      delimiter: found?.delimiter ?? ',',
      maxColumns: limits.maxColumns,
      maxRowBytes: limits.maxLineBytes,
    });
    const hasHeader = found?.hasHeader ?? true;
    for await (const piece of this.#file.stream()) {
      reader.feed(piece);
      await this.#rows(reader, hasHeader);
      if (this.#isNoRun) return;
    }
    reader.feed(new Uint8Array(0), true);
    await this.#rows(reader, hasHeader);
    if (this.#isNoRun) return;
    this.#finish();
  }

  async #rows(reader: CsvReader, hasHeader: boolean): Promise<void> {
    while (reader.next()) {
      let columns = this.#columns;
      if (reader.isBroken) {
        this.#problem(reader.line, 'The row is too long, or a quoted field in it has no end.');
        continue;
      }
      if (columns === undefined) {
        columns = this.#header(reader, hasHeader);
        if (columns === undefined) return;
        const reason = reasonNoRun(columns.names);
        if (reason !== undefined) {
          this.#isNoRun = true;
          this.#context.problem({ file: this.#file.path, place: null, reason });
          return;
        }
        if (hasHeader) continue;
      }
      const isComment = reader.kinds[0] === CELL_TEXT && reader.text(0).startsWith('#');
      if (isComment) continue;
      if (reader.numberCount === 0 && this.#isHeaderAgain(reader, columns)) continue;
      columns = this.#columns ?? columns;
      if (!fits(reader, columns.names.length)) {
        this.#addMisfit(reader);
        continue;
      }
      const sink = this.#table.sinkFor(reader) ?? (await this.#table.begin());
      this.#table.add(reader, sink);
      if (sink.isFull) await sink.flush();
    }
  }

  /** The first row: names of the columns. */
  #header(reader: CsvReader, hasHeader: boolean): CsvColumns | undefined {
    const { maxColumns } = this.#context.limits;
    if (reader.cellCount > maxColumns) {
      throw new Error(
        `The table has ${reader.cellCount} columns; it may have ${maxColumns} (limits.maxColumns).`,
      );
    }
    const texts = Array.from({ length: reader.cellCount }, (_, i) =>
      hasHeader ? reader.text(i) : `column_${i + 1}`,
    );
    const asked = this.#context.options.columns;
    const columns = namedByFile(columnsOf(texts, asked), this.#file.path);
    for (const role of ['step', 'epoch', 'time'] as const) {
      if (asked?.[role] !== undefined && columns[role] < 0)
        this.#problem(reader.line, `There is no column "${asked[role]}" (columns.${role}).`);
    }
    this.#use(columns);
    return columns;
  }

  #use(columns: CsvColumns): void {
    this.#columns = columns;
    this.#table.use(columns);
  }

  /** Programs that go on with a file write the header again, with the same columns or others. */
  #isHeaderAgain(reader: CsvReader, columns: CsvColumns): boolean {
    if (reader.cellCount > this.#context.limits.maxColumns) return false;
    const texts = Array.from({ length: reader.cellCount }, (_, i) => reader.text(i).trim());
    if (
      texts.some((text, i) => text !== columns.names[i]) ||
      texts.length !== columns.names.length
    ) {
      if (!isHeader(texts, columns)) return false;
      this.#endMisfit();
      this.#use(columnsOf(texts, this.#context.options.columns));
    }
    return true;
  }

  /** Rows whose cells do not match the header: nobody can say what their numbers are. */
  #addMisfit(reader: CsvReader): void {
    if (this.#misfit !== undefined && this.#misfit.cells !== reader.cellCount) this.#endMisfit();
    this.#misfit ??= { from: reader.line, to: 0, cells: reader.cellCount, count: 0 };
    this.#misfit.to = reader.line;
    this.#misfit.count++;
  }

  #endMisfit(): void {
    const misfit = this.#misfit;
    if (misfit === undefined) return;
    this.#misfit = undefined;
    const { from, to, cells, count } = misfit;
    const rows = count === 1 ? 'The row has' : `${count} rows have`;
    this.#context.problem({
      file: this.#file.path,
      place: from === to ? `line ${from}` : `lines ${from} to ${to}`,
      reason: `${rows} ${cells} cells, the header has ${this.#columns?.names.length ?? 0}: left out, because nobody can tell which is which.`,
    });
  }

  #finish(): void {
    this.#endMisfit();
    this.#table.finish();
    if (this.#table.runCount === 0)
      this.#context.problem({
        file: this.#file.path,
        place: null,
        reason: 'There are no rows in it.',
      });
  }

  #problem(line: number, reason: string): void {
    this.#context.problem({ file: this.#file.path, place: `line ${line}`, reason });
  }
}

/**
 * A table whose only metric is called `value` has its name in that of the file: TensorBoard's `run-train-tag-loss.csv`, or what
 * Neptune's and other clients fetch of one series.
 */
function namedByFile(columns: CsvColumns, path: string): CsvColumns {
  const [only, other] = columns.metrics;
  if (only === undefined || other !== undefined || columns.key >= 0) return columns;
  if (columns.names[only]?.toLowerCase() !== 'value') return columns;
  const stem = fileName(path).replace(/\.[A-Za-z]{1,5}$/, '');
  const name = /^run-.{0,200}?-tag-(.+)$/.exec(stem)?.[1] ?? stem;
  return isCommonStem(name) ? columns : { ...columns, names: columns.names.with(only, name) };
}

/** A row fits when it has the cells of the header, or more that are empty, as after a delimiter at the end. */
function fits(reader: CsvReader, expected: number): boolean {
  const { cellCount, kinds } = reader;
  if (cellCount === expected) return true;
  if (cellCount < expected || cellCount > kinds.length) return false;
  for (let i = expected; i < cellCount; i++)
    if (kinds[i] === CELL_NUMBER || kinds[i] === CELL_TEXT) return false;
  return true;
}
