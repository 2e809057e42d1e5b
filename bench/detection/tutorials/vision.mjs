// Programs over small images and what is learned from pairs: convolutions, autoencoders, transfer, siamese networks, triplets.
import { digits } from '../data.mjs';
import { NOT_LEARNING } from '../consequences.mjs';
import { draw, oneHot } from './data.mjs';
import { faults } from './faults.mjs';

const adam = (rate) => ({ kind: 'adam', rate });
const sequential = (kit, layers) => kit.tf.sequential({ layers });

/** The figures of data.mjs with one-hot targets, of some of the classes. */
function figures(seed, { trainCount = 360, valCount = 150, isFlat = false, toTarget } = {}) {
  const made = digits(seed, { trainCount, valCount: 2 * valCount });
  const part = ({ x, y }, from, to) => {
    const labels = y.slice(from, to);
    const xs = [x.slice(from * 144, to * 144)];
    const ys = toTarget
      ? [toTarget(xs[0])]
      : [
          Float32Array.from({ length: labels.length * 10 }, (_, i) =>
            labels[Math.floor(i / 10)] === i % 10 ? 1 : 0,
          ),
        ];
    return { xs, ys, labels, count: to - from };
  };
  const shape = isFlat ? [144] : [12, 12, 1];
  return {
    inShapes: [shape],
    outShapes: [toTarget ? shape : [10]],
    train: part(made.train, 0, trainCount),
    val: part(made.val, 0, valCount),
    test: part(made.val, valCount, 2 * valCount),
  };
}

/** Pixels from 0 to 1, as an autoencoder is to give them. */
const squashed = (x) => {
  x.forEach((value, i) => (x[i] = 1 / (1 + Math.exp(-2 * value))));
  return x.slice();
};

const sunk = {
  id: 'rate-far-too-low',
  harm: 'metric',
  layer: null,
  o: { rateFactor: 0.001 },
  causes: ['update_ratio_low', 'unchanged_parameters'],
  accepted: ['update_ratio_low', 'unchanged_parameters', ...NOT_LEARNING],
};

export const VISION = [
  {
    name: 'image-cnn',
    o: { batchSize: 25, epochs: 8, optimizer: adam(0.006), loss: 'categoricalCrossentropy' },
    metrics: ['accuracy'],
    data: (seed) => figures(seed),
    model: (kit) =>
      sequential(kit, [
        kit.conv('conv2d', {
          name: 'conv_1',
          filters: 6,
          kernelSize: 3,
          activation: 'relu',
          inputShape: [12, 12, 1],
        }),
        kit.tf.layers.maxPooling2d({ poolSize: 2, name: 'pool' }),
        kit.tf.layers.flatten({ name: 'flat' }),
        kit.dense(20, { name: 'hidden', activation: 'relu' }),
        kit.dense(10, { name: 'digit', activation: 'softmax', isOutput: true }),
      ]),
    faults: faults(
      'classes-sorted',
      'unnormalised',
      'validation-in-training',
      'softmax-missing',
      'labels-shuffled',
    ),
  },
  {
    name: 'autoencoder-conv',
    o: { batchSize: 14, epochs: 12, optimizer: adam(0.01), loss: 'meanSquaredError' },
    data: (seed) => figures(seed, { trainCount: 280, valCount: 60, toTarget: squashed }),
    model: (kit) => {
      const conv = (name, filters, more) =>
        kit.conv('conv2d', {
          name,
          filters,
          kernelSize: 3,
          padding: 'same',
          activation: 'relu',
          ...more,
        });
      return sequential(kit, [
        conv('encode_1', 8, { inputShape: [12, 12, 1] }),
        kit.tf.layers.maxPooling2d({ poolSize: 2, name: 'pool' }),
        conv('encode_2', 10),
        kit.tf.layers.upSampling2d({ size: [2, 2], name: 'up' }),
        conv('decode', 1, { activation: 'sigmoid' }),
      ]);
    },
    faults: [sunk, ...faults('rate-high', 'weights-constant', 'nan-rows')],
  },
  {
    name: 'autoencoder-denoising',
    o: { batchSize: 30, epochs: 12, optimizer: adam(0.005), loss: 'meanSquaredError' },
    data: (seed) => {
      const data = figures(seed, { trainCount: 390, isFlat: true, toTarget: squashed });
      let at = seed;
      for (const { xs } of [data.train, data.val, data.test])
        xs[0].forEach((value, i) => {
          at = (at * 1103515245 + 12345) % 2147483648;
          xs[0][i] = value - 0.5 + 0.4 * (at / 2147483648 - 0.5);
        });
      return data;
    },
    model: (kit) =>
      sequential(kit, [
        kit.dense(40, { name: 'encode', activation: 'relu', inputShape: [144] }),
        kit.dense(16, { name: 'code', activation: 'relu' }),
        kit.dense(40, { name: 'decode', activation: 'relu' }),
        kit.dense(144, { name: 'picture', activation: 'sigmoid', isOutput: true }),
      ]),
    faults: [sunk, ...faults('units-dead', 'rate-high', 'unnormalised')],
  },
  {
    name: 'transfer-features',
    o: { batchSize: 31, epochs: 14, optimizer: adam(0.005), loss: 'categoricalCrossentropy' },
    metrics: ['accuracy'],
    // What a network that was trained elsewhere makes of pictures: rectified features, mostly zero.
    data: (seed) =>
      draw(seed, {
        inShapes: [[48]],
        outShapes: [[4]],
        sample: ({ xs: [x], ys: [y], random, gauss }) => {
          const label = Math.floor(random() * 4);
          for (let i = 0; i < 48; i += 1)
            x[i] = Math.max(0, 1.1 * Math.cos(1.9 * label * (i + 1) + i) - 0.4 + 0.9 * gauss());
          return oneHot(y, label);
        },
      }),
    model: (kit) =>
      sequential(kit, [
        kit.dense(20, { name: 'head', activation: 'relu', inputShape: [48] }),
        kit.dense(4, { name: 'classes', activation: 'softmax', isOutput: true }),
      ]),
    faults: faults(
      'classes-sorted',
      'rate-high',
      'few-samples',
      'labels-shuffled',
      'target-among-features',
    ),
  },
  {
    name: 'transfer-frozen-base',
    o: { batchSize: 18, epochs: 12, optimizer: adam(0.01), loss: 'categoricalCrossentropy' },
    metrics: ['accuracy'],
    data: (seed) => figures(seed, { trainCount: 320, isFlat: true }),
    async model(kit, data) {
      const base = sequential(kit, [
        kit.dense(40, { name: 'base_1', activation: 'relu', inputShape: [144] }),
        kit.dense(24, { name: 'base_2', activation: 'relu' }),
      ]);
      if (!kit.o.baseUntrained) {
        // With other samples first.
        const task = kit.tf.sequential({
          layers: [base, kit.dense(10, { activation: 'softmax', isOutput: true })],
        });
        task.compile({ optimizer: kit.tf.train.adam(0.01), loss: 'categoricalCrossentropy' });
        const { xs, ys } = kit.tensors(data.val, data);
        await task.fit(xs[0], ys[0], {
          epochs: 25,
          batchSize: 20,
          yieldEvery: 'never',
          verbose: 0,
        });
        kit.tf.dispose([xs, ys]);
      }
      for (const layer of base.layers) layer.trainable = false;
      const head = kit.dense(12, { name: 'head', activation: 'relu' });
      const output = kit.dense(10, { name: 'classes', activation: 'softmax', isOutput: true });
      return kit.tf.sequential({ layers: [...base.layers, head, output] });
    },
    faults: faults('base-untrained', 'rate-high', 'labels-shuffled', 'classes-sorted'),
  },
  {
    name: 'siamese-contrastive',
    o: { batchSize: 18, epochs: 9, optimizer: adam(0.005), loss: 'binaryCrossentropy' },
    metrics: ['accuracy'],
    // Two points: whether they belong to the same cloud.
    data: (seed) =>
      draw(seed, {
        inShapes: [[5], [5]],
        outShapes: [[1]],
        train: 420,
        sample: ({ xs: [a, b], ys: [y], random, gauss }) => {
          const one = Math.floor(random() * 3);
          const two = random() < 0.5 ? one : (one + 1 + Math.floor(random() * 2)) % 3;
          for (let i = 0; i < 5; i += 1) {
            a[i] = Math.cos(2.1 * one * (i + 1)) + 0.35 * gauss();
            b[i] = Math.cos(2.1 * two * (i + 1)) + 0.35 * gauss();
          }
          y[0] = one === two ? 1 : 0;
          return y[0];
        },
      }),
    model: (kit) => {
      const { layers } = kit.tf;
      const [a, b] = [
        kit.tf.input({ shape: [5], name: 'left' }),
        kit.tf.input({ shape: [5], name: 'right' }),
      ];
      const shared = sequential(kit, [
        kit.dense(16, { name: 'shared_1', activation: 'relu', inputShape: [5] }),
        kit.dense(6, { name: 'shared_2', activation: 'tanh' }),
      ]);
      const product = layers
        .multiply({ name: 'product' })
        .apply([shared.apply(a), shared.apply(b)]);
      const output = kit.dense(1, { name: 'same', activation: 'sigmoid', isOutput: true });
      return kit.tf.model({ inputs: [a, b], outputs: output.apply(product) });
    },
    faults: faults('labels-shuffled', 'classes-sorted', 'rate-low', 'softmax-missing'),
  },
  {
    name: 'triplet-embedding',
    o: { batchSize: 12, steps: 220, optimizer: adam(0.005) },
    data: (seed) =>
      draw(seed, {
        inShapes: [[15]],
        outShapes: [[1]],
        sample: ({ xs: [x], random, gauss }) => {
          const one = Math.floor(random() * 4);
          const other = (one + 1 + Math.floor(random() * 3)) % 4;
          [one, one, other].forEach((label, part) => {
            for (let i = 0; i < 5; i += 1)
              x[part * 5 + i] = Math.cos(1.3 * label * (i + 1)) + 0.4 * gauss();
          });
          return one;
        },
      }),
    async train(kit, data) {
      const { o, tf } = kit;
      const model = sequential(kit, [
        kit.dense(16, { name: 'hidden', activation: 'relu', inputShape: [5] }),
        kit.dense(4, { name: 'embedding', isOutput: true }),
      ]);
      const optimizer = kit.optimizer();
      const cost = (part) =>
        tf.tidy(() => {
          const x = tf.tensor(part.xs[0], [part.count * 3, 5]);
          const [a, p, n] = tf.unstack(
            model.apply(x, { training: true }).reshape([part.count, 3, 4]),
            1,
          );
          const near = a.sub(p).square().sum(-1);
          const far = a.sub(n).square().sum(-1);
          return near.sub(far).add(0.5).relu().mean();
        });
      await kit.loop({
        models: [{ model, optimizer }],
        data,
        steps: o.steps,
        stepsPerEpoch: 20,
        step: (batch) => ({ loss: kit.minimize(optimizer, () => cost(batch)) }),
        evaluate: () => ({ 'val/loss': tf.tidy(() => cost(data.val).dataSync()[0]) }),
      });
      const valLoss = tf.tidy(() => cost(data.test).dataSync()[0]);
      return { valLoss, valAccuracy: null };
    },
    faults: [sunk, ...faults('rate-high', 'units-dead', 'unnormalised')],
  },
];
