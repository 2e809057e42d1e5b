/**
 * Tables of any program: CSV, TSV, and what calls itself so. Lightning's and Keras' CSVLogger, Ultralytics' results.csv and spreadsheets
 * are told apart by nothing but their columns, so they are one format.
 */
import { fileName, folderOf, type InputFile } from '../input.ts';
import type { ImportContext, Importer, RunSink } from '../importer.ts';
import { columnsOf, isHeader, sniffTable, timeOf, type CsvColumns } from '../csv-columns.ts';
import { CELL_NUMBER, CELL_TEXT, CsvReader } from '../csv-reader.ts';
import { Counters } from '../counters.ts';
import { runNameOf } from '../run-names.ts';
import { configFromYaml, isYamlName } from '../yaml-config.ts';

const HEAD_BYTES = 65_536;
const FLUSH_ROWS = 65_536;
const MAX_RESUME_EVENTS = 100;
/** Settings that programs write beside their table. */
const SETTINGS_NAMES = new Set(['hparams.yaml', 'args.yaml']);

/** CSV and TSV. */
export const csv: Importer = {
  format: 'csv',
  title: 'CSV or TSV table (Lightning, Keras, Ultralytics, any other)',
  detect({ text, file, bytes, hasFile }) {
    const folder = folderOf(file.path);
    const beside = (name: string): boolean => hasFile(folder === '' ? name : `${folder}/${name}`);
    if (SETTINGS_NAMES.has(fileName(file.path)) && (beside('metrics.csv') || beside('results.csv')))
      return 0.9;
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
      await new TableImport(file, context, config).read();
    }
  },
};

class TableImport {
  readonly #file: InputFile;
  readonly #context: ImportContext;
  readonly #config: Readonly<Record<string, unknown>>;
  readonly #counters = new Counters();
  #columns: CsvColumns | undefined;
  #sink: RunSink | undefined;
  #runCount = 0;
  #rowIndex = 0;
  /** Metric number of each column in the sink; -2 while it has none. */
  #ids = new Int32Array(0);
  #epochId = -2;
  /** Columns that had a value while the counters stood at their first. */
  #isFirst = new Uint8Array(0);
  #textCounts = new Uint32Array(0);
  #hasFractions = false;
  #lastTime = Number.NaN;
  #resumeEvents = 0;
  #misfit: { from: number; to: number; cells: number; count: number } | undefined;

  constructor(file: InputFile, context: ImportContext, config: Readonly<Record<string, unknown>>) {
    this.#file = file;
    this.#context = context;
    this.#config = config;
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
    }
    reader.feed(new Uint8Array(0), true);
    await this.#rows(reader, hasHeader);
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
      const sink = this.#place(reader, columns) ?? (await this.#begin());
      if (this.#isLong) this.#longRow(reader, columns, sink);
      else this.#row(reader, columns, sink);
      if (sink.pendingRows > FLUSH_ROWS) await sink.flush();
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
    const columns = columnsOf(texts, asked);
    for (const role of ['step', 'epoch', 'time'] as const) {
      if (asked?.[role] !== undefined && columns[role] < 0)
        this.#problem(reader.line, `There is no column "${asked[role]}" (columns.${role}).`);
    }
    this.#use(columns);
    return columns;
  }

  #use(columns: CsvColumns): void {
    const before = new Set(this.#columns?.names.filter((_, i) => this.#isFirst[i] === 1));
    this.#columns = columns;
    this.#ids = new Int32Array(columns.names.length).fill(-2);
    this.#isFirst = Uint8Array.from(columns.names, (name) => (before.has(name) ? 1 : 0));
    this.#textCounts = new Uint32Array(columns.names.length);
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
      this.#reportTexts();
      this.#use(columnsOf(texts, this.#context.options.columns));
    }
    return true;
  }

  get #isLong(): boolean {
    return (this.#columns?.key ?? -1) >= 0;
  }

  /** Reads the counters of the row; undefined when it begins a run. */
  #place(reader: CsvReader, columns: CsvColumns): RunSink | undefined {
    if (this.#isLong) return this.#sink;
    const step = numberIn(reader, columns.step);
    const epoch = numberIn(reader, columns.epoch);
    if (this.#counters.isBack(step, epoch) && this.#repeats(reader, columns)) {
      if (this.#runCount < this.#context.limits.maxRestarts) {
        this.#counters.begin(step, epoch);
        this.#sink = undefined;
      } else if (this.#runCount === this.#context.limits.maxRestarts) {
        this.#runCount++;
        this.#problem(
          reader.line,
          `The counters begin again more than ${this.#context.limits.maxRestarts} times (limits.maxRestarts): the rest is added to the last run.`,
        );
      }
    }
    return this.#sink;
  }

  #repeats(reader: CsvReader, { metrics }: CsvColumns): boolean {
    return metrics.some((i) => this.#isFirst[i] === 1 && reader.kinds[i] === CELL_NUMBER);
  }

  async #begin(): Promise<RunSink> {
    this.#runCount++;
    const { path } = this.#file;
    const suffix = this.#runCount === 1 ? '' : `#${this.#runCount}`;
    const sink = await this.#context.run({
      identity: `${path}${suffix}`,
      name: `${runNameOf(path)}${suffix}`,
    });
    sink.config(this.#config);
    this.#sink = sink;
    this.#ids.fill(-2);
    this.#isFirst.fill(0);
    this.#epochId = -2;
    this.#rowIndex = 0;
    this.#lastTime = Number.NaN;
    return sink;
  }

  #row(reader: CsvReader, columns: CsvColumns, sink: RunSink): void {
    const { kinds, numbers } = reader;
    const { names, metrics } = columns;
    const lap = numberIn(reader, columns.epoch);
    let step = numberIn(reader, columns.step) + this.#counters.offset;
    // Rows without any counter are counted, so that metrics that are not in every row stay beside each other.
    if (columns.step < 0 && columns.epoch < 0) step = this.#rowIndex++;
    const epoch = Math.floor(lap);
    const timeMs = this.#time(reader, columns, sink, step, epoch);
    if (lap !== epoch && lap === lap) this.#hasFractions = true;
    if (this.#hasFractions && lap === lap) {
      if (this.#epochId === -2) this.#epochId = sink.metric('train/epoch');
      sink.push(this.#epochId, lap, step, epoch, timeMs);
    }
    const isAtStart = this.#counters.isAtStart;
    const phase = columns.phase >= 0 && kinds[columns.phase] === CELL_TEXT ? columns.phase : -1;
    for (const i of metrics) {
      const kind = kinds[i];
      if (kind === CELL_NUMBER) {
        let id: number;
        if (phase >= 0) id = sink.metric(`${reader.text(phase)}/${names[i] ?? ''}`);
        else {
          id = this.#ids[i] ?? -1;
          if (id === -2)
            this.#ids[i] = id = sink.metric(names[i] === '' ? `column_${i + 1}` : (names[i] ?? ''));
        }
        if (isAtStart) this.#isFirst[i] = 1;
        sink.push(id, numbers[i] ?? Number.NaN, step, epoch, timeMs);
      } else if (kind === CELL_TEXT) this.#countText(i);
    }
  }

  #longRow(reader: CsvReader, columns: CsvColumns, sink: RunSink): void {
    const name = reader.text(columns.key);
    if (reader.kinds[columns.value] !== CELL_NUMBER || name === '') {
      if (reader.kinds[columns.value] === CELL_TEXT) this.#countText(columns.value);
      return;
    }
    const step = numberIn(reader, columns.step);
    const epoch = Math.floor(numberIn(reader, columns.epoch));
    const timeMs = this.#time(reader, columns, sink, step, epoch);
    sink.push(sink.metric(name), reader.numbers[columns.value] ?? Number.NaN, step, epoch, timeMs);
  }

  /** The instant of the row. A column that counts from a start is a metric; where it falls, the run was gone on with. */
  #time(
    reader: CsvReader,
    columns: CsvColumns,
    sink: RunSink,
    step: number,
    epoch: number,
  ): number {
    const { time } = columns;
    if (time < 0) return Number.NaN;
    const isText = reader.kinds[time] === CELL_TEXT;
    if (!isText && reader.kinds[time] !== CELL_NUMBER) return Number.NaN;
    const number = reader.numbers[time] ?? Number.NaN;
    const timeMs = timeOf(number, isText ? reader.text(time) : undefined);
    if (isText && timeMs !== timeMs) this.#countText(time);
    if (timeMs === timeMs || isText) return timeMs;
    const hasFallen = number < this.#lastTime && Number.isFinite(number - this.#lastTime);
    if (hasFallen && this.#resumeEvents < MAX_RESUME_EVENTS && !this.#isLong) {
      this.#resumeEvents++;
      const payload = { column: columns.names[time] ?? '', from: this.#lastTime, to: number };
      sink.event({ eventType: 'run_resumed', step, epoch, payload });
    }
    this.#lastTime = number;
    if (this.#isLong) return Number.NaN;
    let id = this.#ids[time] ?? -1;
    if (id === -2) this.#ids[time] = id = sink.metric(columns.names[time] ?? '');
    sink.push(id, number, step, epoch, Number.NaN);
    return Number.NaN;
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

  #countText(column: number): void {
    this.#textCounts[column] = (this.#textCounts[column] ?? 0) + 1;
  }

  #reportTexts(): void {
    for (const [i, count] of this.#textCounts.entries()) {
      if (count === 0) continue;
      const name = this.#columns?.names[i] ?? '';
      this.#context.problem({
        file: this.#file.path,
        place: `column "${name.slice(0, 100)}"`,
        reason: `${count} cells are text, which is no metric: left out.`,
      });
    }
  }

  #finish(): void {
    this.#endMisfit();
    this.#reportTexts();
    if (this.#runCount === 0)
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

/** A row fits when it has the cells of the header, or more that are empty, as after a delimiter at the end. */
function fits(reader: CsvReader, expected: number): boolean {
  const { cellCount, kinds } = reader;
  if (cellCount === expected) return true;
  if (cellCount < expected || cellCount > kinds.length) return false;
  for (let i = expected; i < cellCount; i++)
    if (kinds[i] === CELL_NUMBER || kinds[i] === CELL_TEXT) return false;
  return true;
}

function numberIn({ kinds, numbers }: CsvReader, column: number): number {
  return column >= 0 && kinds[column] === CELL_NUMBER
    ? (numbers[column] ?? Number.NaN)
    : Number.NaN;
}
