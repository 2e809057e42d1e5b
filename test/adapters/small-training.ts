/** A small training with TensorFlow.js that goes the same way every time. */
import * as tf from '@tensorflow/tfjs';

function numbers(length: number, seed: number): Float32Array {
  let state = seed;
  return Float32Array.from({ length }, () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647 - 0.5;
  });
}

export type Data = { readonly xs: tf.Tensor2D; readonly ys: tf.Tensor2D };

/** Rows of three numbers; the class is whether the first two have one sign. */
export function data(rows = 24): Data {
  const inputs = numbers(rows * 3, 5);
  const labels = Float32Array.from({ length: rows }, (_, row) =>
    (inputs[row * 3] ?? 0) * (inputs[row * 3 + 1] ?? 0) > 0 ? 1 : 0,
  );
  return { xs: tf.tensor2d(inputs, [rows, 3]), ys: tf.tensor2d(labels, [rows, 1]) };
}

/** Two dense layers with weights from fixed seeds, compiled. */
export function model(
  metrics: string[] = ['accuracy'],
  optimizer: tf.Optimizer = tf.train.sgd(0.25),
): tf.Sequential {
  const made = tf.sequential({
    name: 'small',
    layers: [
      tf.layers.dense({
        units: 4,
        activation: 'tanh',
        inputShape: [3],
        kernelInitializer: tf.initializers.glorotNormal({ seed: 3 }),
      }),
      tf.layers.dense({
        units: 1,
        activation: 'sigmoid',
        kernelInitializer: tf.initializers.glorotNormal({ seed: 4 }),
      }),
    ],
  });
  made.compile({ optimizer, loss: 'binaryCrossentropy', metrics });
  return made;
}

/** Every weight of a model. */
export function weights(network: tf.Sequential): readonly (readonly number[])[] {
  return network.getWeights().map((weight) => Array.from(weight.dataSync()));
}
