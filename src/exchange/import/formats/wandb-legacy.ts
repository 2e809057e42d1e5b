/** Runs of Weights & Biases before the `.wandb` file: `wandb-history.jsonl`, `wandb-summary.json`, `wandb-metadata.json`, `config.yaml`. */
import { fileName, folderOf, groupByFolder, type InputFile } from '../../../codecs/input.ts';
import { instantFromText } from '../../../codecs/number-text.ts';
import {
  pushWandbSummary,
  wandbFile,
  wandbFolderOf,
  wandbObject,
  wandbSettings,
} from '../messages/wandb-files.ts';
import type { ImportContext, Importer } from '../sink/importer.ts';
import { RunSplitter } from '../sink/run-splitter.ts';
import type { RowNames } from '../tables/object-rows.ts';
import { readJsonLines } from './json-lines.ts';

const HISTORY = 'wandb-history.jsonl';
const EVENTS = 'wandb-events.jsonl';
const SUMMARY = 'wandb-summary.json';
const METADATA = 'wandb-metadata.json';
const CONFIG = 'config.yaml';
const NAMES: RowNames = { step: ['_step'], epoch: ['epoch'], time: ['_timestamp'] };
/** Measures of the machine have times and no steps. */
const EVENT_NAMES: RowNames = { step: [], epoch: [], time: ['_timestamp'], ignored: ['_runtime'] };

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
  const folder = folderOf(files[0]?.path ?? '');
  const settings = await wandbSettings(files, context);
  const metadata = await wandbObject(files, METADATA, context);
  const about = wandbFolderOf(`${folder}/`);
  const startedAtMs = [instantFromText(metadata['startedAt']), about?.startedAtMs].find(
    (ms) => ms !== undefined && !Number.isNaN(ms),
  );
  const history = wandbFile(files, HISTORY);
  if (history === undefined) return;
  const splitter = new RunSplitter(context, history, {
    identity: folder === '' ? history.path : folder,
    name: about?.id ?? (fileName(folder) || 'wandb'),
    startedAtMs,
    tags: ['wandb'],
  });
  const sink = await splitter.begin();
  sink.config(settings);
  sink.environment({ wandb: metadata });
  await readJsonLines(history, context, splitter, NAMES);
  const events = wandbFile(files, EVENTS);
  if (events !== undefined) {
    const system = new RunSplitter(context, events, {
      identity: folder === '' ? history.path : folder,
      name: '',
    });
    await system.begin();
    await readJsonLines(events, context, system, EVENT_NAMES);
  }
  pushWandbSummary(await wandbObject(files, SUMMARY, context), sink, context);
}
