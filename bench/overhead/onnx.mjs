// onnxruntime-web: a trainer with and without probes, and a finished model with and without its intermediate tensors.
import { compare, measureBlocks, nextTask, stopwatch, untimed } from './rounds.mjs';
import { openProbes, VARIANTS } from './variants.mjs';

const network = {
  inputShape: [64],
  layers: [
    { kind: 'dense', name: 'first', units: 64, activation: 'relu' },
    { kind: 'dense', name: 'second', units: 32, activation: 'relu' },
    { kind: 'dense', name: 'last', units: 10 },
  ],
};
const BATCH = 32;

const noise = (length) => Float32Array.from({ length }, () => Math.random() - 0.5);

const openSession = (lib) =>
  lib.TrainingSession.startRun({
    project: 'overhead',
    storage: lib.createMemoryStore(),
    handleSignals: false,
  });

/** `run(step)` of one step, observed through `source`. */
function training(lib, session, variant, isTimed, source, run, close) {
  const watch = (isTimed ? stopwatch : untimed)(source);
  const probes = variant === undefined ? undefined : openProbes(lib, session, watch, variant);
  const blocks = [];
  let step = 0;
  return {
    blocks,
    skipped: () => probes?.skipped() ?? 0,
    async train(steps) {
      for (let i = 0; i < steps; i += 1, step += 1) {
        const isProbed = probes?.begin(step) === true;
        await run();
        probes?.end(step);
        const ms = watch.take();
        if (isTimed && isProbed) blocks.push(ms);
        await nextTask();
      }
      await probes?.flush();
    },
    async close() {
      await session.endRun();
      await close();
    },
  };
}

async function openTrainer(lib, ort, variant, isTimed = false) {
  const session = await openSession(lib);
  const built = lib.buildOnnxTraining(network, {
    loss: { kind: 'meanSquaredError' },
    optimizer: { kind: 'adam', learningRate: 0.001 },
  });
  const trainer = await lib.openOnnxTrainer(ort, built, {
    sessionOptions: { executionProviders: ['wasm'] },
  });
  const batch = { x: noise(BATCH * 64), y: noise(BATCH * 10) };
  return training(
    lib,
    session,
    variant,
    isTimed,
    trainer.source,
    () => trainer.step(batch),
    () => trainer.close(),
  );
}

async function openModel(lib, ort, variant, isTimed = false) {
  const session = await openSession(lib);
  const built = lib.buildOnnxTraining(network, {
    loss: { kind: 'meanSquaredError' },
    optimizer: { kind: 'sgd' },
  });
  const feeds = Object.fromEntries(
    built.parameters.map(({ name, initial, shape }) => [
      name,
      new ort.Tensor('float32', initial, shape),
    ]),
  );
  if (variant === undefined) {
    const plain = await ort.InferenceSession.create(built.predictBytes);
    const name = plain.inputNames.find((input) => !(input in feeds));
    feeds[name] = new ort.Tensor('float32', noise(BATCH * 64), [BATCH, 64]);
    return training(
      lib,
      session,
      undefined,
      false,
      {},
      () => plain.run(feeds),
      () => plain.release(),
    );
  }
  const model = await lib.openOnnxModel(ort, built.predictBytes);
  const name = model.session.inputNames.find((input) => !(input in feeds));
  feeds[name] = new ort.Tensor('float32', noise(BATCH * 64), [BATCH, 64]);
  return training(
    lib,
    session,
    variant,
    isTimed,
    model.source,
    () => model.session.run(feeds),
    () => model.close(),
  );
}

/** The rows of `ONNX trainer` or `ONNX model`. */
export async function measureOnnx(lib, ort, what, { seconds, steps }) {
  const isTrainer = what === 'ONNX trainer';
  const open = isTrainer ? openTrainer : openModel;
  const plain = await open(lib, ort, undefined);
  const opened = [];
  for (const variant of VARIANTS.filter(({ histograms }) => isTrainer || !histograms)) {
    const own = isTrainer ? variant : { ...variant, activationsOnly: true };
    opened.push({ ...own, training: await open(lib, ort, own) });
  }
  const rows = await compare({ plain, variants: opened, steps, seconds });
  for (const { training: own } of opened) await own.close();
  await plain.close();
  for (const [i, variant] of opened.entries()) {
    const every = Math.min(10, variant.every);
    const timed = await open(lib, ort, { ...variant, every }, true);
    Object.assign(rows[i], await measureBlocks(timed, every));
    await timed.close();
  }
  return rows;
}
