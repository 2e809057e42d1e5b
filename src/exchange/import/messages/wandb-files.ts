/** The files of a W&B run beside its numbers: settings, summary, metadata, and the folder that they are in. */
import { fileName, type InputFile } from '../../../codecs/input.ts';
import { readJsonFile } from '../../../codecs/json/lenient-json.ts';
import { instantFromText, metricNumber } from '../../../codecs/number-text.ts';
import type { ImportContext, RunSink } from '../sink/importer.ts';
import { isRowObject, readRow, type RowObject } from '../tables/object-rows.ts';
import { configFromYaml } from '../tables/yaml-config.ts';

const RUN_FOLDER = /^((?:.*\/)?(?:offline-)?run-(\d{8})_(\d{6})-([^/]+))\//;

/** The folder of a run: its path, its id, and the instant in its name. */
export type WandbFolder = {
  readonly path: string;
  readonly id: string;
  readonly startedAtMs: number;
};

/** The folder of the run that a file is of; undefined for a file elsewhere. */
export function wandbFolderOf(path: string): WandbFolder | undefined {
  const [, folder, day = '', time = '', id = ''] = RUN_FOLDER.exec(path) ?? [];
  if (folder === undefined) return undefined;
  const date = `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}`;
  const clock = `${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}`;
  return { path: folder, id, startedAtMs: instantFromText(`${date} ${clock}`) };
}

/** The file of a name among those of a run. */
export function wandbFile(files: readonly InputFile[], name: string): InputFile | undefined {
  return files.find(({ path }) => fileName(path) === name);
}

/** A file of JSON as an object; empty where there is none. */
export async function wandbObject(
  files: readonly InputFile[],
  name: string,
  context: ImportContext,
): Promise<RowObject> {
  const file = wandbFile(files, name);
  const value = file === undefined ? {} : await readJsonFile(file, context.limits);
  return isRowObject(value) ? value : {};
}

/** The settings of `config.yaml`, where every one is an object with a description and a value. */
export async function wandbSettings(
  files: readonly InputFile[],
  context: ImportContext,
): Promise<Record<string, unknown>> {
  const file = wandbFile(files, 'config.yaml');
  const settings = file === undefined ? {} : await configFromYaml(file, context);
  return Object.fromEntries(
    Object.entries(settings).flatMap(([key, setting]) => {
      if (key === 'wandb_version' || key === '_wandb') return [];
      return [[key, isRowObject(setting) && 'value' in setting ? setting['value'] : setting]];
    }),
  );
}

/** The numbers of `wandb-summary.json`, at the last step that it names. */
export function pushWandbSummary(
  { _step: last, _timestamp: time, ...summary }: RowObject,
  sink: RunSink,
  context: ImportContext,
): void {
  const known = { step: [], epoch: [], time: [] };
  for (const [name, value] of readRow(summary, context.limits.maxDepth, known).values) {
    if (name.startsWith('_')) continue;
    const step = metricNumber(last) ?? Number.NaN;
    sink.push(sink.metric(`summary/${name}`), value, step, Number.NaN, instantFromText(time));
  }
}
