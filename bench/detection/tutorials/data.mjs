// Data of the tutorial programs, drawn from seeds: `{ inShapes, outShapes, labels, train, val, test }`. A part is
// `{ xs, ys, labels, count }`: `xs` and `ys` have an array for each input and each output, the samples one after the other; `labels` the
// class of each sample (or its first target) as a number. `val` is what the program validates with, `test` what its outcome is judged by.
import { normal, permutation, uniform } from '../random.mjs';

const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);

/**
 * @param sample fills `xs` and `ys`, arrays of one sample, and returns its label
 */
export function draw(seed, { inShapes, outShapes, train = 360, val = 150, sample }) {
  const random = uniform(seed);
  const gauss = normal(random);
  const part = (count) => {
    const xs = inShapes.map((shape) => new Float32Array(count * sizeOf(shape)));
    const ys = outShapes.map((shape) => new Float32Array(count * sizeOf(shape)));
    const labels = new Float32Array(count);
    const rowOf = (arrays, shapes, i) =>
      arrays.map((array, at) =>
        array.subarray(i * sizeOf(shapes[at]), (i + 1) * sizeOf(shapes[at])),
      );
    for (let i = 0; i < count; i += 1)
      labels[i] = sample({
        xs: rowOf(xs, inShapes, i),
        ys: rowOf(ys, outShapes, i),
        random,
        gauss,
      });
    return { xs, ys, labels, count };
  };
  return { inShapes, outShapes, train: part(train), val: part(val), test: part(val) };
}

/** The samples of a part at some positions. */
export function pick({ xs, ys, labels, count }, positions) {
  const rows = (array) => {
    const width = array.length / count;
    const picked = new Float32Array(positions.length * width);
    positions.forEach((at, i) => {
      picked.set(array.subarray(at * width, (at + 1) * width), i * width);
    });
    return picked;
  };
  return { xs: xs.map(rows), ys: ys.map(rows), labels: rows(labels), count: positions.length };
}

/** The first samples of one part and then those of another. */
function joined(a, b) {
  const both = (first, second) => Float32Array.from([...first, ...second]);
  return {
    xs: a.xs.map((array, i) => both(array, b.xs[i])),
    ys: a.ys.map((array, i) => both(array, b.ys[i])),
    labels: both(a.labels, b.labels),
    count: a.count + b.count,
  };
}

/** What the options of a fault do to the data: see faults.mjs. */
export function spoil(data, o, seed) {
  const random = uniform(seed + 7);
  const gauss = normal(random);
  let { train, val, test } = data;
  const parts = () => [train, val, test];
  if (o.inputScale)
    for (const { xs } of parts())
      xs.forEach((array) =>
        array.forEach((x, i) => (array[i] = (x + o.inputShift) * o.inputScale)),
      );
  if (o.shuffledLabels) {
    const order = [...permutation(train.count, random)];
    const moved = pick(train, order);
    train = { ...train, ys: moved.ys, labels: moved.labels };
  }
  if (o.targetLeak) {
    // In the last feature: the answer, with a trace of noise; the test has none of it.
    for (const part of [train, val]) {
      const width = part.xs[0].length / part.count;
      for (let i = 0; i < part.count; i += 1)
        part.xs[0][(i + 1) * width - 1] = part.labels[i] + 0.01 * gauss();
    }
    const width = test.xs[0].length / test.count;
    for (let i = 0; i < test.count; i += 1) test.xs[0][(i + 1) * width - 1] = 0;
  }
  if (o.validationLeak) {
    const few = [...permutation(train.count, random)].slice(0, Math.floor(0.6 * val.count));
    const own = [...Array(val.count - few.length).keys()];
    val = joined(pick(train, few), pick(val, own));
  }
  if (o.nanRows)
    for (let i = 0; i < train.count; i += 1)
      if (random() < 0.03) train.xs[0][(i * train.xs[0].length) / train.count] = NaN;
  if (o.fewSamples) train = pick(train, [...Array(o.fewSamples).keys()]);
  if (o.sorted) {
    const order = [...train.labels.keys()].sort((a, b) => train.labels[a] - train.labels[b]);
    train = pick(train, order);
  }
  return { ...data, train, val, test };
}

/** The outcome of a class as one-hot numbers. */
export const oneHot = (row, label) => {
  row.fill(0);
  row[label] = 1;
  return label;
};
