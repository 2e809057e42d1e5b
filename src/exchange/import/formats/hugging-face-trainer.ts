/** `trainer_state.json` of Hugging Face's Trainer: everything it logged, in `log_history`. */
import { fileName, folderOf, type InputFile } from '../../../codecs/input.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { readJsonItems } from '../../../codecs/json/json-items.ts';

/** Facts about the whole run rather than a step: in the summary row at the end, and in every evaluation. */
const SUMMARY_NAMES = new Set([
  'train_runtime',
  'train_samples_per_second',
  'train_steps_per_second',
  'total_flos',
  'train_loss',
]);
const PLACE_NAMES = new Set(['step', 'epoch']);

/** Hugging Face's Trainer. */
export const huggingFaceTrainer: Importer = {
  format: 'hugging_face_trainer',
  title: 'Hugging Face trainer_state.json',
  detect({ text, file }) {
    if (!/^\s*\{/.test(text)) return 0;
    if (text.includes('"log_history"')) return 1;
    return fileName(file.path) === 'trainer_state.json' ? 0.9 : 0;
  },
  async read(files, context) {
    for (const file of files) await readState(file, context);
  },
};

async function readState(file: InputFile, context: ImportContext): Promise<void> {
  const folder = folderOf(file.path);
  const facts = new Map<string, unknown>();
  let sink: RunSink | undefined;
  const problem = (place: string, reason: string): void =>
    context.problem({ file: file.path, place, reason });
  for await (const part of readJsonItems(file, context.limits, problem)) {
    if (part.kind === 'value') facts.set(part.key, part.value);
    else if (part.key === 'log_history') {
      sink ??= await context.run({
        identity: file.path,
        name: fileName(folder) || 'trainer',
        tags: ['hugging_face'],
      });
      for (const [i, row] of part.items.entries()) {
        if (isObject(row)) pushRow(row, sink);
        else problem(`log_history[${part.index + i}]`, 'It is no object.');
      }
      if (sink.isFull) await sink.flush();
    } else if (part.key !== null && part.index === 0) facts.set(part.key, part.items);
  }
  if (sink === undefined)
    context.problem({
      file: file.path,
      place: null,
      reason: 'There is no list called log_history in it.',
    });
  else sink.config(Object.fromEntries(facts));
}

function pushRow(row: Readonly<Record<string, unknown>>, sink: RunSink): void {
  const step = numberOf(row['step']);
  const epoch = numberOf(row['epoch']);
  // The Trainer counts epochs in fractions: the record has the whole ones, and the fractions are a metric.
  const lap = Number.isFinite(epoch) ? Math.floor(epoch) : Number.NaN;
  const isSummary = 'train_runtime' in row && !('eval_runtime' in row);
  if (!isSummary && Number.isFinite(epoch))
    sink.push(sink.metric('train/epoch'), epoch, step, lap, Number.NaN);
  for (const [name, value] of Object.entries(row)) {
    if (PLACE_NAMES.has(name)) continue;
    const number = numberOf(value);
    if (typeof value !== 'number' && !isNumberText(value)) continue;
    const metric =
      isSummary && SUMMARY_NAMES.has(name) ? `summary/${name}` : trainerName(name, isSummary);
    sink.push(sink.metric(metric), number, step, lap, Number.NaN);
  }
}

/** Evaluations of several sets are called `eval_<set>_loss`; training logs have bare names. */
function trainerName(name: string, isSummary: boolean): string {
  if (name.startsWith('eval_')) return `eval/${name.slice('eval_'.length)}`;
  if (isSummary) return `summary/${name}`;
  return name;
}

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  return isNumberText(value) ? Number(value) : Number.NaN;
}

function isNumberText(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    /^[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+|NaN|Infinity)$/i.test(value)
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
