import * as tf from '@tensorflow/tfjs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
import {
  AnalyzerEngine,
  createBatchColumns,
  createMetricSeries,
  createRunColumns,
  evidenceOf,
  findHardBatches,
  loadRunColumns,
  tabulateHardBatches,
  type BatchRow,
} from 'quark-sdk/analysis';
import { DataDiagnostics } from 'quark-sdk/probes';
import { uniformSumAtMost } from '../../../../src/analysis/batches/chance.ts';
import { normal, random } from '../../../support/analysis-runs.ts';
import { runs } from '../../../support/property.ts';

type Loader = {
  readonly seed: number;
  readonly samples: number;
  readonly batchSize: number;
  readonly epochs: number;
  /** Loss of a sample in an epoch. */
  readonly lossOf: (sample: number, epoch: number, gauss: () => number) => number;
  readonly isFixed?: boolean;
};

/** Batches of a loader that shuffles each epoch: the mean loss of their samples. */
function batchesOf({ batchSize, epochs, isFixed, lossOf, samples, seed }: Loader): BatchRow[] {
  const next = random(seed);
  const gauss = normal(seed + 1);
  const order = Array.from({ length: samples }, (_, i) => i);
  const rows: BatchRow[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (let i = isFixed === true ? 0 : samples - 1; i > 0; i--) {
      const j = Math.floor(next() * (i + 1));
      [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
    }
    for (let from = 0; from < samples; from += batchSize) {
      const ids = order.slice(from, from + batchSize);
      const loss = ids.reduce((sum, id) => sum + lossOf(id, epoch, gauss) / ids.length, 0);
      const classCounts = {
        even: ids.filter((id) => id % 4 > 0).length,
        rare: ids.filter((id) => id % 4 === 0).length,
      };
      rows.push({
        step: rows.length,
        epoch,
        loss,
        sampleIds: ids.map((id) => `s${id}`),
        classCounts,
      });
    }
  }
  return rows;
}

const find = (rows: readonly BatchRow[]) =>
  findHardBatches(createRunColumns({ batches: createBatchColumns(rows) }));

/** Losses of samples as cross-entropy has them: positive, with a long tail. */
const healthy = (_sample: number, epoch: number, gauss: () => number): number =>
  (0.05 + 0.6 * Math.exp(-epoch / 3)) * Math.exp(0.8 * gauss());

describe('samples', () => {
  test('the sum of uniform numbers has the distribution that counting gives', () => {
    expect(uniformSumAtMost(0.5, 1)).toBeCloseTo(0.5, 12);
    expect(uniformSumAtMost(1, 2)).toBeCloseTo(0.5, 12);
    expect(uniformSumAtMost(0.1, 3)).toBeCloseTo(0.001 / 6, 15);
    expect(uniformSumAtMost(2.5, 3)).toBeCloseTo(1 - 0.125 / 6, 12);
    // Thirty terms and the normal law beyond meet.
    expect(uniformSumAtMost(9, 30) / uniformSumAtMost(9 * (31 / 30) - 0.04, 31)).toBeCloseTo(1, 0);
    const next = random(3);
    let below = 0;
    for (let i = 0; i < 100_000; i++) {
      let sum = 0;
      for (let j = 0; j < 12; j++) sum += next();
      if (sum <= 4) below++;
    }
    expect(below / 100_000 / uniformSumAtMost(4, 12)).toBeCloseTo(1, 1);
  });

  test('a few that are never learned are named, and nothing else', () => {
    const bad = new Set([7, 120, 301]);
    const rows = batchesOf({
      seed: 5,
      samples: 400,
      batchSize: 16,
      epochs: 15,
      lossOf: (id, epoch, gauss) => (bad.has(id) ? 4 : healthy(id, epoch, gauss)),
    });
    const { batches, isShuffled, samples, testedSampleCount } = find(rows);
    expect(isShuffled).toBe(true);
    expect(testedSampleCount).toBe(400);
    expect(samples.map(({ sampleId }) => sampleId).toSorted()).toEqual(['s120', 's301', 's7']);
    for (const { batchCount, hardBatchCount, loss, pValue, together } of samples) {
      expect(batchCount).toBe(15);
      expect(hardBatchCount).toBeGreaterThan(6);
      expect(loss).toBeGreaterThan(2.5);
      expect(loss).toBeLessThan(6);
      expect(pValue).toBeLessThan(0.01);
      expect(together).toEqual([]);
    }
    expect(JSON.parse(JSON.stringify(find(rows).toDict()))).toMatchObject({
      batch_count: 375,
      is_shuffled: true,
      samples: [{ batch_count: 15 }, {}, {}],
    });
    for (const { hardSampleIds } of batches) expect(hardSampleIds.length).toBeGreaterThan(0);
  });

  test('chance names one in a hundred runs', () => {
    let named = 0;
    let asked = 0;
    fc.assert(
      fc.property(
        fc.record({
          seed: fc.integer({ min: 1, max: 1e9 }),
          samples: fc.integer({ min: 20, max: 300 }),
          batchSize: fc.integer({ min: 2, max: 32 }),
          epochs: fc.integer({ min: 2, max: 20 }),
        }),
        (loader) => {
          asked++;
          const { classes, samples } = find(batchesOf({ ...loader, lossOf: healthy }));
          if (samples.length + classes.length > 0) named++;
        },
      ),
      runs(200),
    );
    // The chance of more than this many is below 1e-6 at the promised rate of 0.01 each.
    expect(named).toBeLessThan(0.02 * asked + 6 * Math.sqrt(0.02 * asked) + 3);
  });

  test('the ranks of chance are told apart without the further conditions', () => {
    // Significance alone: the outlier conditions must not be what keeps the rate.
    let named = 0;
    for (let seed = 1; seed <= 200; seed++) {
      const rows = batchesOf({
        seed,
        samples: 100,
        batchSize: 8,
        epochs: 12,
        lossOf: (_id, _epoch, gauss) => gauss(),
      });
      const columns = createRunColumns({ batches: createBatchColumns(rows) });
      const { samples } = findHardBatches(columns, { significance: 0.2, minDeviations: 1e-9 });
      if (samples.length > 0) named++;
    }
    // 40 of 200 are promised at most; five standard deviations above.
    expect(named).toBeLessThanOrEqual(40 + 5 * Math.sqrt(32));
    // And not because nothing is ever named.
    expect(named).toBeGreaterThan(4);
  });

  test('of batches that are always the same the batch is named, and that nobody can tell the sample', () => {
    const rows = batchesOf({
      seed: 5,
      samples: 400,
      batchSize: 16,
      epochs: 15,
      isFixed: true,
      lossOf: (id, epoch, gauss) => (id === 7 ? 4 : healthy(id, epoch, gauss)),
    });
    const found = find(rows);
    const { batches, isShuffled, samples } = found;
    expect(isShuffled).toBe(false);
    expect(batches[0]?.sampleIds).toContain('s7');
    expect(tabulateHardBatches(found)[0]?.note).toContain('shuffle them');
    expect(samples.length).toBeLessThanOrEqual(1);
    for (const { sampleId, together } of samples) {
      expect([sampleId, ...together]).toContain('s7');
      expect(together).toHaveLength(15);
    }
  });

  test('one that is always with another is named with it', () => {
    const rows = batchesOf({
      seed: 9,
      samples: 300,
      batchSize: 10,
      epochs: 20,
      lossOf: (id, epoch, gauss) => (id === 3 ? 5 : healthy(id, epoch, gauss)),
    }).map((row) => ({
      ...row,
      sampleIds: row.sampleIds?.flatMap((id) => (id === 's3' ? ['s3', 'twin'] : [id])),
    }));
    const { samples } = find(rows);
    expect(samples.map(({ sampleId, together }) => [sampleId, together])).toEqual([
      ['s3', ['twin']],
    ]);
  });

  test('the unit of the loss and the order of rows do not matter', () => {
    const rows = batchesOf({
      seed: 5,
      samples: 200,
      batchSize: 8,
      epochs: 12,
      lossOf: (id, epoch, gauss) => (id === 7 ? 4 : healthy(id, epoch, gauss)),
    });
    const names = (list: readonly BatchRow[]) => find(list).samples.map(({ sampleId }) => sampleId);
    const scaled = rows.map((row) => ({ ...row, loss: row.loss * 1024 - 3 }));
    expect(names(rows)).toEqual(['s7']);
    expect(names(scaled)).toEqual(['s7']);
    expect(names(rows.toReversed())).toEqual(['s7']);
  });
});

test('a class that costs more is named with both losses', () => {
  const loader = { seed: 4, samples: 640, batchSize: 16, epochs: 20 };
  const rows = batchesOf({
    ...loader,
    lossOf: (id, epoch, gauss) => healthy(id, epoch, gauss) * (id % 4 === 0 ? 4 : 1),
  });
  const { classes } = find(rows);
  expect(classes).toHaveLength(1);
  const [rare] = classes;
  expect(rare).toMatchObject({ className: 'rare' });
  expect(rare?.share).toBeCloseTo(0.25, 10);
  expect(rare?.hardShare).toBeGreaterThan(0.3);
  expect((rare?.loss ?? 0) / (rare?.otherLoss ?? 1)).toBeGreaterThan(2.5);
  expect((rare?.loss ?? 0) / (rare?.otherLoss ?? 1)).toBeLessThan(6);
});

test('a class of few batches is named with what it costs, however quiet the others are', () => {
  // One sample of 80, or of 20, is of the class: far more spreads above the level than a single outlier may count.
  for (const every of [80, 20]) {
    for (const noise of [0, 0.01, 0.1]) {
      const isHard = (id: number): boolean => id % every === 0;
      const rows = batchesOf({
        seed: 4,
        samples: 640,
        batchSize: 16,
        epochs: 20,
        lossOf: (id, _epoch, gauss) => 0.02 * (isHard(id) ? 50 : 1) * (1 + noise * gauss()),
      }).map((row) => {
        const hard = row.sampleIds?.filter((id) => isHard(Number(String(id).slice(1)))).length ?? 0;
        return { ...row, classCounts: { hard, other: 16 - hard } };
      });
      const [hard, ...others] = find(rows).classes;
      expect([hard?.className, others]).toEqual(['hard', []]);
      expect(hard?.loss).toBeGreaterThan(0.9);
      expect(hard?.loss).toBeLessThan(1.1);
      expect(hard?.otherLoss).toBeLessThan(0.06);
    }
  }
});

describe('batches', () => {
  test('nothing recorded, a batch, all the same, none finite', () => {
    expect(find([])).toMatchObject({ batchCount: 0, isShuffled: null, batches: [], samples: [] });
    expect(find([{ loss: 1, sampleIds: ['a'] }]).batches).toEqual([]);
    const same = Array.from({ length: 50 }, (_, step) => ({
      loss: 1,
      step,
      sampleIds: [step % 5],
    }));
    expect(find(same)).toMatchObject({ batches: [], samples: [], classes: [] });
    const broken = find(same.map((row) => ({ ...row, loss: Number.NaN })));
    expect(broken.batches).toHaveLength(50);
    expect(broken.batches[0]).toMatchObject({
      step: 0,
      usualLoss: null,
      deviations: null,
      sampleIds: ['0'],
    });
  });

  test('options and rows are checked', () => {
    const columns = createRunColumns({});
    expect(() => findHardBatches(columns, { significance: 1 })).toThrow(/options\.significance/);
    expect(() => findHardBatches(columns, { minDeviations: 0 })).toThrow(/options\.minDeviations/);
    expect(() => findHardBatches(columns, { limits: 3 } as object)).toThrow(/limits/);
    expect(() => createBatchColumns([{ loss: 1, step: 'x' as unknown as number }])).toThrow(
      /rows\[0\]\.step/,
    );
  });

  test('a spike is traced to the batch of its step, also where the loss is logged every tenth step', () => {
    const gauss = normal(2);
    const rows: BatchRow[] = Array.from({ length: 3000 }, (_, step) => ({
      step,
      loss: step === 1994 ? 60 : 1 + 0.02 * gauss(),
      sampleIds: [`a${step}`, `b${step}`],
      classCounts: { cat: 1, dog: 1 },
    }));
    for (const every of [1, 10]) {
      const steps = Array.from({ length: 3000 / every }, (_, i) => (i + 1) * every - 1);
      const values = steps.map(
        (step) =>
          rows.slice(step - every + 1, step + 1).reduce((sum, { loss }) => sum + loss, 0) / every,
      );
      const columns = createRunColumns({
        batches: createBatchColumns(rows),
        metrics: [createMetricSeries('train/loss', { steps, values })],
      });
      const { batches, spikes } = findHardBatches(columns);
      expect(spikes).toHaveLength(1);
      expect(spikes[0]).toMatchObject({
        metricKey: 'train/loss',
        step: every === 1 ? 1994 : 1999,
        batch: {
          step: 1994,
          loss: 60,
          sampleIds: ['a1994', 'b1994'],
          classCounts: { cat: 1, dog: 1 },
        },
      });
      expect(batches.map(({ step }) => step)).toEqual([1994]);
    }
  });
});

describe('training with TensorFlow.js', () => {
  /** Blobs of three classes; labels of some samples are of another class. */
  async function train(mislabelled: ReadonlySet<number>, seed: number) {
    const gauss = normal(seed);
    const next = random(seed);
    const samples = 240;
    const batchSize = 12;
    const centres = [
      [3, 0],
      [-2, 3],
      [-2, -3],
    ];
    const points = Array.from({ length: samples }, (_, i) =>
      (centres[i % 3] ?? []).map((at) => at + 0.6 * gauss()),
    );
    const labels = points.map((_, i) => (mislabelled.has(i) ? (i + 1) % 3 : i % 3));
    const store = createMemoryStore();
    const session = await TrainingSession.startRun({ project: 'blobs', storage: store });
    const metrics = new MetricsLogger(session);
    const diagnostics = new DataDiagnostics(session);
    const model = tf.sequential({
      layers: [
        tf.layers.dense({
          units: 8,
          activation: 'tanh',
          inputShape: [2],
          kernelInitializer: tf.initializers.glorotUniform({ seed }),
        }),
        tf.layers.dense({
          units: 3,
          activation: 'softmax',
          kernelInitializer: tf.initializers.glorotUniform({ seed: seed + 1 }),
        }),
      ],
    });
    model.compile({ optimizer: tf.train.adam(0.02), loss: 'sparseCategoricalCrossentropy' });
    const order = Array.from({ length: samples }, (_, i) => i);
    let step = 0;
    for (let epoch = 0; epoch < 12; epoch++) {
      for (let i = samples - 1; i > 0; i--) {
        const j = Math.floor(next() * (i + 1));
        [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
      }
      for (let from = 0; from < samples; from += batchSize) {
        const ids = order.slice(from, from + batchSize);
        const x = tf.tensor2d(ids.map((id) => points[id] ?? []));
        const own = ids.map((id) => labels[id] ?? 0);
        const y = tf.tensor1d(own);
        const loss = Number(await model.trainOnBatch(x, y));
        metrics.log('train/loss', loss, { step });
        diagnostics.logBatch(loss, {
          step,
          epoch,
          labels: own,
          sampleIds: ids.map((id) => `image-${id}`),
        });
        tf.dispose([x, y]);
        step++;
      }
    }
    await session.endRun();
    model.dispose();
    return loadRunColumns(await openRun(store, session.runId));
  }

  test('mislabelled samples are named', async () => {
    const found = findHardBatches(await train(new Set([17, 90, 203]), 1));
    expect(found.samples.map(({ sampleId }) => sampleId).toSorted()).toEqual([
      'image-17',
      'image-203',
      'image-90',
    ]);
    expect(found.batchCount).toBe(240);
  });

  test('a healthy training names none', async () => {
    for (const seed of [1, 2, 3]) {
      const { samples, spikes } = findHardBatches(await train(new Set(), seed));
      expect([samples, spikes]).toEqual([[], []]);
    }
  });
});

test('alerts name the batch and its samples', async () => {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({ project: 'spike', storage: store });
  const metrics = new MetricsLogger(session);
  const diagnostics = new DataDiagnostics(session);
  const gauss = normal(3);
  for (let step = 0; step < 2000; step++) {
    const usual = 0.3 + 2 * Math.exp(-step / 150) + 0.01 * gauss();
    const loss = step === 1200 ? 6 : step >= 1900 ? Number.NaN : usual;
    metrics.log('train/loss', loss, { step });
    diagnostics.logBatch(loss, {
      step,
      labels: ['eel', 'cat'],
      sampleIds: [`x${step}`, `y${step}`],
    });
  }
  await session.flush();
  const { alerts } = await new AnalyzerEngine(session).analyze();
  const batchOf = (ruleId: string) =>
    evidenceOf(alerts.find((alert) => alert.ruleId === ruleId) ?? { evidence: [] }).find(
      ({ kind }) => kind === 'batch_diagnostic',
    );
  expect(batchOf('loss_spike')).toMatchObject({
    source: 'batch of step 1200',
    summary: 'The batch of step 1200 had loss 6, classes cat (1), eel (1), samples x1200, y1200.',
    metadata: { sample_ids: ['x1200', 'y1200'], sample_count: 2, class_counts: { eel: 1, cat: 1 } },
  });
  expect(batchOf('non_finite')).toMatchObject({
    source: 'batch of step 1900',
    metadata: { sample_ids: ['x1900', 'y1900'] },
  });
  await session.endRun();
});
