/** Checks of each layer of a model, and of layers in a row. */
import { say } from '../../text/sentences.ts';
import {
  activationOf,
  drops,
  hasWeights,
  lastWeights,
  lintsOf,
  normalises,
  type Lint,
  type LintCheck,
} from './lint.ts';
import type { ModelLayer, ModelOutline } from './model-outline.ts';

const SHAPING = /^(?:flatten|reshape|permute|input(?:layer)?|zeropadding\dd|identity|activation)$/i;

/** A layer and its neighbours. */
type LayerFacts = {
  readonly where: string;
  readonly layer: ModelLayer;
  readonly layers: readonly ModelLayer[];
  readonly before: ModelLayer | undefined;
  readonly after: readonly ModelLayer[];
  readonly maxDropout: number;
};

const isSecondSoftmax = ({ before, layer }: LayerFacts): boolean =>
  before !== undefined && !hasWeights(layer) && activationOf(before) === 'softmax';

/** Narrower than what lies on both sides a layer is none too many, but one of low rank: the code of an autoencoder. */
const isNarrow = ({ after, before, layer, layers }: LayerFacts): boolean => {
  const next = nextWeights(layers, after)[0]?.units ?? 0;
  const wide = before === undefined ? 0 : (lastWeights(before, layers)?.units ?? 0);
  return (layer.units ?? 0) < Math.min(wide, next);
};

const LAYER_CHECKS: readonly LintCheck<LayerFacts>[] = [
  {
    fails: ({ layer }) =>
      hasWeights(layer) && ['zeros', 'ones', 'constant'].includes(layer.kernelInitializer ?? ''),
    severity: 'error',
    fact: ({ layer, where }) =>
      `The weights of ${where} begin all alike (${layer.kernelInitializer})`,
    cause: 'all units of the layer compute and learn the same',
    advice: 'draw the initial weights at random (He or Glorot)',
  },
  {
    fails: ({ layer, maxDropout }) => drops(layer) && (layer.rate ?? 0) > maxDropout,
    severity: 'info',
    fact: ({ layer, where }) => `${where} drops ${say(layer.rate ?? 0)} of the values`,
    cause: 'the model gets little to learn from',
    advice: ({ maxDropout }) => `try ${say(maxDropout)} or less`,
    observed: ({ layer }) => layer.rate,
    threshold: ({ maxDropout }) => maxDropout,
  },
  {
    fails: (facts) => activationOf(facts.layer) === 'softmax' && isSecondSoftmax(facts),
    severity: 'error',
    fact: ({ before, where }) =>
      `${where} takes the softmax of what went through one in ${before?.name}`,
    cause: 'the softmax is there twice',
    advice: 'leave one out',
  },
  {
    fails: (facts) =>
      activationOf(facts.layer) === 'softmax' &&
      !isSecondSoftmax(facts) &&
      facts.after.some(hasWeights),
    severity: 'warning',
    fact: ({ where }) => `${where} has a softmax in the middle of the model`,
    cause: 'the activation of the output is used for a hidden layer',
    advice: 'use a ReLU there',
  },
  {
    fails: ({ after, layer, layers }) =>
      hasWeights(layer) &&
      activationOf(layer) === 'linear' &&
      after.length === 1 &&
      nextWeights(layers, after).some(({ type }) => type === layer.type) &&
      !isActivated(layers, after),
    severity: (facts) => (isNarrow(facts) ? 'info' : 'warning'),
    fact: ({ layer, where }) => `${where} has no activation, and another ${layer.type} follows`,
    cause: (facts) =>
      isNarrow(facts)
        ? 'it is meant to be a bottleneck, or the activation was forgotten'
        : 'two linear layers in a row are one linear layer',
    advice: 'give it an activation',
  },
  {
    fails: ({ before, layer }) =>
      normalises(layer) &&
      before !== undefined &&
      hasWeights(before) &&
      before.usesBias &&
      before.activation === 'linear',
    severity: 'info',
    fact: ({ before, where }) => `${before?.name} has biases that ${where} takes away again`,
    cause: 'batch normalisation has its own',
    advice: 'set useBias to false there',
  },
  {
    fails: ({ before, layer }) => normalises(layer) && before !== undefined && drops(before),
    severity: 'info',
    fact: ({ where }) => `${where} normalises what dropout has changed`,
    cause: 'the variance differs between training and evaluation',
    advice: 'put dropout behind the normalisation',
  },
];

/** Layers that cannot do what they are meant to. */
export function layerLints({ layers }: ModelOutline, maxDropout: number): readonly Lint[] {
  return layers.flatMap((layer, at) =>
    lintsOf(LAYER_CHECKS, {
      where: layer.name,
      layer,
      layers,
      before: layers[layer.inputs[0] ?? -1],
      after: layers.filter(({ inputs }) => inputs.includes(at)),
      maxDropout,
    }),
  );
}

/** The layers that take their input from some others. */
function followersOf(
  layers: readonly ModelLayer[],
  front: readonly ModelLayer[],
): readonly ModelLayer[] {
  const positions = new Set(front.map((layer) => layers.indexOf(layer)));
  return layers.filter(({ inputs }) => inputs.some((input) => positions.has(input)));
}

/** The next layers with weights, through all others. */
function nextWeights(
  layers: readonly ModelLayer[],
  from: readonly ModelLayer[],
): readonly ModelLayer[] {
  let front = from;
  for (let i = 0; i < layers.length; i++) {
    const found = front.filter(hasWeights);
    if (found.length > 0 || front.length === 0) return found;
    front = followersOf(layers, front);
  }
  return [];
}

/** Whether something that is not linear stands before the next layer with weights. */
function isActivated(layers: readonly ModelLayer[], from: readonly ModelLayer[]): boolean {
  const isLinear = (layer: ModelLayer): boolean =>
    activationOf(layer) === 'linear' &&
    (SHAPING.test(layer.type) || normalises(layer) || drops(layer));
  let front = from;
  for (let i = 0; i < layers.length && front.length > 0; i++) {
    if (front.some(hasWeights)) return false;
    if (!front.every(isLinear)) return true;
    front = followersOf(layers, front);
  }
  return true;
}

/** Frozen layers behind ones that are trained: what was trained before stands in front of what is new. */
export function frozenLints({ layers }: ModelOutline): readonly Lint[] {
  const first = layers.findIndex((layer) => layer.isTrained && hasWeights(layer));
  if (first < 0) return [];
  return layers
    .slice(first)
    .filter((layer) => !layer.isTrained && hasWeights(layer))
    .map(({ name }) => ({
      severity: 'info',
      where: name,
      fact: `${name} is set not to be trained, and layers before it are`,
      cause: 'it was frozen by mistake, unless it contains weights that were trained before',
      advice: 'set trainable to true, or record parameters to see whether it was ever trained',
    }));
}

/** Saturating activations in a row. */
export function depthLints({ layers }: ModelOutline, max: number): readonly Lint[] {
  let count = 0;
  for (const layer of layers) {
    if (normalises(layer) || /^add$/i.test(layer.type)) count = 0;
    if (!hasWeights(layer)) continue;
    const activation = activationOf(layer);
    count = activation === 'sigmoid' || activation === 'tanh' ? count + 1 : 0;
    // The output may well be a sigmoid: it takes one more.
    if (count > max)
      return [
        {
          severity: layers.length > 2 * max && count >= 1.5 * max ? 'warning' : 'info',
          where: layer.name,
          fact: `${layer.name} is the ${count}th layer in a row with ${activation}`,
          cause: 'saturating activations shrink the gradient at every layer',
          advice: 'use ReLU-like activations, or normalise between the layers',
          observed: count,
          threshold: max,
        },
      ];
  }
  return [];
}
