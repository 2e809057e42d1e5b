// How long do things take, and how long does the rest take? Timers, fewer samples of a metric, and the time that is left.
//
//   node examples/timers.mjs
//   npx quark-sdk show latest --storage-dir quark-runs
import { MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
import { readProgress, Timers } from 'quark-sdk/profiler';

const EPOCHS = 2;
const STEPS = 500;

await TrainingSession.run(
  { project: 'timers', storageDir: process.env.QUARK_STORAGE_DIR ?? 'quark-runs' },
  async (session) => {
    await session.setTotal({ epochs: EPOCHS + 1, stepsPerEpoch: STEPS });
    // The first batch compiles: it is left out.
    const timers = new Timers(session, { skip: 1 });
    const metrics = new MetricsLogger(session, {
      aggregate: {
        'train/loss': { kind: 'mean', every: 100 },
        'train/batch_size': { kind: 'ring', size: 10 },
        'train/gradient_norm': { kind: 'statistics', everySteps: STEPS },
        'train/lr': { kind: 'value', everySteps: 250 },
      },
    });
    for (let epoch = 0; epoch < EPOCHS; epoch++) {
      const whole = timers.start('epoch');
      for (let i = 0; i < STEPS; i++) {
        const at = { step: epoch * STEPS + i, epoch };
        const loss = timers.time('batch', () => 1 / (1 + Math.log1p(at.step)));
        metrics.log('train/loss', loss, at);
        metrics.log('train/batch_size', 32, at);
        metrics.log('train/gradient_norm', loss / 2, at);
        metrics.log('train/lr', 0.1 * 0.99 ** i, at);
      }
      // On a GPU the work goes on after the call: wait for it.
      await timers.timeDevice(
        'evaluate',
        () => ({ data: async () => [0.5] }),
        (tensor) => tensor.data(),
      );
      whole.stop();
    }
    await session.flush();
    const { count, meanMs, p99Ms } = timers.statistics('batch');
    console.log(
      `${count} batches, ${meanMs.toFixed(4)} ms each, 99 % within ${p99Ms.toFixed(4)} ms`,
    );
    const progress = await readProgress(await openRun(session.store, session.runId));
    console.log(`${Math.round(100 * progress.share)} % done`);
    console.log(`Run ${session.runId}`);
  },
);
