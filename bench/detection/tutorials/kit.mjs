// What the tutorial programs are written with: seeded initial values, optimizers, a fit and a hand-written loop that are recorded.
import {
  DataDiagnostics,
  HookEngine,
  ParameterDiagnostics,
  SystemTelemetry,
} from '../../../dist/probes.js';
import { MetricsLogger } from '../../../dist/index.js';
import { quarkCallback, tfjsModel } from '../../../dist/tfjs.js';
import { normal, permutation, uniform } from '../random.mjs';
import { pick } from './data.mjs';

const SCHEDULE = { everyNSteps: 3 };

export class Kit {
  constructor(tf, session, o, seed) {
    this.tf = tf;
    this.session = session;
    this.o = o;
    this.seed = seed;
    this.random = uniform(seed + 31);
    this.gauss = normal(this.random);
    this.initialisers = 0;
    this.steps = 0;
  }

  /** Glorot's initial values, as the options say. */
  init(scale = this.o.initScale ?? 1) {
    const { initializers } = this.tf;
    if (this.o.initConstant !== undefined)
      return initializers.constant({ value: this.o.initConstant });
    this.initialisers += 1;
    return initializers.varianceScaling({
      scale: scale * scale,
      mode: 'fanAvg',
      distribution: 'uniform',
      seed: this.seed * 100 + this.initialisers,
    });
  }

  dense(units, more = {}) {
    const { o, tf } = this;
    const isHidden = more.activation !== undefined && more.isOutput !== true;
    const { isOutput, ...rest } = more;
    return tf.layers.dense({
      units,
      kernelInitializer: this.init(isOutput ? (o.outputScale ?? o.initScale) : o.initScale),
      ...(isHidden && o.hiddenBias !== undefined
        ? { biasInitializer: tf.initializers.constant({ value: o.hiddenBias }) }
        : {}),
      ...rest,
      ...(isHidden && o.hiddenActivation ? { activation: o.hiddenActivation } : {}),
      ...(isOutput && o.outputActivation ? { activation: o.outputActivation } : {}),
    });
  }

  recurrent(kind, units, more = {}) {
    const { o, tf } = this;
    this.initialisers += 1;
    return tf.layers[kind]({
      units,
      kernelInitializer: this.init(),
      recurrentInitializer: tf.initializers.varianceScaling({
        scale: 0.5 * (o.recurrentScale ?? 1) ** 2,
        mode: 'fanIn',
        distribution: 'normal',
        seed: this.seed * 100 + this.initialisers + 50,
      }),
      ...more,
    });
  }

  conv(kind, args) {
    return this.tf.layers[kind]({ kernelInitializer: this.init(), ...args });
  }

  embedding(inputDim, outputDim, more = {}) {
    this.initialisers += 1;
    return this.tf.layers.embedding({
      inputDim,
      outputDim,
      embeddingsInitializer: this.tf.initializers.randomUniform({
        minval: -0.05,
        maxval: 0.05,
        seed: this.seed * 100 + this.initialisers,
      }),
      ...more,
    });
  }

  optimizer({ kind, rate } = this.o.optimizer) {
    const scaled = rate * (this.o.rateFactor ?? 1) * (this.o.ascent ? -1 : 1);
    return kind === 'momentum' ? this.tf.train.momentum(scaled, 0.9) : this.tf.train[kind](scaled);
  }

  tensors(part, { inShapes, outShapes }) {
    const { tf } = this;
    const make = (arrays, shapes) =>
      arrays.map((array, i) => tf.tensor(array, [part.count, ...shapes[i]]));
    return { xs: make(part.xs, inShapes), ys: make(part.ys, outShapes) };
  }

  /** A program that calls `fit` with the callback, and nothing else. */
  async fit(model, data, { metrics = [], loss = this.o.loss } = {}) {
    const { o, session, tf } = this;
    model.compile({ optimizer: this.optimizer(), loss, metrics });
    const train = this.tensors(data.train, data);
    const val = this.tensors(data.val, data);
    const one = (list) => (list.length === 1 ? list[0] : list);
    const callback = quarkCallback(session, tf, model, {
      hooks: { schedule: SCHEDULE },
      parameters: { schedule: SCHEDULE },
    });
    const epochs = Math.round(o.epochs * (o.epochFactor ?? 1));
    await model.fit(one(train.xs), one(train.ys), {
      epochs,
      batchSize: o.batchSize,
      shuffle: o.shuffle ?? true,
      validationData: [one(val.xs), one(val.ys)],
      callbacks: callback,
      yieldEvery: 'never',
      verbose: 0,
    });
    this.steps = callback.nextStep;
    await callback.close();
    tf.dispose([train, val]);
  }

  /** Loss and, where there are metrics, the first of them on the test data. */
  outcome(model, data) {
    const { tf } = this;
    const { xs, ys } = this.tensors(data.test, data);
    const one = (list) => (list.length === 1 ? list[0] : list);
    const seen = [model.evaluate(one(xs), one(ys), { batchSize: data.test.count })].flat();
    const values = seen.map((tensor) => tensor.dataSync()[0]);
    tf.dispose([xs, ys, seen]);
    const isAccuracy = model.metricsNames?.some((name) => /acc/.test(name));
    return { valLoss: values[0], valAccuracy: isAccuracy ? values.at(-1) : null };
  }

  /**
   * A loop by hand over the steps, recorded as a program does that logs what it knows.
   *
   * @param step trains one batch: `(batch, step) => { loss, metrics }`
   * @param evaluate after each epoch: `() => metrics`
   */
  async loop({ models, data, steps, stepsPerEpoch, step, evaluate, describe = () => ({}) }) {
    const { o, session, tf } = this;
    const metrics = new MetricsLogger(session, { batchSize: 4096 });
    const probes = models.map(({ source, model, optimizer }) => {
      const seen = source ?? tfjsModel(tf, model, optimizer);
      const options = { schedule: SCHEDULE, batchSize: 4096 };
      return {
        hooks: seen.layers.length > 0 ? new HookEngine(session, seen, options) : undefined,
        parameters: new ParameterDiagnostics(session, seen, options),
      };
    });
    const telemetry = new SystemTelemetry(session, {
      captureCpu: false,
      captureGpu: false,
      tf,
      batchSize: 4096,
    });
    const batches = new DataDiagnostics(session, { batchSize: 4096 });
    let order = data ? [...data.train.labels.keys()] : [];
    const arrange = () => {
      if (data && o.shuffle !== false) order = [...permutation(data.train.count, this.random)];
    };
    arrange();
    let next = 0;
    for (let at = 0; at < steps; at += 1) {
      const epoch = Math.floor(at / stepsPerEpoch);
      const scope = telemetry.startStep(at, { epoch });
      let batch;
      if (data) {
        if (next >= order.length) {
          arrange();
          next = 0;
        }
        batch = pick(data.train, order.slice(next, next + o.batchSize));
        next += batch.count;
      }
      scope.markDataReady();
      for (const { hooks } of probes) hooks?.beginStep(at, { epoch });
      const { loss, metrics: seen = {} } = await step(batch, at);
      for (const { hooks } of probes) hooks?.endStep();
      for (const { parameters } of probes) parameters.snapshot(at, { epoch });
      scope.finish();
      const place = { step: at, epoch };
      if (loss !== null) metrics.log('train/loss', loss, place);
      for (const [key, value] of Object.entries(seen)) metrics.log(key, value, place);
      if (batch && loss !== null)
        batches.logBatch(loss, { ...place, batchSize: batch.count, ...describe(batch) });
      if ((at + 1) % stepsPerEpoch !== 0) continue;
      for (const [key, value] of Object.entries(evaluate?.() ?? {})) metrics.log(key, value, place);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    this.steps = steps;
  }

  /** One step of an optimizer; returns the loss. */
  minimize(optimizer, cost, variables) {
    const loss = optimizer.minimize(cost, true, variables);
    const [value] = loss.dataSync();
    loss.dispose();
    return value;
  }
}
