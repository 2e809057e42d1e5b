import { beforeEach, describe, expect, test } from 'vitest';
import {
  createMemoryStore,
  editRun,
  MetricsLogger,
  openRun,
  startRun,
  TrainingSession,
  type Store,
} from 'quark-sdk';
import { canonicalJson } from '../../../src/base/json.ts';
import { sha256OfText } from '../../../src/base/sha256.ts';

let store: Store;
let session: TrainingSession;

beforeEach(async () => {
  store = createMemoryStore();
  session = await startRun({
    project: 'digits',
    storage: store,
    strictMode: true,
    name: 'baseline',
    description: 'The first one.',
    notes: '# Notes\n\nNone.',
    groups: ['sweep', 'night', 'sweep'],
    jobType: 'train',
    config: { optimizer: { name: 'adam', lr: 0.1 } },
  });
});

test('a run has what it was started with', async () => {
  const { run } = await openRun(store, session.runId);
  expect(run).toMatchObject({
    name: 'baseline',
    description: 'The first one.',
    notes: '# Notes\n\nNone.',
    groups: ['sweep', 'night'],
    jobType: 'train',
    configHash: sha256OfText(canonicalJson({ optimizer: { lr: 0.1, name: 'adam' } })),
    configRevision: 1,
    metadata: {},
    summary: {},
  });
  expect(session.context.run.configRevision).toBe(1);
  const again = await startRun({
    project: 'digits',
    storage: store,
    config: { optimizer: { lr: 0.1, name: 'adam' } },
  });
  expect(again.context.run.configRevision).toBe(2);
  await Promise.all([again.close(), session.close()]);
});

test('two sessions that change one run lose nothing of each other', async () => {
  const other = await TrainingSession.attachRun({ storage: store, runId: session.runId });
  await Promise.all([
    session.updateConfig({ optimizer: { lr: 0.2 }, layers: 3 }),
    other.updateConfig({ optimizer: { decay: 0.01 } }),
    session.setMetadata({ host: { name: 'a' } }),
    other.setMetadata({ host: { gpus: 2 } }),
    session.summary({ bestAccuracy: 0.9 }),
    other.summary({ cost: 3.2 }),
    session.addTag('workers', 8),
    other.addTag('keep'),
  ]);
  await session.addTag('workers', 4);
  await other.removeTag('nothing');
  const { run } = await session.reload();
  expect(run.config).toEqual({
    optimizer: { name: 'adam', lr: 0.2, decay: 0.01 },
    layers: 3,
  });
  expect(run.configHash).toBe(sha256OfText(canonicalJson(run.config)));
  expect(run.configRevision).toBe(1);
  expect(run.metadata).toEqual({ host: { name: 'a', gpus: 2 } });
  expect(run.summary).toEqual({ bestAccuracy: 0.9, cost: 3.2 });
  expect([...run.tags].sort()).toEqual(['keep', 'workers=4']);
  await session.removeTag('workers');
  expect((await session.reload()).run.tags).toEqual(['keep']);
  await Promise.all([other.close(), session.close()]);
});

test('a run that has ended is described later', async () => {
  await session.endRun();
  const run = await editRun(store, session.runId, {
    name: 'final',
    notes: null,
    addTags: ['workers=8', 'best'],
  });
  expect(run).toMatchObject({ name: 'final', notes: null, description: 'The first one.' });
  await editRun(store, session.runId, { removeTags: ['workers'], groups: [] });
  expect((await openRun(store, session.runId)).run).toMatchObject({ tags: ['best'], groups: [] });
  // @ts-expect-error -- a name that is no option
  await expect(editRun(store, session.runId, { title: 'x' })).rejects.toThrow(/title/);
  await session.close();
});

describe('positions and contexts', () => {
  let metrics: MetricsLogger;
  beforeEach(() => {
    metrics = new MetricsLogger(session);
  });

  test('a step that is set is that of samples without one', async () => {
    expect(() => metrics.log('loss', 1)).toThrow(/step/);
    session.setStep(7);
    expect(metrics.log('loss', 1).step).toBe(7);
    expect(metrics.log('loss', 1, { epoch: 2 })).toMatchObject({ step: null, epoch: 2 });
    metrics.logMany({ a: 1, b: 2 });
    await session.close();
  });

  test('a value without a position is stored as one', async () => {
    metrics.log('cost', 3.2, { position: 'none' });
    expect(() => metrics.log('cost', 1, { position: 'none', step: 1 })).toThrow(/position/);
    await metrics.flush();
    const [record] = await metrics.read();
    expect(record).toMatchObject({ value: 3.2, step: null, epoch: null });
    await session.close();
  });

  test('two contexts at one step are two series', async () => {
    const train = metrics.withContext({ subset: 'train' });
    const val = train.withContext({ subset: 'val' }).at({ step: 1, epoch: 0 });
    train.log('loss', 1, { step: 1 });
    val.log('loss', 2);
    val.log('loss', 3, { context: { fold: 1 }, epoch: 1 });
    val.logMany({ 'a/f1': 4 });
    metrics.log('loss', 5, { step: 1 });
    metrics.logColumns('loss', [2], [6], { context: { subset: 'val' } });
    await metrics.flush();
    const reader = await openRun(store, session.runId);
    const { series } = await reader.readSeries();
    expect(series.map(({ key, values }) => [key, [...values]])).toEqual([
      ['loss {subset=train}', [1]],
      ['loss {subset=val}', [2, 6]],
      ['loss {fold=1, subset=val}', [3]],
      ['a/f1 {subset=val}', [4]],
      ['loss', [5]],
    ]);
    const records = await metrics.read({ metricName: 'loss' });
    expect(records.map(({ context }) => context)).toEqual([
      { subset: 'train' },
      { subset: 'val' },
      { fold: 1, subset: 'val' },
      null,
      { subset: 'val' },
    ]);
    expect(records[2]?.toDict()).toMatchObject({
      metric_key: 'loss {fold=1, subset=val}',
      metric_name: 'loss',
      context: { fold: 1, subset: 'val' },
      step: null,
      epoch: 1,
    });
    expect(records[3]?.toDict()).not.toHaveProperty('context');
    await session.close();
  });
});
