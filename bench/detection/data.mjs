// Data sets that are drawn, not downloaded. Each is { shape, classes, train, val } with { x, y, count } in both parts: x holds the
// samples one after the other, y the class (or the value, where classes is 1 and the task a regression).
import { normal, uniform } from './random.mjs';

function draw(count, length, sample) {
  const x = new Float32Array(count * length);
  const y = new Float32Array(count);
  for (let i = 0; i < count; i += 1) y[i] = sample(x.subarray(i * length, (i + 1) * length), i);
  return { x, y, count };
}

function parts({ seed, shape, classes, trainCount, valCount, make }) {
  const length = shape.reduce((a, b) => a * b, 1);
  const random = uniform(seed);
  const sample = make(random, normal(random));
  return {
    shape,
    classes,
    train: draw(trainCount, length, sample),
    val: draw(valCount, length, sample),
  };
}

/** Points around `classes` centres on a circle; neighbours overlap a little. */
export function blobs(seed, { classes = 4, trainCount = 512, valCount = 256 } = {}) {
  return parts({
    seed,
    shape: [2],
    classes,
    trainCount,
    valCount,
    make: (random, gauss) => (x) => {
      const label = Math.floor(random() * classes);
      const angle = (2 * Math.PI * label) / classes + 0.3;
      x[0] = 1.3 * Math.cos(angle) + 0.45 * gauss();
      x[1] = 1.3 * Math.sin(angle) + 0.45 * gauss();
      return label;
    },
  });
}

/** Two rings, one inside the other. */
export function circles(seed, { trainCount = 512, valCount = 256 } = {}) {
  return parts({
    seed,
    shape: [2],
    classes: 2,
    trainCount,
    valCount,
    make: (random, gauss) => (x) => {
      const label = random() < 0.5 ? 0 : 1;
      const radius = (label === 1 ? 0.6 : 1.4) + 0.15 * gauss();
      const angle = 2 * Math.PI * random();
      x[0] = radius * Math.cos(angle);
      x[1] = radius * Math.sin(angle);
      return label;
    },
  });
}

/** Two moons. */
export function moons(seed, { trainCount = 512, valCount = 256 } = {}) {
  return parts({
    seed,
    shape: [2],
    classes: 2,
    trainCount,
    valCount,
    make: (random, gauss) => (x) => {
      const label = random() < 0.5 ? 0 : 1;
      const angle = Math.PI * random();
      x[0] = (label === 0 ? Math.cos(angle) : 1 - Math.cos(angle)) - 0.5 + 0.12 * gauss();
      x[1] = (label === 0 ? Math.sin(angle) : 0.5 - Math.sin(angle)) - 0.25 + 0.12 * gauss();
      return label;
    },
  });
}

/** A smooth function of four numbers, with noise. */
export function surface(seed, { trainCount = 512, valCount = 256 } = {}) {
  return parts({
    seed,
    shape: [4],
    classes: 1,
    trainCount,
    valCount,
    make: (random, gauss) => (x) => {
      for (let i = 0; i < 4; i += 1) x[i] = gauss();
      return Math.sin(1.5 * x[0]) + 0.5 * x[1] * x[2] - 0.7 * x[3] + 0.1 * gauss();
    },
  });
}

/** Seven-segment figures 0 to 9 of 12 by 12 pixels, moved, of changing strength and with noise; about mean 0. */
export function digits(seed, { trainCount = 640, valCount = 320 } = {}) {
  // Which of the segments top, upper left, upper right, middle, lower left, lower right, bottom are lit.
  const lit = ['1110111', '0010010', '1011101', '1011011', '0111010', '1101011', '1101111'];
  lit.push('1010010', '1111111', '1111011');
  const strokes = [
    [0, 0, 0, 5],
    [0, 0, 4, 0],
    [0, 5, 4, 5],
    [4, 0, 4, 5],
    [4, 0, 8, 0],
    [4, 5, 8, 5],
    [8, 0, 8, 5],
  ];
  return parts({
    seed,
    shape: [12, 12, 1],
    classes: 10,
    trainCount,
    valCount,
    make: (random, gauss) => (x) => {
      const label = Math.floor(random() * 10);
      const top = 1 + Math.floor(random() * 3);
      const left = 1 + Math.floor(random() * 5);
      const ink = 1.5 + 0.5 * random();
      for (let i = 0; i < x.length; i += 1) x[i] = -0.5 + 0.35 * gauss();
      strokes.forEach(([fromRow, fromColumn, toRow, toColumn], stroke) => {
        if (lit[label][stroke] !== '1') return;
        for (let row = fromRow; row <= toRow; row += 1)
          for (let column = fromColumn; column <= toColumn; column += 1)
            x[(top + row) * 12 + left + column] += ink;
      });
      return label;
    },
  });
}

/** Series of 12 values: a rising, a falling, a waving one, or noise alone. */
export function waves(seed, { trainCount = 512, valCount = 256 } = {}) {
  return parts({
    seed,
    shape: [12, 1],
    classes: 4,
    trainCount,
    valCount,
    make: (random, gauss) => (x) => {
      const label = Math.floor(random() * 4);
      const phase = 2 * Math.PI * random();
      for (let t = 0; t < 12; t += 1) {
        const trend = (t - 5.5) / 5.5;
        const shape = [trend, -trend, 1.2 * Math.sin(t * 1.1 + phase), 0][label];
        x[t] = shape + 0.45 * gauss();
      }
      return label;
    },
  });
}
