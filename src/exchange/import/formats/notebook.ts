/**
 * Jupyter notebooks: what cells printed while they trained, and the tables that trainers of Hugging Face and fastai show. Cells come one after
 * another, as in the file. A cell that trains again is another run where its counters begin again, and goes on with the run where they count
 * on. Results that a cell ends with repeat what was recorded, or are of data: they are left out, and so are pictures.
 */
import type { InputFile } from '../../../codecs/input.ts';
import { readJsonItems } from '../../../codecs/json/json-items.ts';
import { isSilentBar, LogReader, type LogRow } from '../messages/log-patterns.ts';
import { htmlTableRows } from '../messages/html-tables.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { reportProblem } from '../sink/problems.ts';
import { BarStates } from '../messages/bar-states.ts';
import { linearPatterns } from '../text/user-patterns.ts';
import { runNameOf } from '../sink/run-names.ts';
import { RunSplitter } from '../sink/run-splitter.ts';
import { isRowObject, type RowObject } from '../tables/object-rows.ts';
import { pushRow } from './json-lines.ts';

const MAX_MESSAGE_CHARS = 1000;
const MAX_TRACE_LINES = 100;
// oxlint-disable-next-line no-control-regex -- tracebacks have colours
const COLOUR = /\u001b\[[0-9;]{0,20}m/g;
/** What stands for a table where there is no HTML. */
const HTML_OBJECT = /^<IPython\.core\.display\.HTML object>\s*$/;

/** Jupyter notebooks. */
export const notebook: Importer = {
  format: 'notebook',
  title: 'Jupyter notebook (prints of cells, tables of Hugging Face and fastai)',
  detect({ file, text }) {
    if (!/^\s*\{/.test(text)) return 0;
    const hasCells = /"cell_type"\s*:/.test(text) && /"(?:cells|worksheets)"\s*:\s*\[/.test(text);
    if (hasCells) return 0.95;
    // The first cell may be a picture of more than what is read of it here.
    return /\.ipynb$/i.test(file.path) && /"(?:cells|nbformat|metadata)"\s*:/.test(text) ? 0.9 : 0;
  },
  async read(files, context) {
    for (const file of files) await new NotebookImport(file, context).read();
  },
};

class NotebookImport {
  readonly #file: InputFile;
  readonly #context: ImportContext;
  readonly #splitter: RunSplitter;
  #cellCount = 0;
  #outputCount = 0;
  /** Whether the run ended in an error, as far as it is read. */
  #hasFailed = false;

  constructor(file: InputFile, context: ImportContext) {
    this.#file = file;
    this.#context = context;
    this.#splitter = new RunSplitter(context, file, {
      identity: file.path,
      name: runNameOf(file.path),
    });
  }

  async read(): Promise<void> {
    // A cell has its pictures in it.
    const { limits } = this.#context;
    const itemLimits = { ...limits, maxJsonItemBytes: limits.maxJsonBytes };
    const problem = (location: string, reason: string): void => this.#problem(location, reason);
    const environment: Record<string, unknown> = {};
    for await (const part of readJsonItems(this.#file, itemLimits, problem)) {
      if (part.kind === 'value' && part.key === 'metadata' && isRowObject(part.value))
        Object.assign(environment, aboutKernel(part.value));
      if (part.kind !== 'items') continue;
      // Before version 4 the cells were in worksheets.
      if (part.key === 'worksheets')
        for (const sheet of part.items)
          await this.#cells(isRowObject(sheet) ? listOf(sheet['cells']) : []);
      else if (part.key === 'cells') await this.#cells(part.items);
    }
    this.#splitter.sink?.environment(environment);
    if (this.#splitter.runCount > 0) return;
    const reason =
      this.#outputCount === 0
        ? `Its ${this.#cellCount} cells have no output: run it, and save it with its output.`
        : `None of the outputs of its ${this.#cellCount} cells is understood. Patterns for what they print can be given (options.patterns).`;
    this.#problem(null, reason);
  }

  async #cells(cells: readonly unknown[]): Promise<void> {
    for (const cell of cells) {
      const number = ++this.#cellCount;
      if (isRowObject(cell) && cell['cell_type'] === 'code')
        await this.#cell(`cell ${number}`, listOf(cell['outputs']));
    }
  }

  async #cell(location: string, outputs: readonly unknown[]): Promise<void> {
    this.#splitter.mark();
    const { pattern, patterns } = this.#context.options;
    const reader = new LogReader(patterns, linearPatterns(pattern));
    const bars = new BarStates();
    const streams = new Map<string, string[]>();
    let isTraining = false;
    const push = async (rows: readonly LogRow[]): Promise<void> => {
      isTraining ||= rows.length > 0;
      for (const row of rows) await this.#push(row, location);
    };
    let failure: RowObject | undefined;
    for (const output of outputs.filter(isRowObject)) {
      this.#outputCount++;
      const type = output['output_type'];
      if (type === 'stream') {
        const name = textOf(output['name'] ?? output['stream']);
        const texts = streams.get(name) ?? [];
        texts.push(textOf(output['text']));
        streams.set(name, texts);
      } else if (type === 'display_data') {
        // Each call of a trainer has a table of its own.
        this.#splitter.mark();
        await push(displayedRows(output, reader));
      } else if (type === 'error' || type === 'pyerr') failure = output;
    }
    reader.lookAhead([...streams.values()].flat().join(''));
    for (const texts of streams.values())
      for (const line of this.#lines(texts, location)) {
        const row = reader.read(line);
        if (row !== undefined) await push(bars.take(row));
      }
    await push(bars.end());
    if (failure !== undefined && isTraining) this.#fail(failure);
  }

  /** The lines of a stream, which is saved in chunks that may end anywhere. */
  *#lines(texts: readonly string[], location: string): Generator<string> {
    const { maxLogLineBytes } = this.#context.limits;
    for (const line of texts.join('').split('\n')) {
      if (line.length > maxLogLineBytes) {
        const reason = `A line is longer than ${maxLogLineBytes} characters (limits.maxLogLineBytes).`;
        this.#problem(location, reason);
      }
      // What a terminal shows of a line in the end is its end.
      yield line.slice(-maxLogLineBytes);
    }
  }

  async #push(row: LogRow, location: string): Promise<void> {
    // A bar of Keras in a cell that began no epoch is of an evaluation.
    const values = isSilentBar(row)
      ? row.values.map(([name, value]) => [`test/${name}`, value] as const)
      : row.values;
    const names = values.map(([name]) => name);
    const found = this.#splitter.find(row, names, location);
    const sink: RunSink = found ?? (await this.#splitter.begin());
    if (found === undefined) this.#hasFailed = false;
    // A training that was broken off in a cell before goes on.
    if (this.#hasFailed) sink.status('completed');
    this.#hasFailed = false;
    pushRow(sink, { ...row, values }, this.#splitter.stepOf(row));
    if (sink.isFull) await sink.flush();
  }

  #fail(output: RowObject): void {
    const name = textOf(output['ename']).slice(0, MAX_MESSAGE_CHARS);
    const isStopped = name === 'KeyboardInterrupt';
    const trace = listOf(output['traceback']).slice(-MAX_TRACE_LINES);
    this.#hasFailed = true;
    this.#splitter.sink?.status(isStopped ? 'interrupted' : 'failed');
    this.#splitter.sink?.event({
      eventType: isStopped ? 'run_interrupted' : 'run_failed',
      severity: isStopped ? 'warning' : 'error',
      payload: {
        error: name,
        message: textOf(output['evalue']).slice(0, MAX_MESSAGE_CHARS),
        trace: trace.map((line) => String(line).replace(COLOUR, '').slice(0, MAX_MESSAGE_CHARS)),
      },
    });
  }

  #problem(location: string | null, reason: string): void {
    reportProblem(this.#context, this.#file, location, reason);
  }
}

/** The rows of a table that a program displayed while it trained. A data frame is displayed with a text of its own. */
function displayedRows(output: RowObject, reader: LogReader): readonly LogRow[] {
  const data = isRowObject(output['data']) ? output['data'] : output;
  const html = textOf(data['text/html'] ?? data['html']);
  const plain = textOf(data['text/plain']);
  if (html !== '' && (plain === '' || HTML_OBJECT.test(plain))) return htmlTableRows(html);
  if (html !== '') return [];
  return plain.split('\n').flatMap((line) => reader.read(line) ?? []);
}

function aboutKernel({ kernelspec, language_info: language }: RowObject): object {
  const about = isRowObject(language)
    ? { language: language['name'], version: language['version'] }
    : {};
  const kernel = isRowObject(kernelspec) ? { kernel: kernelspec['display_name'] } : {};
  return { notebook: { ...kernel, ...about } };
}

/** Texts are saved as lists of lines. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.filter((line) => typeof line === 'string').join('');
  return typeof value === 'string' ? value : '';
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
