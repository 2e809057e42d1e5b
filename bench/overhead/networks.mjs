// Networks of TensorFlow.js that are trained here; each is a function of the framework.

/** Dense layers of so many units each, all but the last with a ReLU. */
export const dense = (units, inputs) => (tf) =>
  tf.sequential({
    layers: units.map((count, i) =>
      tf.layers.dense({
        units: count,
        ...(i === 0 ? { inputShape: [inputs] } : {}),
        ...(i < units.length - 1 ? { activation: 'relu' } : {}),
      }),
    ),
  });

/** For images of 16 by 16 with one channel. */
export const convolutional = (tf) =>
  tf.sequential({
    layers: [
      tf.layers.conv2d({ filters: 8, kernelSize: 3, activation: 'relu', inputShape: [16, 16, 1] }),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.conv2d({ filters: 16, kernelSize: 3, activation: 'relu' }),
      tf.layers.flatten(),
      tf.layers.dense({ units: 10 }),
    ],
  });
