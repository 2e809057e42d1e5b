// The programs in the styles of tutorials, and which ten of them nobody tunes to. The ten are drawn by a seed from the list of names:
// both were written down before any program had been trained or judged. Totals of the ten may be read, their traces may not.
import { permutation, uniform } from '../random.mjs';

/** Names of the programs, in alphabetical order. Later ones are added to a list of their own: the draw depends on this one. */
export const TUTORIAL_NAMES = [
  'actor-critic-corridor',
  'addition-rnn',
  'autoencoder-conv',
  'autoencoder-denoising',
  'bidirectional-tagger',
  'boston-dense',
  'char-language-model',
  'core-api-digits',
  'dqn-grid',
  'gan-ring',
  'gaussian-nll',
  'image-cnn',
  'iris-dense',
  'jena-gru',
  'line-fit',
  'matrix-factorisation',
  'multi-output',
  'online-regression',
  'policy-gradient-pole',
  'polynomial-variables',
  'quantile-regression',
  'residual-dense',
  'sentiment-embedding',
  'seq2seq-attention',
  'siamese-contrastive',
  'simple-rnn-memory',
  'stacked-lstm-series',
  'text-conv',
  'titanic-binary',
  'transfer-features',
  'transfer-frozen-base',
  'triplet-embedding',
  'vae-dense',
  'wgan-clipped',
  'wide-and-deep',
  'xor-tanh',
];

export const UNSEEN_SEED = 20261123;

/** The ten: the first of the list in an order that {@link UNSEEN_SEED} draws. */
export const UNSEEN_TUTORIALS = [...permutation(TUTORIAL_NAMES.length, uniform(UNSEEN_SEED))]
  .slice(0, 10)
  .map((at) => TUTORIAL_NAMES[at])
  .toSorted();
