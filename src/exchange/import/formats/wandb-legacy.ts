/** Runs of Weights & Biases before the `.wandb` file: `wandb-history.jsonl`, `wandb-summary.json`, `wandb-metadata.json`, `config.yaml`. */
import { fileName, folderOf, type InputFile, groupByFolder } from '../../../codecs/input.ts';
import type { ImportContext, Importer } from '../sink/importer.ts';
import { readJsonFile } from '../../../codecs/json/lenient-json.ts';
import { instantFromText, metricNumber } from '../../../codecs/number-text.ts';
import { isRowObject, readRow, type RowNames, type RowObject } from '../tables/object-rows.ts';
import { RunSplitter } from '../sink/run-splitter.ts';
import { configFromYaml } from '../tables/yaml-config.ts';
import { readJsonLines } from './json-lines.ts';

const HISTORY = 'wandb-history.jsonl';
const EVENTS = 'wandb-events.jsonl';
const SUMMARY = 'wandb-summary.json';
const METADATA = 'wandb-metadata.json';
const CONFIG = 'config.yaml';
const NAMES: RowNames = { step: ['_step'], epoch: ['epoch'], time: ['_timestamp'] };
/** Measures of the machine have times and no steps. */
const EVENT_NAMES: RowNames = { step: [], epoch: [], time: ['_timestamp'], ignored: ['_runtime'] };
const RUN_FOLDER = /^(?:offline-)?run-(\d{8})_(\d{6})-(.+)$/;

/** Weights & Biases, legacy files. */
export const wandbLegacy: Importer = {
  format: 'wandb_legacy',
  title: 'Weights & Biases, legacy (wandb-history.jsonl)',
  detect({ file, hasFile, text }) {
    const name = fileName(file.path);
    if (name === HISTORY) return /^\s*(?:\{|$)/.test(text) ? 0.95 : 0;
    const folder = folderOf(file.path);
    const isBeside = hasFile(folder === '' ? HISTORY : `${folder}/${HISTORY}`);
    return isBeside && [EVENTS, SUMMARY, METADATA, CONFIG].includes(name) ? 0.9 : 0;
  },
  group: groupByFolder,
  async read(files, context) {
    await readWandb(files, context);
  },
};

async function readWandb(files: readonly InputFile[], context: ImportContext): Promise<void> {
  const find = (name: string): InputFile | undefined =>
    files.find(({ path }) => fileName(path) === name);
  const object = async (name: string): Promise<RowObject> => {
    const file = find(name);
    const value = file === undefined ? {} : await readJsonFile(file, context.limits);
    return isRowObject(value) ? value : {};
  };
  const folder = folderOf(files[0]?.path ?? '');
  const config = find(CONFIG);
  const settings = config === undefined ? {} : await configFromYaml(config, context);
  const metadata = await object(METADATA);
  const parts = RUN_FOLDER.exec(fileName(folder));
  const startedAtMs = [metadata['startedAt'], startOf(parts)]
    .map(instantFromText)
    .find((ms) => !Number.isNaN(ms));
  const history = find(HISTORY);
  if (history === undefined) return;
  const splitter = new RunSplitter(context, history, {
    identity: folder === '' ? history.path : folder,
    name: parts?.[3] ?? (fileName(folder) || 'wandb'),
    startedAtMs,
    tags: ['wandb'],
  });
  const sink = await splitter.begin();
  sink.config(valuesOf(settings));
  sink.environment({ wandb: metadata });
  await readJsonLines(history, context, splitter, NAMES);
  const events = find(EVENTS);
  if (events !== undefined) {
    const system = new RunSplitter(context, events, {
      identity: folder === '' ? history.path : folder,
      name: '',
    });
    await system.begin();
    await readJsonLines(events, context, system, EVENT_NAMES);
  }
  const { _step: last, _timestamp: time, ...summary } = await object(SUMMARY);
  const known = { step: [], epoch: [], time: [] };
  for (const [name, value] of readRow(summary, context.limits.maxDepth, known).values) {
    if (name.startsWith('_')) continue;
    const step = metricNumber(last) ?? Number.NaN;
    sink.push(sink.metric(`summary/${name}`), value, step, Number.NaN, instantFromText(time));
  }
}

/** Every setting is an object with a description and a value. */
function valuesOf(settings: RowObject): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).flatMap(([key, setting]) => {
      if (key === 'wandb_version' || key === '_wandb') return [];
      return [[key, isRowObject(setting) && 'value' in setting ? setting['value'] : setting]];
    }),
  );
}

function startOf(parts: RegExpExecArray | null): string | undefined {
  const [, day = '', time = ''] = parts ?? [];
  if (day === '') return undefined;
  return `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)} ${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}`;
}
