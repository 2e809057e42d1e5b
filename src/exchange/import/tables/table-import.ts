/**
 * A table on its way into runs: counters that begin again begin another run, columns are what their names say, a long table has a sample in
 * each row. The same for every file that holds a table.
 */
import { timeOf, type CsvColumns } from './csv-columns.ts';
import { amountIn, nameWithUnit } from './amounts.ts';
import { Counters } from '../sink/counters.ts';
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportContext, ImportedRun, RunSink } from '../sink/importer.ts';
import { CELL_NUMBER, CELL_TEXT, type TableRow } from '../../../codecs/table-rows.ts';

const MAX_RESUME_EVENTS = 100;

/** What a {@link TableImport} needs to know. */
export type TableImportConfig = {
  readonly file: InputFile;
  readonly context: ImportContext;
  /** The first run; those after it get `#2` and so on behind identity and name. */
  readonly run: ImportedRun;
  /** Configuration of every run. */
  readonly config: Readonly<Record<string, unknown>>;
  /** What places in the file are called. */
  readonly unit: 'line' | 'row';
  /** Put before the names of metrics. */
  readonly prefix?: string | undefined;
};

export class TableImport {
  readonly #config: TableImportConfig;
  readonly #context: ImportContext;
  readonly #prefix: string;
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
  /** The unit of a column whose cells have one. */
  readonly #units = new Map<number, string>();
  /** Cells of the step's column that are no steps. */
  #badSteps = 0;
  #hasFractions = false;
  #lastTime = Number.NaN;
  #resumeEvents = 0;

  constructor(config: TableImportConfig) {
    this.#config = config;
    this.#context = config.context;
    this.#prefix = config.prefix ?? '';
  }

  /** Runs that were begun. */
  get runCount(): number {
    return this.#runCount;
  }

  /** The run that rows go to; undefined before the first. */
  get sink(): RunSink | undefined {
    return this.#sink;
  }

  /** Says what the columns of the rows that follow are. */
  use(columns: CsvColumns): void {
    if (this.#columns !== undefined) this.#reportTexts();
    const before = new Set(this.#columns?.names.filter((_, i) => this.#isFirst[i] === 1));
    this.#columns = columns;
    this.#ids = new Int32Array(columns.names.length).fill(-2);
    this.#isFirst = Uint8Array.from(columns.names, (name) => (before.has(name) ? 1 : 0));
    this.#textCounts = new Uint32Array(columns.names.length);
    this.#units.clear();
  }

  get #isLong(): boolean {
    return (this.#columns?.key ?? -1) >= 0;
  }

  /** Reads the counters of the row; undefined when it begins a run, which {@link begin} does. */
  sinkFor(reader: TableRow): RunSink | undefined {
    const columns = this.#columns;
    if (columns === undefined || this.#isLong) return this.#sink;
    const step = stepIn(reader, columns.step);
    const epoch = numberIn(reader, columns.epoch);
    const epochSteps = columns.isStepOfEpoch ? 0 : Number.NaN;
    if (this.#counters.isBack(step, epoch, epochSteps) && this.#repeats(reader, columns)) {
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

  /** Adds the row to a run. */
  add(reader: TableRow, sink: RunSink): void {
    const columns = this.#columns;
    if (columns === undefined) return;
    if (this.#isLong) this.#longRow(reader, columns, sink);
    else this.#row(reader, columns, sink);
  }

  /** Begins a run. */
  async begin(): Promise<RunSink> {
    this.#runCount++;
    const { run, config } = this.#config;
    const suffix = this.#runCount === 1 ? '' : `#${this.#runCount}`;
    const sink = await this.#context.run({
      ...run,
      identity: `${run.identity}${suffix}`,
      name: `${run.name}${suffix}`,
    });
    sink.config(config);
    this.#sink = sink;
    this.#ids.fill(-2);
    this.#isFirst.fill(0);
    this.#epochId = -2;
    this.#rowIndex = 0;
    this.#lastTime = Number.NaN;
    return sink;
  }

  #repeats(reader: TableRow, { metrics }: CsvColumns): boolean {
    return metrics.some((i) => this.#isFirst[i] === 1 && reader.kinds[i] === CELL_NUMBER);
  }

  #row(reader: TableRow, columns: CsvColumns, sink: RunSink): void {
    const { kinds, numbers } = reader;
    const { names, metrics } = columns;
    const lap = numberIn(reader, columns.epoch);
    let step = this.#step(reader, columns) + this.#counters.offset;
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
      const value = kinds[i] === CELL_TEXT ? this.#amount(reader, i) : (numbers[i] ?? Number.NaN);
      if (kinds[i] === CELL_NUMBER || value === value) {
        let id: number;
        if (columns.device >= 0)
          id = sink.metric(`gpu/${numberIn(reader, columns.device)}/${this.#nameOf(i)}`);
        else if (phase >= 0)
          id = sink.metric(`${this.#prefix}${reader.text(phase)}/${names[i] ?? ''}`);
        else {
          id = this.#ids[i] ?? -1;
          if (id === -2) this.#ids[i] = id = sink.metric(this.#nameOf(i));
        }
        if (isAtStart) this.#isFirst[i] = 1;
        sink.push(id, value, step, epoch, timeMs);
      } else if (kinds[i] === CELL_TEXT) this.#countText(i);
    }
  }

  /** The number of a cell with a unit, where it is that of the column; else NaN. */
  #amount(reader: TableRow, column: number): number {
    const amount = amountIn(reader.text(column));
    if (amount === undefined) return Number.NaN;
    const unit = this.#units.get(column) ?? amount.unit;
    this.#units.set(column, unit);
    return unit === amount.unit ? amount.value : Number.NaN;
  }

  #longRow(reader: TableRow, columns: CsvColumns, sink: RunSink): void {
    const name = reader.text(columns.key);
    if (reader.kinds[columns.value] !== CELL_NUMBER || name === '') {
      if (reader.kinds[columns.value] === CELL_TEXT) this.#countText(columns.value);
      return;
    }
    const step = this.#step(reader, columns);
    const epoch = Math.floor(numberIn(reader, columns.epoch));
    const timeMs = this.#time(reader, columns, sink, step, epoch);
    sink.push(
      sink.metric(`${this.#prefix}${name}`),
      reader.numbers[columns.value] ?? Number.NaN,
      step,
      epoch,
      timeMs,
    );
  }

  /** The instant of the row. A column that counts from a start is a metric; where it falls, the run was gone on with. */
  #time(reader: TableRow, columns: CsvColumns, sink: RunSink, step: number, epoch: number): number {
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
    if (id === -2) this.#ids[time] = id = sink.metric(this.#nameOf(time));
    sink.push(id, number, step, epoch, Number.NaN);
    return Number.NaN;
  }

  /** The step of the row. One that cannot be a step is never replaced without a word. */
  #step(reader: TableRow, { step: column }: CsvColumns): number {
    const step = stepIn(reader, column);
    if (step === step || column < 0) return step;
    const number = numberIn(reader, column);
    if (number === number || reader.kinds[column] === CELL_TEXT) this.#badSteps++;
    return step;
  }

  #countText(column: number): void {
    this.#textCounts[column] = (this.#textCounts[column] ?? 0) + 1;
  }

  #reportTexts(): void {
    if (this.#badSteps > 0) {
      const name = this.#columns?.names[this.#columns.step] ?? '';
      this.#context.problem({
        file: this.#config.file.path,
        place: `column "${name.slice(0, 100)}"`,
        reason: `${this.#badSteps} cells are no whole numbers from 0 to ${Number.MAX_SAFE_INTEGER}, as steps are: left out; a row with neither step nor epoch gets the step after the one before.`,
      });
      this.#badSteps = 0;
    }
    for (const [i, count] of this.#textCounts.entries()) {
      if (count === 0) continue;
      const name = this.#columns?.names[i] ?? '';
      this.#context.problem({
        file: this.#config.file.path,
        place: `column "${name.slice(0, 100)}"`,
        reason: `${count} cells are text, which is no metric: left out.`,
      });
    }
  }

  #nameOf(column: number): string {
    const name = this.#columns?.names[column] ?? '';
    const known = name === '' ? `column_${column + 1}` : name;
    return `${this.#prefix}${nameWithUnit(known, this.#units.get(column))}`;
  }

  #problem(line: number, reason: string): void {
    this.#context.problem({
      file: this.#config.file.path,
      place: `${this.#config.unit} ${line}`,
      reason,
    });
  }

  /** Reports what was left out. */
  finish(): void {
    this.#reportTexts();
  }
}

function numberIn({ kinds, numbers }: TableRow, column: number): number {
  return column >= 0 && kinds[column] === CELL_NUMBER
    ? (numbers[column] ?? Number.NaN)
    : Number.NaN;
}

function stepIn(row: TableRow, column: number): number {
  const step = numberIn(row, column);
  return Number.isSafeInteger(step) && step >= 0 ? step : Number.NaN;
}
