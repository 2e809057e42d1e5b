/** Whether the output of a model fits its loss, and can reach its targets. */
import type { BatchColumns } from '../../columns/run-columns.ts';
import { say } from '../../text/sentences.ts';
import { numberOf } from './fields.ts';
import { activationOf, drops, lastWeights, lintsOf, type Lint, type LintCheck } from './lint.ts';
import type { ModelLayer, ModelOutline } from './model-outline.ts';

const CLASS_LOSS = /^(?:(?:sparse)?categoricalcrossentropy|crossentropy)$/;
const BINARY_LOSS = /^binary(?:crossentropy)?$/;
const SQUARED_LOSS = /^(?:meansquarederror|mse)$/;
const CLASS_METRIC = /^(?:acc|accuracy|categoricalaccuracy|binaryaccuracy)$/;
/** Losses that bring an activation of their own, and outputs that leave little for it. */
const LOGIT_LOSSES: readonly {
  readonly name: RegExp;
  readonly own: string;
  readonly activations: readonly string[];
}[] = [
  { name: /sigmoidcrossentropy/, own: 'sigmoid', activations: ['sigmoid', 'softmax'] },
  { name: /softmaxcrossentropy|logits/, own: 'softmax', activations: ['softmax', 'sigmoid'] },
];

/** What is known of the output. */
type OutputFacts = {
  readonly where: string;
  readonly output: ModelLayer;
  readonly activation: string;
  /** Name of the loss; empty where it is not known. */
  readonly loss: string;
  readonly units: number | undefined;
  readonly isClassLoss: boolean;
  readonly isBinaryLoss: boolean;
  /** The activation that the loss brings, where the output leaves little for it. */
  readonly squash: string | undefined;
  readonly isForClasses: boolean;
};

const expectsProbabilities = ({ activation, loss, where }: OutputFacts): string =>
  `The loss ${loss} gets the ${activation} outputs of ${where}, and expects probabilities`;

const isLoneSoftmax = ({ activation, units }: OutputFacts): boolean =>
  activation === 'softmax' && units === 1;

const OUTPUT_CHECKS: readonly LintCheck<OutputFacts>[] = [
  {
    fails: isLoneSoftmax,
    severity: 'error',
    fact: ({ where }) => `${where} takes the softmax of one unit, which is always 1`,
    cause: 'one unit is meant to be a probability',
    advice: 'use a sigmoid, or one unit a class',
  },
  {
    fails: (facts) => facts.isClassLoss && facts.units === 1 && !isLoneSoftmax(facts),
    severity: 'error',
    fact: ({ loss, where }) => `${where} has one unit, and the loss ${loss} expects one a class`,
    cause: 'two classes are meant',
    advice: 'use binary cross-entropy with a sigmoid, or two units with a softmax',
  },
  {
    fails: ({ activation, isClassLoss, units }) =>
      isClassLoss && units !== 1 && activation !== 'softmax',
    severity: ({ activation }) =>
      ['linear', 'relu', 'tanh'].includes(activation) ? 'error' : 'warning',
    fact: expectsProbabilities,
    cause: 'the softmax is missing',
    advice: 'give the last layer a softmax, or use a loss of logits',
  },
  {
    // Of two units it is the same as a cross-entropy of classes.
    fails: ({ activation, isBinaryLoss, units }) =>
      isBinaryLoss && activation === 'softmax' && (units ?? 0) > 2,
    severity: 'warning',
    fact: ({ loss, where }) =>
      `The loss ${loss} judges each output of ${where} by itself, and the softmax makes them one sum`,
    cause:
      'labels of which several may be true get a sigmoid each, classes that exclude each other another loss',
    advice: 'use a sigmoid, or categorical cross-entropy with the softmax',
  },
  {
    fails: ({ activation, isBinaryLoss }) =>
      isBinaryLoss && activation !== 'sigmoid' && activation !== 'softmax',
    severity: 'error',
    fact: expectsProbabilities,
    cause: 'the sigmoid is missing',
    advice: 'give the last layer a sigmoid, or use a loss of logits',
  },
  {
    fails: ({ squash }) => squash !== undefined,
    severity: 'error',
    fact: ({ activation, loss, squash, where }) =>
      `The loss ${loss} takes the ${squash} of outputs that went through a ${activation} already in ${where}`,
    cause: ({ activation }) =>
      `the ${activation} is one too many: the loss expects numbers of any size (logits)`,
    advice: 'leave it out of the last layer',
  },
  {
    fails: ({ activation, isForClasses, loss }) =>
      SQUARED_LOSS.test(loss) &&
      (activation === 'softmax' || (activation === 'sigmoid' && isForClasses)),
    severity: 'warning',
    fact: ({ activation, loss, where }) =>
      `The loss ${loss} is used on the ${activation} outputs of ${where}`,
    cause: 'the loss of a regression is used for classes',
    advice: 'use cross-entropy, whose gradient does not vanish for wrong answers',
  },
  {
    fails: ({ output }) => drops(output),
    severity: 'warning',
    fact: ({ where }) => `The output of the model goes through dropout in ${where}`,
    cause: 'dropout stands behind the last layer',
    advice: 'put it before the last layer, or leave it out',
  },
];

/** The output of a model; undefined where there are several: which loss belongs to which of them is not known. */
function onlyOutput({ layers }: ModelOutline): ModelLayer | undefined {
  const used = new Set(layers.flatMap(({ inputs }) => inputs));
  const [output, another] = layers.filter((_, i) => !used.has(i));
  return another === undefined ? output : undefined;
}

/** Outputs that do not fit the loss. */
export function outputLints(model: ModelOutline): readonly Lint[] {
  const output = onlyOutput(model);
  const weights = output === undefined ? undefined : lastWeights(output, model.layers);
  if (output === undefined || weights === undefined) return [];
  const activation = activationOf(output);
  const { loss = '', metrics } = model;
  const logits = LOGIT_LOSSES.find(({ name }) => name.test(loss));
  return lintsOf(OUTPUT_CHECKS, {
    where: output.name,
    output,
    activation,
    loss,
    units: weights.units,
    isClassLoss: CLASS_LOSS.test(loss),
    isBinaryLoss: BINARY_LOSS.test(loss),
    squash: logits?.activations.includes(activation) === true ? logits.own : undefined,
    isForClasses: metrics.some((name) => CLASS_METRIC.test(name)),
  });
}

/** Values that activations can give. */
const RANGES: ReadonlyMap<string, readonly [low: number, high: number]> = new Map([
  ['sigmoid', [0, 1]],
  ['hardsigmoid', [0, 1]],
  ['softmax', [0, 1]],
  ['tanh', [-1, 1]],
  ['softsign', [-1, 1]],
  ['relu', [0, Number.POSITIVE_INFINITY]],
  ['relu6', [0, 6]],
  ['softplus', [0, Number.POSITIVE_INFINITY]],
]);

/** Share of the range of the targets that may lie beyond what the output can give: for noise around a limit. */
const BEYOND = 0.05;

/** Outputs that cannot reach the targets, where batches say what those are. */
export function rangeLints(model: ModelOutline, batches: BatchColumns): readonly Lint[] {
  const output = onlyOutput(model);
  const activation = output === undefined ? '' : activationOf(output);
  const range = RANGES.get(activation);
  const targets = targetRange(batches);
  if (output === undefined || range === undefined || targets === undefined) return [];
  const { max, min } = targets;
  const share = Math.max(range[0] - min, max - range[1]) / (max - min);
  if (!(share > BEYOND)) return [];
  return [
    {
      severity: 'error',
      where: output.name,
      fact: `${output.name} has a ${activation}, which cannot reach targets from ${say(min)} to ${say(max)}`,
      cause: 'the activation of a classifier, or of hidden layers, is used for the output',
      advice: 'give the last layer no activation, or scale the targets to what it can give',
      observed: share,
      threshold: BEYOND,
    },
  ];
}

/** Batches that the range of the targets is taken from, at most. */
const TARGET_BATCHES = 200;

/** The range of the targets, from `target_min` and `target_max` (or `targetMin`, `targetMax`) in the metadata of batches. */
function targetRange({
  metadata,
  rowCount,
}: BatchColumns): { readonly min: number; readonly max: number } | undefined {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let row = 0; row < Math.min(rowCount, TARGET_BATCHES); row++) {
    const text = metadata[row];
    if (text === null || text === undefined || !text.includes('target')) continue;
    const value: unknown = JSON.parse(text);
    min = Math.min(min, numberOf(value, 'target_min', 'targetMin') ?? min);
    max = Math.max(max, numberOf(value, 'target_max', 'targetMax') ?? max);
  }
  return min < max && max - min < Number.POSITIVE_INFINITY ? { min, max } : undefined;
}
