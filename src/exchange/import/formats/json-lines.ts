/** One JSON object a line, each a row: detectron2's metrics.json, MMEngine, LLaMA-Factory, fairseq, our own export, and what people write. */
import { messageOf } from '../../../base/errors.ts';
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { parseLenientJson } from '../../../codecs/json/lenient-json.ts';
import { readLines } from '../../../codecs/lines.ts';
import {
  isRowObject,
  readRow,
  ROW_NAMES,
  type ObjectRow,
  type RowNames,
} from '../tables/object-rows.ts';
import { reasonNoRun } from '../tables/own-tables.ts';
import { runNameOf } from '../sink/run-names.ts';
import { RunSplitter } from '../sink/run-splitter.ts';

const SNIFFED_LINES = 5;
/** Deep enough for any row; a look at the beginning has no limits of its own. */
const SNIFFED_DEPTH = 64;

/** JSON lines. */
export const jsonLinesImporter: Importer = {
  format: 'json_lines',
  title: 'JSON lines (detectron2 metrics.json, MMEngine, any other)',
  detect({ text, bytes, file }) {
    const isNamed = /\.(?:jsonl|ndjson)$/i.test(file.path);
    const lines = text.replace(/^\ufeff/, '').split('\n');
    if (bytes.length < file.sizeBytes && lines.length > 1) lines.pop();
    const first = lines.filter((line) => line.trim() !== '').slice(0, SNIFFED_LINES);
    if (first[0] === undefined || !first[0].trimStart().startsWith('{')) return 0;
    const rows = first.map(parsed).filter(isRowObject);
    // The first line may be longer than what is looked at.
    if (rows.length < first.length / 2) return isNamed ? 0.2 : 0;
    const read = rows.map((row) => readRow(row, SNIFFED_DEPTH));
    const hasCounter = read.some(({ step, epoch }) => step === step || epoch === epoch);
    const hasValues = read.some(({ values }) => values.length > 0);
    if (hasCounter && hasValues) return 0.6;
    if (isNamed) return 0.3;
    return hasValues && rows.length > 1 ? 0.2 : 0;
  },
  async read(files, context) {
    for (const file of files) {
      const splitter = new RunSplitter(context, file, {
        identity: file.path,
        name: runNameOf(file.path),
      });
      const isRun = await readJsonLines(file, context, splitter, ROW_NAMES);
      if (isRun && splitter.runCount === 0)
        context.problem({ file: file.path, place: null, reason: 'There are no rows in it.' });
    }
  },
};

function parsed(line: string): unknown {
  try {
    return parseLenientJson(line, SNIFFED_DEPTH);
  } catch {
    return undefined;
  }
}

/**
 * Reads the rows of a file into runs. Rows without a number before the first sample are settings.
 * @returns false when the file is no log of a run, which is reported
 */
export async function readJsonLines(
  file: InputFile,
  context: ImportContext,
  splitter: RunSplitter,
  names: RowNames,
): Promise<boolean> {
  const { limits } = context;
  let isFirst = true;
  let trainStep = Number.NaN;
  for await (const { text, number, isCut } of readLines(file.stream(), limits)) {
    if (text.trim() === '') continue;
    const place = `line ${number}`;
    const problem = (reason: string): void => context.problem({ file: file.path, place, reason });
    if (isCut) {
      problem(`The line is longer than ${limits.maxLineBytes} bytes (limits.maxLineBytes).`);
      continue;
    }
    let row: unknown;
    try {
      row = parseLenientJson(text, limits.maxDepth);
    } catch (error) {
      problem(messageOf(error));
      continue;
    }
    if (!isRowObject(row)) {
      problem('It is no object.');
      continue;
    }
    const reason = isFirst ? reasonNoRun(Object.keys(row)) : undefined;
    isFirst = false;
    if (reason !== undefined) {
      context.problem({ file: file.path, place: null, reason });
      return false;
    }
    const said = readRow(row, limits.maxDepth, names);
    // OpenMMLab writes the batches of a validation where the iteration of training stands in the other rows.
    const isOfLoader = row['mode'] === 'val' && said.step === said.step && trainStep === trainStep;
    const read = isOfLoader ? { ...said, step: trainStep } : said;
    if (row['mode'] === 'train') trainStep = said.step;
    const hasCounter = read.step === read.step || read.epoch === read.epoch;
    if (!hasCounter && splitter.sink === undefined && !('value' in row) && isSettings(row, read)) {
      (await splitter.begin()).config(row);
      continue;
    }
    const metrics = read.values.map(([name]) => name);
    const sink = splitter.find(read, metrics, place) ?? (await splitter.begin());
    pushRow(sink, read, splitter.stepOf(read));
    if (sink.isFull) await sink.flush();
  }
  return true;
}

/** Adds a row to a run at a step of it, with its fraction of an epoch as a metric where it has one. */
export function pushRow(sink: RunSink, row: ObjectRow, step: number): void {
  const { epoch, timeMs, values } = row;
  const lap = Math.floor(epoch);
  if (lap !== epoch && Number.isFinite(epoch))
    sink.push(sink.metric('train/epoch'), epoch, step, lap, timeMs);
  for (const [name, value] of values) sink.push(sink.metric(name), value, step, lap, timeMs);
}

/** A line at the beginning that tells of the program rather than of a step: most of it is text. */
function isSettings(row: object, { values }: ObjectRow): boolean {
  const texts = Object.values(row).filter((value) => typeof value !== 'number').length;
  return values.length === 0 || texts > values.length;
}
