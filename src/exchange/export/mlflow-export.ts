/**
 * A run as a file store of MLflow: the layout that its documentation describes and its `FileStore` reads, a file for each metric, parameter
 * and tag, and `meta.yaml` for run and experiment.
 */
import { inSpanOf } from '../../base/profiling.ts';
import { ProfileStep } from '../../base/profile-steps.ts';
import { sha256 } from '@noble/hashes/sha2.js';
import { getPayload } from '../../instruments/artifacts/parts.ts';
import { PAYLOAD_FILE_NAMES } from '../../instruments/artifacts/payload.ts';
import { checkFlag, checkNotAborted, checkOptionNames } from '../../base/assert.ts';
import { contextAsPath, contextOf } from '../../base/series-key.ts';
import { SERIES_TAG } from '../../codecs/mlflow-series.ts';
import { invalidInput, isQuarkError, messageOf } from '../../base/errors.ts';
import type { JsonValue } from '../../base/json.ts';
import { readArtifacts } from '../../read/artifacts.ts';
import type { MetricColumns } from '../../read/metric-columns.ts';
import type { RunReader } from '../../read/run-reader.ts';
import type { RunRecord } from '../../records/run.ts';
import { describeDamage } from '../../segment/open-segment.ts';
import { FilePaths } from './file-names.ts';
import { exportTableJsonLines } from './table-export.ts';
import { TABLE_NAMES } from './table-names.ts';

/** A file of an export that is several. */
export type ExportedFile = {
  /** Path with "/" between its parts, relative to where the export goes. */
  readonly path: string;
  /** The bytes; read them before the next file is asked for. */
  readonly pieces: AsyncIterable<Uint8Array<ArrayBuffer>>;
};

/** Options of {@link exportMlflow}. */
export type ExportMlflowOptions = {
  /** Where the file store will lie, as a path or URI: MLflow looks for artifacts there. Default: `mlruns`. */
  readonly root?: string | undefined;
  /**
   * Whether the names are for file systems of Windows and macOS as well: none is a device of Windows (`aux`), ends in a dot or differs from
   * another in case alone. What would be one gets "_" in it, of which `onProblem` is told. Default: false, names as in the run.
   */
  readonly portableNames?: boolean | undefined;
  /** Ends the export: it rejects with code `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Told what has no place in MLflow or cannot be read, as a sentence. */
  readonly onProblem?: ((reason: string) => void) | undefined;
};

/** MLflow refuses longer values. */
const MAX_PARAM_CHARS = 6000;
/** MLflow refuses longer tags. */
const MAX_TAG_CHARS = 5000;
const LINES_PER_PIECE = 4000;
const ENVIRONMENT_PATH = 'quark/environment.json';
const STATUS = { running: 1, completed: 3, failed: 4, interrupted: 5 } as const;

/**
 * A run as the files of an MLflow file store, below `<experiment>/<run>`:
 *
 * - `metrics/KEY`: a line for each sample, `time value step`, in the order in which they were persisted. A sample without a step gets its
 *   epoch, one without either its position among the samples of its key. A metric whose key is the beginning of another's path gets "_"
 *   behind it, because a file cannot be a folder as well. Keys that cannot be paths (stored by an older Quark, or over 240 characters
 *   between two "/") are changed, and `onProblem` is told. No path leads out of the folder. A context is the end of the path:
 *   `loss {subset=val}` is `loss/subset.val`, and a tag `quark.series.0` has the key, which our import takes.
 * - `params/NAME`: the configuration; nested names are joined by ".", what MLflow does not allow in names becomes "_".
 * - `tags/`: the name of the run, its commit, and `quark.tags` with the labels as JSON.
 * - `artifacts/`: the payloads under their keys; `quark/environment.json`, and `quark/TABLE.jsonl` for the other tables that have rows.
 *
 * The numbers of the run are held in memory, 44 bytes a sample.
 *
 * @yields files, in order
 * @throws {QuarkError} `invalid_input` naming the option; `aborted`
 * @example
 * ```js
 * import { mkdir, writeFile } from 'node:fs/promises';
 * import { dirname, join } from 'node:path';
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { exportMlflow } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * for await (const { path, pieces } of exportMlflow(reader)) {
 *   await mkdir(dirname(join('mlruns', path)), { recursive: true });
 *   await writeFile(join('mlruns', path), pieces);
 *   }
 * console.log('mlflow ui --backend-store-uri mlruns'); // mlflow ui --backend-store-uri mlruns
 * ```
 */
export function exportMlflow(
  reader: RunReader,
  options: ExportMlflowOptions = {},
): AsyncGenerator<ExportedFile, void, undefined> {
  return inSpanOf(ProfileStep.EXPORT, mlflowFiles(reader, options));
}

async function* mlflowFiles(
  reader: RunReader,
  options: ExportMlflowOptions,
): AsyncGenerator<ExportedFile, void, undefined> {
  checkOptionNames('options', options, ['root', 'portableNames', 'signal', 'onProblem']);
  const { root = 'mlruns', portableNames = false, signal, onProblem } = options;
  checkFlag('portableNames', portableNames);
  if (typeof root !== 'string' || root === '')
    throw invalidInput('root', root, 'a path or URI that is not empty');
  const { run } = reader;
  const experiment = experimentId(run.projectName);
  const newPaths = (): FilePaths => new FilePaths(portableNames);
  const folder = `${experiment}/${newPaths().pathOf([run.id])}`;
  const base = root.replace(/\/+$/, '');
  yield textFile(`${experiment}/meta.yaml`, experimentMeta(run, experiment, base));
  yield textFile(`${folder}/meta.yaml`, runMeta(run, experiment, base));
  const points = await reader.readMetricColumns();
  const metrics = metricFiles(points, newPaths(), onProblem);
  for (const [name, value] of [...tagsOf(run), ...seriesTags(metrics)])
    yield textFile(`${folder}/tags/${name}`, value);
  for (const [name, value] of paramsOf(run.config, newPaths(), onProblem))
    yield textFile(`${folder}/params/${name}`, value);
  for (const report of points.damage) onProblem?.(describeDamage(report));
  for (const { path, rows } of metrics) {
    checkNotAborted(signal);
    yield { path: `${folder}/metrics/${path}`, pieces: samples(points, rows) };
  }
  yield* artifactFiles(reader, folder, options);
  const environment = JSON.stringify(run.environment, null, 2);
  yield textFile(`${folder}/artifacts/${ENVIRONMENT_PATH}`, environment);
  for (const table of TABLE_NAMES) {
    if (table === 'metrics') continue;
    checkNotAborted(signal);
    const segments = await reader.store.listSegments({ runId: run.id, table });
    if (segments.length === 0) continue;
    const lines = exportTableJsonLines(reader, table, {
      signal,
      onDamage: (report) => onProblem?.(describeDamage(report)),
    });
    yield { path: `${folder}/artifacts/${tablePath(table)}`, pieces: encoded(lines) };
  }
}

function tablePath(table: string): string {
  return `quark/${table}.jsonl`;
}

async function* artifactFiles(
  reader: RunReader,
  folder: string,
  { signal, onProblem, portableNames = false }: ExportMlflowOptions,
): AsyncGenerator<ExportedFile> {
  const paths = new FilePaths(portableNames);
  for (const path of [ENVIRONMENT_PATH, ...TABLE_NAMES.map(tablePath)]) paths.take(path);
  const { records } = await readArtifacts(reader);
  for (const record of records) {
    checkNotAborted(signal);
    const { artifactKey, id, payloadFormat } = record;
    const artifactFolder = paths.pathOf([...artifactKey.split('/'), id]);
    const wanted = `${artifactFolder}/${PAYLOAD_FILE_NAMES[payloadFormat]}`;
    if (paths.isInFile(wanted)) {
      onProblem?.(
        `Artifact ${JSON.stringify(artifactKey)} is left out: another file has its path.`,
      );
      continue;
    }
    paths.reserveFolders([wanted]);
    const path = `${folder}/artifacts/${paths.take(wanted)}`;
    try {
      // Looked at before the file is begun: half of one is worse than none.
      for await (const _ of getPayload(reader.store, record)) checkNotAborted(signal);
    } catch (error) {
      if (!isQuarkError(error, 'store_failed')) throw error;
      onProblem?.(messageOf(error));
      continue;
    }
    yield { path, pieces: getPayload(reader.store, record) };
  }
}

type MetricFile = { readonly key: string; readonly path: string; readonly rows: number[] };

/** Which files are metrics in a context, as JSON: what our importer takes their keys from. */
function seriesTags(files: readonly MetricFile[]): (readonly [string, string])[] {
  const tags: Record<string, string>[] = [];
  let chars = MAX_TAG_CHARS;
  for (const { key, path } of files) {
    if (contextOf(key) === null) continue;
    const added = JSON.stringify([path, key]).length;
    chars += added;
    if (chars > MAX_TAG_CHARS) {
      tags.push({});
      chars = added + 2;
    }
    Object.assign(tags.at(-1) ?? {}, { [path]: key });
  }
  return tags.map((entries, i) => [`${SERIES_TAG}.${i}`, JSON.stringify(entries)] as const);
}

/** The rows of each metric, in their order, under the path of its file. */
function metricFiles(
  points: MetricColumns,
  paths: FilePaths,
  onProblem: ExportMlflowOptions['onProblem'],
): MetricFile[] {
  const rows: number[][] = points.keys.map(() => []);
  for (let row = 0; row < points.rowCount; row++) rows[points.keyIndex[row] ?? 0]?.push(row);
  const files = points.keys.map((key, i) => ({
    key,
    plain: contextAsPath(key),
    wanted: paths.pathOfKey(contextAsPath(key)),
    path: '',
    rows: rows[i] ?? [],
  }));
  paths.reserveFolders(files.map(({ wanted }) => wanted));
  // A key that can be a path is its own, whatever others become.
  const isOwn = ({ key, wanted }: (typeof files)[number]): boolean =>
    key === wanted && paths.isFree(key);
  const own = new Set(files.filter(isOwn));
  for (const file of [...own, ...files.filter((one) => !own.has(one))]) {
    file.path = paths.take(file.wanted);
    if (file.plain !== file.wanted)
      onProblem?.(
        `Metric ${JSON.stringify(file.key)} is in metrics/${file.path}: its key cannot be the path of a file.`,
      );
  }
  return files;
}

async function* samples(
  points: MetricColumns,
  rows: readonly number[],
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  for (let from = 0; from < rows.length; from += LINES_PER_PIECE) {
    let piece = '';
    for (const [i, row] of rows.slice(from, from + LINES_PER_PIECE).entries()) {
      const timeMs = Math.max(0, Math.trunc(points.timesMs[row] ?? 0));
      const step = [points.steps[row], points.epochs[row], from + i].find(
        (position) => position !== undefined && !Number.isNaN(position),
      );
      piece += `${timeMs} ${pythonNumber(points.values[row] ?? Number.NaN)} ${step ?? 0}\n`;
    }
    yield encoder.encode(piece);
  }
}

/** A number as Python reads and writes it. */
function pythonNumber(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  return Object.is(value, -0) ? '-0.0' : String(value);
}

function experimentMeta(run: RunRecord, experiment: string, base: string): string {
  const atMs = Date.parse(run.startedAt);
  return yaml({
    artifact_location: `${base}/${experiment}`,
    creation_time: atMs,
    experiment_id: experiment,
    last_update_time: atMs,
    lifecycle_stage: 'active',
    name: run.projectName,
  });
}

function runMeta(run: RunRecord, experiment: string, base: string): string {
  return yaml({
    artifact_uri: `${base}/${experiment}/${run.id}/artifacts`,
    end_time: run.endedAt === null ? null : Date.parse(run.endedAt),
    entry_point_name: '',
    experiment_id: experiment,
    lifecycle_stage: 'active',
    run_id: run.id,
    run_name: run.id,
    run_uuid: run.id,
    source_name: '',
    source_type: 4,
    source_version: run.gitCommit ?? '',
    start_time: Date.parse(run.startedAt),
    status: STATUS[run.status],
    tags: [],
    user_id: '',
  });
}

/** Texts are quoted as JSON, which YAML reads. */
function yaml(fields: Readonly<Record<string, string | number | null | readonly never[]>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
    .join('');
}

function tagsOf(run: RunRecord): (readonly [string, string])[] {
  return [
    ['mlflow.runName', run.id],
    ...(run.gitCommit === null ? [] : [['mlflow.source.git.commit', run.gitCommit] as const]),
    ...(run.parentRunId === null ? [] : [['mlflow.parentRunId', run.parentRunId] as const]),
    ['quark.tags', JSON.stringify(run.tags)],
  ];
}

/** Leaves of the configuration under names that are files. */
function paramsOf(
  config: JsonValue,
  paths: FilePaths,
  onProblem: ExportMlflowOptions['onProblem'],
): Map<string, string> {
  const params = new Map<string, string>();
  const visit = (value: JsonValue, path: string): void => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [key, item] of Object.entries(value))
        visit(item, path === '' ? key : `${path}.${key}`);
      return;
    }
    const name = paths.take(paths.pathOf([path]));
    const text = pythonText(value);
    if (text.length > MAX_PARAM_CHARS)
      onProblem?.(`Parameter "${name}" is cut off after ${MAX_PARAM_CHARS} characters.`);
    params.set(name, text.slice(0, MAX_PARAM_CHARS));
  };
  visit(config, '');
  return params;
}

function pythonText(value: JsonValue): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return pythonNumber(value);
  // A parameter is one line.
  return typeof value === 'string' && !/[\r\n]/.test(value) ? value : JSON.stringify(value);
}

/** A number of 18 digits, as MLflow gives its experiments, that follows from the name of the project. */
function experimentId(project: string): string {
  const digest = sha256(new TextEncoder().encode(project));
  const number = new DataView(digest.buffer, digest.byteOffset).getBigUint64(0);
  return String((number % 900_000_000_000_000_000n) + 100_000_000_000_000_000n);
}

function textFile(path: string, text: string): ExportedFile {
  return { path, pieces: encoded([text]) };
}

async function* encoded(
  texts: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  for await (const text of texts) yield encoder.encode(text);
}
