/**
 * Logs that were written for people: lines of timm, fairseq, nnU-Net, Megatron-LM, nanoGPT, Keras and others, and pairs like `loss=0.5`
 * beside a step or an epoch. Patterns of the user come first. One file may hold several runs. Losses that were not read are told. A run whose
 * log ends with an error has failed.
 */
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportContext, ImportedRun, Importer, RunSink } from '../sink/importer.ts';
import { isBar, lastState, LogReader, type LogRow } from '../messages/log-patterns.ts';
import { breakOff, LogEnding } from '../text/log-ending.ts';
import type { Stop } from '../text/stop-lines.ts';
import { lossesIn } from '../text/loss-words.ts';
import { UnreadLossCounter } from '../text/unread-losses.ts';
import { linearPatterns } from '../text/user-patterns.ts';
import { readLines } from '../../../codecs/lines.ts';
import { plainScalar } from '../../../codecs/yaml/yaml-scalars.ts';
import { reportProblem } from '../sink/problems.ts';
import { BarStates } from '../messages/bar-states.ts';
import { runNameOf } from '../sink/run-names.ts';
import { RunSplitter } from '../sink/run-splitter.ts';
import { pushRow } from './json-lines.ts';

const SNIFFED_LINES = 2000;
/** What is looked at before lines are read. */
const LOOK_BYTES = 65_536;
const SNIFFED_LINE_CHARS = 10_000;
/** Lines with losses that make a file a log that says nothing by its name. */
const LOST_LINES = 3;
/** What Megatron-LM prints of its arguments before a run. */
const ARGUMENT = /^\s{0,4}([A-Za-z_][\w.-]{0,80}) \.{2,} (.{0,2000})$/;
const MAX_ARGUMENTS = 10_000;
const LOG_NAME = /\.(?:log|out|err|txt)$/i;
/** Settings, tables, markup and code have pairs in them that are no metrics. */
const NO_LOG_NAME =
  /\.(?:csv|tsv|jsonl?|ndjson|ya?ml|toml|cfg|ini|md|rst|html?|xml|py|ipynb|[cm]?[jt]sx?|sh|c|cc|cpp|h|cu|java|go|rs)$/i;

/** Text logs. */
export const textLog: Importer = {
  format: 'text_log',
  title:
    'Text log (timm, Swin, DeiT, fairseq, nnU-Net, Megatron-LM, nanoGPT, Keras, PyTorch, XGBoost, LightGBM, CatBoost, Stable-Baselines, key=value)',
  detect({ text, bytes, file, options }) {
    if (bytes.includes(0) || NO_LOG_NAME.test(file.path)) return 0;
    const reader = new LogReader(options.patterns, linearPatterns(options.pattern));
    const isNamed = LOG_NAME.test(file.path);
    let pairLines = 0;
    let lostLines = 0;
    const isJson = text.trimStart().startsWith('{');
    let hasTable = false;
    for (const line of text.split('\n', SNIFFED_LINES)) {
      const cut = line.slice(-SNIFFED_LINE_CHARS);
      const row = reader.read(cut);
      if (row === undefined) {
        if (lossesIn(lastState(cut)).length > 0) lostLines++;
        continue;
      }
      if (row.pattern === 'table') hasTable = true;
      // Lines of JSON and nothing else have an importer of their own.
      else if (row.pattern === 'pairs' || (row.pattern === 'json_of_epoch' && isJson)) pairLines++;
      else return 0.75;
    }
    // Columns that are apart by tabs are a table of their own kind.
    if (hasTable) return 0.45;
    if (pairLines > 0) return isNamed || pairLines > 1 ? 0.4 : 0.1;
    // Losses that are not understood are read to say so.
    if (lostLines >= (isNamed ? 1 : LOST_LINES)) return 0.07;
    // Programs print much before their first step.
    return isNamed && bytes.length < file.sizeBytes ? 0.06 : 0;
  },
  async read(files, context) {
    for (const file of files) await new LogImport(file, context).read();
  },
};

/** Reads a log into a run that another importer describes. */
export async function readTextLog(
  file: InputFile,
  context: ImportContext,
  described: ImportedRun,
): Promise<void> {
  await new LogImport(file, context, described).read();
}

/** The head of a file, and its end where it is longer. */
async function headAndEnd(file: InputFile): Promise<string> {
  const { sizeBytes } = file;
  const head = await file.slice(0, LOOK_BYTES);
  const end = await file.slice(Math.max(head.byteLength, sizeBytes - LOOK_BYTES), sizeBytes);
  const decoder = new TextDecoder();
  return `${decoder.decode(head)}\n${decoder.decode(end)}`;
}

/** One log on its way into runs. */
class LogImport {
  readonly #file: InputFile;
  readonly #context: ImportContext;
  readonly #reader: LogReader;
  readonly #splitter: RunSplitter;
  readonly #lost = new UnreadLossCounter();
  /** Arguments come before the run they belong to. */
  #settings = new Map<string, unknown>();
  readonly #bars = new BarStates();
  /** Undefined where another importer knows how the run ended. */
  readonly #ending: LogEnding | undefined;
  /** What stopped the process before the next row. */
  #error: Stop | undefined;
  #line = 0;

  constructor(file: InputFile, context: ImportContext, described?: ImportedRun) {
    this.#file = file;
    this.#context = context;
    const { pattern, patterns } = context.options;
    this.#reader = new LogReader(patterns, linearPatterns(pattern));
    this.#ending = described === undefined ? new LogEnding() : undefined;
    this.#splitter = new RunSplitter(
      context,
      file,
      described ?? { identity: file.path, name: runNameOf(file.path) },
    );
  }

  async read(): Promise<void> {
    const { maxLogLineBytes } = this.#context.limits;
    this.#reader.lookAhead(await headAndEnd(this.#file));
    const lines = readLines(this.#file.stream(), { maxLineBytes: maxLogLineBytes });
    for await (const { text, number, isCut } of lines) {
      this.#line = number;
      if (isCut)
        this.#problem(`The line is longer than ${maxLogLineBytes} bytes (limits.maxLogLineBytes).`);
      const argument = ARGUMENT.exec(text);
      if (argument !== null && this.#settings.size < MAX_ARGUMENTS) {
        this.#settings.set(argument[1] ?? '', pythonValue(argument[2] ?? ''));
        continue;
      }
      if (this.#ending?.isTrace(text) === true) continue;
      const row = this.#reader.read(text);
      if (row !== undefined || !(isBar(text) || this.#reader.isInside)) {
        const names = row?.values.map(([name]) => name) ?? [];
        this.#lost.take(lastState(text.slice(-SNIFFED_LINE_CHARS)), number, names);
      }
      if (row === undefined) this.#ending?.pass(text);
      else await this.#take(row);
    }
    for (const certain of this.#bars.end()) await this.#add(certain);
    const error = this.#ending?.end();
    const { sink } = this.#splitter;
    if (error !== undefined && sink !== undefined) breakOff(sink, error);
    this.#finish();
  }

  async #take(row: LogRow): Promise<void> {
    const error = this.#ending?.end();
    if (error !== undefined) for (const certain of this.#bars.end()) await this.#add(certain);
    this.#error = error;
    for (const certain of this.#bars.take(row)) await this.#add(certain);
  }

  async #add(row: LogRow): Promise<void> {
    const names = row.values.map(([name]) => name);
    const { sink: before } = this.#splitter;
    const found = this.#splitter.find(row, names, `line ${this.#line}`);
    // What begins again after an error is another run; what goes on has survived it.
    if (found === undefined && before !== undefined && this.#error !== undefined)
      breakOff(before, this.#error);
    this.#error = undefined;
    const sink: RunSink = found ?? (await this.#splitter.begin());
    if (this.#settings.size > 0) {
      sink.config(Object.fromEntries(this.#settings));
      this.#settings = new Map();
    }
    if (row.stepUnit !== undefined) sink.environment({ step_unit: row.stepUnit });
    pushRow(sink, row, this.#splitter.stepOf(row));
    if (sink.isFull) await sink.flush();
  }

  #finish(): void {
    const lost = this.#lost.found(this.#file.path);
    if (lost !== undefined) this.#context.unread(lost);
    else if (this.#splitter.runCount === 0) {
      this.#line = 0;
      this.#problem(
        'No line in it is understood. A pattern with named groups reads them (--pattern, options.pattern).',
      );
    }
  }

  #problem(reason: string): void {
    const line = this.#line === 0 ? null : `line ${this.#line}`;
    reportProblem(this.#context, this.#file, line, reason);
  }
}

function pythonValue(text: string): unknown {
  const trimmed = text.trim();
  return trimmed === 'None' ? null : plainScalar(trimmed);
}
