/**
 * Logs that were written for people: lines of Megatron-LM, llm.c, nanoGPT, Keras and others, and pairs like `loss=0.5` beside a step or an
 * epoch. Patterns of the user come first. One file may hold several runs.
 */
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { LogReader } from '../messages/log-patterns.ts';
import { readLines } from '../../../codecs/lines.ts';
import { plainScalar } from '../../../codecs/yaml/yaml-scalars.ts';
import { runNameOf } from '../sink/run-names.ts';
import { RunSplitter } from '../sink/run-splitter.ts';
import { pushRow } from './json-lines.ts';

const SNIFFED_LINES = 2000;
const SNIFFED_LINE_CHARS = 10_000;
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
  title: 'Text log (Megatron-LM, llm.c, nanoGPT, Keras, PyTorch, key=value)',
  detect({ text, bytes, file, options }) {
    if (bytes.includes(0) || NO_LOG_NAME.test(file.path)) return 0;
    const reader = new LogReader(options.patterns);
    let pairLines = 0;
    for (const line of text.split('\n', SNIFFED_LINES)) {
      const row = reader.read(line.slice(-SNIFFED_LINE_CHARS));
      if (row === undefined) continue;
      if (row.pattern !== 'pairs') return 0.75;
      pairLines++;
    }
    if (pairLines > 0) return LOG_NAME.test(file.path) || pairLines > 1 ? 0.4 : 0.1;
    // Programs print much before their first step.
    return LOG_NAME.test(file.path) && bytes.length < file.sizeBytes ? 0.06 : 0;
  },
  async read(files, context) {
    for (const file of files) await readLog(file, context);
  },
};

async function readLog(file: InputFile, context: ImportContext): Promise<void> {
  const { limits } = context;
  const reader = new LogReader(context.options.patterns);
  const splitter = new RunSplitter(context, file, {
    identity: file.path,
    name: runNameOf(file.path),
  });
  // Arguments come before the run they belong to.
  let settings = new Map<string, unknown>();
  const lines = readLines(file.stream(), { maxLineBytes: limits.maxLogLineBytes });
  for await (const { text, number, isCut } of lines) {
    const place = `line ${number}`;
    if (isCut) {
      const reason = `The line is longer than ${limits.maxLogLineBytes} bytes (limits.maxLogLineBytes).`;
      context.problem({ file: file.path, place, reason });
    }
    const argument = ARGUMENT.exec(text);
    if (argument !== null && settings.size < MAX_ARGUMENTS) {
      settings.set(argument[1] ?? '', pythonValue(argument[2] ?? ''));
      continue;
    }
    const row = reader.read(text);
    if (row === undefined) continue;
    const names = row.values.map(([name]) => name);
    const found = splitter.find(row, names, place);
    const sink: RunSink = found ?? (await splitter.begin());
    if (settings.size > 0) {
      sink.config(Object.fromEntries(settings));
      settings = new Map();
    }
    pushRow(sink, row, splitter.stepOf(row));
    if (sink.isFull) await sink.flush();
  }
  if (splitter.runCount === 0) {
    context.problem({
      file: file.path,
      place: null,
      reason: 'No line in it is understood. Patterns for it can be given (options.patterns).',
    });
  }
}

function pythonValue(text: string): unknown {
  const trimmed = text.trim();
  return trimmed === 'None' ? null : plainScalar(trimmed);
}
