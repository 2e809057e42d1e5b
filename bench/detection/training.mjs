// Trains one program with everything Quark records, in TensorFlow.js on the cpu backend.
import {
  DataDiagnostics,
  HookEngine,
  ParameterDiagnostics,
  SystemTelemetry,
} from '../../dist/probes.js';
import { MetricsLogger, TrainingSession } from '../../dist/index.js';
import { tfjsModel } from '../../dist/tfjs.js';
import { block, ownClock, sleep } from './own-clock.mjs';
import { normal, permutation, uniform } from './random.mjs';

/**
 * @param program what is trained: one of programs.mjs, as healthy.mjs or faults.mjs has changed it
 * @param labels goes into the configuration of the run, to find it again
 * @returns what harm.mjs judges: `{ valLoss, valAccuracy, stepMs, leaked }`
 */
export async function train(tf, program, { seed, storageDir, labels, every = 1 }) {
  const data = program.data(1000 + seed);
  program.prepare?.(data, seed);
  const model = buildModel(tf, program, data.shape, seed);
  const optimizer = makeOptimizer(tf, program.optimizer);
  const tensors = tf.memory().numTensors;
  const config = {
    ...labels,
    seed,
    loss: program.loss,
    optimizer: program.optimizer,
    batch_size: program.batchSize,
    model: model.toJSON(null, false),
  };
  const run = {
    project: labels.program,
    config,
    storageDir,
    clock: ownClock,
    handleSignals: false,
  };
  const outcome = await TrainingSession.run(run, async (session) => {
    const recorder = openRecorder(tf, session, model, optimizer, every);
    return await loop(tf, { program, data, model, optimizer, recorder, seed });
  });
  outcome.leaked = tf.memory().numTensors - tensors;
  model.dispose();
  optimizer.dispose();
  return outcome;
}

function openRecorder(tf, session, model, optimizer, every) {
  const schedule = { everyNSteps: every };
  const source = tfjsModel(tf, model, optimizer);
  return {
    metrics: new MetricsLogger(session, { batchSize: 4096 }),
    hooks: new HookEngine(session, source, { schedule, batchSize: 65536 }),
    parameters: new ParameterDiagnostics(session, source, { schedule, batchSize: 65536 }),
    telemetry: new SystemTelemetry(session, {
      captureCpu: false,
      captureGpu: false,
      tf,
      batchSize: 4096,
    }),
    batches: new DataDiagnostics(session, { batchSize: 4096 }),
  };
}

async function loop(tf, { program, data, model, optimizer, recorder, seed }) {
  const { steps, stepsPerEpoch, trainingMode = true, evaluationMode = false } = program;
  const { metrics, hooks, parameters, telemetry, batches } = recorder;
  const random = uniform(seed + 31);
  const trained = program.trains && trainedVariables(model, program.trains);
  const baseRate = program.optimizer.rate;
  const times = [];
  const evaluations = [];
  let order = permutation(data.train.count, random);
  let next = 0;
  for (let step = 0; step < steps; step += 1) {
    const epoch = Math.floor(step / stepsPerEpoch);
    const scope = telemetry.startStep(step, { epoch });
    if (program.loadMs) await sleep(program.loadMs(step));
    if (next + program.batchSize > order.length) {
      order = permutation(data.train.count, random);
      next = 0;
    }
    const count = Math.min(program.batchSize, data.train.count);
    const picked = order.slice(next, next + count);
    if (!program.stuckBatch) next += count;
    const batch = gather(data, data.train, picked);
    program.corrupt?.(step, steps, batch.x);
    scope.markDataReady();
    if (program.rateAt) setRate(optimizer, baseRate * program.rateAt(step, steps));
    const { loss, accuracy } = trainStep(tf, {
      program,
      data,
      model,
      optimizer,
      batch,
      trained,
      trainingMode,
      hooks,
      step,
      epoch,
    });
    parameters.snapshot(step, { epoch });
    if (program.blockMs) block(program.blockMs(step));
    for (let i = 0; i < (program.leakedTensors ?? 0); i += 1) tf.scalar(step);
    times.push(scope.finish()?.stepTimeMs ?? NaN);
    metrics.log('train/loss', loss, { step, epoch });
    if (accuracy !== null) metrics.log('train/accuracy', accuracy, { step, epoch });
    metrics.log('optimizer/lr', baseRate * (program.rateAt?.(step, steps) ?? 1), { step, epoch });
    batches.logBatch(loss, {
      step,
      epoch,
      batchSize: count,
      sampleIds: picked,
      ...(data.classes > 1
        ? { labels: Int32Array.from(batch.y) }
        : { metadata: { target_min: Math.min(...batch.y), target_max: Math.max(...batch.y) } }),
    });
    if ((step + 1) % stepsPerEpoch !== 0) continue;
    const seen = evaluate(tf, { program, data, model, evaluationMode });
    evaluations.push(seen);
    metrics.log('val/loss', seen.loss, { step, epoch });
    if (seen.accuracy !== null) metrics.log('val/accuracy', seen.accuracy, { step, epoch });
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  const last = evaluations.slice(-2);
  const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
  return {
    valLoss: mean(last.map(({ loss }) => loss)),
    valAccuracy: data.classes > 1 ? mean(last.map(({ accuracy }) => accuracy)) : null,
    stepMs: mean(times.slice(Math.floor(times.length / 10))),
  };
}

function trainStep(
  tf,
  { program, data, model, optimizer, batch, trained, trainingMode, hooks, step, epoch },
) {
  const xs = tf.tensor(batch.x, [batch.count, ...data.shape]);
  const ys = targets(tf, program, data, batch);
  let accuracy = null;
  let seen;
  hooks.beginStep(step, { epoch });
  const cost = optimizer.minimize(
    () => {
      const output = model.apply(xs, { training: trainingMode });
      accuracy = accuracyOf(data, program, output, batch);
      const loss = lossOf(tf, program, model, ys, output);
      seen = tf.keep(loss);
      return program.gradientSign === -1 ? loss.neg() : loss;
    },
    true,
    trained,
  );
  hooks.endStep();
  const loss = seen.dataSync()[0];
  tf.dispose([xs, ys, cost, seen]);
  return { loss, accuracy };
}

function evaluate(tf, { program, data, model, evaluationMode }) {
  return tf.tidy(() => {
    const part = data.val;
    const xs = tf.tensor(part.x, [part.count, ...data.shape]);
    const output = model.apply(xs, { training: evaluationMode });
    return {
      loss: lossOf(tf, program, model, targets(tf, program, data, part), output).dataSync()[0],
      accuracy: accuracyOf(data, program, output, part),
    };
  });
}

function targets(tf, program, data, { y, count }) {
  if (
    program.loss === 'crossentropy' ||
    program.loss === 'crossentropy-naive' ||
    program.targets === 'classes'
  )
    return tf.tidy(() =>
      tf.oneHot(tf.tensor1d(y.subarray(0, count), 'int32'), data.classes).toFloat(),
    );
  if (program.loss === 'mse-broadcast') return tf.tensor1d(y.subarray(0, count));
  return tf.tensor2d(y.subarray(0, count), [count, 1]);
}

function lossOf(tf, program, model, ys, output) {
  const mean = {
    crossentropy: () => tf.metrics.categoricalCrossentropy(ys, output).mean(),
    'crossentropy-naive': () => ys.mul(output.log()).sum(-1).neg().mean(),
    binary: () => tf.metrics.binaryCrossentropy(ys, output).mean(),
    'binary-naive': () =>
      ys
        .mul(output.log())
        .add(tf.sub(1, ys).mul(tf.sub(1, output).log()))
        .neg()
        .mean(),
    mse: () => ys.sub(output).square().mean(),
    'mse-broadcast': () => ys.sub(output).square().mean(),
  }[program.loss]();
  const scaled = program.lossFactor ? mean.mul(program.lossFactor) : mean;
  if (!program.l2) return scaled;
  const kernels = model.trainableWeights.filter(({ originalName }) =>
    originalName.endsWith('kernel'),
  );
  return kernels.reduce((sum, { val }) => sum.add(val.square().sum().mul(program.l2)), scaled);
}

function accuracyOf(data, program, output, { y, count }) {
  if (data.classes === 1) return null;
  const values = output.dataSync();
  const width = values.length / count;
  let right = 0;
  for (let i = 0; i < count; i += 1) {
    let best = 0;
    for (let j = 1; j < width; j += 1)
      if (values[i * width + j] > values[i * width + best]) best = j;
    const said = width === 1 ? (values[i] > 0.5 ? 1 : 0) : best;
    if (said === y[i]) right += 1;
  }
  return right / count;
}

function gather(data, part, picked) {
  const length = data.shape.reduce((a, b) => a * b, 1);
  const x = new Float32Array(picked.length * length);
  const y = new Float32Array(picked.length);
  picked.forEach((at, i) => {
    x.set(part.x.subarray(at * length, (at + 1) * length), i * length);
    y[i] = part.y[at];
  });
  return { x, y, count: picked.length };
}

function buildModel(tf, program, shape, seed) {
  const model = tf.sequential();
  program.layers.forEach(({ kind, ...more }, i) => {
    const seeded = seededInitializers(tf, kind, seed * 100 + i);
    model.add(tf.layers[kind]({ ...seeded, ...more, ...(i === 0 ? { inputShape: shape } : {}) }));
  });
  if (program.initial) changeWeights(tf, model, program, seed);
  return model;
}

function seededInitializers(tf, kind, seed) {
  if (!/dense|conv|lstm|gru/.test(kind)) return {};
  const glorot = tf.initializers.glorotUniform({ seed });
  const recurrent = /lstm|gru/.test(kind)
    ? { recurrentInitializer: tf.initializers.glorotUniform({ seed: seed + 1 }) }
    : {};
  return { kernelInitializer: glorot, ...recurrent };
}

/** Hands every trainable variable to `program.initial`, which gives the new values or undefined. */
function changeWeights(tf, model, program, seed) {
  const gauss = normal(uniform(seed));
  for (const layer of model.layers)
    for (const weight of layer.trainableWeights) {
      const before = weight.read().dataSync();
      const changed = program.initial({
        name: `${layer.name}/${weight.originalName.split('/').at(-1)}`,
        isKernel: weight.originalName.endsWith('kernel'),
        fill: (value) => Float32Array.from(before, () => value),
        scale: (factor) => Float32Array.from(before, (value) => value * factor),
        gauss,
      });
      if (changed) weight.write(tf.tensor(changed, weight.shape));
    }
}

function trainedVariables(model, trains) {
  return model.layers.flatMap((layer) =>
    layer.trainableWeights
      .filter((weight) => trains(`${layer.name}/${weight.originalName.split('/').at(-1)}`))
      .map((weight) => weight.val),
  );
}

function makeOptimizer(tf, { kind, rate, momentum, epsilon }) {
  if (kind === 'momentum') return tf.train.momentum(rate, momentum);
  if (kind === 'adam') return tf.train.adam(rate, 0.9, 0.999, epsilon);
  return tf.train[kind](rate);
}

function setRate(optimizer, rate) {
  if (optimizer.setLearningRate) optimizer.setLearningRate(rate);
  else optimizer.learningRate = rate;
}
