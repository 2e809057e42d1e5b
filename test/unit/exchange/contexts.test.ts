/** Series of one metric in several contexts: what each export has of them, and what comes back. */
import { expect, test } from 'vitest';
import {
  exportMetricsCsv,
  exportMlflow,
  exportQuark,
  exportTableParquet,
  exportTensorBoard,
} from '../../../src/exchange.ts';
import { openRun, type RunReader } from '../../../src/read/run-reader.ts';
import { MetricsLogger } from '../../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { importText } from '../../support/imported.ts';
import { bytesOf } from '../../support/recorded-run.ts';

type Files = Record<string, Uint8Array<ArrayBuffer>>;

const SERIES = [
  'train/loss {subset=train}',
  'train/loss {subset=val}',
  'train/loss {subset="a/b, c=\\"d\\""}',
  'train/loss',
  'train/loss {fold=1, subset=val}',
  'train/loss {subset=a_b}',
];

async function recorded(): Promise<RunReader> {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({
    project: 'digits',
    storage: store,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  const contexts = [
    { subset: 'train' },
    { subset: 'val' },
    { subset: 'a/b, c="d"' },
    {},
    { subset: 'val', fold: 1 },
    { subset: 'a_b' },
  ];
  for (const [i, context] of contexts.entries())
    for (let step = 0; step <= i; step++)
      metrics.log('train/loss', 8 * i + step, { step, context });
  await session.endRun();
  return openRun(store, session.runId);
}

/** Values of each series, as they come back. */
async function back(files: Files): Promise<Record<string, unknown>> {
  const { runs } = await importText(files);
  expect(runs).toHaveLength(1);
  return Object.fromEntries(
    Object.entries(runs[0]?.metrics ?? {}).map(([key, rows]) => [key, rows.map(([, , v]) => v)]),
  );
}

const expected = Object.fromEntries(
  SERIES.map((key, i) => [key, Array.from({ length: i + 1 }, (_, step) => 8 * i + step)]),
);

const EXPORTS: Readonly<Record<string, (reader: RunReader) => Promise<Files>>> = {
  tensorboard: async (reader) => ({
    'events.out.tfevents.1.x': await bytesOf(exportTensorBoard(reader)),
  }),
  quark: async (reader) => ({ 'run.quark': await bytesOf(exportQuark(reader)) }),
  parquet: async (reader) => ({
    'metrics.parquet': await bytesOf(exportTableParquet(reader, 'metrics')),
  }),
  csv: async (reader) => {
    let text = '';
    for await (const piece of exportMetricsCsv(reader)) text += piece;
    return { 'metrics.csv': new TextEncoder().encode(text) };
  },
  mlflow: async (reader) => {
    const files: Files = {};
    for await (const { path, pieces } of exportMlflow(reader))
      files[`mlruns/${path}`] = await bytesOf(pieces);
    return files;
  },
};

test.each(Object.keys(EXPORTS))(
  '%s brings series of contexts back as they were',
  async (format) => {
    const files = (await EXPORTS[format]?.(await recorded())) ?? {};
    expect(await back(files)).toEqual(expected);
  },
);

test('an MLflow file store has contexts as the ends of paths, as live mirrors have them', async () => {
  const files = (await EXPORTS['mlflow']?.(await recorded())) ?? {};
  const paths = Object.keys(files).flatMap((path) => /\/metrics\/(.*)$/.exec(path)?.[1] ?? []);
  expect(paths.sort()).toEqual([
    'train/loss/fold.1/subset.val',
    'train/loss/subset.a_b',
    'train/loss/subset.a_b_ c_d_',
    'train/loss/subset.train',
    'train/loss/subset.val',
    'train/loss_',
  ]);
});
