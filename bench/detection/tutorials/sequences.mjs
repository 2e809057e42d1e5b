// Programs over sequences: sums of digits, dates with attention, characters, tags, reviews, weather.
import { draw, oneHot } from './data.mjs';
import { faults } from './faults.mjs';

const adam = (rate) => ({ kind: 'adam', rate });
const sequential = (kit, layers) => kit.tf.sequential({ layers });

/** Reviews: words of which some are kind and some are not. */
const reviews = (seed, length = 12, words = 40) =>
  draw(seed, {
    inShapes: [[length]],
    outShapes: [[1]],
    sample: ({ xs: [x], ys: [y], random }) => {
      const label = random() < 0.5 ? 0 : 1;
      for (let i = 0; i < length; i += 1)
        x[i] =
          random() < 0.35
            ? 1 + Math.floor(random() * 8) + (label === 1 ? 8 : 0)
            : 17 + Math.floor(random() * (words - 17));
      y[0] = label;
      return label;
    },
  });

/** A series of `width` values at `length` times, and what comes next. */
const weather = (seed, length, width) =>
  draw(seed, {
    inShapes: [[length, width]],
    outShapes: [[1]],
    sample: ({ xs: [x], ys: [y], random, gauss }) => {
      const phase = 2 * Math.PI * random();
      const speed = 0.4 + 0.4 * random();
      for (let t = 0; t < length; t += 1)
        for (let i = 0; i < width; i += 1)
          x[t * width + i] = Math.sin(speed * t + phase + i) + 0.15 * gauss();
      y[0] = Math.sin(speed * length + phase) + 0.05 * gauss();
      return y[0];
    },
  });

export const SEQUENCES = [
  {
    name: 'addition-rnn',
    o: { batchSize: 22, epochs: 10, optimizer: adam(0.02), loss: 'categoricalCrossentropy' },
    metrics: ['accuracy'],
    // A digit and a digit; the sum of both, the tens first, of 10 characters.
    data: (seed) =>
      draw(seed, {
        inShapes: [[2, 10]],
        outShapes: [[2, 10]],
        sample: ({ xs: [x], ys: [y], random }) => {
          const [a, b] = [Math.floor(random() * 10), Math.floor(random() * 10)];
          x[a] = 1;
          x[10 + b] = 1;
          y[Math.floor((a + b) / 10)] = 1;
          y[10 + ((a + b) % 10)] = 1;
          return a + b;
        },
      }),
    model: (kit) =>
      sequential(kit, [
        kit.recurrent('lstm', 24, { name: 'encoder', inputShape: [2, 10] }),
        kit.tf.layers.repeatVector({ n: 2, name: 'repeat' }),
        kit.recurrent('lstm', 24, { name: 'decoder', returnSequences: true }),
        kit.tf.layers.timeDistributed({
          name: 'digits',
          layer: kit.dense(10, { activation: 'softmax', isOutput: true }),
        }),
      ]),
    faults: faults('rate-low', 'labels-shuffled', 'softmax-missing', 'rate-high'),
  },
  {
    name: 'seq2seq-attention',
    o: { batchSize: 17, epochs: 9, optimizer: adam(0.02), loss: 'categoricalCrossentropy' },
    metrics: ['accuracy'],
    // Four characters, to be said backwards.
    data: (seed) =>
      draw(seed, {
        inShapes: [[4], [4]],
        outShapes: [[4, 8]],
        train: 300,
        sample: ({ xs: [from, to], ys: [y], random }) => {
          for (let i = 0; i < 4; i += 1) from[i] = 1 + Math.floor(random() * 7);
          for (let i = 0; i < 4; i += 1) {
            y[i * 8 + from[3 - i]] = 1;
            if (i > 0) to[i] = from[4 - i];
          }
          return from[3];
        },
      }),
    model: (kit) => {
      const { layers } = kit.tf;
      const from = kit.tf.input({ shape: [4], name: 'from' });
      const to = kit.tf.input({ shape: [4], name: 'to' });
      const seen = kit.embedding(8, 8, { name: 'embed_from' }).apply(from);
      const said = kit.embedding(8, 8, { name: 'embed_to' }).apply(to);
      const more = { returnSequences: true };
      const encoded = kit.recurrent('lstm', 16, { name: 'encoder', ...more }).apply(seen);
      const decoded = kit.recurrent('lstm', 16, { name: 'decoder', ...more }).apply(said);
      const scores = layers.dot({ axes: [2, 2], name: 'scores' }).apply([decoded, encoded]);
      const attention = layers
        .activation({ activation: 'softmax', name: 'attention' })
        .apply(scores);
      const context = layers.dot({ axes: [2, 1], name: 'context' }).apply([attention, encoded]);
      const both = layers.concatenate({ name: 'both' }).apply([context, decoded]);
      const hidden = layers
        .timeDistributed({ name: 'hidden', layer: kit.dense(16, { activation: 'tanh' }) })
        .apply(both);
      const output = layers.timeDistributed({
        name: 'characters',
        layer: kit.dense(8, { activation: 'softmax', isOutput: true }),
      });
      return kit.tf.model({ inputs: [from, to], outputs: output.apply(hidden) });
    },
    faults: faults('rate-low', 'softmax-missing', 'labels-shuffled', 'recurrent-large'),
  },
  {
    name: 'char-language-model',
    o: { batchSize: 19, epochs: 8, optimizer: adam(0.02), loss: 'categoricalCrossentropy' },
    data: (seed) =>
      draw(seed, {
        inShapes: [[6, 9]],
        outShapes: [[9]],
        sample: ({ xs: [x], ys: [y], random }) => {
          let at = Math.floor(random() * 9);
          for (let t = 0; t < 6; t += 1) {
            x[t * 9 + at] = 1;
            at = random() < 0.8 ? (2 * at + 1) % 9 : Math.floor(random() * 9);
          }
          return oneHot(y, at);
        },
      }),
    model: (kit) =>
      sequential(kit, [
        kit.recurrent('lstm', 20, { name: 'lstm', inputShape: [6, 9] }),
        kit.dense(9, { name: 'next', activation: 'softmax', isOutput: true }),
      ]),
    faults: faults('recurrent-large', 'labels-shuffled', 'rate-high', 'classes-sorted'),
  },
  {
    name: 'bidirectional-tagger',
    o: { batchSize: 13, epochs: 7, optimizer: adam(0.02), loss: 'categoricalCrossentropy' },
    metrics: ['accuracy'],
    data: (seed) =>
      draw(seed, {
        inShapes: [[6]],
        outShapes: [[6, 3]],
        train: 260,
        sample: ({ xs: [x], ys: [y], random }) => {
          for (let i = 0; i < 6; i += 1) x[i] = Math.floor(random() * 12);
          for (let i = 0; i < 6; i += 1)
            y[i * 3 + (((x[i] % 3) + (i > 0 && x[i - 1] > 8 ? 1 : 0)) % 3)] = 1;
          return x[0] % 3;
        },
      }),
    model: (kit) =>
      sequential(kit, [
        kit.embedding(12, 8, { name: 'words', inputLength: 6 }),
        kit.tf.layers.bidirectional({
          name: 'both_ways',
          layer: kit.recurrent('lstm', 10, { returnSequences: true }),
          mergeMode: 'concat',
        }),
        kit.tf.layers.timeDistributed({
          name: 'tags',
          layer: kit.dense(3, { activation: 'softmax', isOutput: true }),
        }),
      ]),
    faults: faults('rate-low', 'labels-shuffled', 'softmax-missing'),
  },
  {
    name: 'sentiment-embedding',
    o: { batchSize: 23, epochs: 12, optimizer: adam(0.02), loss: 'binaryCrossentropy' },
    metrics: ['accuracy'],
    data: (seed) => reviews(seed),
    model: (kit) =>
      sequential(kit, [
        kit.embedding(40, 8, { name: 'words', inputLength: 12 }),
        kit.tf.layers.globalAveragePooling1d({ name: 'mean' }),
        kit.dense(12, { name: 'hidden', activation: 'relu' }),
        kit.dense(1, { name: 'kind', activation: 'sigmoid', isOutput: true }),
      ]),
    faults: faults('labels-shuffled', 'classes-sorted', 'units-dead', 'validation-in-training'),
  },
  {
    name: 'text-conv',
    o: { batchSize: 27, epochs: 10, optimizer: adam(0.01), loss: 'binaryCrossentropy' },
    metrics: ['accuracy'],
    data: (seed) => reviews(seed),
    model: (kit) =>
      sequential(kit, [
        kit.embedding(40, 8, { name: 'words', inputLength: 12 }),
        kit.conv('conv1d', { name: 'conv', filters: 12, kernelSize: 3, activation: 'relu' }),
        kit.tf.layers.globalMaxPooling1d({ name: 'most' }),
        kit.tf.layers.dropout({ name: 'dropout', rate: 0.3, seed: kit.seed }),
        kit.dense(8, { name: 'hidden', activation: 'relu' }),
        kit.dense(1, { name: 'kind', activation: 'sigmoid', isOutput: true }),
      ]),
    faults: faults('classes-sorted', 'validation-in-training', 'softmax-missing', 'rate-high'),
  },
  {
    name: 'jena-gru',
    o: {
      batchSize: 11,
      epochs: 6,
      optimizer: { kind: 'rmsprop', rate: 0.005 },
      loss: 'meanAbsoluteError',
    },
    data: (seed) => weather(seed, 10, 3),
    model: (kit) =>
      sequential(kit, [
        kit.recurrent('gru', 14, { name: 'gru', inputShape: [10, 3] }),
        kit.dense(1, { name: 'temperature', isOutput: true }),
      ]),
    faults: faults('unnormalised', 'recurrent-large', 'rate-low', 'labels-shuffled'),
  },
  {
    name: 'stacked-lstm-series',
    o: { batchSize: 16, epochs: 8, optimizer: adam(0.01), loss: 'meanSquaredError' },
    data: (seed) => weather(seed, 8, 1),
    model: (kit) =>
      sequential(kit, [
        kit.recurrent('lstm', 12, { name: 'lstm_1', inputShape: [8, 1], returnSequences: true }),
        kit.recurrent('lstm', 12, { name: 'lstm_2' }),
        kit.dense(1, { name: 'next', isOutput: true }),
      ]),
    faults: faults('unnormalised', 'rate-high', 'weights-constant', 'validation-in-training'),
  },
  {
    name: 'simple-rnn-memory',
    o: { batchSize: 14, epochs: 8, optimizer: adam(0.005), loss: 'categoricalCrossentropy' },
    metrics: ['accuracy'],
    // Which of four came first, and then noise.
    data: (seed) =>
      draw(seed, {
        inShapes: [[10, 4]],
        outShapes: [[4]],
        sample: ({ xs: [x], ys: [y], random, gauss }) => {
          const label = Math.floor(random() * 4);
          for (let i = 0; i < 40; i += 1) x[i] = 0.2 * gauss();
          x[label] += 1.5;
          x[4 + label] += 1;
          return oneHot(y, label);
        },
      }),
    model: (kit) =>
      sequential(kit, [
        kit.recurrent('simpleRNN', 16, { name: 'rnn', inputShape: [10, 4] }),
        kit.dense(4, { name: 'first', activation: 'softmax', isOutput: true }),
      ]),
    faults: faults('recurrent-large', 'labels-shuffled', 'output-saturated', 'classes-sorted'),
  },
];
