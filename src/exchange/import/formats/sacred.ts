/** Runs of Sacred's FileStorageObserver: a folder with `run.json`, `config.json`, `metrics.json` and `cout.txt`. */
import { fileName, folderOf, type InputFile, groupByFolder } from '../../../codecs/input.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { readJsonFile } from '../../../codecs/json/lenient-json.ts';
import { instantFromText, metricNumber } from '../../../codecs/number-text.ts';
import { isRowObject, type RowObject } from '../tables/object-rows.ts';

const BESIDE = new Set(['config.json', 'info.json', 'cout.txt']);
const STATUSES: Readonly<Record<string, 'completed' | 'failed' | 'interrupted'>> = {
  COMPLETED: 'completed',
  FAILED: 'failed',
  INTERRUPTED: 'interrupted',
  TIMEOUT: 'failed',
  RUNNING: 'interrupted',
  QUEUED: 'interrupted',
};

/** Sacred. */
export const sacred: Importer = {
  format: 'sacred',
  title: 'Sacred (run.json, metrics.json, config.json)',
  detect({ file, text, hasFile }) {
    const name = fileName(file.path);
    if (name === 'run.json')
      return text.includes('"experiment"') && /"(?:heartbeat|start_time)"/.test(text) ? 0.95 : 0;
    if (name === 'metrics.json')
      return /"steps"\s*:\s*\[/.test(text) && /^\s*\{/.test(text) ? 0.9 : 0;
    const folder = folderOf(file.path);
    return BESIDE.has(name) && hasFile(folder === '' ? 'run.json' : `${folder}/run.json`) ? 0.8 : 0;
  },
  group: groupByFolder,
  async read(files, context) {
    const find = (name: string): InputFile | undefined =>
      files.find(({ path }) => fileName(path) === name);
    const object = async (name: string): Promise<RowObject> => {
      const file = find(name);
      const value = file === undefined ? {} : await readJsonFile(file, context.limits);
      if (isRowObject(value)) return value;
      context.problem({ file: file?.path ?? name, place: null, reason: 'It is no object.' });
      return {};
    };
    const run = await object('run.json');
    const folder = folderOf(files[0]?.path ?? '');
    const experiment = isRowObject(run['experiment']) ? run['experiment'] : {};
    const project = typeof experiment['name'] === 'string' ? experiment['name'] : undefined;
    const id = fileName(folder);
    const startedAtMs = instantFromText(run['start_time']);
    const sink = await context.run({
      identity: folder,
      name: [project, id].filter((part) => part !== undefined && part !== '').join(' ') || 'sacred',
      project,
      startedAtMs: Number.isNaN(startedAtMs) ? undefined : startedAtMs,
      tags: ['sacred'],
    });
    sink.config(await object('config.json'));
    describe(run, await object('info.json'), sink);
    const metrics = find('metrics.json');
    if (metrics !== undefined)
      await readMetrics(metrics, await object('metrics.json'), sink, context);
    const cout = find('cout.txt');
    if (cout !== undefined && cout.sizeBytes > 0) {
      const { maxRecordBytes } = context.limits;
      if (cout.sizeBytes > maxRecordBytes)
        context.problem({
          file: cout.path,
          place: `byte ${maxRecordBytes}`,
          reason: `The rest is left out (limits.maxRecordBytes).`,
        });
      const bytes = await cout.slice(0, maxRecordBytes);
      await sink.artifact('log', 'cout', new TextDecoder().decode(bytes));
    }
  },
};

function describe(run: RowObject, info: RowObject, sink: RunSink): void {
  const { host, experiment, meta, command, resources, artifacts, status, result } = run;
  sink.environment({ sacred: { host, experiment, meta, command, resources, artifacts, info } });
  const state = typeof status === 'string' ? STATUSES[status] : undefined;
  if (state !== undefined) sink.status(state);
  const value = metricNumber(result);
  if (value !== undefined)
    sink.push(sink.metric('summary/result'), value, Number.NaN, Number.NaN, Number.NaN);
  const trace = run['fail_trace'];
  if (Array.isArray(trace) && trace.length > 0)
    sink.event({
      eventType: 'run_failed',
      severity: 'error',
      timeMs: instantFromText(run['stop_time']),
      payload: { trace: trace.slice(-100).map((line) => String(line).slice(0, 1000)) },
    });
}

async function readMetrics(
  file: InputFile,
  metrics: RowObject,
  sink: RunSink,
  context: ImportContext,
): Promise<void> {
  for (const [name, series] of Object.entries(metrics)) {
    const place = `metric "${name.slice(0, 100)}"`;
    const values = isRowObject(series) ? series['values'] : undefined;
    if (!isRowObject(series) || !Array.isArray(values)) {
      context.problem({ file: file.path, place, reason: 'It has no list of values.' });
      continue;
    }
    const steps = Array.isArray(series['steps']) ? series['steps'] : [];
    const times = Array.isArray(series['timestamps']) ? series['timestamps'] : [];
    const metric = sink.metric(name);
    let left = 0;
    for (const [i, written] of values.entries()) {
      // Numbers of NumPy are objects with the number in them.
      const value = metricNumber(isRowObject(written) ? written['value'] : written);
      if (value === undefined) left++;
      else {
        const step = metricNumber(steps[i]) ?? Number.NaN;
        sink.push(metric, value, step, Number.NaN, instantFromText(times[i]));
        if (sink.isFull) await sink.flush();
      }
    }
    if (left > 0)
      context.problem({
        file: file.path,
        place,
        reason: `${left} values are no numbers: left out.`,
      });
  }
}
