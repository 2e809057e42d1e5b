import type { AlertSeverity } from '../../../records/literals.ts';
import type { ModelLayer, ModelOutline } from '../../signals/model-layers.ts';
import { modelOutline } from '../../signals/recorded-outline.ts';
import { rangeLints, targetRange } from '../../signals/output-range.ts';
import { activationOf, type Lint } from '../../signals/lint.ts';
import { defineRule, say, type Finding } from '../../signals/rule.ts';

const NORMALISING = /norm/i;
const DROPPING = /dropout/i;
const WITH_WEIGHTS = /^(?:dense|linear|gemm|(?:depthwise|separable)?conv\d?d?(?:transpose)?)$/i;
const SHAPING = /^(?:flatten|reshape|permute|input(?:layer)?|zeropadding\dd|identity|activation)$/i;
const CLASS_LOSS = /^(?:(?:sparse)?categoricalcrossentropy|crossentropy)$/;
const BINARY_LOSS = /^binary(?:crossentropy)?$/;
/** Losses that bring an activation of their own, and outputs that leave little for it. */
const LOGIT_LOSSES: readonly {
  readonly name: RegExp;
  readonly own: string;
  readonly activations: readonly string[];
}[] = [
  { name: /sigmoidcrossentropy/, own: 'sigmoid', activations: ['sigmoid', 'softmax'] },
  { name: /softmaxcrossentropy|logits/, own: 'softmax', activations: ['softmax', 'sigmoid'] },
];
const SQUARED_LOSS = /^(?:meansquarederror|mse)$/;
const ADAPTIVE = /^(?:adam|adamax|nadam|rmsprop|adamw)(?:optimizer)?$/;

export const staticModelLint = defineRule({
  id: 'static_model_lint',
  category: 'optimization',
  detects:
    'Faults of the model that its configuration shows before training: outputs that do not fit the loss, missing activations, weights that begin alike.',
  source: 'NeuraLint (2021), UMLAUT (2021), TheDeepChecker',
  cause: 'a layer or the loss is not what it was meant to be',
  advice: 'correct the layer that is named',
  thresholds: {
    staticModelMaxDropout: { value: 0.5, doc: 'Largest share of units that dropout may drop.' },
    staticModelMaxAdaptiveRate: { value: 0.05, doc: 'Largest learning rate of Adam and its like.' },
    staticModelMaxSquashed: {
      value: 4,
      doc: 'Hidden layers with sigmoid or tanh in a row without normalisation.',
    },
  },
  evaluate({ columns, model, thresholds: t }) {
    const outline = modelOutline(columns, model);
    if (outline === undefined) return [];
    const order = ['critical', 'error', 'warning', 'info'];
    const lints = [
      ...outputLints(outline),
      ...rangeLints(outline, targetRange(columns.batches)),
      ...layerLints(outline, t.staticModelMaxDropout),
      // Where parameters were recorded, they say whether what is frozen was trained before: that is for another rule.
      ...(columns.parameters.length > 0 ? [] : frozenLints(outline)),
      ...depthLints(outline, t.staticModelMaxSquashed),
      ...rateLints(outline, t.staticModelMaxAdaptiveRate),
    ].toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
    const [worst, ...others] = lints;
    if (worst === undefined) return [];
    const finding: Finding = {
      severity: worst.severity,
      title: `The model has a fault in ${worst.where}`,
      fact: `${worst.fact}${others.length > 0 ? `; ${others.length} more remarks are in the evidence` : ''}.`,
      confidence: worst.severity === 'error' ? 0.95 : worst.severity === 'warning' ? 0.8 : 0.7,
      cause: worst.cause,
      advice: worst.advice,
      observations: lints.map((lint) => ({
        kind: 'configuration',
        source: lint.where,
        summary: `${lint.fact}: ${lint.advice}.`,
        ...(lint.observed === undefined ? {} : { observed: lint.observed }),
        ...(lint.threshold === undefined ? {} : { threshold: lint.threshold }),
        metadata: {
          severity: lint.severity,
          ...(outline.layers.some(({ name }) => name === lint.where)
            ? { module_name: lint.where }
            : {}),
        },
      })),
    };
    return [finding];
  },
});

function outputLints({ layers, loss, metrics }: ModelOutline): Lint[] {
  const used = new Set(layers.flatMap(({ inputs }) => inputs));
  const outputs = layers.filter((_, i) => !used.has(i));
  const [output] = outputs;
  // Which loss belongs to which of several outputs is not known.
  if (output === undefined || outputs.length > 1) return [];
  const activation = activationOf(output);
  const weights = lastWeights(output, layers);
  if (weights === undefined) return [];
  const where = output.name;
  const lints: Lint[] = [];
  const add = (severity: AlertSeverity, fact: string, cause: string, advice: string): void => {
    lints.push({ severity, where, fact, cause, advice });
  };
  const isWide = (weights.units ?? 0) > 2;
  const isClassLoss = loss !== undefined && CLASS_LOSS.test(loss);
  if (activation === 'softmax' && weights.units === 1)
    add(
      'error',
      `${where} takes the softmax of one unit, which is always 1`,
      'one unit is meant to be a probability',
      'use a sigmoid, or one unit a class',
    );
  else if (isClassLoss && weights.units === 1)
    add(
      'error',
      `${where} has one unit, and the loss ${loss} expects one a class`,
      'two classes are meant',
      'use binary cross-entropy with a sigmoid, or two units with a softmax',
    );
  else if (isClassLoss && activation !== 'softmax')
    add(
      activation === 'linear' || activation === 'relu' || activation === 'tanh'
        ? 'error'
        : 'warning',
      `The loss ${loss} gets the ${activation} outputs of ${where}, and expects probabilities`,
      'the softmax is missing',
      'give the last layer a softmax, or use a loss of logits',
    );
  // Of two units it is the same as a cross-entropy of classes.
  if (loss !== undefined && BINARY_LOSS.test(loss) && activation === 'softmax' && isWide)
    add(
      'warning',
      `The loss ${loss} judges each output of ${where} by itself, and the softmax makes them one sum`,
      'labels of which several may be true get a sigmoid each, classes that exclude each other another loss',
      'use a sigmoid, or categorical cross-entropy with the softmax',
    );
  if (
    loss !== undefined &&
    BINARY_LOSS.test(loss) &&
    activation !== 'sigmoid' &&
    activation !== 'softmax'
  )
    add(
      'error',
      `The loss ${loss} gets the ${activation} outputs of ${where}, and expects probabilities`,
      'the sigmoid is missing',
      'give the last layer a sigmoid, or use a loss of logits',
    );
  const squash = loss === undefined ? undefined : LOGIT_LOSSES.find(({ name }) => name.test(loss));
  if (squash !== undefined && squash.activations.includes(activation))
    add(
      'error',
      `The loss ${loss ?? ''} takes the ${squash.own} of outputs that went through a ${activation} already in ${where}`,
      `the ${activation} is one too many: the loss expects numbers of any size (logits)`,
      'leave it out of the last layer',
    );
  const isForClasses = metrics.some((name) =>
    /^(?:acc|accuracy|categoricalaccuracy|binaryaccuracy)$/.test(name),
  );
  if (
    loss !== undefined &&
    SQUARED_LOSS.test(loss) &&
    (activation === 'softmax' || (activation === 'sigmoid' && isForClasses))
  )
    add(
      'warning',
      `The loss ${loss} is used on the ${activation} outputs of ${where}`,
      'the loss of a regression is used for classes',
      'use cross-entropy, whose gradient does not vanish for wrong answers',
    );
  if (DROPPING.test(output.type))
    add(
      'warning',
      `The output of the model goes through dropout in ${where}`,
      'dropout stands behind the last layer',
      'put it before the last layer, or leave it out',
    );
  return lints;
}

/** The layer with weights that an output comes from, through layers that have none. */
function lastWeights(output: ModelLayer, layers: readonly ModelLayer[]): ModelLayer | undefined {
  let layer: ModelLayer | undefined = output;
  for (let i = 0; i < layers.length && layer !== undefined; i++) {
    if (layer.units !== undefined) return layer;
    layer = layers[layer.inputs[0] ?? -1];
  }
  return undefined;
}

function layerLints({ layers }: ModelOutline, maxDropout: number): Lint[] {
  return layers.flatMap((layer, at): Lint[] => {
    const lints: Lint[] = [];
    const where = layer.name;
    const add = (
      severity: AlertSeverity,
      fact: string,
      cause: string,
      advice: string,
      observed?: number,
      threshold?: number,
    ): void => {
      lints.push({
        severity,
        where,
        fact,
        cause,
        advice,
        ...(observed === undefined ? {} : { observed }),
        ...(threshold === undefined ? {} : { threshold }),
      });
    };
    const before = layers[layer.inputs[0] ?? -1];
    const after = layers.filter(({ inputs }) => inputs.includes(at));
    const initializer = layer.kernelInitializer;
    if (
      WITH_WEIGHTS.test(layer.type) &&
      (initializer === 'zeros' || initializer === 'ones' || initializer === 'constant')
    )
      add(
        'error',
        `The weights of ${where} begin all alike (${initializer})`,
        'all units of the layer compute and learn the same',
        'draw the initial weights at random (He or Glorot)',
      );
    if (DROPPING.test(layer.type) && (layer.rate ?? 0) > maxDropout)
      add(
        'info',
        `${where} drops ${say(layer.rate ?? 0)} of the values`,
        'the model gets little to learn from',
        `try ${say(maxDropout)} or less`,
        layer.rate,
        maxDropout,
      );
    if (activationOf(layer) === 'softmax') {
      if (
        before !== undefined &&
        !WITH_WEIGHTS.test(layer.type) &&
        activationOf(before) === 'softmax'
      )
        add(
          'error',
          `${where} takes the softmax of what went through one in ${before.name}`,
          'the softmax is there twice',
          'leave one out',
        );
      else if (after.some(({ type }) => WITH_WEIGHTS.test(type)))
        add(
          'warning',
          `${where} has a softmax in the middle of the model`,
          'the activation of the output is used for a hidden layer',
          'use a ReLU there',
        );
    }
    const isLinear = WITH_WEIGHTS.test(layer.type) && activationOf(layer) === 'linear';
    if (
      isLinear &&
      after.length === 1 &&
      nextWeights(layers, after).some(({ type }) => type === layer.type) &&
      !isActivated(layers, after)
    ) {
      const next = nextWeights(layers, after)[0]?.units ?? 0;
      const wide = before === undefined ? 0 : (lastWeights(before, layers)?.units ?? 0);
      // Narrower than what lies on both sides it is no layer too many, but one of low rank: the code of an autoencoder.
      const isNarrow = (layer.units ?? 0) < Math.min(wide, next);
      add(
        isNarrow ? 'info' : 'warning',
        `${where} has no activation, and another ${layer.type} follows`,
        isNarrow
          ? 'it is meant to be a bottleneck, or the activation was forgotten'
          : 'two linear layers in a row are one linear layer',
        'give it an activation',
      );
    }
    if (
      NORMALISING.test(layer.type) &&
      before !== undefined &&
      WITH_WEIGHTS.test(before.type) &&
      before.usesBias &&
      before.activation === 'linear'
    )
      add(
        'info',
        `${before.name} has biases that ${where} takes away again`,
        'batch normalisation has its own',
        'set useBias to false there',
      );
    if (NORMALISING.test(layer.type) && before !== undefined && DROPPING.test(before.type))
      add(
        'info',
        `${where} normalises what dropout has changed`,
        'the variance differs between training and evaluation',
        'put dropout behind the normalisation',
      );
    return lints;
  });
}

/** The next layers with weights, through all others. */
function nextWeights(
  layers: readonly ModelLayer[],
  from: readonly ModelLayer[],
): readonly ModelLayer[] {
  let front = from;
  for (let i = 0; i < layers.length; i++) {
    const found = front.filter(({ type }) => WITH_WEIGHTS.test(type));
    if (found.length > 0 || front.length === 0) return found;
    const positions = new Set(front.map((layer) => layers.indexOf(layer)));
    front = layers.filter(({ inputs }) => inputs.some((input) => positions.has(input)));
  }
  return [];
}

/** Whether something that is not linear stands before the next layer with weights. */
function isActivated(layers: readonly ModelLayer[], from: readonly ModelLayer[]): boolean {
  let front = from;
  for (let i = 0; i < layers.length && front.length > 0; i++) {
    if (front.some(({ type }) => WITH_WEIGHTS.test(type))) return false;
    if (
      front.some(
        (layer) =>
          activationOf(layer) !== 'linear' ||
          !(SHAPING.test(layer.type) || NORMALISING.test(layer.type) || DROPPING.test(layer.type)),
      )
    )
      return true;
    const positions = new Set(front.map((layer) => layers.indexOf(layer)));
    front = layers.filter(({ inputs }) => inputs.some((input) => positions.has(input)));
  }
  return true;
}

/** Frozen layers behind ones that are trained: what was trained before stands in front of what is new. */
function frozenLints({ layers }: ModelOutline): Lint[] {
  const first = layers.findIndex(({ isTrained, type }) => isTrained && WITH_WEIGHTS.test(type));
  if (first < 0) return [];
  return layers
    .slice(first)
    .filter(({ isTrained, type }) => !isTrained && WITH_WEIGHTS.test(type))
    .map(({ name }) => ({
      severity: 'info',
      where: name,
      fact: `${name} is set not to be trained, and layers before it are`,
      cause: 'it was frozen by mistake, unless it holds weights that were trained before',
      advice: 'set trainable to true, or record parameters to see whether it was ever trained',
    }));
}

function depthLints({ layers }: ModelOutline, max: number): Lint[] {
  let count = 0;
  for (const layer of layers) {
    if (NORMALISING.test(layer.type) || /^add$/i.test(layer.type)) count = 0;
    if (!WITH_WEIGHTS.test(layer.type)) continue;
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

function rateLints({ learningRate, optimizer }: ModelOutline, max: number): Lint[] {
  if (
    learningRate === undefined ||
    optimizer === undefined ||
    !ADAPTIVE.test(optimizer) ||
    learningRate <= max
  )
    return [];
  return [
    {
      severity: 'warning',
      where: 'the optimizer',
      fact: `The learning rate of ${optimizer} is ${say(learningRate)}`,
      cause: 'optimizers of this kind change every weight by about the learning rate in each step',
      advice: 'begin with 0.001',
      observed: learningRate,
      threshold: max,
    },
  ];
}
