/** DVCLive: a table for each metric under `plots/metrics/` (before version 1: `scalars/`), the last values in `metrics.json`, `params.yaml`. */
import { fileName, folderOf, type InputFile } from '../../../codecs/input.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { readJsonFile } from '../../../codecs/json/lenient-json.ts';
import { readLines } from '../../../codecs/lines.ts';
import { instantFromText, metricNumber, numberFromText } from '../../../codecs/number-text.ts';
import { isRowObject, readRow } from '../tables/object-rows.ts';
import { runNameOf } from '../sink/run-names.ts';
import { configFromYaml } from '../tables/yaml-config.ts';

const TABLE = /^(.*?)(?:^|\/)(?:plots\/metrics|plots\/scalars|scalars)\/(.+)\.tsv$/;

/** DVCLive. */
export const dvclive: Importer = {
  format: 'dvclive',
  title: 'DVCLive (metrics tables, metrics.json, params.yaml)',
  detect({ file, text, hasFile }) {
    const { path } = file;
    if (TABLE.test(path) && /^(?:\ufeff)?(?:[^\t\n]+\t)*step\t/.test(text)) return 0.95;
    const folder = folderOf(path);
    const isOwn = fileName(folder) === 'dvclive';
    const name = fileName(path);
    if (name === 'metrics.json')
      return /^\s*\{/.test(text) && (isOwn || /^ {0,8}"step": \d+,?$/m.test(text)) ? 0.5 : 0;
    if (name !== 'params.yaml') return 0;
    return isOwn || hasFile(folder === '' ? 'metrics.json' : `${folder}/metrics.json`) ? 0.6 : 0;
  },
  group(files) {
    const groups = new Map<string, InputFile[]>();
    for (const file of files) {
      const root = rootOf(file.path);
      const group = groups.get(root);
      if (group === undefined) groups.set(root, [file]);
      else group.push(file);
    }
    return [...groups.values()];
  },
  async read(files, context) {
    const root = rootOf(files[0]?.path ?? '');
    const name = fileName(root);
    const isOwn = name === 'dvclive' || name === '';
    const sink = await context.run({
      identity: root,
      name: (isOwn ? fileName(folderOf(root)) : name) || runNameOf('dvclive'),
      tags: ['dvclive'],
    });
    const known = new Set<string>();
    for (const file of files) {
      const metric = TABLE.exec(file.path)?.[2];
      if (metric !== undefined) {
        known.add(metric);
        await readTable(file, metric, sink, context);
      } else if (fileName(file.path) === 'params.yaml')
        sink.config(await configFromYaml(file, context));
    }
    for (const file of files)
      if (fileName(file.path) === 'metrics.json') await readSummary(file, known, sink, context);
  },
};

async function readTable(
  file: InputFile,
  name: string,
  sink: RunSink,
  context: ImportContext,
): Promise<void> {
  const metric = sink.metric(name);
  let columns: readonly string[] | undefined;
  for await (const { text, number } of readLines(file.stream(), context.limits)) {
    if (text.trim() === '') continue;
    const cells = text.split('\t');
    // The header comes again where a run was gone on with.
    if (cells.includes('step')) {
      columns = cells.map((cell) => cell.trim());
      continue;
    }
    const cell = (column: number): string => (column < 0 ? '' : (cells[column] ?? ''));
    const at = columns?.findIndex((column) => column !== 'step' && column !== 'timestamp') ?? -1;
    const value = numberFromText(cell(at));
    if (columns === undefined || cells.length !== columns.length || value === null) {
      const reason = 'It is no row of this table.';
      context.problem({ file: file.path, place: `line ${number}`, reason });
      continue;
    }
    if (value === undefined) continue;
    const step = numberFromText(cell(columns.indexOf('step'))) ?? Number.NaN;
    const timeMs = instantFromText(cell(columns.indexOf('timestamp')));
    sink.push(metric, value, step, Number.NaN, timeMs);
    if (sink.isFull) await sink.flush();
  }
}

/** The last value of every metric; those that were logged without a plot are nowhere else. */
async function readSummary(
  file: InputFile,
  known: ReadonlySet<string>,
  sink: RunSink,
  context: ImportContext,
): Promise<void> {
  const summary = await readJsonFile(file, context.limits);
  if (!isRowObject(summary)) {
    context.problem({ file: file.path, place: null, reason: 'It is no object.' });
    return;
  }
  const { step: last, ...metrics } = summary;
  const step = metricNumber(last) ?? Number.NaN;
  const names = { step: [], epoch: [], time: [] };
  for (const [name, value] of readRow(metrics, context.limits.maxDepth, names).values)
    if (!known.has(name)) sink.push(sink.metric(name), value, step, Number.NaN, Number.NaN);
}

function rootOf(path: string): string {
  return (TABLE.exec(path)?.[1] ?? folderOf(path)).replace(/\/$/, '');
}
