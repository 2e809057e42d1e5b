/** Real logs against what a careful reader counted in them, where they are at hand: `../shared/data/runs` has a manifest. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { importText, type ImportedForTest } from '../../support/imported.ts';

const root = fileURLToPath(new URL('../../../../shared/data/runs/', import.meta.url));
const isThere = existsSync(join(root, 'manifest.json'));

type Entry = {
  readonly id: string;
  readonly format: string;
  readonly dir: string;
  readonly x_unit: string;
  readonly columns: Readonly<Record<string, number>>;
  readonly reference: Readonly<Record<string, unknown>>;
};

type Reference = {
  readonly key: string;
  readonly first: number;
  readonly first_x: number;
  readonly last: number;
  readonly last_x: number;
  readonly mean: number;
};

/** Names of the manifest that are not those of the file. */
const NAMES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  text_log: {
    train_loss: ['trl', 'train/loss'],
    val_loss: ['tel', 'val/loss'],
    grad_norm: ['norm'],
    train_acc: ['train/acc'],
    val_acc: ['val/acc'],
  },
  megatron_log: { 'valid lm loss': ['val/lm loss value'] },
};
const FORMATS = new Set([
  'lightning_csv',
  'yolo_results',
  'text_log',
  'megatron_log',
  'hf_trainer_state',
]);
/** Binary files beside the text are another importer's. */
const LEFT_OUT = /\.tfevents\./;

const entries: readonly Entry[] = isThere
  ? (JSON.parse(readFileSync(join(root, 'manifest.json'), 'utf8')) as { entries: Entry[] }).entries
  : [];

describe.skipIf(!isThere)('real runs (skipped where ../shared is missing)', () => {
  for (const entry of entries.filter(({ format }) => FORMATS.has(format))) {
    test(entry.id, async () => {
      const { report, runs } = await importText(filesIn(join(root, entry.dir)));
      expect(report.unknownFiles).toEqual([]);
      expect(report.problems).toEqual([]);
      expect(runs).toHaveLength(1);
      const [run] = runs;
      if (run === undefined) return;
      const counts: Record<string, number> = {};
      for (const name of Object.keys(entry.columns))
        if (name !== 'epoch') counts[name] = samples(run, name, entry.format).length;
      const { epoch: _, ...expected } = entry.columns;
      expect(counts).toEqual(expected);
      for (const reference of Object.values(entry.reference)) checkReference(run, entry, reference);
    });
  }
});

function checkReference(
  run: ImportedForTest,
  { format, x_unit: unit }: Entry,
  reference: unknown,
): void {
  if (typeof reference !== 'object' || reference === null || !('key' in reference)) return;
  const { key, first, first_x, last, last_x, mean } = reference as Reference;
  const found = samples(run, key, format);
  const x = unit === 'epoch' ? 1 : 0;
  expect([found[0]?.[2], found[0]?.[x]]).toEqual([first, first_x]);
  expect([found.at(-1)?.[2], found.at(-1)?.[x]]).toEqual([last, last_x]);
  const sum = found.reduce((total, [, , value]) => total + value, 0);
  expect(sum / found.length).toBeCloseTo(mean, 9);
}

function samples(run: ImportedForTest, name: string, format: string) {
  const names = NAMES[format]?.[name] ?? [name, name.replace(/^eval_/, 'eval/')];
  const found = names.find((original) => run.keys[original] !== undefined);
  return run.metrics[run.keys[found ?? ''] ?? ''] ?? [];
}

function filesIn(folder: string): Record<string, Uint8Array<ArrayBuffer>> {
  const files: Record<string, Uint8Array<ArrayBuffer>> = {};
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name);
    if (statSync(path).isFile() && !LEFT_OUT.test(name))
      files[relative(folder, path)] = new Uint8Array(readFileSync(path));
  }
  return files;
}
