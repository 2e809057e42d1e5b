// Trainings of TensorFlow.js, in Node and in a page. `lib` is what is measured, `tf` the framework it is handed.
import { compare, longestGap, measureBlocks, nextTask, stopwatch, untimed } from './rounds.mjs';
import { convolutional, dense } from './networks.mjs';
import { openProbes, VARIANTS } from './variants.mjs';

export const NETWORKS = {
  'small dense': { make: dense([64, 32, 10], 64), shape: [32, 64] },
  convolutional: { make: convolutional, shape: [16, 16, 16, 1] },
  'larger dense': { make: dense([512, 512, 10], 256), shape: [64, 256] },
};

async function openTraining(lib, tf, { make, shape }, variant, isTimed = false, stepGapMs = 0) {
  const session = await lib.TrainingSession.startRun({
    project: 'overhead',
    storage: lib.createMemoryStore(),
    handleSignals: false,
  });
  const model = make(tf);
  const optimizer = tf.train.adam(0.001);
  const xs = tf.randomNormal(shape, 0, 1, 'float32', 1);
  const ys = tf.randomNormal([shape[0], 10], 0, 1, 'float32', 2);
  const loss = () => tf.losses.meanSquaredError(ys, model.apply(xs, { training: true }));
  const watch = (isTimed ? stopwatch : untimed)(lib.tfjsModel(tf, model, optimizer));
  const probes =
    variant?.every === undefined ? undefined : openProbes(lib, session, watch, variant);
  const telemetry = variant?.telemetry ? new lib.SystemTelemetry(session, { tf }) : undefined;
  const isOnDevice = !['cpu', 'wasm'].includes(tf.getBackend());
  const blocks = [];
  let step = 0;
  return {
    blocks,
    skipped: () => probes?.skipped() ?? 0,
    async train(steps) {
      for (let i = 0; i < steps; i += 1, step += 1) {
        const isProbed = probes?.begin(step) === true;
        const scope =
          telemetry === undefined ? undefined : watch.run(() => telemetry.startStep(step));
        const cost = optimizer.minimize(loss, true);
        probes?.end(step);
        if (scope !== undefined) watch.run(() => scope.finish());
        const inStepMs = watch.take();
        let isRead = false;
        const reading = cost.data().then(() => {
          isRead = true;
        });
        // On a device the numbers of a probe come with the loss or soon after it.
        const isMeasured = isTimed && (isProbed || probes === undefined);
        const gapMs = isMeasured && isOnDevice ? await longestGap(() => isRead) : 0;
        await reading;
        cost.dispose();
        // The loss keeps the thread too; the rest of a gap is the probe's.
        if (isMeasured) blocks.push(Math.max(inStepMs, gapMs - stepGapMs));
        await nextTask();
      }
      // What is still under way belongs to these steps, not to those of the training that is next.
      if (isOnDevice) await probes?.flush();
    },
    async close() {
      await session.endRun();
      tf.dispose([xs, ys]);
      model.dispose();
      optimizer.dispose();
    },
  };
}

/** The rows of one network on the backend in use. */
export async function measureTfjs(
  lib,
  tf,
  network,
  { seconds, steps, batch, variants = VARIANTS },
) {
  const { make, shape } = NETWORKS[network];
  const model = { make, shape: batch === undefined ? shape : [batch, ...shape.slice(1)] };
  const plain = await openTraining(lib, tf, model, undefined);
  const opened = [];
  for (const variant of variants)
    opened.push({ ...variant, training: await openTraining(lib, tf, model, variant) });
  const rows = await compare({
    plain,
    variants: opened.map((variant) => ({ every: 1, ...variant })),
    steps,
    seconds,
  });
  for (const { training } of opened) await training.close();
  await plain.close();
  const unprobed = await openTraining(lib, tf, model, undefined, true);
  const { blockMs: stepGapMs } = await measureBlocks(unprobed, 1);
  await unprobed.close();
  for (const [i, variant] of variants.entries()) {
    const every = Math.min(10, variant.every ?? 1);
    const own = variant.every === undefined ? variant : { ...variant, every };
    const timed = await openTraining(lib, tf, model, own, true, stepGapMs);
    Object.assign(rows[i], await measureBlocks(timed, every));
    await timed.close();
  }
  return rows;
}
