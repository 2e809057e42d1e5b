/**
 * What CatBoost leaves in `catboost_info`: `catboost_training.json`, else `learn_error.tsv` and `test_error.tsv`. The event files beside them
 * have the same values again.
 */
import { fileName, folderOf, groupByFolder, type InputFile } from '../../../codecs/input.ts';
import { readJsonItems } from '../../../codecs/json/json-items.ts';
import { readLines } from '../../../codecs/lines.ts';
import { metricNumber, numberFromText } from '../../../codecs/number-text.ts';
import type { ImportContext, Importer, InputHead, RunSink } from '../sink/importer.ts';
import { reportProblem } from '../sink/problems.ts';
import { isRowObject, type RowObject } from '../tables/object-rows.ts';

const TRAINING = 'catboost_training.json';
const TABLES = new Set(['learn_error.tsv', 'test_error.tsv', 'time_left.tsv']);
const MAX_SETS = 1000;
const NONE = Number.NaN;

/** CatBoost. */
export const catBoost: Importer = {
  format: 'catboost',
  title: 'CatBoost (catboost_info: catboost_training.json, learn_error.tsv, test_error.tsv)',
  detect(head) {
    const { file, text } = head;
    const name = fileName(file.path);
    if (/^\s*\{\s*"meta"\s*:\s*\{/.test(text) && /"(?:learn|test)_(?:sets|metrics)"\s*:/.test(text))
      return 0.95;
    if (TABLES.has(name) && text.startsWith('iter\t')) return 0.9;
    return isEventsOf(head) ? 1 : 0;
  },
  group(files) {
    const events = files.filter(isEventFile);
    const folders = groupByFolder(files.filter((file) => !isEventFile(file)));
    return folders.map((folder) => [
      ...folder,
      ...events.filter(({ path }) => folderOf(folderOf(path)) === folderOf(folder[0]?.path ?? '')),
    ]);
  },
  async read(files, context) {
    const folder = folderOf(files[0]?.path ?? '');
    const parent =
      fileName(folder) === 'catboost_info' ? fileName(folderOf(folder)) : fileName(folder);
    const sink = await context.run({
      identity: folder,
      name: parent === '' ? 'catboost' : parent,
      tags: ['catboost'],
    });
    const training = files.find(
      ({ path }) => !TABLES.has(fileName(path)) && !isEventFile({ path }),
    );
    if (training !== undefined) return readTraining(training, context, sink);
    for (const file of files) {
      const set = /^(learn|test)_error\.tsv$/.exec(fileName(file.path))?.[1];
      if (set !== undefined) await readTable(file, set, context, sink);
    }
  },
};

function isEventFile({ path }: Pick<InputFile, 'path'>): boolean {
  return fileName(path).includes('.tfevents');
}

/** Event files of `learn/` and `test/` below the tables or the JSON of the same run. */
function isEventsOf({ file, hasFile }: InputHead): boolean {
  const folder = folderOf(file.path);
  if (!isEventFile(file) || !/^(?:learn|test\d*)$/.test(fileName(folder))) return false;
  const above = folderOf(folder);
  const beside = (name: string): boolean => hasFile(above === '' ? name : `${above}/${name}`);
  return beside(TRAINING) || beside('learn_error.tsv');
}

async function readTable(
  file: InputFile,
  set: string,
  context: ImportContext,
  sink: RunSink,
): Promise<void> {
  let metrics: number[] | undefined;
  for await (const { number, text } of readLines(file.stream(), context.limits)) {
    if (text.trim() === '') continue;
    const cells = text.split('\t', context.limits.maxColumns);
    if (metrics === undefined) {
      metrics = cells.slice(1).map((name) => sink.metric(`${set}/${name}`));
      continue;
    }
    const step = numberFromText(cells[0] ?? '');
    if (typeof step !== 'number' || cells.length !== metrics.length + 1) {
      reportProblem(context, file, `line ${number}`, 'It is no row of the table: left out.');
      continue;
    }
    for (const [i, metric] of metrics.entries()) {
      const value = numberFromText(cells[i + 1] ?? '');
      if (typeof value === 'number') sink.push(metric, value, step, NONE, NONE);
    }
    if (sink.isFull) await sink.flush();
  }
}

/** The JSON has names of sets and metrics in its front, and values by their positions behind it. */
async function readTraining(file: InputFile, context: ImportContext, sink: RunSink): Promise<void> {
  const problem = (location: string, reason: string): void =>
    reportProblem(context, file, location, reason);
  let names: ReadonlyMap<string, readonly string[]> = new Map();
  for await (const part of readJsonItems(file, context.limits, problem)) {
    if (part.kind === 'value') {
      if (part.key !== 'meta' || !isRowObject(part.value)) continue;
      names = namesIn(part.value);
      const { iteration_count: count, launch_mode: mode, parameters } = part.value;
      sink.config({ iteration_count: count, launch_mode: mode, parameters });
      continue;
    }
    if (part.key !== 'iterations') continue;
    for (const [i, item] of part.items.entries()) {
      if (isRowObject(item)) pushIteration(sink, item, part.index + i, names);
      else problem(`iterations[${part.index + i}]`, 'It is no object.');
    }
    if (sink.isFull) await sink.flush();
  }
}

function pushIteration(
  sink: RunSink,
  item: RowObject,
  index: number,
  names: ReadonlyMap<string, readonly string[]>,
): void {
  const step = metricNumber(item['iteration']) ?? index;
  for (const [set, values] of Object.entries(item)) {
    if (!Array.isArray(values)) continue;
    const known = names.get(set) ?? [];
    for (const [i, written] of values.entries()) {
      const value = metricNumber(written);
      if (value !== undefined)
        sink.push(sink.metric(`${set}/${known[i] ?? `metric_${i}`}`), value, step, NONE, NONE);
    }
  }
}

function namesIn(meta: RowObject): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, readonly string[]>();
  for (const side of ['learn', 'test']) {
    const metrics = listOf(meta[`${side}_metrics`]).map((metric) =>
      isRowObject(metric) ? String(metric['name']) : String(metric),
    );
    for (const set of listOf(meta[`${side}_sets`]).slice(0, MAX_SETS))
      names.set(String(set), metrics);
  }
  return names;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
