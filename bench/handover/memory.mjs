// Tensors of TensorFlow.js' WebAssembly backend: read where they lie, copied block by block into the kernels' memory, and copied by
// `dataSync` first; then a training with the callback, on two builds and without.
import { readFileSync } from 'node:fs';
import { median } from '../harness.mjs';

const SIZES = [4, 64, 256, 1024, 4096, 16_384, 65_536];
const NETWORKS = {
  'dense 64-32-10, batch 32': { units: [64, 32, 10], inputs: 64, batch: 32, steps: 60 },
  'dense 512-512-10, batch 64': { units: [512, 512, 10], inputs: 256, batch: 64, steps: 12 },
};

function threadMs() {
  const [ns] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
  return Number(ns) / 1e6;
}

const normal = (length) => {
  let state = 1;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
};

/** TensorFlow.js on its WebAssembly backend, whose memory the kernels of `lib` have been lent. */
async function openBackend(lib) {
  const tf = await import('@tensorflow/tfjs');
  await import('@tensorflow/tfjs-backend-wasm');
  tf.enableProdMode();
  await tf.setBackend('wasm');
  // Now, as the memory is lent anew when a probe reads a tensor after it has grown.
  tf.zeros([2 * SIZES.at(-1) * 256]).dispose();
  const training = await openTraining(tf, lib, NETWORKS['dense 64-32-10, batch 32']);
  await training.run(1);
  await training.close();
  return tf;
}

export async function tensors(lib, rounds) {
  const tf = await openBackend(lib);
  const kernels = await lib.createKernels({ workers: 0 });
  const { inline } = kernels;
  const rows = [];
  for (const kilobytes of SIZES) {
    const length = kilobytes * 256;
    const values = normal(length);
    const tensor = tf.tensor1d(values);
    const entry = tf.backend().dataIdMap.get(tensor.dataId);
    const there = new Float32Array(tf.backend().wasm.HEAPU8.buffer, entry.memoryOffset, length);
    const other = new WebAssembly.Memory({ initial: Math.ceil(length / 16_384) + 1 });
    const elsewhere = new Float32Array(other.buffer, 1024, length);
    elsewhere.set(values);
    const ways = {
      'where it lies': () => inline.tensorStats(there),
      'copied, a block at a time': () => inline.tensorStats(elsewhere),
      'copied whole by dataSync, then a block at a time': () =>
        inline.tensorStats(tensor.dataSync()),
    };
    const before = kernels.diagnostics().inPlace.callCount;
    ways['where it lies']();
    if (kernels.diagnostics().inPlace.callCount !== before + 1)
      throw new Error(`copied: ${kernels.diagnostics().inPlace.failure}`);
    const repeats = Math.max(2, Math.round(6000 / kilobytes));
    const times = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
    for (let round = -2; round < rounds; round++) {
      for (const [way, work] of Object.entries(ways)) {
        const began = threadMs();
        const start = performance.now();
        for (let i = 0; i < repeats; i++) work();
        const elapsed = performance.now() - start;
        // Processor time is counted in ticks on some machines: of short spans the clock says more.
        const ms = elapsed < 20 ? elapsed : threadMs() - began;
        if (round >= 0) times[way].push(ms / repeats);
      }
    }
    for (const [way, list] of Object.entries(times)) {
      const ratio = median(list) / median(times['copied, a block at a time']);
      rows.push({
        what: `statistics of ${kilobytes} KB of float32, ${way}`,
        value: median(list) * 1000,
        unit: `µs (best ${(Math.min(...list) * 1000).toFixed(2)}; ${ratio.toFixed(2)} of the copied one)`,
      });
    }
    tensor.dispose();
  }
  await kernels.close();
  return rows;
}

async function openTraining(tf, lib, { units, inputs, batch }, options) {
  const model = tf.sequential({
    layers: units.map((count, i) =>
      tf.layers.dense({
        units: count,
        ...(i === 0 ? { inputShape: [inputs] } : {}),
        ...(i < units.length - 1 ? { activation: 'relu' } : {}),
        kernelInitializer: tf.initializers.glorotNormal({ seed: i + 1 }),
      }),
    ),
  });
  model.compile({ optimizer: tf.train.sgd(0.01), loss: 'meanSquaredError' });
  const session =
    lib === undefined
      ? undefined
      : await lib.TrainingSession.startRun({
          project: 'memory',
          storage: lib.createMemoryStore(),
          handleSignals: false,
        });
  const callbacks =
    session === undefined ? [{}] : [lib.quarkCallback(session, tf, model, options ?? {})];
  const losses = [];
  return {
    losses,
    async run(steps) {
      const xs = tf.randomNormal([batch * steps, inputs], 0, 1, 'float32', 1);
      const ys = tf.randomNormal([batch * steps, units.at(-1)], 0, 1, 'float32', 2);
      const began = threadMs();
      const { history } = await model.fit(xs, ys, {
        epochs: 1,
        batchSize: batch,
        shuffle: false,
        verbose: 0,
        yieldEvery: 'never',
        callbacks,
      });
      const ms = threadMs() - began;
      losses.push(history.loss[0]);
      tf.dispose([xs, ys]);
      return ms / steps;
    },
    async close() {
      await session?.endRun();
      model.dispose();
    },
  };
}

/** @param builds by what they are called */
export async function trainings(builds, rounds) {
  const [first] = Object.values(builds);
  const tf = await openBackend(first);
  const rows = [];
  for (const [network, shape] of Object.entries(NETWORKS)) {
    for (const [probes, every] of [
      ['defaults', undefined],
      ['a probe at each step', 1],
    ]) {
      const settings = { schedule: { everyNSteps: every }, overheadBudget: 1 };
      const options = every === undefined ? {} : { hooks: settings, parameters: settings };
      const opened = { 'empty callback': await openTraining(tf, undefined, shape) };
      for (const [name, lib] of Object.entries(builds))
        opened[name] = await openTraining(tf, lib, shape, options);
      const times = Object.fromEntries(Object.keys(opened).map((name) => [name, []]));
      for (let round = -2; round < rounds; round++) {
        for (const [name, training] of Object.entries(opened)) {
          const ms = await training.run(shape.steps);
          if (round >= 0) times[name].push(ms);
          await new Promise((done) => setTimeout(done, 5));
        }
      }
      const [{ losses }] = Object.values(opened);
      const plain = times['empty callback'];
      for (const [name, training] of Object.entries(opened)) {
        const { losses: own } = training;
        if (own.some((loss, i) => loss !== losses[i])) throw new Error(`${name}: other losses`);
        const more = (median(times[name]) / median(plain) - 1) * 100;
        const best = (Math.min(...times[name]) / Math.min(...plain) - 1) * 100;
        rows.push({
          what: `${network}, ${probes}: ${name}`,
          value: median(times[name]),
          unit: `ms of the thread a step (${more.toFixed(1)} % more; best rounds ${best.toFixed(1)} %)`,
        });
        await training.close();
      }
    }
  }
  return rows;
}
