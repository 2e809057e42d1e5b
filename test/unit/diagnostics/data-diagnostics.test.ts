import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { longTest } from '../../support/long.ts';
import {
  createMemoryStore,
  EventLogger,
  openRun,
  SessionStoreError,
  startRun,
  type Store,
  type TrainingSession,
} from 'quark-sdk';
import { MappingBatchMetadataAdapter } from '../../../src/instruments/diagnostics/batch-metadata.ts';
import type { DataDiagnosticsConfig } from '../../../src/instruments/diagnostics/config.ts';
import { DataDiagnostics } from '../../../src/instruments/diagnostics/data-diagnostics.ts';
import { countLabels, MAX_CLASSES } from '../../../src/instruments/diagnostics/labels.ts';
import { runs } from '../../support/property.ts';

const open: Store[] = [];

afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

async function start(
  config: DataDiagnosticsConfig = {},
): Promise<{ session: TrainingSession; diagnostics: DataDiagnostics }> {
  const storage = createMemoryStore();
  open.push(storage);
  const session = await startRun({ project: 'data', storage });
  return { session, diagnostics: new DataDiagnostics(session, config) };
}

describe('labels', () => {
  test('are counted in whatever form they come', () => {
    const expected = { 0: 1, 1: 2, 2: 1 };
    const oneHot = [
      [0, 1, 0],
      [1, 0, 0],
      [0, 0, 1],
      [0, 0.7, 0.3],
    ];
    for (const labels of [
      [1, 0, 2, 1],
      Int32Array.of(1, 0, 2, 1),
      oneHot,
      oneHot.map((row) => Float32Array.from(row)),
      [[1], [0], [2], [1]],
      { shape: [4], data: Int32Array.of(1, 0, 2, 1) },
      { shape: [4, 1], dataSync: () => Float32Array.of(1, 0, 2, 1) },
      { shape: [4, 3], dataSync: () => Float32Array.from(oneHot.flat()) },
      { 2: 1, 1: 2, 0: 1 },
      new Map([
        [2, 1],
        [0, 1],
        [1, 2],
      ]),
    ])
      expect(countLabels('labels', labels)).toEqual(expected);
    expect(countLabels('labels', ['cat', 'dog', 'cat'])).toEqual({ cat: 2, dog: 1 });
    expect(countLabels('labels', [true, false, true])).toEqual({ false: 1, true: 2 });
    expect(countLabels('labels', [])).toEqual({});
    const mixed = new Map<string | number, number>([
      [1, 3],
      ['1', 2],
    ]);
    expect(countLabels('labels', mixed)).toEqual({ 1: 5 });
  });

  test('one-hot rows say the same as the labels they were made of', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 50 }), (labels) => {
        const flat = new Float32Array(labels.length * 8);
        labels.forEach((label, i) => {
          flat[i * 8 + label] = 1;
        });
        const tensor = { shape: [labels.length, 8], data: flat };
        expect(countLabels('labels', tensor)).toEqual(countLabels('labels', labels));
      }),
      runs(100),
    );
  });

  test('that are none are refused by name', () => {
    for (const labels of [new Set([1, 2]), Promise.resolve([1]), new Date()])
      expect(() => countLabels('labels', labels)).toThrow(/labels/);
    const count = (labels: unknown) => () => countLabels('labels', labels);
    expect(count('cat')).toThrow(/labels/);
    expect(count([1, Number.NaN])).toThrow(/labels\[1\]/);
    expect(count([[1, 'x']])).toThrow(/labels\[0\]/);
    expect(count([[]])).toThrow(/labels\[0\]/);
    expect(count({ a: -1 })).toThrow(/labels\.a/);
    expect(count({ shape: [2, 3], data: [1, 2] })).toThrow(/labels\.data\.length/);
    expect(count({ shape: [2, 3, 4], data: new Float32Array(24) })).toThrow(/labels\.shape/);
    expect(count({ shape: [2] })).toThrow(/labels\.data/);
    expect(count(Int32Array.from({ length: MAX_CLASSES + 1 }, (_, i) => i))).toThrow(/classes/);
  });
});

describe('recording', () => {
  test('fields, an adapter and both together', async () => {
    const { session, diagnostics } = await start({
      adapter: new MappingBatchMetadataAdapter({
        sampleIdKey: 'ids',
        labelKey: 'ys',
        sequenceLengthKey: 'lengths',
        metadataKeys: ['loader', 'absent'],
      }),
    });
    const batch = {
      ids: ['a', 'b'],
      ys: [1, 1],
      lengths: [3, 9],
      loader: 'train',
      xs: new Float32Array(100),
    };
    expect(diagnostics.logBatch(0.5, { step: 0, epoch: 0, batch })).toMatchObject({
      loss: 0.5,
      batchSize: 2,
      sampleIds: ['a', 'b'],
      classCounts: { 1: 2 },
      sequenceLengths: [3, 9],
      metadata: { loader: 'train' },
    });
    diagnostics.logBatch(0.4, {
      step: 1,
      batch: new Map<string, unknown>([['ys', [0, 1, 2]]]),
      labels: ['x'],
      batchSize: 3,
    });
    diagnostics.logBatch(Number.NaN, { step: 2 });
    const records = await diagnostics.read();
    expect(records.map((record) => record.toDict())).toMatchObject([
      { step: 0, epoch: 0, class_counts: { 1: 2 }, sequence_lengths: [3, 9] },
      { step: 1, batch_size: 3, class_counts: { x: 1 }, sample_ids: null },
      { step: 2, loss: Number.NaN, batch_size: null, class_counts: null, metadata: null },
    ]);
    expect((await diagnostics.read({ sampleId: 'b' })).map(({ step }) => step)).toEqual([0]);
    expect((await diagnostics.read({ stepMin: 1, limit: 1 })).map(({ step }) => step)).toEqual([2]);
    await session.close();
    expect(() => diagnostics.logBatch(1)).toThrow(/closed|ended/);
    expect(await diagnostics.read()).toHaveLength(3);
  });

  test('ids and lengths may be tensors, as tf.data makes them', async () => {
    const { session, diagnostics } = await start({
      adapter: new MappingBatchMetadataAdapter({ sampleIdKey: 'ids', sequenceLengthKey: 'n' }),
    });
    const batch = {
      ids: { shape: [2], dataSync: () => Int32Array.of(7, 9) },
      n: { shape: [2, 1], dataSync: () => Float32Array.of(3, 5) },
    };
    expect(diagnostics.logBatch(1, { batch })).toMatchObject({
      batchSize: 2,
      sampleIds: ['7', '9'],
      sequenceLengths: [3, 5],
    });
    const wide = { shape: [1, 2], dataSync: () => Float32Array.of(3, 5) };
    expect(() => diagnostics.logBatch(1, { sequenceLengths: wide })).toThrow(/shape.*\[1,2\]/);
    await session.close();
  });

  longTest('large ones are counted by what they hold while the store fails', async () => {
    const storage = createMemoryStore();
    open.push(storage);
    const session = await startRun({ project: 'data', storage });
    const diagnostics = new DataDiagnostics(session, { batchSize: 1000 });
    const refuse = (): never => {
      throw new SessionStoreError('full', 'The disk is full.');
    };
    vi.spyOn(storage, 'appendSegments').mockImplementation(refuse);
    vi.spyOn(storage, 'appendSegmentsNow').mockImplementation(refuse);
    const sampleIds = ['x'.repeat(4 << 20)];
    for (let step = 0; step < 80; step++) diagnostics.logBatch(1, { step, sampleIds });
    expect(diagnostics.status.droppedRows).toBeGreaterThan(0);
    vi.restoreAllMocks();
    await session.close();
  });

  test("an adapter of one's own", async () => {
    const { session, diagnostics } = await start({
      adapter: {
        extractBatchMetadata(batch) {
          const [inputs, targets, ids] = batch as [number[], number[], number[]];
          return { batchSize: inputs.length, classCounts: targets, sampleIds: ids };
        },
      },
    });
    const record = diagnostics.logBatch(1, {
      batch: [
        [1, 2],
        [0, 1],
        [7, 8],
      ],
    });
    expect(record).toMatchObject({
      batchSize: 2,
      classCounts: { 0: 1, 1: 1 },
      sampleIds: ['7', '8'],
    });
    await session.close();
  });

  test('an adapter that fails is reported once, and the losses are recorded', async () => {
    const storage = createMemoryStore();
    open.push(storage);
    for (const strictMode of [false, true]) {
      const session = await startRun({ project: 'data', storage, strictMode });
      let call = 0;
      const diagnostics = new DataDiagnostics(session, {
        adapter: {
          extractBatchMetadata() {
            if (call++ === 0) throw new Error('no such column');
            return { sampleIds: 7 as unknown as string[] };
          },
        },
      });
      const log = (step: number) => () => diagnostics.logBatch(0.5, { step, batch: {} });
      if (strictMode) {
        expect(log(0)).toThrow('no such column');
        expect(log(1)).toThrow(/sampleIds/);
      } else {
        log(0)();
        log(1)();
        const records = await diagnostics.read();
        expect(records.map(({ step, loss, sampleIds }) => [step, loss, sampleIds])).toEqual([
          [0, 0.5, null],
          [1, 0.5, null],
        ]);
      }
      await session.close();
      const events = await (
        await openRun(storage, session.runId)
      ).readEvents({ eventType: 'data_diagnostics_warning' });
      expect(events).toHaveLength(strictMode ? 0 : 1);
    }
  });

  test('a tensor that is gone is reported once, and the losses are recorded', async () => {
    const gone = {
      shape: [2],
      dataSync: (): never => {
        throw new Error('Tensor is disposed.');
      },
    };
    const { session, diagnostics } = await start();
    for (const options of [{ labels: gone }, { sampleIds: gone }, { sequenceLengths: gone }])
      diagnostics.logBatch(0.5, { ...options, batchSize: 2, step: 3, metadata: { kept: true } });
    const batches = await diagnostics.read();
    expect(batches).toHaveLength(3);
    for (const batch of batches)
      expect(batch).toMatchObject({ loss: 0.5, batchSize: 2, classCounts: null, step: 3 });
    expect(batches[0]?.metadata).toEqual({ kept: true });
    await session.flush();
    const events = new EventLogger(session);
    const [event, ...more] = await events.read({ eventType: 'data_diagnostics_warning' });
    expect(more).toStrictEqual([]);
    expect(event).toMatchObject({
      step: 3,
      payload: {
        reason: 'unreadable_tensor',
        message: expect.stringMatching(/The tensor labels could not be read: Tensor is disposed/),
      },
    });
    await session.close();

    const strict = await startRun({
      project: 'data',
      storage: createMemoryStore(),
      strictMode: true,
    });
    expect(() => new DataDiagnostics(strict).logBatch(1, { labels: gone })).toThrow(
      expect.objectContaining({ code: 'probe_failed' }),
    );
    await strict.close();
  });

  test('an adapter that answers later is reported', async () => {
    const extractBatchMetadata = async (): Promise<object> => ({ batchSize: 3 });
    const adapter = { extractBatchMetadata } as never;
    const { session, diagnostics } = await start({ adapter });
    diagnostics.logBatch(1, { batch: {} });
    await session.flush();
    const [event] = await new EventLogger(session).read({ eventType: 'data_diagnostics_warning' });
    expect(event?.payload?.['message']).toMatch(/must be the metadata itself/);
    await session.close();
  });

  test('bad input is refused by name, with nothing recorded', async () => {
    const { session, diagnostics } = await start();
    const log = (loss: unknown, options: object) => () =>
      diagnostics.logBatch(loss as number, options);
    expect(log('0.5', {})).toThrow(/loss/);
    expect(log(1, { batch: {} })).toThrow(/adapter/);
    expect(log(1, { batchSize: 1.5 })).toThrow(/batchSize/);
    expect(log(1, { sampleIds: [''] })).toThrow(/sampleIds\[0\]/);
    expect(log(1, { sequenceLengths: [3, -1] })).toThrow(/sequenceLengths\[1\]/);
    expect(log(1, { label: [1] })).toThrow(/label/);
    expect(log(1, { metadata: { f: () => 1 } })).toThrow(/metadata\.f/);
    expect(await diagnostics.read()).toHaveLength(0);
    await expect(diagnostics.findHardBatches({ limit: 0 })).rejects.toThrow(/limit/);
    for (const [config, name] of [
      [{ adapter: {} }, /adapter/],
      [{ outlierZScoreThreshold: 0 }, /outlierZScoreThreshold/],
      [{ outlierIqrMultiplier: Number.NaN }, /outlierIqrMultiplier/],
      [{ hardBatchPercentile: 90 }, /hardBatchPercentile/],
      [{ minBatchesForOutlierDetection: 0 }, /minBatchesForOutlierDetection/],
      [{ zScore: 1 }, /zScore/],
    ] as const)
      expect(() => new DataDiagnostics(session, config as DataDiagnosticsConfig)).toThrow(name);
    await session.close();
  });
});

describe('summaries', () => {
  test('find the hard batches, hardest first, with the reasons', async () => {
    const { session, diagnostics } = await start();
    for (let step = 0; step < 40; step++) {
      const loss = step === 20 ? Infinity : step === 30 ? 9 : 1 + 0.01 * (step % 7);
      diagnostics.logBatch(loss, {
        step,
        sampleIds: [`s${step % 25}`],
        labels: [step % 4 === 0 ? 1 : 0],
        sequenceLengths: [10, step === 10 ? 500 : 12 + (step % 3)],
      });
    }
    const summary = await diagnostics.summarize({ hardBatchLimit: null });
    expect(summary.batchCount).toBe(40);
    expect(summary.lossSummary).toMatchObject({
      batchCount: 40,
      nonFiniteCount: 1,
      min: 1,
      max: 9,
    });
    expect(summary.lossSummary?.mean).toBeCloseTo(
      Array.from({ length: 40 }, (_, i) =>
        i === 20 ? 0 : i === 30 ? 9 : 1 + 0.01 * (i % 7),
      ).reduce((a, b) => a + b) / 39,
      12,
    );
    const [first, second] = summary.hardBatches;
    expect(first).toMatchObject({ step: 20, reasons: ['non_finite_loss'], zScore: null });
    expect(second).toMatchObject({
      step: 30,
      reasons: ['loss_percentile', 'loss_z_score', 'loss_iqr'],
      sampleIds: ['s5'],
    });
    const long = summary.hardBatches.find(({ step }) => step === 10);
    expect(long?.reasons).toEqual(['sequence_length_z_score', 'sequence_length_iqr']);
    expect(summary.exposure).toMatchObject({
      sampleCount: 40,
      stepStart: 0,
      stepEnd: 39,
      classCounts: { 0: 30, 1: 10 },
      classShares: { 0: 0.75, 1: 0.25 },
      majorityClass: '0',
      minorityClass: '1',
      imbalanceRatio: 3,
      uniqueSampleCount: 25,
      repeatedSampleCount: 15,
      maxSampleExposure: 2,
      sequenceCount: 80,
      sequenceLengthMin: 10,
      sequenceLengthMax: 500,
    });
    expect(summary.toDict()).toMatchObject({ batch_count: 40, loss_summary: { batch_count: 40 } });
    expect(summary.toDict()['hard_batches']).toEqual(
      summary.hardBatches.map((finding) => finding.toDict()),
    );
    expect(await diagnostics.findHardBatches({ limit: 1 })).toEqual([first]);
    expect(await diagnostics.findHardBatches({ stepMax: 9 })).not.toContainEqual(first);
    await session.close();
  });

  test('few batches, equal losses and no batches at all have nothing hard in them', async () => {
    const { session, diagnostics } = await start();
    expect(await diagnostics.summarize()).toMatchObject({
      batchCount: 0,
      lossSummary: null,
      hardBatches: [],
      exposure: { majorityClass: null },
    });
    for (let step = 0; step < 4; step++) diagnostics.logBatch(step === 3 ? 100 : 1, { step });
    expect(await diagnostics.findHardBatches()).toEqual([]);
    await session.close();
    const other = await start();
    for (let step = 0; step < 50; step++) other.diagnostics.logBatch(0.7, { step });
    expect(await other.diagnostics.findHardBatches()).toEqual([]);
    await other.session.close();
  });

  test('the hard batches are the same when all losses are multiplied', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 5, maxLength: 60 }),
        fc.constantFrom(0.5, 4, 1024),
        async (losses, factor) => {
          const find = async (scale: number): Promise<(number | null)[]> => {
            const { session, diagnostics } = await start();
            losses.forEach((loss, step) => diagnostics.logBatch(loss * scale, { step }));
            const steps = (await diagnostics.findHardBatches({ limit: null })).map(
              ({ step }) => step,
            );
            await session.close();
            return steps;
          };
          expect(await find(factor)).toEqual(await find(1));
        },
      ),
      runs(8),
    );
  });
});

test('a closed writer says so', async () => {
  const { session, diagnostics } = await start();
  await diagnostics.close();
  expect(() => diagnostics.logBatch(1)).toThrow(expect.objectContaining({ code: 'writer_closed' }));
  await session.close();
});
