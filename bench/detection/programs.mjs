// Healthy programs to put faults into. A program is plain data: `faults.mjs` changes a copy of it, `training.mjs` runs it.
//
// data(seed): what is learnt. layers: `{ kind, name, ...arguments of tf.layers[kind] }`. loss: 'crossentropy' takes the output for
// probabilities of classes, 'binary' for one probability, 'mse' for a value. steps and batchSize say how long it trains.
import { blobs, circles, digits, moons, surface, waves } from './data.mjs';

const dense = (name, units, activation, more = {}) => ({
  kind: 'dense',
  name,
  units,
  ...(activation === undefined ? {} : { activation }),
  ...more,
});

/** What a program does unless it, or a fault, says otherwise. */
const USUAL = Object.freeze({
  batchSize: 16,
  steps: 240,
  stepsPerEpoch: 20,
  optimizer: Object.freeze({ kind: 'adam', rate: 0.01 }),
  heldOut: false,
});

export const PROGRAMS = [
  {
    name: 'mlp-blobs',
    data: blobs,
    loss: 'crossentropy',
    layers: [
      dense('hidden_1', 24, 'relu'),
      dense('hidden_2', 16, 'relu'),
      dense('output', 4, 'softmax'),
    ],
  },
  {
    name: 'mlp-surface',
    data: surface,
    loss: 'mse',
    layers: [dense('hidden_1', 32, 'relu'), dense('hidden_2', 32, 'relu'), dense('output', 1)],
  },
  {
    name: 'cnn-digits',
    data: digits,
    loss: 'crossentropy',
    optimizer: { kind: 'adam', rate: 0.004 },
    layers: [
      { kind: 'conv2d', name: 'conv_1', filters: 6, kernelSize: 3, activation: 'relu' },
      { kind: 'maxPooling2d', name: 'pool_1', poolSize: 2 },
      { kind: 'flatten', name: 'flatten' },
      dense('hidden', 24, 'relu'),
      dense('output', 10, 'softmax'),
    ],
  },
  {
    name: 'lstm-waves',
    data: waves,
    loss: 'crossentropy',
    steps: 200,
    layers: [
      { kind: 'lstm', name: 'lstm', units: 10 },
      dense('hidden', 12, 'relu'),
      dense('output', 4, 'softmax'),
    ],
  },
  {
    name: 'mlp-moons-momentum',
    data: moons,
    loss: 'binary',
    optimizer: { kind: 'momentum', rate: 0.05, momentum: 0.9 },
    layers: [
      dense('hidden_1', 16, 'tanh'),
      dense('hidden_2', 16, 'tanh'),
      dense('output', 1, 'sigmoid'),
    ],
  },
  // Nobody looked at the traces of the next three while thresholds were chosen.
  {
    name: 'mlp-circles-sgd',
    heldOut: true,
    data: circles,
    loss: 'binary',
    optimizer: { kind: 'sgd', rate: 0.3 },
    layers: [
      dense('hidden_1', 20, 'relu'),
      dense('hidden_2', 12, 'relu'),
      dense('output', 1, 'sigmoid'),
    ],
  },
  {
    name: 'conv1d-waves',
    heldOut: true,
    data: waves,
    loss: 'crossentropy',
    layers: [
      { kind: 'conv1d', name: 'conv_1', filters: 10, kernelSize: 3, activation: 'relu' },
      { kind: 'conv1d', name: 'conv_2', filters: 10, kernelSize: 3, activation: 'relu' },
      { kind: 'globalMaxPooling1d', name: 'pool' },
      dense('hidden', 12, 'relu'),
      dense('output', 4, 'softmax'),
    ],
  },
  {
    name: 'mlp-digits-norm',
    heldOut: true,
    data: digits,
    loss: 'crossentropy',
    steps: 320,
    optimizer: { kind: 'rmsprop', rate: 0.004 },
    layers: [
      { kind: 'flatten', name: 'flatten' },
      dense('hidden_1', 32, undefined),
      { kind: 'batchNormalization', name: 'norm_1' },
      { kind: 'activation', name: 'relu_1', activation: 'relu' },
      dense('hidden_2', 24, 'relu'),
      dense('hidden_3', 24, 'relu'),
      dense('output', 10, 'softmax'),
    ],
  },
].map((program) => Object.freeze({ ...USUAL, ...program }));
