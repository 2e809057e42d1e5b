/** Experiments of Comet as `cometx download` writes them: `metrics.jsonl`, or a file for each metric, with the files beside them. */
import { fileName, folderOf, type InputFile } from '../../../codecs/input.ts';
import { readJsonFile, parseLenientJson } from '../../../codecs/json/lenient-json.ts';
import { readLines } from '../../../codecs/lines.ts';
import { instantFromText, metricNumber } from '../../../codecs/number-text.ts';
import { messageOf } from '../../../base/errors.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { reportProblem } from '../sink/problems.ts';
import { isRowObject, type RowObject } from '../tables/object-rows.ts';

/** What is beside the metrics of an experiment. */
const FACTS = new Set(['metadata.json', 'parameters.json', 'others.jsonl', 'system_details.json']);
const METRICS = /(?:^|\/)(?:metrics\.jsonl|metrics\/metric_\d+\.jsonl|metrics_summary\.jsonl)$/;
const ROW = /^\s*\[?\s*\{[^{}]{0,2000}"metricName"\s{0,8}:/;
const FACT = /"(?:experimentKey|valueCurrent|installedPackages|pythonVersion|osType)"\s{0,8}:/;
const CONTEXTS: Readonly<Record<string, string>> = { validate: 'val', validation: 'val' };

/** Comet. */
export const comet: Importer = {
  format: 'comet',
  title: 'Comet (cometx download)',
  detect({ file, hasFile, text }) {
    if (ROW.test(text)) return 0.96;
    const folder = experimentOf(file.path);
    const beside = (name: string): boolean => hasFile(folder === '' ? name : `${folder}/${name}`);
    const isBeside =
      beside('metrics.jsonl') || beside('metrics/metric_00000.jsonl') || beside('metadata.json');
    const name = fileName(file.path);
    if (name === 'metrics_summary.jsonl') return isBeside && beside('metadata.json') ? 0.9 : 0;
    return FACTS.has(name) && isBeside && FACT.test(text) ? 0.9 : 0;
  },
  group(files) {
    const groups = new Map<string, InputFile[]>();
    for (const file of files) {
      const key = experimentOf(file.path);
      groups.set(key, [...(groups.get(key) ?? []), file]);
    }
    return [...groups.values()];
  },
  async read(files, context) {
    const find = (name: string): InputFile | undefined =>
      files.find(({ path }) => fileName(path) === name);
    const object = async (name: string): Promise<unknown> => {
      const file = find(name);
      return file === undefined ? undefined : readJsonFile(file, context.limits);
    };
    const about = await object('metadata.json');
    const facts: RowObject = isRowObject(about) ? about : {};
    const folder = experimentOf(files[0]?.path ?? '');
    const sink = await context.run({
      identity: textOf(facts['experimentKey']) ?? folder,
      name: textOf(facts['experimentName']) ?? (fileName(folder) || 'comet'),
      project: textOf(facts['projectName']) ?? null,
      startedAtMs: metricNumber(facts['startTimeMillis']) ?? null,
      tags: ['comet'],
    });
    const settings = await object('parameters.json');
    if (Array.isArray(settings)) for (const one of settings) setFact(one, sink);
    sink.environment({ comet: { ...facts, system: await object('system_details.json') } });
    for (const file of files)
      if (METRICS.test(file.path) || !file.path.endsWith('.json'))
        await readRows(file, sink, context);
      else if (!FACTS.has(fileName(file.path))) await readList(file, sink, context);
  },
};

/** The folder of an experiment: that of its file, or the one above `metrics`. */
function experimentOf(path: string): string {
  const folder = folderOf(path);
  return /(?:^|\/)metrics$/.test(folder) && /metric_\d+\.jsonl$/.test(path)
    ? folderOf(folder)
    : folder;
}

async function readRows(file: InputFile, sink: RunSink, context: ImportContext): Promise<void> {
  for await (const { isCut, number, text } of readLines(file.stream(), context.limits)) {
    if (text.trim() === '') continue;
    try {
      if (isCut) throw new Error(`The line is longer than limits.maxLineBytes.`);
      pushRow(parseLenientJson(text, context.limits.maxDepth), sink);
    } catch (error) {
      reportProblem(context, file, `line ${number}`, messageOf(error));
    }
    if (sink.isFull) await sink.flush();
  }
}

/** The answer of the API: all rows in one list. */
async function readList(file: InputFile, sink: RunSink, context: ImportContext): Promise<void> {
  const rows = await readJsonFile(file, context.limits);
  if (!Array.isArray(rows)) return;
  for (const row of rows) {
    pushRow(row, sink);
    if (sink.isFull) await sink.flush();
  }
}

function pushRow(row: unknown, sink: RunSink): void {
  if (!isRowObject(row)) throw new Error('It is no object.');
  if (!('metricName' in row)) {
    setFact(row, sink);
    return;
  }
  const value = metricNumber(row['metricValue']);
  const name = textOf(row['metricName']);
  if (value === undefined || name === undefined) return;
  const context = textOf(row['runContext']);
  const phase = context === undefined ? '' : `${CONTEXTS[context] ?? context}/`;
  const metric = name.startsWith('sys.') ? `system/${name.slice(4)}` : `${phase}${name}`;
  sink.push(
    sink.metric(metric),
    value,
    metricNumber(row['step']) ?? Number.NaN,
    metricNumber(row['epoch']) ?? Number.NaN,
    instantFromText(row['timestamp']),
  );
}

/** A parameter, or another value that is one of the experiment. */
function setFact(row: unknown, sink: RunSink): void {
  if (!isRowObject(row)) return;
  const name = textOf(row['name']);
  if (name !== undefined && 'valueCurrent' in row)
    sink.config({ [name]: metricNumber(row['valueCurrent']) ?? row['valueCurrent'] });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
