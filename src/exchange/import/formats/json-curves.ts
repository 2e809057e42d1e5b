/**
 * Plain JSON: `History.history` of Keras (`{"loss": [...], "val_loss": [...]}`), the lists of nnU-Net's logger, lists of objects (pandas'
 * records, logs of Stable-Baselines and what people write). The least sure of all: almost anything is JSON.
 */
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { readJsonItems, type JsonPart } from '../../../codecs/json/json-items.ts';
import { parseLenientJson } from '../../../codecs/json/lenient-json.ts';
import { instantFromText, metricNumber } from '../../../codecs/number-text.ts';
import { isRowObject, readRow, ROW_NAMES, type RowObject } from '../tables/object-rows.ts';
import { reportProblem } from '../sink/problems.ts';
import { runNameOf } from '../sink/run-names.ts';
import { RunSplitter } from '../sink/run-splitter.ts';
import { pushRow } from './json-lines.ts';

const SNIFFED_DEPTH = 64;
/** Values of a list of counters, which are held in memory. */
const MAX_COUNTERS = 10_000_000;
const NUMBER = String.raw`(?:-?\d[\d.eE+-]*|NaN|-?Infinity|null)`;
/** The first list of a file that is longer than what is looked at: many numbers. */
const LONG_LIST = new RegExp(String.raw`^\s*\{\s*"[^"]{1,500}"\s*:\s*\[(?:\s*${NUMBER}\s*,){10}`);
/** The first curve of the first evaluation set. */
const LONG_SET = new RegExp(
  String.raw`^\s*\{\s*"[^"]{1,500}"\s*:\s*\{\s*"[^"]{1,500}"\s*:\s*\[(?:\s*${NUMBER}\s*,){10}`,
);
const LIST_OF_ROWS = /^\s*\[\s*\{[^{}[\]]*"[^"]*"\s*:\s*-?\d/;
/** nnU-Net's logger: an epoch is over when this is said of it. */
const END_TIMES = 'epoch_end_timestamps';
const TIMES = [...ROW_NAMES.time, END_TIMES];
const COUNTERS = new Set([
  ...ROW_NAMES.step,
  ...ROW_NAMES.epoch,
  ...TIMES,
  'epoch_start_timestamps',
]);
/** Values of one epoch that are told class by class, at most. */
const MAX_CLASSES = 100;

/** JSON of curves. */
export const jsonCurves: Importer = {
  format: 'json',
  title: 'JSON of curves (Keras History, evals_result of XGBoost and LightGBM, lists of objects)',
  detect({ text, bytes, file }) {
    if (!/^\s*[{[]/.test(text)) return 0;
    const bonus = /history|metrics|log/i.test(file.path) ? 0.05 : 0;
    if (bytes.length < file.sizeBytes)
      return LONG_LIST.test(text) || LONG_SET.test(text) || LIST_OF_ROWS.test(text)
        ? 0.15 + bonus
        : 0;
    try {
      return isCurves(parseLenientJson(text, SNIFFED_DEPTH)) ? 0.15 + bonus : 0;
    } catch {
      return 0;
    }
  },
  async read(files, context) {
    for (const file of files) await readCurves(file, context);
  },
};

/** Lists of numbers that are equally long, or objects with numbers in them. */
function isCurves(value: unknown): boolean {
  if (Array.isArray(value)) {
    const rows = value.filter(isRowObject).map((row) => readRow(row, SNIFFED_DEPTH));
    return (
      rows.length === value.length &&
      rows.some(({ values }) => values.length > 0) &&
      (rows.length > 1 || rows.some(({ step, epoch }) => step === step || epoch === epoch))
    );
  }
  if (!isRowObject(value)) return false;
  const inner: unknown = value['history'];
  const lists = Object.values(isRowObject(inner) ? inner : value);
  // The lists of nnU-Net differ by one while an epoch is under way.
  const slack = END_TIMES in value ? 1 : 0;
  return areCurves(lists, slack) || (lists.length > 0 && lists.every(isSet));
}

/** Lists of numbers of one length, but for `slack`. */
function areCurves(lists: readonly unknown[], slack = 0): boolean {
  const [first] = lists;
  return (
    Array.isArray(first) &&
    first.length > 0 &&
    lists.every(
      (list) =>
        Array.isArray(list) &&
        Math.abs(list.length - first.length) <= slack &&
        list.every((item) => item === null || isNumbers(item)),
    )
  );
}

/** Results of one evaluation set of a program that boosts trees: a curve for each measure. */
function isSet(value: unknown): value is RowObject {
  return isRowObject(value) && areCurves(Object.values(value));
}

/** A number, or one for each class. */
function isNumbers(item: unknown): boolean {
  if (!Array.isArray(item)) return metricNumber(item) !== undefined;
  return item.length <= MAX_CLASSES && item.every((one) => metricNumber(one) !== undefined);
}

async function readCurves(file: InputFile, context: ImportContext): Promise<void> {
  // The file is gone over twice: what is wrong with it is told the second time.
  let isSecond = false;
  await importCurves(file, context, () => {
    const tell = isSecond;
    isSecond = true;
    return readJsonItems(file, context.limits, (location, reason) => {
      if (tell) reportProblem(context, file, location, reason);
    });
  });
}

type JsonParts = AsyncIterable<JsonPart> | Iterable<JsonPart>;

/** Imports what is a document of curves, whatever it was written in. @param parts the document from its front; asked for twice */
export async function importCurves(
  file: InputFile,
  context: ImportContext,
  parts: () => JsonParts,
): Promise<void> {
  const splitter = new RunSplitter(context, file, {
    identity: file.path,
    name: runNameOf(file.path),
  });
  const problem = (place: string, reason: string): void =>
    context.problem({ file: file.path, place, reason });
  const counters = await readCounters(parts());
  const sink = async (): Promise<RunSink> => splitter.sink ?? (await splitter.begin());
  for await (const part of parts()) {
    if (part.kind === 'value') {
      const { key, value } = part;
      if (!isRowObject(value)) continue;
      const lists = Object.entries(value).filter(([, list]) => Array.isArray(list));
      if (key !== 'history' && isSet(value)) {
        pushSet(await sink(), key, value);
        continue;
      }
      if (key !== 'history' || lists.length === 0) (await sink()).config({ [key]: value });
      else
        for (const [name, list] of lists)
          pushList(await sink(), name, list as readonly unknown[], 0, counters);
    } else if (part.key === null) {
      for (const [i, item] of part.items.entries()) {
        if (isRowObject(item)) await pushObject(item, splitter, context, `[${part.index + i}]`);
        else problem(`[${part.index + i}]`, 'It is no object.');
      }
    } else if (!COUNTERS.has(part.key)) {
      pushList(await sink(), part.key, part.items, part.index, counters);
    }
    const open = splitter.sink;
    if (open !== undefined && open.isFull) await open.flush();
  }
  if (splitter.runCount === 0)
    context.problem({ file: file.path, place: null, reason: 'There are no curves in it.' });
}

type Counters = Readonly<Record<'step' | 'epoch' | 'time', readonly number[] | undefined>>;

/** Lists that say where the values of the others stand; they may come after those, so the file is gone over for them first. */
async function readCounters(parts: JsonParts): Promise<Counters> {
  const lists = new Map<string, number[]>();
  for await (const part of parts) {
    if (part.kind === 'value' || part.key === null || !COUNTERS.has(part.key)) continue;
    const list = lists.get(part.key) ?? [];
    if (list.length + part.items.length > MAX_COUNTERS)
      throw new Error(`The list "${part.key}" has more than ${MAX_COUNTERS} items.`);
    for (const item of part.items) list.push(metricNumber(item) ?? instantFromText(item));
    lists.set(part.key, list);
  }
  const find = (names: readonly string[]): number[] | undefined =>
    names.map((name) => lists.get(name)).find((list) => list !== undefined);
  return { step: find(ROW_NAMES.step), epoch: find(ROW_NAMES.epoch), time: find(TIMES) };
}

/** Curves of one evaluation set: their positions are rounds, which are steps. */
function pushSet(sink: RunSink, set: string, measures: RowObject): void {
  for (const [name, list] of Object.entries(measures)) {
    const metric = sink.metric(`${set}/${name}`);
    for (const [step, item] of (Array.isArray(list) ? list : []).entries()) {
      const value = metricNumber(item);
      if (value !== undefined) sink.push(metric, value, step, Number.NaN, Number.NaN);
    }
  }
}

/** Values of a curve. Without counters their positions are epochs, as those of Keras are. */
function pushList(
  sink: RunSink,
  name: string,
  items: readonly unknown[],
  index: number,
  { step, epoch, time }: Counters,
): void {
  for (const [i, item] of items.entries()) {
    const at = index + i;
    const lap = Math.floor(epoch?.[at] ?? (step === undefined ? at : Number.NaN));
    const push = (metric: string, one: unknown): void => {
      const value = metricNumber(one);
      if (value === undefined) return;
      const timeMs = instantFromText(time?.[at]);
      sink.push(sink.metric(metric), value, step?.[at] ?? Number.NaN, lap, timeMs);
    };
    if (!Array.isArray(item)) push(name, item);
    else for (const [j, one] of item.slice(0, MAX_CLASSES).entries()) push(`${name}/${j}`, one);
  }
}

async function pushObject(
  row: RowObject,
  splitter: RunSplitter,
  context: ImportContext,
  place: string,
): Promise<void> {
  const read = readRow(row, context.limits.maxDepth);
  const names = read.values.map(([name]) => name);
  const sink = splitter.find(read, names, place) ?? (await splitter.begin());
  pushRow(sink, read, splitter.stepOf(read));
}
