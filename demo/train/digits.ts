/**
 * The demo's data and network, shared by the training page and by the training job of the command line. Neither the DOM
 * nor `node:` is used here: the caller decompresses the file and hands over its own TensorFlow.js.
 */

import { DEFAULT_INSTRUMENTS, type DigitBatch, type InstrumentChoice } from './instruments.ts';

/** The TensorFlow.js namespace, as far as it is needed here. */
export type Tf = typeof import('@tensorflow/tfjs');

/** Pixels of one side of an image. */
export const DIGIT_SIDE = 8;
/** Pixels of one image. */
export const DIGIT_PIXELS: number = DIGIT_SIDE * DIGIT_SIDE;
/** How many digits there are to tell apart. */
export const DIGIT_CLASSES = 10;

/** Brightest grey level in the file; pixels are divided by it. */
const GREY_MAX = 16;

/** Images with their labels. */
export type Digits = {
  readonly count: number;
  /** `[count, 64]` row-major, each pixel from 0 to 1. */
  readonly images: Float32Array<ArrayBuffer>;
  /** `[count]`, each from 0 to 9. */
  readonly labels: Uint8Array<ArrayBuffer>;
  /** `[count]`, line of each image in the file, from 0: stays with it through shuffling. */
  readonly ids: Int32Array<ArrayBuffer>;
};

/** The two parts of the data: one to learn from, one to check with. */
export type DigitsSplit = { readonly train: Digits; readonly val: Digits };

/** A batch of tensors as `model.fit` takes them. The caller disposes of them. */
export type DigitTensors = {
  /** `[count, 8, 8, 1]` */
  readonly xs: import('@tensorflow/tfjs').Tensor4D;
  /** `[count, 10]`, one-hot. */
  readonly ys: import('@tensorflow/tfjs').Tensor2D;
};

/** Settings of a demo training. */
export type DigitsTrainingConfig = {
  readonly epochs: number;
  readonly batchSize: number;
  readonly learningRate: number;
  /** Share of the images for validation, 0 to 1. */
  readonly validationRatio: number;
  /** Seeds the split, the weights' initial values and the order of the images in each epoch. */
  readonly seed: number;
  /** What is recorded beside the metrics. */
  readonly instruments: InstrumentChoice;
};

/** What the demo trains with unless told otherwise. */
export const DEFAULT_DIGITS_TRAINING: DigitsTrainingConfig = Object.freeze({
  epochs: 20,
  batchSize: 32,
  learningRate: 0.001,
  validationRatio: 0.2,
  seed: 7,
  instruments: DEFAULT_INSTRUMENTS,
});

/**
 * Reads the text of `digits.csv`: 64 grey levels from 0 to 16 and the digit, comma-separated, one image a line.
 *
 * @throws Error naming the line when a line is not that
 */
export function parseDigits(csv: string): Digits {
  const lines = csv.split('\n').filter((line) => line.trim() !== '');
  const images = new Float32Array(lines.length * DIGIT_PIXELS);
  const labels = new Uint8Array(lines.length);
  for (const [row, line] of lines.entries()) {
    const cells = line.split(',');
    if (cells.length !== DIGIT_PIXELS + 1) {
      throw new Error(
        `digits line ${row + 1}: expected ${DIGIT_PIXELS + 1} numbers, got ${cells.length}.`,
      );
    }
    for (let pixel = 0; pixel < DIGIT_PIXELS; pixel += 1) {
      const grey = Number(cells[pixel]);
      if (!(grey >= 0 && grey <= GREY_MAX)) {
        throw new Error(
          `digits line ${row + 1}: a pixel must be from 0 to ${GREY_MAX}, got ${cells[pixel]}.`,
        );
      }
      images[row * DIGIT_PIXELS + pixel] = grey / GREY_MAX;
    }
    const label = Number(cells[DIGIT_PIXELS]);
    if (!Number.isInteger(label) || label < 0 || label >= DIGIT_CLASSES) {
      throw new Error(
        `digits line ${row + 1}: the digit must be from 0 to 9, got ${cells[DIGIT_PIXELS]}.`,
      );
    }
    labels[row] = label;
  }
  const ids = Int32Array.from(lines.keys());
  return { count: lines.length, images, labels, ids };
}

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** Shuffles with `seed` and sets `validationRatio` of the images aside. The same seed gives the same split. */
export function splitDigits(
  digits: Digits,
  validationRatio: number = DEFAULT_DIGITS_TRAINING.validationRatio,
  seed: number = DEFAULT_DIGITS_TRAINING.seed,
): DigitsSplit {
  const random = seededRandom(seed);
  const order = Int32Array.from({ length: digits.count }, (_, index) => index);
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    const moved = order[last] ?? 0;
    order[last] = order[other] ?? 0;
    order[other] = moved;
  }
  const valCount = Math.round(digits.count * validationRatio);
  return {
    train: pick(digits, order.subarray(valCount)),
    val: pick(digits, order.subarray(0, valCount)),
  };
}

function pick(digits: Digits, rows: Int32Array): Digits {
  const images = new Float32Array(rows.length * DIGIT_PIXELS);
  const labels = new Uint8Array(rows.length);
  for (const [at, row] of rows.entries()) {
    images.set(
      digits.images.subarray(row * DIGIT_PIXELS, (row + 1) * DIGIT_PIXELS),
      at * DIGIT_PIXELS,
    );
    labels[at] = digits.labels[row] ?? 0;
  }
  const ids = Int32Array.from(rows, (row) => digits.ids[row] ?? 0);
  return { count: rows.length, images, labels, ids };
}

/** The images and one-hot labels as tensors of the active backend. The caller disposes both. */
export function digitTensors(tf: Tf, digits: Digits): DigitTensors {
  const oneHot = new Float32Array(digits.count * DIGIT_CLASSES);
  for (const [row, label] of digits.labels.entries()) oneHot[row * DIGIT_CLASSES + label] = 1;
  return {
    xs: tf.tensor4d(digits.images, [digits.count, DIGIT_SIDE, DIGIT_SIDE, 1]),
    ys: tf.tensor2d(oneHot, [digits.count, DIGIT_CLASSES]),
  };
}

/**
 * Endless batches for `fitDataset` with `batchesPerEpoch`, from `firstEpoch` on; each epoch has an order of its own, which
 * follows from the seed. `onBatch` is told of each batch before it is trained on.
 */
export function digitBatches(
  tf: Tf,
  digits: Digits,
  options: { readonly batchSize: number; readonly seed: number; readonly firstEpoch: number },
  onBatch: (batch: DigitBatch) => void,
): import('@tensorflow/tfjs').data.Dataset<DigitTensors> {
  const { batchSize, seed, firstEpoch } = options;
  const generate = function* (): Generator<DigitTensors> {
    for (let epoch = firstEpoch; ; epoch += 1) {
      const { images, labels, ids } = splitDigits(digits, 0, seed + epoch + 1).train;
      for (let start = 0; start < digits.count; start += batchSize) {
        const end = Math.min(start + batchSize, digits.count);
        const batch = {
          count: end - start,
          images: images.slice(start * DIGIT_PIXELS, end * DIGIT_PIXELS),
          labels: labels.slice(start, end),
          ids: ids.slice(start, end),
        };
        onBatch(batch);
        yield digitTensors(tf, batch);
      }
    }
  };
  return tf.data.generator(generate);
}

/**
 * The network, compiled: two 3 x 3 convolutions of 8 and 16 filters, pooling, a dense layer of 32 and one of 10, with
 * Adam, cross-entropy and accuracy. The initial weights follow from `seed`.
 */
export function buildDigitsModel(
  tf: Tf,
  learningRate: number = DEFAULT_DIGITS_TRAINING.learningRate,
  seed: number = DEFAULT_DIGITS_TRAINING.seed,
): import('@tensorflow/tfjs').Sequential {
  const initializer = (offset: number): ReturnType<Tf['initializers']['heNormal']> =>
    tf.initializers.heNormal({ seed: seed + offset });
  const model = tf.sequential({
    name: 'digits',
    layers: [
      tf.layers.conv2d({
        name: 'conv1',
        inputShape: [DIGIT_SIDE, DIGIT_SIDE, 1],
        filters: 8,
        kernelSize: 3,
        activation: 'relu',
        kernelInitializer: initializer(1),
      }),
      tf.layers.conv2d({
        name: 'conv2',
        filters: 16,
        kernelSize: 3,
        activation: 'relu',
        kernelInitializer: initializer(2),
      }),
      tf.layers.maxPooling2d({ name: 'pool', poolSize: 2 }),
      tf.layers.flatten({ name: 'flatten' }),
      tf.layers.dense({
        name: 'hidden',
        units: 32,
        activation: 'relu',
        kernelInitializer: initializer(3),
      }),
      tf.layers.dense({
        name: 'digit',
        units: DIGIT_CLASSES,
        activation: 'softmax',
        kernelInitializer: tf.initializers.glorotNormal({ seed: seed + 4 }),
      }),
    ],
  });
  compileDigitsModel(tf, model, learningRate);
  return model;
}

/** Sets the optimizer, loss and metrics; also of a model that was loaded without its optimizer. */
export function compileDigitsModel(
  tf: Tf,
  model: import('@tensorflow/tfjs').LayersModel,
  learningRate: number,
): void {
  model.compile({
    optimizer: tf.train.adam(learningRate),
    loss: 'categoricalCrossentropy',
    metrics: ['accuracy'],
  });
}
