/**
 * Metrics of Aim as its own SDK exports them: data frames with the names of runs and metrics, written as CSV. Columns of contexts say
 * which side a value is of, columns of parameters are settings of the run.
 */
import { toLabel } from '../../../base/names.ts';
import { contextText, type MetricContext } from '../../../base/series-key.ts';
import type { InputFile } from '../../../codecs/input.ts';
import { CsvReader } from '../../../codecs/csv/csv-reader.ts';
import { instantFromText, numberFromText } from '../../../codecs/number-text.ts';
import { CELL_NUMBER, CELL_TEXT } from '../../../codecs/table-rows.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { reportProblem } from '../sink/problems.ts';
import { runNameOf } from '../sink/run-names.ts';

const NAME = 'metric.name';
const CONTEXT = 'metric.context.';
const CONTEXT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const SETTING = 'run.';
const HASH = 'run.hash';

/** Aim. */
export const aim: Importer = {
  format: 'aim',
  title: 'Aim (data frames of its SDK as CSV)',
  detect({ text }) {
    const head = text.split('\n', 1)[0] ?? '';
    const names = new Set(head.split(',').map((name) => name.trim().replace(/^"|"$/g, '')));
    return [NAME, 'value', 'step'].every((name) => names.has(name)) ? 0.95 : 0;
  },
  async read(files, context) {
    for (const file of files) await new AimTable(file, context).read();
  },
};

class AimTable {
  readonly #file: InputFile;
  readonly #context: ImportContext;
  readonly #reader: CsvReader;
  readonly #columns = new Map<string, number>();
  /** Columns of contexts, which have the side of a value. */
  #contexts: readonly (readonly [name: string, column: number])[] = [];
  #settings: readonly (readonly [name: string, column: number])[] = [];
  readonly #sinks = new Map<string, RunSink>();
  #badCount = 0;

  constructor(file: InputFile, context: ImportContext) {
    this.#file = file;
    this.#context = context;
    const { maxColumns, maxLineBytes } = context.limits;
    this.#reader = new CsvReader({ delimiter: ',', maxColumns, maxRowBytes: maxLineBytes });
  }

  async read(): Promise<void> {
    for await (const bytes of this.#file.stream()) {
      this.#reader.feed(bytes);
      await this.#rows();
    }
    this.#reader.feed(new Uint8Array(0), true);
    await this.#rows();
    if (this.#badCount > 0)
      reportProblem(
        this.#context,
        this.#file,
        null,
        `${this.#badCount} rows have no name or no number: left out.`,
      );
  }

  async #rows(): Promise<void> {
    const reader = this.#reader;
    while (reader.next()) {
      if (this.#columns.size === 0) this.#header();
      else await this.#row();
    }
  }

  #header(): void {
    const { cellCount, kinds } = this.#reader;
    for (let i = 0; i < Math.min(cellCount, kinds.length); i++)
      this.#columns.set(this.#reader.text(i).trim(), i);
    const entries = [...this.#columns];
    this.#contexts = entries.flatMap(([column, i]) => {
      const name = column.startsWith(CONTEXT) ? column.slice(CONTEXT.length) : '';
      return CONTEXT_NAME.test(name) ? [[name, i] as const] : [];
    });
    this.#settings = entries
      .filter(([name]) => name.startsWith(SETTING) && name !== HASH)
      .map(([name, i]) => [name.slice(SETTING.length), i]);
  }

  #text(name: string): string {
    const column = this.#columns.get(name) ?? -1;
    return this.#reader.kinds[column] === CELL_TEXT || this.#reader.kinds[column] === CELL_NUMBER
      ? this.#reader.text(column)
      : '';
  }

  #number(name: string): number {
    const column = this.#columns.get(name) ?? -1;
    return this.#reader.kinds[column] === CELL_NUMBER
      ? (this.#reader.numbers[column] ?? Number.NaN)
      : Number.NaN;
  }

  async #row(): Promise<void> {
    const name = this.#text(NAME);
    const isNumber = this.#reader.kinds[this.#columns.get('value') ?? -1] === CELL_NUMBER;
    if (name === '' || !isNumber || this.#reader.isBroken) {
      this.#badCount++;
      return;
    }
    const sink = await this.#sinkOf(this.#text(HASH));
    const { context, side } = this.#contextOf();
    const metric = name.startsWith('__system__')
      ? `system/${name.slice('__system__'.length)}`
      : `${[...side, name].join('/')}${contextText(context)}`;
    sink.push(
      sink.metric(metric),
      this.#number('value'),
      this.#number('step'),
      this.#number('epoch'),
      instantFromText(this.#text('time')),
    );
    if (sink.isFull) await sink.flush();
  }

  /** The subset says which side a value is of; every other name of a context is one of the series. */
  #contextOf(): { readonly side: readonly string[]; readonly context: MetricContext } {
    const side: string[] = [];
    const context = new Map<string, string | number>();
    for (const [name, column] of this.#contexts) {
      const text = this.#reader.text(column).trim();
      if (text === '' || /^nan$/i.test(text)) continue;
      const label = toLabel(text);
      if (name === 'subset') side.push(text);
      else if (label !== undefined) {
        const number = numberFromText(label) ?? Number.NaN;
        context.set(name, Number.isFinite(number) ? number : label);
      }
    }
    return { side, context: Object.fromEntries(context) };
  }

  async #sinkOf(hash: string): Promise<RunSink> {
    const known = this.#sinks.get(hash);
    if (known !== undefined) return known;
    const sink = await this.#context.run({
      identity: `${this.#file.path}\n${hash}`,
      name: hash === '' ? runNameOf(this.#file.path) : hash,
      tags: ['aim'],
    });
    const settings = this.#settings.map(([name, column]) => {
      const text = this.#reader.text(column);
      return [name, numberFromText(text) ?? text] as const;
    });
    sink.config(Object.fromEntries(settings.filter(([, value]) => value !== '')));
    this.#sinks.set(hash, sink);
    return sink;
  }
}
