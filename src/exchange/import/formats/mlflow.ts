/**
 * File stores of MLflow: `mlruns/<experiment>/<run>/` with a file for each metric (`time value step` a line), parameter and tag, and a
 * `meta.yaml`. Metric names may have "/" in them, and are folders then.
 */
import { fileName, folderOf, type InputFile } from '../../../codecs/input.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { seriesOfTags } from '../../../codecs/mlflow-series.ts';
import { readLines } from '../../../codecs/lines.ts';
import { instantFromText, numberFromText } from '../../../codecs/number-text.ts';
import { isRowObject } from '../tables/object-rows.ts';
import { readYamlFile } from '../tables/yaml-config.ts';
import { plainScalar } from '../../../codecs/yaml/yaml-scalars.ts';

/** Parameters have at most 6,000 characters in MLflow, tags 8,000. */
const MAX_VALUE_BYTES = 10_000;
const PARTS = ['metrics', 'params', 'tags'] as const;
const SAMPLE = /^\s*(\d{1,20})\s+(\S{1,400})(?:\s+(-?\d{1,20}))?(?:\s|$)/;
/** In a database of MLflow these are numbers. */
const STATUSES: Readonly<Record<string, 'completed' | 'failed' | 'interrupted'>> = {
  '1': 'interrupted',
  '2': 'interrupted',
  '3': 'completed',
  '4': 'failed',
  '5': 'interrupted',
  RUNNING: 'interrupted',
  SCHEDULED: 'interrupted',
  FINISHED: 'completed',
  FAILED: 'failed',
  KILLED: 'interrupted',
};

/** Where a file of a run stands: in the folder `run`, of the kind `part`, under `name`. */
type RunPath = {
  readonly run: string;
  readonly part: (typeof PARTS)[number];
  readonly name: string;
};

/** MLflow file stores. */
export const mlflow: Importer = {
  format: 'mlflow',
  title: 'MLflow file store (mlruns)',
  detect({ file, text, hasFile }) {
    if (fileName(file.path) === 'meta.yaml')
      return /^(?:run_id|run_uuid|experiment_id|artifact_location)\s*:/m.test(text) ? 1 : 0;
    const path = runPathsOf(file.path).find(({ run }) => hasFile(joined(run, 'meta.yaml')));
    if (path !== undefined) return 0.95;
    // A table or log among the artifacts of a run is no run of its own.
    if (artifactRuns(file.path).some((run) => hasFile(joined(run, 'meta.yaml')))) return 0.95;
    // Without its meta.yaml only metrics can be told by what is in them.
    const first = runPathsOf(file.path)[0];
    return first?.part === 'metrics' && SAMPLE.test(text) && !/[,;]/.test(text) ? 0.7 : 0;
  },
  group(files) {
    const known = new Set(files.map(({ path }) => path));
    const runs = new Map<string, InputFile[]>();
    const experiments = new Map<string, InputFile>();
    for (const file of files) {
      if (fileName(file.path) === 'meta.yaml') experiments.set(folderOf(file.path), file);
      const run = runOf(file.path, known);
      const group = runs.get(run);
      if (group === undefined) runs.set(run, [file]);
      else group.push(file);
    }
    // The meta.yaml of an experiment names the project of its runs, and is no run.
    const parents = new Set([...runs.keys()].filter((run) => run !== '').map(folderOf));
    return [...runs].flatMap(([run, group]) => {
      const isExperiment = parents.has(run) && group.length === 1 && experiments.has(run);
      if (isExperiment) return [];
      const experiment = run === '' ? undefined : experiments.get(folderOf(run));
      return [experiment === undefined ? group : [...group, experiment]];
    });
  },
  async read(files, context) {
    const known = new Set(files.map(({ path }) => path));
    const [first] = files;
    if (first !== undefined) await readRun(runOf(first.path, known), files, context);
  },
};

async function readRun(
  folder: string,
  files: readonly InputFile[],
  context: ImportContext,
): Promise<void> {
  const metaOf = async (path: string): Promise<Readonly<Record<string, unknown>>> => {
    const file = files.find((candidate) => candidate.path === joined(path, 'meta.yaml'));
    const value = file === undefined ? undefined : await readYamlFile(file, context);
    return isRowObject(value) ? value : {};
  };
  const meta = await metaOf(folder);
  const experiment = folder === '' ? {} : await metaOf(folderOf(folder));
  const parts = files.flatMap((file) => {
    const path = runPathsOf(file.path).find(({ run }) => run === folder);
    return path === undefined ? [] : [{ ...path, file }];
  });
  if (parts.length === 0 && !('run_id' in meta || 'run_uuid' in meta)) return;
  const tags = await valuesOf(
    parts.filter(({ part }) => part === 'tags'),
    context,
  );
  const id = textOf(meta['run_id']) ?? textOf(meta['run_uuid']) ?? fileName(folder);
  const startedAtMs = instantFromText(meta['start_time']);
  const sink = await context.run({
    identity: folder === '' ? id : folder,
    name: textOf(tags['mlflow.runName']) ?? textOf(meta['run_name']) ?? (id || 'run'),
    project: textOf(experiment['name']),
    startedAtMs: Number.isNaN(startedAtMs) ? undefined : startedAtMs,
    tags: ['mlflow'],
  });
  const params = await valuesOf(
    parts.filter(({ part }) => part === 'params'),
    context,
  );
  sink.config(
    Object.fromEntries(Object.entries(params).map(([key, text]) => [key, paramValue(text)])),
  );
  sink.environment({ mlflow: { ...meta, tags } });
  const status = STATUSES[String(meta['status'])];
  if (status !== undefined) sink.status(status);
  const artifacts = files.filter(({ path }) => artifactRuns(path).includes(folder));
  if (artifacts.length > 0)
    context.problem({
      file: joined(folder, 'artifacts'),
      place: null,
      reason: `Artifacts are left out: ${artifacts.length} of them.`,
    });
  const series = seriesOfTags(tags);
  for (const { part, name, file } of parts)
    if (part === 'metrics') await readMetric(file, series.get(name) ?? name, sink, context);
}

async function readMetric(
  file: InputFile,
  name: string,
  sink: RunSink,
  context: ImportContext,
): Promise<void> {
  const metric = sink.metric(name);
  const hasSteps = await isAnyStepSet(file, context);
  for await (const { text, number } of readLines(file.stream(), context.limits)) {
    if (text.trim() === '') continue;
    const [, time, written = '', step] = SAMPLE.exec(text) ?? [];
    const value = numberFromText(written);
    if (time === undefined || typeof value !== 'number') {
      const reason = 'It is no "time value step".';
      context.problem({ file: file.path, place: `line ${number}`, reason });
      continue;
    }
    const position = hasSteps && step !== undefined ? Number(step) : Number.NaN;
    sink.push(metric, value, position, Number.NaN, Number(time));
    if (sink.isFull) await sink.flush();
  }
}

/** A program that logs without steps gets step 0 for every sample: their order is what counts then. */
async function isAnyStepSet(file: InputFile, context: ImportContext): Promise<boolean> {
  let count = 0;
  for await (const { text } of readLines(file.stream(), context.limits)) {
    const step = SAMPLE.exec(text)?.[3];
    if (step === undefined) continue;
    if (Number(step) !== 0) return true;
    count++;
  }
  return count <= 1;
}

async function valuesOf(
  parts: readonly (RunPath & { readonly file: InputFile })[],
  context: ImportContext,
): Promise<Record<string, string>> {
  const values = new Map<string, string>();
  for (const { name, file } of parts) {
    const bytes = await file.slice(0, MAX_VALUE_BYTES);
    values.set(name, new TextDecoder().decode(bytes).replace(/\n$/, ''));
    if (file.sizeBytes > MAX_VALUE_BYTES)
      context.problem({
        file: file.path,
        place: null,
        reason: `The value is cut off after ${MAX_VALUE_BYTES} bytes.`,
      });
  }
  return Object.fromEntries(values);
}

/** Parameters are texts in MLflow; numbers are numbers again where that is the same text. */
function paramValue(text: string): unknown {
  const value = plainScalar(text);
  if (text === 'None') return null;
  if (typeof value === 'number') return String(value) === text || /[.e]/i.test(text) ? value : text;
  return typeof value === 'boolean' ? value : text;
}

/** Where a path may stand in a run: every part of it that is called like a folder of one. */
function runPathsOf(path: string): RunPath[] {
  const segments = path.split('/');
  return segments.slice(0, -1).flatMap((segment, i) => {
    const part = PARTS.find((candidate) => candidate === segment);
    return part === undefined
      ? []
      : [{ run: segments.slice(0, i).join('/'), part, name: segments.slice(i + 1).join('/') }];
  });
}

/** Folders of runs that the path may lie in as an artifact. */
function artifactRuns(path: string): string[] {
  const segments = path.split('/');
  return segments
    .slice(0, -1)
    .flatMap((segment, i) => (segment === 'artifacts' ? [segments.slice(0, i).join('/')] : []));
}

function runOf(path: string, known: ReadonlySet<string>): string {
  if (fileName(path) === 'meta.yaml') return folderOf(path);
  const owner = artifactRuns(path).find((run) => known.has(joined(run, 'meta.yaml')));
  if (owner !== undefined) return owner;
  const candidates = runPathsOf(path);
  const found = candidates.find(({ run }) => known.has(joined(run, 'meta.yaml'))) ?? candidates[0];
  return found?.run ?? folderOf(path);
}

function joined(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
