/**
 * Trials of Ray Tune and RLlib: `result.json` has a row of JSON for each iteration, `params.json` the configuration. `progress.csv` and the event
 * files beside them have the same values again.
 */
import { fileName, folderOf, groupByFolder, type InputFile } from '../../../codecs/input.ts';
import { parseLenientJson, readJsonFile } from '../../../codecs/json/lenient-json.ts';
import { readLines } from '../../../codecs/lines.ts';
import { messageOf } from '../../../base/errors.ts';
import { instantFromText, metricNumber } from '../../../codecs/number-text.ts';
import type { ImportContext, Importer, InputHead, RunSink } from '../sink/importer.ts';
import { reportProblem } from '../sink/problems.ts';
import { addNumbers, isRowObject, type RowObject } from '../tables/object-rows.ts';

const RESULT = 'result.json';
/** Environment steps, the surest first; else iterations count. */
const STEPS = ['num_env_steps_sampled_lifetime', 'timesteps_total', 'num_env_steps_sampled'];
/** What is of the trial and not of the training. */
const NO_METRICS = new Set([
  'config',
  'date',
  'done',
  'experiment_id',
  'experiment_tag',
  'fault_tolerance',
  'hist_stats',
  'hostname',
  'iterations_since_restore',
  'node_ip',
  'pid',
  'should_checkpoint',
  'time_since_restore',
  'timestamp',
  'training_iteration',
  'trial_id',
]);
const ENVIRONMENT = ['hostname', 'node_ip', 'pid', 'trial_id', 'experiment_id', 'experiment_tag'];

/** Ray Tune and RLlib. */
export const ray: Importer = {
  format: 'ray',
  title: 'Ray Tune and RLlib (result.json, params.json)',
  detect(head) {
    const { file, text } = head;
    const name = fileName(file.path);
    const isRow = /^\s*\{/.test(text) && text.includes('"training_iteration"');
    if (isRow && /"(?:trial_id|time_total_s|iterations_since_restore)"/.test(text)) return 0.9;
    // The first row of a result may be longer than what is read of it here: it has the whole configuration in it.
    if (name === RESULT && isBeside(head, 'params.json') && /^\s*\{/.test(text)) return 0.85;
    if (!isBeside(head, RESULT)) return 0;
    const isTrial = isBeside(head, 'params.json') || isBeside(head, 'params.pkl');
    if (name === 'params.json' || name === 'error.txt') return 0.85;
    return isTrial && (name === 'progress.csv' || name.includes('.tfevents')) ? 1 : 0;
  },
  group: groupByFolder,
  async read(files, context) {
    const find = (name: string): InputFile | undefined =>
      files.find(({ path }) => fileName(path) === name);
    const rows = find(RESULT) ?? files.find(({ path }) => path.endsWith('.json'));
    if (rows === undefined) return;
    const folder = folderOf(rows.path);
    const sink = await context.run({
      identity: folder === '' ? rows.path : folder,
      name: fileName(folder) || 'ray',
      tags: ['ray'],
    });
    const params = find('params.json');
    if (params !== undefined && params !== rows) {
      const value = await readJsonFile(params, context.limits);
      if (isRowObject(value)) sink.config(value);
    }
    await readResults(rows, context, sink, params !== undefined);
    if (find('error.txt') !== undefined) sink.status('failed');
  },
};

function isBeside({ file, hasFile }: InputHead, name: string): boolean {
  const folder = folderOf(file.path);
  return hasFile(folder === '' ? name : `${folder}/${name}`);
}

async function readResults(
  file: InputFile,
  context: ImportContext,
  sink: RunSink,
  hasConfig: boolean,
): Promise<void> {
  const { limits } = context;
  let count = 0;
  let stepPath: string | undefined;
  for await (const { isCut, number, text } of readLines(file.stream(), limits)) {
    if (text.trim() === '') continue;
    const location = `line ${number}`;
    const row = isCut ? undefined : rowIn(text, limits.maxDepth);
    if (!isRowObject(row)) {
      const reason = isCut
        ? `The line is longer than ${limits.maxLineBytes} bytes (limits.maxLineBytes).`
        : (row ?? 'It is no object.');
      reportProblem(context, file, location, reason);
      continue;
    }
    if (count++ === 0) {
      stepPath = STEPS.find((name) => stepIn(row, name) !== undefined);
      describe(row, sink, hasConfig);
    }
    pushResult(row, sink, stepPath, limits.maxDepth);
    if (sink.isFull) await sink.flush();
  }
  if (count === 0) reportProblem(context, file, null, 'There are no results in it.');
}

function pushResult(
  row: RowObject,
  sink: RunSink,
  stepName: string | undefined,
  maxDepth: number,
): void {
  const iteration = metricNumber(row['training_iteration']) ?? Number.NaN;
  const step = (stepName === undefined ? undefined : stepIn(row, stepName)) ?? iteration;
  const timeMs = instantFromText(row['timestamp']);
  const values: (readonly [string, number])[] = [];
  for (const [name, value] of Object.entries(row))
    if (!NO_METRICS.has(name) && !STEPS.includes(name)) addNumbers(values, name, value, maxDepth);
  if (step !== iteration && iteration === iteration) values.push(['training_iteration', iteration]);
  for (const [name, value] of values) sink.push(sink.metric(name), value, step, Number.NaN, timeMs);
}

/** A counter of the row, or of its environments, where it is a step. */
function stepIn(row: RowObject, name: string): number | undefined {
  const runners = row['env_runners'];
  const value =
    metricNumber(row[name]) ?? (isRowObject(runners) ? metricNumber(runners[name]) : undefined);
  return value !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function describe(row: RowObject, sink: RunSink, hasConfig: boolean): void {
  if (!hasConfig && isRowObject(row['config'])) sink.config(row['config']);
  const about = Object.fromEntries(
    ENVIRONMENT.flatMap((name) => (name in row ? [[name, row[name]]] : [])),
  );
  sink.environment({ ray: about });
}

/** The row, or why it is none. */
function rowIn(text: string, maxDepth: number): RowObject | string | undefined {
  try {
    const value = parseLenientJson(text, maxDepth);
    return isRowObject(value) ? value : undefined;
  } catch (error) {
    return messageOf(error);
  }
}
