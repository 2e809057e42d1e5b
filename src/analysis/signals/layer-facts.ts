/** What rules ask of layers. */
import type { LayerSeries } from '../columns/run-columns.ts';

/** Whether no later layer was seen in the forward pass: the output of the network, which may well be saturated. */
export function isLastLayer(layer: LayerSeries, layers: readonly LayerSeries[]): boolean {
  return layers.at(-1) === layer;
}

/**
 * Share of the units of a layer that were dead in each of the last probes, 0 to 1, a row a probe; NaN where units were not
 * counted.
 */
export function deadUnitShare(layer: LayerSeries): Float64Array {
  return layer.persistentDeadUnitCount.map((count, row) => {
    const units = layer.unitCount[row] ?? Number.NaN;
    return units > 0 ? Math.min(1, count / units) : Number.NaN;
  });
}

/** Share of dead units from which too few are left to learn with. */
const FEW_LEFT = 0.8;
/** Share of its start that a loss has lost from which the units that live are enough; below the other, it is not for want of some units. */
const ENOUGH = 0.5;
const NOTHING = 0.15;

/**
 * Whether dead units are beside the point: a fifth of the layer and more lives and passes gradients on, and the loss has lost most of its
 * start, or next to nothing, which that many units would have made better than.
 */
export function hasEnoughLeft(deadShare: number, learnedShare: number): boolean {
  return deadShare < FEW_LEFT && (learnedShare >= ENOUGH || Math.abs(learnedShare) < NOTHING);
}

/** Whether a layer stands for what the model is given. */
export function isInput({ moduleType }: Pick<LayerSeries, 'moduleType'>): boolean {
  return /^(?:input|inputlayer)$/i.test(moduleType);
}

/**
 * Whether a layer only passes on what another computed: dropout, reshaping, pooling, joining. Zeros that dropout makes are no
 * dead units, and what died before such a layer is not to be told of twice.
 */
export function passesOn({ moduleType }: Pick<LayerSeries, 'moduleType'>): boolean {
  return PASSING.test(moduleType);
}

/** Whether a layer carries a state from one time step to the next. Its zeros are those of gates that are shut, unless it has a ReLU. */
export function isRecurrent({ moduleType }: Pick<LayerSeries, 'moduleType'>): boolean {
  return /^(?:bidirectional|\w*(?:rnn|lstm|gru)(?:2d|cell)?)$/i.test(moduleType);
}

/**
 * How sure a softmax is, a row a probe: the mean over the samples of the sum of its squared outputs, which is 1 where one of them is 1 and
 * the others are 0, and one over the number of classes where all are equal.
 */
export function softmaxCertainty(layer: LayerSeries): Float64Array {
  return layer.norm.map((norm, row) => {
    const samples = (layer.elementCount[row] ?? Number.NaN) / (layer.unitCount[row] ?? Number.NaN);
    return (norm * norm) / samples;
  });
}

/** Whether the outputs of a layer are probabilities that add up to 1 for each sample, as far as its statistics tell. */
export function isSoftmax(layer: LayerSeries): boolean {
  return layer.mean.every((mean, row) => {
    const units = layer.unitCount[row] ?? Number.NaN;
    return units >= 2 && Math.abs(mean * units - 1) < 1e-3;
  });
}

const PASSING =
  /^(?:\w*dropout\w*|gaussiannoise|flatten|reshape|permute|transpose|squeeze|unsqueeze|identity|repeatvector|masking|\w*pool(?:ing)?(?:[123]d)?|(?:zero)?pad(?:ding)?(?:[123]d)?|cropping[123]d|slice|upsampling[123]d|concat(?:enate)?)$/i;
