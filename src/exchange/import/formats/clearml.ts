/**
 * Scalars of ClearML: what `Task.get_reported_scalars()` gives and the server answers, as JSON. An object for each graph, in it one for each
 * of its lines, with the lists `x` and `y`.
 */
import type { InputFile } from '../../../codecs/input.ts';
import { readJsonFile } from '../../../codecs/json/lenient-json.ts';
import { metricNumber } from '../../../codecs/number-text.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { reportProblem } from '../sink/problems.ts';
import { runNameOf } from '../sink/run-names.ts';
import { isRowObject, type RowObject } from '../tables/object-rows.ts';

const TEXT = String.raw`"(?:[^"\\]|\\.){0,300}"`;
const LINE = String.raw`\{\s*(?:"name"\s*:\s*${TEXT}\s*,\s*)?"(?:x|y)"\s*:\s*\[`;
/** A graph with its first line; what is around the graphs may come before them. */
const GRAPHS = new RegExp(String.raw`\{\s*${TEXT}\s*:\s*\{\s*${TEXT}\s*:\s*${LINE}`);
const SETTINGS = ['parameters', 'hyperparameters', 'hyperparams'];

/** ClearML. */
export const clearMl: Importer = {
  format: 'clearml',
  title: 'ClearML (reported scalars as JSON)',
  detect: ({ text }) => (/^\s*\{/.test(text) && GRAPHS.test(text.slice(0, 4096)) ? 0.9 : 0),
  async read(files, context) {
    for (const file of files) await readTask(file, context);
  },
};

async function readTask(file: InputFile, context: ImportContext): Promise<void> {
  const read = await readJsonFile(file, context.limits);
  const task: RowObject = isRowObject(read) ? read : {};
  const inner = task['scalars'];
  const graphs = isRowObject(inner) ? inner : task;
  const id = typeof task['id'] === 'string' ? task['id'] : file.path;
  const name = typeof task['name'] === 'string' ? task['name'] : runNameOf(file.path);
  const sink = await context.run({ identity: id, name, tags: ['clearml'] });
  for (const key of SETTINGS) {
    const settings = task[key];
    if (isRowObject(settings)) sink.config(settings);
  }
  let badCount = 0;
  for (const [title, lines] of Object.entries(graphs)) {
    if (!isRowObject(lines)) continue;
    for (const [series, line] of Object.entries(lines)) {
      if (!isRowObject(line) || !Array.isArray(line['x']) || !Array.isArray(line['y'])) continue;
      badCount += await pushLine(sink, nameOf(title, series), line['x'], line['y']);
    }
  }
  if (badCount > 0)
    reportProblem(context, file, null, `${badCount} values are no numbers: left out.`);
}

/** @returns how many values are no numbers */
async function pushLine(
  sink: RunSink,
  name: string,
  x: readonly unknown[],
  y: readonly unknown[],
): Promise<number> {
  const metric = sink.metric(name);
  let badCount = 0;
  for (const [i, item] of y.entries()) {
    const value = metricNumber(item);
    if (value === undefined) badCount++;
    else sink.push(metric, value, metricNumber(x[i]) ?? Number.NaN, Number.NaN, Number.NaN);
    if (sink.isFull) await sink.flush();
  }
  return badCount;
}

/** Graph and line; `:monitor:gpu` is the machine, and a line that is called like its graph is alone in it. */
function nameOf(title: string, series: string): string {
  const machine = /^:monitor:(.*)$/.exec(title)?.[1];
  if (machine !== undefined) return `system/${machine}/${series}`;
  return title === series ? title : `${title}/${series}`;
}
