// Programs that make things up, and models of `tf.variable`s: GANs, a VAE, a density, a polynomial, digits by the core functions.
import { digits } from '../data.mjs';
import { draw } from './data.mjs';
import { faults } from './faults.mjs';
import { tfjsVariables } from '../../../dist/tfjs.js';

const adam = (rate) => ({ kind: 'adam', rate });

/** Points on a ring, or near a line. */
const points = (seed, isRing) =>
  draw(seed, {
    inShapes: [[2]],
    outShapes: [[1]],
    train: 400,
    sample: ({ xs: [x], random, gauss }) => {
      const angle = 2 * Math.PI * random();
      if (isRing) {
        x[0] = Math.cos(angle) + 0.05 * gauss();
        x[1] = Math.sin(angle) + 0.05 * gauss();
      } else {
        x[0] = 0.7 * gauss();
        x[1] = 0.5 * x[0] + 0.3 + 0.1 * gauss();
      }
      return 0;
    },
  });

/** How far made points lie from the real ones: mean distance to the nearest, both ways. */
function distance(made, real) {
  const nearest = (from, to) => {
    let sum = 0;
    for (let i = 0; i < from.length; i += 2) {
      let best = Infinity;
      for (let j = 0; j < to.length; j += 2)
        best = Math.min(best, Math.hypot(from[i] - to[j], from[i + 1] - to[j + 1]));
      sum += Number.isFinite(best) ? best : 1e3;
    }
    return (2 * sum) / from.length;
  };
  return nearest(made, real) + nearest(real, made);
}

/** A generator and a discriminator, or a critic whose weights are clipped, trained in turn. */
async function adversaries(kit, data, { isCritic }) {
  const { o, tf } = kit;
  const generator = tf.sequential({
    layers: [
      kit.dense(16, { name: 'gen_1', activation: 'relu', inputShape: [3] }),
      kit.dense(16, { name: 'gen_2', activation: 'relu' }),
      kit.dense(2, { name: 'gen_out' }),
    ],
  });
  const discriminator = tf.sequential({
    layers: [
      kit.dense(24, { name: 'dis_1', inputShape: [2] }),
      tf.layers.leakyReLU({ alpha: 0.2, name: 'dis_leaky_1' }),
      kit.dense(16, { name: 'dis_2' }),
      tf.layers.leakyReLU({ alpha: 0.2, name: 'dis_leaky_2' }),
      kit.dense(1, {
        name: 'dis_out',
        ...(isCritic ? {} : { activation: 'sigmoid' }),
        isOutput: true,
      }),
    ],
  });
  const [forGenerator, forDiscriminator] = [kit.optimizer(), kit.optimizer()];
  const variables = (model) => model.trainableWeights.map(({ val }) => val);
  const noise = (count) =>
    tf.tensor(
      Float32Array.from({ length: 3 * count }, () => kit.gauss()),
      [count, 3],
    );
  const judge = (x, isReal) => {
    const seen = discriminator.apply(x, { training: true });
    if (isCritic) return isReal ? seen.mean().neg() : seen.mean();
    const truth = tf.ones([x.shape[0], 1]).mul(isReal ? 0.9 : 0);
    return tf.metrics.binaryCrossentropy(truth, seen).mean();
  };
  await kit.loop({
    models: [
      { model: generator, optimizer: forGenerator },
      { model: discriminator, optimizer: forDiscriminator },
    ],
    data,
    steps: o.steps,
    stepsPerEpoch: 25,
    step: ({ xs: [x], count }) => {
      const dLoss = kit.minimize(
        forDiscriminator,
        () =>
          tf.add(
            judge(tf.tensor(x, [count, 2]), true),
            judge(generator.apply(noise(count), { training: true }), false),
          ),
        variables(discriminator),
      );
      if (isCritic)
        tf.tidy(() => {
          for (const { val } of discriminator.trainableWeights)
            val.assign(val.clipByValue(-0.3, 0.3));
        });
      const gLoss = kit.minimize(
        forGenerator,
        () => judge(generator.apply(noise(count), { training: true }), true),
        variables(generator),
      );
      return { loss: null, metrics: { 'train/d_loss': dLoss, 'train/g_loss': gLoss } };
    },
  });
  const made = tf.tidy(() => generator.apply(noise(150)).dataSync());
  return { valLoss: distance(made, data.test.xs[0]), valAccuracy: null };
}

export const GENERATIVE = [
  {
    name: 'gan-ring',
    o: { batchSize: 24, steps: 500, optimizer: adam(0.003) },
    data: (seed) => points(seed, true),
    train: (kit, data) => adversaries(kit, data, { isCritic: false }),
    faults: faults('rate-high', 'rate-low', 'units-dead', 'nan-rows'),
  },
  {
    name: 'wgan-clipped',
    o: { batchSize: 17, steps: 240, optimizer: { kind: 'rmsprop', rate: 0.003 } },
    data: (seed) => points(seed, false),
    train: (kit, data) => adversaries(kit, data, { isCritic: true }),
    faults: faults('rate-low', 'nan-rows', 'units-dead'),
  },
  {
    name: 'vae-dense',
    o: { batchSize: 18, steps: 480, optimizer: adam(0.002) },
    data(seed) {
      const { train, val } = digits(seed, { trainCount: 360, valCount: 300 });
      const part = ({ x, y }, from, to) => ({
        xs: [x.slice(from * 144, to * 144).map((value) => 1 / (1 + Math.exp(-2 * value)))],
        ys: [new Float32Array(to - from)],
        labels: y.slice(from, to),
        count: to - from,
      });
      return {
        inShapes: [[144]],
        outShapes: [[1]],
        train: part(train, 0, 360),
        val: part(val, 0, 150),
        test: part(val, 150, 300),
      };
    },
    async train(kit, data) {
      const { o, tf } = kit;
      const encoder = tf.sequential({
        layers: [
          kit.dense(32, { name: 'enc_hidden', activation: 'relu', inputShape: [144] }),
          kit.dense(8, { name: 'enc_stats' }),
        ],
      });
      const decoder = tf.sequential({
        layers: [
          kit.dense(32, { name: 'dec_hidden', activation: 'relu', inputShape: [4] }),
          kit.dense(144, { name: 'dec_pixels', activation: 'sigmoid', isOutput: true }),
        ],
      });
      const optimizer = kit.optimizer();
      const cost = (part, training) =>
        tf.tidy(() => {
          const x = tf.tensor(part.xs[0], [part.count, 144]);
          const [mean, logVariance] = tf.split(encoder.apply(x, { training }), 2, 1);
          const noise = tf.tensor(
            Float32Array.from({ length: 4 * part.count }, () => kit.gauss()),
            [part.count, 4],
          );
          const code = mean.add(noise.mul(logVariance.mul(0.5).exp()));
          const made = decoder.apply(code, { training }).clipByValue(1e-6, 1 - 1e-6);
          const picture = x
            .mul(made.log())
            .add(tf.sub(1, x).mul(tf.sub(1, made).log()))
            .sum(-1)
            .neg();
          const divergence = logVariance
            .add(1)
            .sub(mean.square())
            .sub(logVariance.exp())
            .sum(-1)
            .mul(-0.5);
          return picture.add(divergence).mean();
        });
      await kit.loop({
        models: [
          { model: encoder, optimizer },
          { model: decoder, optimizer },
        ],
        data,
        steps: o.steps,
        stepsPerEpoch: 20,
        step: (batch) => ({ loss: kit.minimize(optimizer, () => cost(batch, true)) }),
        evaluate: () => ({ 'val/loss': tf.tidy(() => cost(data.val, false).dataSync()[0]) }),
      });
      return {
        valLoss: tf.tidy(() => cost(data.test, false).dataSync()[0]) - 75,
        valAccuracy: null,
      };
    },
    faults: faults('rate-high', 'rate-low', 'units-dead', 'nan-rows'),
  },
  {
    name: 'gaussian-nll',
    lossOffset: 3,
    o: { batchSize: 35, epochs: 16, optimizer: adam(0.01) },
    data: (seed) =>
      draw(seed, {
        inShapes: [[3]],
        // Twice the value: `fit` wants targets of the shape of the output, which has a mean and a variance.
        outShapes: [[2]],
        sample: ({ xs: [x], ys: [y], gauss }) => {
          for (let i = 0; i < 3; i += 1) x[i] = gauss();
          y.fill(0.5 * Math.sin(2 * x[0]) + 0.3 * x[1] + 0.08 * gauss());
          return y[0];
        },
      }),
    loss: (kit) =>
      function gaussianLogLikelihood(truth, guess) {
        return kit.tf.tidy(() => {
          const [mean, logVariance] = kit.tf.split(guess, 2, -1);
          return logVariance
            .add(truth.slice([0, 0], [-1, 1]).sub(mean).square().div(logVariance.exp()))
            .mul(0.5)
            .mean();
        });
      },
    model: (kit) =>
      kit.tf.sequential({
        layers: [
          kit.dense(24, { name: 'hidden_1', activation: 'tanh', inputShape: [3] }),
          kit.dense(16, { name: 'hidden_2', activation: 'tanh' }),
          kit.dense(2, { name: 'stats', isOutput: true }),
        ],
      }),
    faults: faults('rate-low', 'unnormalised', 'target-among-features', 'nan-rows'),
  },
  {
    name: 'polynomial-variables',
    o: { batchSize: 21, steps: 260, optimizer: { kind: 'sgd', rate: 0.3 } },
    data: (seed) =>
      draw(seed, {
        inShapes: [[1]],
        outShapes: [[1]],
        sample: ({ xs: [x], ys: [y], random, gauss }) => {
          x[0] = 2 * random() - 1;
          y[0] = -0.8 * x[0] ** 3 - 0.2 * x[0] ** 2 + 0.9 * x[0] + 0.5 + 0.03 * gauss();
          return y[0];
        },
      }),
    async train(kit, data) {
      const { o, tf } = kit;
      const variables = Object.fromEntries(
        ['a', 'b', 'c', 'd'].map((name) => [name, tf.variable(tf.scalar(kit.random()))]),
      );
      const optimizer = kit.optimizer();
      const { a, b, c, d } = variables;
      const cost = (part) =>
        tf.tidy(() => {
          const x = tf.tensor1d(part.xs[0]);
          const guess = a.mul(x.pow(3)).add(b.mul(x.square())).add(c.mul(x)).add(d);
          return guess.sub(tf.tensor1d(part.ys[0])).square().mean();
        });
      await kit.loop({
        models: [{ source: tfjsVariables(tf, { variables, optimizer }) }],
        data,
        steps: o.steps,
        stepsPerEpoch: 20,
        step: (batch) => ({ loss: kit.minimize(optimizer, () => cost(batch)) }),
        evaluate: () => ({ 'val/loss': tf.tidy(() => cost(data.val).dataSync()[0]) }),
      });
      return { valLoss: tf.tidy(() => cost(data.test).dataSync()[0]), valAccuracy: null };
    },
    faults: faults('rate-high', 'rate-low', 'nan-rows', 'ascent'),
  },
  {
    name: 'core-api-digits',
    o: { batchSize: 26, steps: 220, optimizer: { kind: 'momentum', rate: 0.05 } },
    data(seed) {
      const { train, val } = digits(seed, { trainCount: 360, valCount: 300 });
      const part = ({ x, y }, from, to) => ({
        xs: [x.slice(from * 144, to * 144)],
        ys: [y.slice(from, to)],
        labels: y.slice(from, to),
        count: to - from,
      });
      return {
        inShapes: [[144]],
        outShapes: [[1]],
        train: part(train, 0, 360),
        val: part(val, 0, 150),
        test: part(val, 150, 300),
      };
    },
    async train(kit, data) {
      const { o, tf } = kit;
      const weight = (shape, name) => {
        const size = (o.initScale ?? 1) / Math.sqrt(shape[0]);
        const values = Float32Array.from(
          { length: shape[0] * shape[1] },
          () => o.initConstant ?? size * kit.gauss(),
        );
        return [name, tf.variable(tf.tensor(values, shape))];
      };
      const variables = Object.fromEntries([
        weight([144, 24], 'hidden/kernel'),
        ['hidden/bias', tf.variable(tf.ones([24]).mul(o.hiddenBias ?? 0))],
        weight([24, 10], 'output/kernel'),
        ['output/bias', tf.variable(tf.zeros([10]))],
      ]);
      const optimizer = kit.optimizer();
      const source = tfjsVariables(tf, {
        variables,
        optimizer,
        taps: { hidden: 'Dense', output: 'Dense' },
      });
      const logits = (part) => {
        const x = tf.tensor(part.xs[0], [part.count, 144]);
        const hidden = source.tap(
          'hidden',
          x.matMul(variables['hidden/kernel']).add(variables['hidden/bias']).relu(),
        );
        return source.tap(
          'output',
          hidden.matMul(variables['output/kernel']).add(variables['output/bias']),
        );
      };
      const cost = (part) =>
        tf.tidy(() =>
          tf.losses
            .softmaxCrossEntropy(tf.oneHot(tf.tensor1d(part.labels, 'int32'), 10), logits(part))
            .mean(),
        );
      const accuracy = (part) =>
        tf.tidy(() => {
          const said = logits(part).argMax(-1).dataSync();
          return said.filter((label, i) => label === part.labels[i]).length / part.count;
        });
      await kit.loop({
        models: [{ source }],
        data,
        steps: o.steps,
        stepsPerEpoch: 14,
        step: (batch) => ({ loss: kit.minimize(optimizer, () => cost(batch)) }),
        evaluate: () => ({
          'val/loss': tf.tidy(() => cost(data.val).dataSync()[0]),
          'val/accuracy': accuracy(data.val),
        }),
        describe: ({ labels }) => ({ labels: Int32Array.from(labels) }),
      });
      return {
        valLoss: tf.tidy(() => cost(data.test).dataSync()[0]),
        valAccuracy: accuracy(data.test),
      };
    },
    faults: faults('classes-sorted', 'labels-shuffled', 'units-dead', 'weights-large', 'rate-high'),
  },
];
