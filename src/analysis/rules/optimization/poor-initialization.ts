import type { ParameterSeries } from '../../columns/run-columns.ts';
import { deadUnitShare, passesOn } from '../../signals/layer-facts.ts';
import { observe, ofLayer, ofParameter, type Subject } from '../../signals/observe.ts';
import { positionAt, sayPosition } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { say, when } from '../../text/sentences.ts';

/** Weights with a side this short, or with fewer elements, say too little by their spread. */
const MIN_SIDE = 4;
const MIN_ELEMENTS = 64;
/** Elements from which weights that are off by this factor more are told from weights that are large by chance. */
const FEW_ELEMENTS = 16;
const FEW_FACTOR = 3;
/** Elements from which it is no accident that all are the same number. */
const MIN_ALIKE = 8;
/** Size of weights over that of the first update, from which their mean is not what the update made of it. */
const FAR_ABOVE_UPDATE = 5;
/** Norms are sums of 32-bit numbers. */
const ROUNDING = 1e-4;

export const poorInitialization = defineRule({
  id: 'poor_initialization',
  category: 'optimization',
  needs: { anyOf: ['parameters'] },
  detects:
    'Initial weights that are all alike, or of a size that makes the signal grow or die from layer to layer.',
  source:
    'Glorot and Bengio (2010), He et al. (2015); SageMaker Debugger (PoorWeightInitialization, first 10 steps), TheDeepChecker',
  cause: 'the initial weights have the wrong scale for the width of the layers',
  advice:
    'use He initialisation before ReLU-like and Glorot initialisation before other activations, with zero biases',
  live: 'trend',
  thresholds: {
    poorInitializationMaxStep: { value: 10, doc: 'Last step at which weights count as initial.' },
    poorInitializationHighRatio: {
      value: 4,
      doc: 'Deviation of the weights over that of He et al. or Glorot and Bengio, whichever is larger, above.',
    },
    poorInitializationLowRatio: {
      value: 0.05,
      doc: 'Deviation of the weights over the smaller of the two, below.',
    },
    poorInitializationRecurrentGain: {
      value: 1.8,
      doc: 'Deviation of recurrent weights times the root of their inputs, above: by how much they multiply the state in a time step. 1 for orthogonal ones.',
    },
    poorInitializationSignalFactor: {
      value: 4,
      doc: 'Factor by which the output of each layer is larger, or smaller, than that of the one before, at least three times in a row.',
    },
  },
  measure({ columns, signals, thresholds: t }) {
    if (columns.run.isContinued) return [];
    const isThrown = wereThrown(columns.parameters, signals);
    const initial = columns.parameters.filter(
      ({ steps, valueNonFiniteCount }) =>
        (steps[0] ?? Number.POSITIVE_INFINITY) <= t.poorInitializationMaxStep &&
        // What an update has broken before the first probe says nothing of where it began.
        !((valueNonFiniteCount[0] ?? 0) > 0),
    );
    const found = [
      ...initial
        .filter(({ isFrozen, parameterRole }) => parameterRole === 'weight' && !isFrozen)
        .flatMap((weight) => weightFault(weight, initial, t) ?? [])
        // What the first updates have made large says nothing of where it began.
        .filter(({ kind }) => !isThrown || kind === 'constant'),
      ...(isThrown
        ? []
        : signalFaults(signals, t.poorInitializationMaxStep, t.poorInitializationSignalFactor)),
    ];
    // A last layer that begins with zeros, and no other, learns: what it is given differs from unit to unit.
    const last = signals.weights.at(-1)?.parameterName;
    const alike = found.filter(({ kind }) => kind === 'constant');
    const isAlike = alike.some(({ subject }) => subject.source !== last);
    const faults = isAlike ? found : found.filter(({ kind }) => kind !== 'constant');
    const isLarge = faults.some(({ kind }) => kind === 'large');
    const isRecurrent = faults[0]?.kind === 'recurrent';
    const { isHarmed, isSolved, learnedShare } = signals;
    // A network that learns all the same was not harmed, unless the start has cost it units. How much it learned cannot be told where large
    // weights made the start.
    const isWell = isSolved || (learnedShare > 0.8 && !hasDeadUnits(signals));
    if (!isAlike && !isLarge && isWell && !isHarmed) return [];
    return faults
      .slice(0, 1)
      .map((first) => ({ first, faults, isAlike, isHarmed, isRecurrent, learnedShare }));
  },
  finding: {
    levels: { error: ({ isAlike }) => isAlike, warning: () => true },
    title: 'Initial weights are off',
    fact: ({ faults, first }) => {
      const at = sayPosition(positionAt(first.subject.series, 0));
      const others = when(faults.length > 1, `, and ${faults.length - 1} more such findings`);
      return `${first.fact} at ${at}${others}.`;
    },
    confidence: ({ isAlike, isHarmed, learnedShare }) => {
      if (isAlike) return 0.97;
      return isHarmed || learnedShare < 0.3 ? 0.85 : 0.7;
    },
    cause: ({ isAlike, isRecurrent }) => {
      if (isAlike)
        return 'the weights were set to a constant, so that all units of the layer compute and learn the same';
      return isRecurrent
        ? 'the state of the recurrent layer grows from time step to time step, and so does its gradient on its way back'
        : undefined;
    },
    advice: ({ isAlike, isRecurrent }) => {
      if (isAlike) return 'draw the initial weights at random';
      return isRecurrent
        ? 'use an orthogonal or Glorot initialisation for the recurrent weights, and clip the gradient norm'
        : undefined;
    },
    evidence: ({ faults }) =>
      faults
        .slice(0, 6)
        .map(({ fact, observed, subject, threshold }) =>
          observe(subject, [0, 0], `${fact}.`, { observed, threshold }),
        ),
  },
});

/** Share of the units of a layer. */
const MANY_DEAD = 0.5;

/** Whether more than half of the units of a layer end dead. */
function hasDeadUnits(signals: Signals): boolean {
  return signals
    .layers('activation')
    .some((layer) => !passesOn(layer) && (deadUnitShare(layer).at(-1) ?? 0) > MANY_DEAD);
}

type Fault = {
  readonly kind: 'constant' | 'large' | 'small' | 'signal' | 'recurrent';
  readonly subject: Subject;
  /** A sentence without its full stop. */
  readonly fact: string;
  readonly observed: number;
  readonly threshold: number;
};

/** What is wrong with an initial weight. */
function weightFault(
  weight: ParameterSeries,
  all: readonly ParameterSeries[],
  t: {
    readonly poorInitializationHighRatio: number;
    readonly poorInitializationLowRatio: number;
    readonly poorInitializationRecurrentGain: number;
  },
): readonly Fault[] | undefined {
  const subject = ofParameter(weight);
  const name = weight.parameterName;
  const std = weight.valueStd[0] ?? Number.NaN;
  const count = weight.elementCount[0] ?? 0;
  // A scale of a normalisation layer begins with ones, and has as many elements as there are biases.
  const bias = all.find(
    (other) => other.moduleName === weight.moduleName && other.parameterRole === 'bias',
  );
  const fanOut = bias?.elementCount[0] ?? Number.NaN;
  if (count >= MIN_ALIKE && count > fanOut && beganAlike(weight)) {
    const fact =
      std === 0
        ? `All ${count} elements of ${name} are the same number`
        : `The ${count} elements of ${name} are no farther apart than the first update took them: they began as the same number`;
    return [{ kind: 'constant', subject, fact, observed: std, threshold: 0 }];
  }
  const fanIn = count / fanOut;
  if (!(fanIn >= MIN_SIDE) || count < FEW_ELEMENTS) return undefined;
  const isFew = !(fanOut >= MIN_SIDE) || count < MIN_ELEMENTS;
  // The norm sees a mean that is not zero, too.
  const size = initialNorm(weight) / Math.sqrt(count);
  const he = Math.sqrt(2 / fanIn);
  const glorot = Math.sqrt(2 / (fanIn + fanOut));
  const [high, low] = [size / Math.max(he, glorot), size / Math.min(he, glorot)];
  const gain = size * Math.sqrt(fanIn);
  if (RECURRENT.test(name) && gain > t.poorInitializationRecurrentGain) {
    const fact = `The recurrent weights ${name} multiply the state by about ${say(gain)} at every time step`;
    return [
      {
        kind: 'recurrent',
        subject,
        fact,
        observed: gain,
        threshold: t.poorInitializationRecurrentGain,
      },
    ];
  }
  const sized = (kind: Fault['kind'], observed: number, threshold: number): readonly Fault[] => {
    const fact = `The elements of ${name} are of size ${say(size)}, ${say(observed)} times what suits its width`;
    return [{ kind, subject, fact, observed, threshold }];
  };
  // Few numbers tell their size roughly: it takes more to say that they are too large.
  const highRatio = (isFew ? FEW_FACTOR : 1) * t.poorInitializationHighRatio;
  if (high > highRatio) return sized('large', high, highRatio);
  if (isFew) return undefined;
  if (size < t.poorInitializationLowRatio * Math.min(he, glorot))
    return sized('small', low, t.poorInitializationLowRatio);
  return undefined;
}

/**
 * Whether all elements were the same number before the first update: they still are, or lie around a mean far from zero, no farther from it
 * than the update can have carried them. Numbers that were drawn lie around zero.
 */
function beganAlike({ elementCount, updateNorm, valueNorm, valueStd }: ParameterSeries): boolean {
  const std = valueStd[0] ?? Number.NaN;
  const update = updateNorm[0] ?? Number.NaN;
  const spread = std * Math.sqrt(elementCount[0] ?? Number.NaN);
  return (
    std === 0 ||
    (spread <= update * (1 + ROUNDING) && (valueNorm[0] ?? 0) >= FAR_ABOVE_UPDATE * update)
  );
}

/** Recurrent weights by their name in Keras and TensorFlow.js, and in PyTorch. */
const RECURRENT = /recurrent_kernel|weight_hh/i;

/**
 * Norm of a weight before the first update that was seen: as it was recorded, or by the size of the update and its ratio, or, where neither
 * is known, after it.
 */
function initialNorm({
  updateNorm,
  updateRatio,
  valueNorm,
  valueNormBefore,
}: ParameterSeries): number {
  const recorded = valueNormBefore[0] ?? Number.NaN;
  if (!Number.isNaN(recorded)) return recorded;
  const derived = (updateNorm[0] ?? Number.NaN) / (updateRatio[0] ?? Number.NaN);
  return Number.isFinite(derived) ? derived : (valueNorm[0] ?? Number.NaN);
}

/** Updates this large beside the values have left little of them. */
const THROWN_RATIO = 0.5;

/** Whether weights were first seen after updates, and the first update that was seen is as large as they are: a blow-up came before. */
function wereThrown(parameters: readonly ParameterSeries[], signals: Signals): boolean {
  const began = Math.min(...signals.trainLosses.map(({ steps }) => steps[0] ?? Number.NaN));
  return parameters.some(
    ({ parameterRole, steps, updateRatio }) =>
      parameterRole === 'weight' && (steps[0] ?? 0) > began && (updateRatio[0] ?? 0) > THROWN_RATIO,
  );
}

/** Layers whose outputs grow or shrink by a factor each, at least three times in a row. */
function signalFaults(signals: Signals, maxStep: number, factor: number): Fault[] {
  const layers = signals
    .layers('activation')
    .filter(
      ({ std, steps }) => (steps[0] ?? Number.POSITIVE_INFINITY) <= maxStep && (std[0] ?? 0) > 0,
    );
  for (const isGrowing of [true, false]) {
    let length = 0;
    for (let i = 1; i < layers.length - 1; i++) {
      const ratio = (layers[i]?.std[0] ?? 0) / (layers[i - 1]?.std[0] ?? 0);
      length = (isGrowing ? ratio >= factor : ratio <= 1 / factor) ? length + 1 : 0;
      const layer = layers[i];
      const start = layers[i - 3];
      if (length < 3 || layer === undefined || start === undefined) continue;
      const whole = (layer.std[0] ?? 0) / (start.std[0] ?? 1);
      const fact = `The output of ${layer.moduleName} has ${say(whole)} times the deviation of that of ${start.moduleName}, three layers before`;
      return [
        { kind: 'signal', subject: ofLayer(layer), fact, observed: whole, threshold: factor ** 3 },
      ];
    }
  }
  return [];
}
