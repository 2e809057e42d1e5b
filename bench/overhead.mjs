// What probes cost a training: the same network with and without them, step by step in turn. TensorFlow.js in Node (cpu,
// wasm); QUARK_BENCH_ROUNDS sets the rounds, QUARK_BENCH_CASES picks cases by a part of their name.
import * as tf from '@tensorflow/tfjs';
// oxlint-disable-next-line import/no-unassigned-import -- the backend registers itself
import '@tensorflow/tfjs-backend-wasm';
import { createMemoryStore, TrainingSession } from '../dist/index.js';
import { HookEngine, ParameterDiagnostics } from '../dist/probes.js';
import { tfjsModel } from '../dist/tfjs.js';
import { median, report } from './harness.mjs';

tf.enableProdMode();
const rounds = Number(process.env.QUARK_BENCH_ROUNDS ?? 15);
const wanted = process.env.QUARK_BENCH_CASES ?? '';

const dense = (units, inputs) => () =>
  tf.sequential({
    layers: units.map((count, i) =>
      tf.layers.dense({
        units: count,
        ...(i === 0 ? { inputShape: [inputs] } : {}),
        ...(i < units.length - 1 ? { activation: 'relu' } : {}),
      }),
    ),
  });
const conv = () =>
  tf.sequential({
    layers: [
      tf.layers.conv2d({ filters: 8, kernelSize: 3, activation: 'relu', inputShape: [16, 16, 1] }),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.conv2d({ filters: 16, kernelSize: 3, activation: 'relu' }),
      tf.layers.flatten(),
      tf.layers.dense({ units: 10 }),
    ],
  });

const CASES = [
  {
    name: 'small dense, wasm',
    backend: 'wasm',
    make: dense([64, 32, 10], 64),
    shape: [32, 64],
    steps: 100,
  },
  {
    name: 'small dense, cpu',
    backend: 'cpu',
    make: dense([64, 32, 10], 64),
    shape: [32, 64],
    steps: 50,
  },
  { name: 'convolutional, cpu', backend: 'cpu', make: conv, shape: [16, 16, 16, 1], steps: 20 },
  {
    name: 'larger dense, wasm',
    backend: 'wasm',
    make: dense([512, 512, 10], 256),
    shape: [64, 256],
    steps: 20,
  },
  {
    name: 'larger dense, cpu',
    backend: 'cpu',
    make: dense([512, 512, 10], 256),
    shape: [64, 256],
    steps: 10,
  },
];

const VARIANTS = [
  { name: 'cadence 100', every: 100, target: undefined },
  { name: 'cadence 10', every: 10, target: 'at most 5 %' },
  { name: 'cadence 10, histograms', every: 10, histograms: true, target: 'at most 8 %' },
  { name: 'cadence 1', every: 1, target: 'at most 30 %' },
];

async function openTraining({ make, shape }, variant) {
  const session = await TrainingSession.startRun({
    project: 'overhead',
    storage: createMemoryStore(),
    handleSignals: false,
  });
  const model = make();
  const optimizer = tf.train.adam(0.001);
  const xs = tf.randomNormal(shape, 0, 1, 'float32', 1);
  const ys = tf.randomNormal([shape[0], 10], 0, 1, 'float32', 2);
  const loss = () => tf.losses.meanSquaredError(ys, model.apply(xs, { training: true }));
  const probed = [];
  const plain = [];
  let hooks;
  let parameters;
  if (variant !== undefined) {
    const schedule = { everyNSteps: variant.every };
    const source = tfjsModel(tf, model, optimizer);
    hooks = new HookEngine(session, source, { schedule });
    parameters = new ParameterDiagnostics(session, source, {
      schedule,
      ...(variant.histograms
        ? { captureDistributions: true, distributionTypes: ['value', 'gradient', 'update'] }
        : {}),
    });
  }
  let step = 0;
  return {
    session,
    hooks,
    parameters,
    probed,
    plain,
    async train(steps) {
      const began = performance.now();
      const cpuBegan = process.cpuUsage();
      for (let i = 0; i < steps; i += 1, step += 1) {
        const stepBegan = performance.now();
        const isProbed = hooks?.beginStep(step) === true;
        const cost = optimizer.minimize(loss, true);
        hooks?.endStep();
        parameters?.snapshot(step);
        (isProbed ? probed : plain).push(performance.now() - stepBegan);
        await cost.data();
        cost.dispose();
        // What a page or a data loader would do between steps.
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      }
      const { user, system } = process.cpuUsage(cpuBegan);
      return { wall: (performance.now() - began) / steps, cpu: (user + system) / 1000 / steps };
    },
    async close() {
      await session.endRun();
      tf.dispose([xs, ys]);
      model.dispose();
      optimizer.dispose();
    },
  };
}

const rows = [];
for (const network of CASES.filter(({ name }) => name.includes(wanted))) {
  await tf.setBackend(network.backend);
  await tf.ready();
  const plain = await openTraining(network, undefined);
  const trainings = [];
  for (const variant of VARIANTS.filter(({ every }) => every <= network.steps))
    trainings.push({
      variant,
      training: await openTraining(network, variant),
      ratios: [],
      cpuRatios: [],
    });
  const times = [];
  for (let round = -1; round < rounds; round += 1) {
    // Before and after the others: what slows the machine down in between, slows both down.
    for (const { variant, training, ratios, cpuRatios } of trainings) {
      const steps = Math.ceil(network.steps / variant.every) * variant.every;
      const before = await plain.train(network.steps);
      const withProbes = await training.train(steps);
      const after = await plain.train(network.steps);
      if (round >= 0) {
        times.push((before.wall + after.wall) / 2);
        ratios.push((2 * withProbes.wall) / (before.wall + after.wall));
        cpuRatios.push((2 * withProbes.cpu) / (before.cpu + after.cpu));
      }
    }
  }
  rows.push({ what: `${network.name}: a step without probes`, value: median(times), unit: 'ms' });
  for (const { variant, training, ratios, cpuRatios } of trainings) {
    const over = (median(ratios) - 1) * 100;
    const cpuOver = (median(cpuRatios) - 1) * 100;
    rows.push({
      what: `${network.name}: ${variant.name}`,
      value: over,
      unit: '% more time',
      target: variant.target,
    });
    // Says more on a machine that has other things to do.
    rows.push({
      what: `${network.name}: ${variant.name}, processor`,
      value: cpuOver,
      unit: '% more time',
    });
    if (variant.every === 1) {
      const cost = training.probed.slice(-200).map((ms) => ms - median(plain.plain));
      rows.push({
        what: `${network.name}: a probed step takes longer by (median)`,
        value: median(cost),
        unit: 'ms',
        target: 'at most 2 ms',
      });
    }
    const skipped = training.hooks.status.skippedProbes + training.parameters.status.skippedProbes;
    if (skipped > 0)
      rows.push({
        what: `${network.name}: ${variant.name}, probes left out`,
        value: skipped,
        unit: '',
      });
    await training.close();
  }
  await plain.close();
}
await report('overhead', rows);
