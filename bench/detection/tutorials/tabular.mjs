// Programs over tables: a line, irises, houses, passengers, ratings, several inputs and outputs, quantiles.
import { draw, oneHot } from './data.mjs';
import { faults } from './faults.mjs';

const adam = (rate) => ({ kind: 'adam', rate });
const sgd = (rate) => ({ kind: 'sgd', rate });
const sequential = (kit, layers) => kit.tf.sequential({ layers });

/** Points of `classes` clouds in `width` dimensions. */
const clouds = (seed, width, classes, spread) =>
  draw(seed, {
    inShapes: [[width]],
    outShapes: [[classes]],
    sample: ({ xs: [x], ys: [y], random, gauss }) => {
      const label = Math.floor(random() * classes);
      for (let i = 0; i < width; i += 1)
        x[i] = Math.cos(2.4 * label * (i + 1) + i) + spread * gauss();
      return oneHot(y, label);
    },
  });

/** Houses: twelve features of which some are of no use, and a price. */
const houses = (seed, width = 12) =>
  draw(seed, {
    inShapes: [[width]],
    outShapes: [[1]],
    sample: ({ xs: [x], ys: [y], gauss }) => {
      for (let i = 0; i < width; i += 1) x[i] = gauss();
      y[0] =
        2.2 +
        0.9 * x[0] -
        0.6 * x[1] +
        0.5 * x[2] * x[3] +
        0.4 * Math.sin(2 * x[4]) +
        0.25 * gauss();
      return y[0];
    },
  });

/** Passengers: numbers and indicators; survived or not. */
const passengers = (seed) =>
  draw(seed, {
    inShapes: [[8]],
    outShapes: [[1]],
    sample: ({ xs: [x], ys: [y], random, gauss }) => {
      for (let i = 0; i < 4; i += 1) x[i] = gauss();
      for (let i = 4; i < 7; i += 1) x[i] = random() < 0.4 ? 1 : 0;
      x[7] = 0.3 * gauss();
      const score = 1.8 * x[4] - 1.2 * x[5] + 1.1 * x[0] + 0.8 * x[1] * x[6] - 0.3 + 0.5 * gauss();
      y[0] = score > 0 ? 1 : 0;
      return y[0];
    },
  });

export const TABULAR = [
  {
    name: 'line-fit',
    o: { batchSize: 7, epochs: 5, optimizer: sgd(0.05), loss: 'meanSquaredError' },
    data: (seed) =>
      draw(seed, {
        inShapes: [[1]],
        outShapes: [[1]],
        train: 300,
        sample: ({ xs: [x], ys: [y], random, gauss }) => {
          x[0] = 2 * random() - 1;
          y[0] = 2 * x[0] - 1 + 0.05 * gauss();
          return y[0];
        },
      }),
    model: (kit) =>
      sequential(kit, [kit.dense(1, { name: 'line', inputShape: [1], isOutput: true })]),
    faults: faults('rate-low', 'nan-rows', 'unnormalised'),
  },
  {
    name: 'xor-tanh',
    o: { batchSize: 3, epochs: 3, optimizer: sgd(0.2), loss: 'binaryCrossentropy' },
    metrics: ['accuracy'],
    data: (seed) =>
      draw(seed, {
        inShapes: [[2]],
        outShapes: [[1]],
        train: 360,
        sample: ({ xs: [x], ys: [y], random, gauss }) => {
          const [a, b] = [random() < 0.5 ? 0 : 1, random() < 0.5 ? 0 : 1];
          x[0] = a + 0.08 * gauss();
          x[1] = b + 0.08 * gauss();
          y[0] = a === b ? 0 : 1;
          return y[0];
        },
      }),
    model: (kit) =>
      sequential(kit, [
        kit.dense(8, { name: 'hidden', activation: 'tanh', inputShape: [2] }),
        kit.dense(1, { name: 'answer', activation: 'sigmoid', isOutput: true }),
      ]),
    faults: faults('labels-shuffled', 'softmax-missing', 'classes-sorted'),
  },
  {
    name: 'iris-dense',
    o: { batchSize: 15, epochs: 9, optimizer: adam(0.01), loss: 'categoricalCrossentropy' },
    metrics: ['accuracy'],
    data: (seed) => clouds(seed, 4, 3, 0.5),
    model: (kit) =>
      sequential(kit, [
        kit.dense(10, { name: 'hidden', activation: 'sigmoid', inputShape: [4] }),
        kit.dense(3, { name: 'species', activation: 'softmax', isOutput: true }),
      ]),
    faults: faults(
      'classes-sorted',
      'target-among-features',
      'labels-shuffled',
      'output-saturated',
      'loss-is-mean-squared',
    ),
  },
  {
    name: 'boston-dense',
    o: { batchSize: 20, epochs: 14, optimizer: sgd(0.1), loss: 'meanSquaredError' },
    data: (seed) => houses(seed),
    model: (kit) =>
      sequential(kit, [
        kit.dense(30, { name: 'hidden_1', activation: 'sigmoid', inputShape: [12] }),
        kit.dense(20, { name: 'hidden_2', activation: 'sigmoid' }),
        kit.dense(1, { name: 'price', isOutput: true }),
      ]),
    faults: faults(
      'target-among-features',
      'unnormalised',
      'output-squashed',
      'rate-low',
      'validation-in-training',
    ),
  },
  {
    name: 'titanic-binary',
    o: { batchSize: 28, epochs: 14, optimizer: adam(0.01), loss: 'binaryCrossentropy' },
    metrics: ['accuracy'],
    data: passengers,
    model: (kit) =>
      sequential(kit, [
        kit.dense(24, { name: 'hidden_1', activation: 'relu', inputShape: [8] }),
        kit.tf.layers.dropout({ rate: 0.2, seed: kit.seed }),
        kit.dense(12, { name: 'hidden_2', activation: 'relu' }),
        kit.dense(1, { name: 'survived', activation: 'sigmoid', isOutput: true }),
      ]),
    faults: faults(
      'labels-shuffled',
      'target-among-features',
      'units-dead',
      'few-samples',
      'rate-high',
    ),
  },
  {
    name: 'residual-dense',
    o: { batchSize: 21, epochs: 10, optimizer: adam(0.005), loss: 'categoricalCrossentropy' },
    metrics: ['accuracy'],
    data: (seed) => clouds(seed, 10, 5, 0.9),
    model: (kit) => {
      const { layers } = kit.tf;
      const input = kit.tf.input({ shape: [10] });
      const block = (x, name) => {
        const one = kit.dense(16, { name: `${name}_a`, activation: 'relu' }).apply(x);
        const two = kit.dense(16, { name: `${name}_b` }).apply(one);
        const normed = layers.batchNormalization({ name: `${name}_norm` }).apply(two);
        const sum = layers.add({ name: `${name}_add` }).apply([x, normed]);
        return layers.activation({ name: `${name}_relu`, activation: 'relu' }).apply(sum);
      };
      const stem = kit.dense(16, { name: 'stem', activation: 'relu' }).apply(input);
      const body = block(block(stem, 'block_1'), 'block_2');
      const output = kit.dense(5, { name: 'classes', activation: 'softmax', isOutput: true });
      return kit.tf.model({ inputs: input, outputs: output.apply(body) });
    },
    faults: faults('rate-high', 'labels-shuffled', 'classes-sorted', 'softmax-missing'),
  },
  {
    name: 'wide-and-deep',
    o: { batchSize: 29, epochs: 12, optimizer: adam(0.01), loss: 'binaryCrossentropy' },
    metrics: ['accuracy'],
    data: (seed) =>
      draw(seed, {
        inShapes: [[6], [4]],
        outShapes: [[1]],
        sample: ({ xs: [wide, deep], ys: [y], random, gauss }) => {
          for (let i = 0; i < 6; i += 1) wide[i] = random() < 0.3 ? 1 : 0;
          for (let i = 0; i < 4; i += 1) deep[i] = gauss();
          const score = 1.5 * wide[0] - wide[1] + deep[0] * deep[1] + deep[2] + 0.3 * gauss() - 0.1;
          y[0] = score > 0 ? 1 : 0;
          return y[0];
        },
      }),
    model: (kit) => {
      const wide = kit.tf.input({ shape: [6], name: 'wide' });
      const deep = kit.tf.input({ shape: [4], name: 'deep' });
      const one = kit.dense(16, { name: 'deep_1', activation: 'relu' }).apply(deep);
      const two = kit.dense(8, { name: 'deep_2', activation: 'relu' }).apply(one);
      const both = kit.tf.layers.concatenate({ name: 'both' }).apply([wide, two]);
      const output = kit.dense(1, { name: 'click', activation: 'sigmoid', isOutput: true });
      return kit.tf.model({ inputs: [wide, deep], outputs: output.apply(both) });
    },
    faults: faults('target-among-features', 'weights-constant', 'rate-low', 'classes-sorted'),
  },
  {
    name: 'multi-output',
    o: {
      batchSize: 26,
      epochs: 12,
      optimizer: adam(0.01),
      loss: ['categoricalCrossentropy', 'meanSquaredError'],
    },
    data: (seed) =>
      draw(seed, {
        inShapes: [[6]],
        outShapes: [[3], [1]],
        sample: ({ xs: [x], ys: [kind, size], random, gauss }) => {
          const label = Math.floor(random() * 3);
          for (let i = 0; i < 6; i += 1) x[i] = Math.cos(2 * label * (i + 1)) + 0.5 * gauss();
          size[0] = 0.7 * x[0] - 0.4 * x[1] * x[2] + 0.1 * gauss();
          return oneHot(kind, label);
        },
      }),
    model: (kit) => {
      const input = kit.tf.input({ shape: [6] });
      const body = kit.dense(20, { name: 'shared', activation: 'relu' }).apply(input);
      const kind = kit.dense(3, { name: 'kind', activation: 'softmax', isOutput: true });
      const size = kit.dense(1, { name: 'size' });
      return kit.tf.model({ inputs: input, outputs: [kind.apply(body), size.apply(body)] });
    },
    faults: faults('rate-high', 'unnormalised', 'nan-rows', 'units-dead'),
  },
  {
    name: 'quantile-regression',
    o: { batchSize: 33, epochs: 16, optimizer: adam(0.01) },
    data: (seed) => houses(seed, 5),
    loss: (kit) =>
      function pinball(truth, guess) {
        return kit.tf.tidy(() => {
          const error = truth.sub(guess);
          return kit.tf.maximum(error.mul(0.9), error.mul(-0.1)).mean();
        });
      },
    model: (kit) =>
      sequential(kit, [
        kit.dense(24, { name: 'hidden_1', activation: 'relu', inputShape: [5] }),
        kit.dense(12, { name: 'hidden_2', activation: 'relu' }),
        kit.dense(1, { name: 'quantile', isOutput: true }),
      ]),
    faults: faults('rate-low', 'target-among-features', 'labels-shuffled', 'unnormalised'),
  },
  {
    name: 'online-regression',
    o: { batchSize: 1, epochs: 1, optimizer: sgd(0.02), loss: 'meanSquaredError' },
    data: (seed) =>
      draw(seed, {
        inShapes: [[3]],
        outShapes: [[1]],
        train: 260,
        sample: ({ xs: [x], ys: [y], gauss }) => {
          for (let i = 0; i < 3; i += 1) x[i] = gauss();
          y[0] = 0.8 * x[0] - 0.5 * x[1] + 0.3 * x[2] + 0.4 + 0.1 * gauss();
          return y[0];
        },
      }),
    model: (kit) =>
      sequential(kit, [
        kit.dense(8, { name: 'hidden', activation: 'tanh', inputShape: [3] }),
        kit.dense(1, { name: 'value', isOutput: true }),
      ]),
    faults: faults('unnormalised', 'rate-low', 'nan-rows'),
  },
  {
    name: 'matrix-factorisation',
    o: { batchSize: 37, epochs: 14, optimizer: adam(0.03), loss: 'meanSquaredError' },
    data: (seed) =>
      draw(seed, {
        inShapes: [[1], [1]],
        outShapes: [[1]],
        train: 500,
        sample: ({ xs: [user, item], ys: [y], random, gauss }) => {
          user[0] = Math.floor(random() * 20);
          item[0] = Math.floor(random() * 15);
          y[0] = 1.2 * Math.sin(user[0]) * Math.cos(1.7 * item[0]) + 0.6 + 0.15 * gauss();
          return y[0];
        },
      }),
    model: (kit) => {
      const user = kit.tf.input({ shape: [1], name: 'user', dtype: 'int32' });
      const item = kit.tf.input({ shape: [1], name: 'item', dtype: 'int32' });
      const flat = (x) => kit.tf.layers.flatten().apply(x);
      const users = flat(kit.embedding(20, 6, { name: 'users' }).apply(user));
      const items = flat(kit.embedding(15, 6, { name: 'items' }).apply(item));
      const dot = kit.tf.layers.dot({ axes: 1, name: 'match' }).apply([users, items]);
      const output = kit.dense(1, { name: 'rating', isOutput: true }).apply(dot);
      return kit.tf.model({ inputs: [user, item], outputs: output });
    },
    faults: faults('rate-low', 'labels-shuffled', 'rate-high'),
  },
];
