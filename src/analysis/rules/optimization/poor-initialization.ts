import type { ParameterSeries } from '../../columns/run-columns.ts';
import { placeAt, sayPlace } from '../../signals/positions.ts';
import { defineRule, say, type Finding, type Observation } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';

/** Weights with a side this short, or with fewer elements, say too little by their spread. */
const MIN_SIDE = 4;
const MIN_ELEMENTS = 64;
/** Elements from which it is no accident that all are the same number. */
const MIN_ALIKE = 8;
/** Size of weights over that of the first update, from which their mean is not what the update made of it. */
const FAR_ABOVE_UPDATE = 5;
/** Norms are sums of 32-bit numbers. */
const ROUNDING = 1e-4;

type Fault = {
  readonly observation: Observation;
  readonly kind: 'constant' | 'large' | 'small' | 'signal';
  readonly weight: string;
  readonly factor: number;
};

export const poorInitialization = defineRule({
  id: 'poor_initialization',
  category: 'optimization',
  detects:
    'Initial weights that are all alike, or of a size that makes the signal grow or die from layer to layer.',
  source:
    'Glorot and Bengio (2010), He et al. (2015); SageMaker Debugger (PoorWeightInitialization, first 10 steps), TheDeepChecker',
  cause: 'the initial weights have the wrong scale for the width of the layers',
  advice:
    'use He initialisation before ReLU-like and Glorot initialisation before other activations, with zero biases',
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
    poorInitializationSignalFactor: {
      value: 4,
      doc: 'Factor by which the output of each layer is larger, or smaller, than that of the one before, at least three times in a row.',
    },
  },
  evaluate({ columns, signals, thresholds: t }) {
    if (columns.run.isContinued) return [];
    const initial = columns.parameters.filter(
      ({ steps, valueNonFiniteCount }) =>
        (steps[0] ?? Number.POSITIVE_INFINITY) <= t.poorInitializationMaxStep &&
        // What an update has broken before the first look says nothing of where it began.
        !((valueNonFiniteCount[0] ?? 0) > 0),
    );
    const found = [
      ...initial
        .filter(({ isFrozen, parameterRole }) => parameterRole === 'weight' && !isFrozen)
        .flatMap((weight) =>
          weightFaults(
            weight,
            initial,
            t.poorInitializationHighRatio,
            t.poorInitializationLowRatio,
          ),
        ),
      ...signalFaults(signals, t.poorInitializationMaxStep, t.poorInitializationSignalFactor),
    ];
    // A last layer that begins with zeros, and no other, learns: what it is given differs from unit to unit.
    const last = signals.weights.at(-1)?.parameterName;
    const alike = found.filter(({ kind }) => kind === 'constant');
    const faults = alike.every(({ weight }) => weight === last)
      ? found.filter(({ kind }) => kind !== 'constant')
      : found;
    const [first] = faults;
    if (first === undefined) return [];
    const isAlike = faults.some(({ kind }) => kind === 'constant');
    const isLarge = faults.some(({ kind }) => kind === 'large');
    // A network that learns all the same was not harmed. How much it learned cannot be told where large weights made the start.
    if (
      !isAlike &&
      !isLarge &&
      (signals.isSolved || signals.learnedShare > 0.8) &&
      !signals.isHarmed
    )
      return [];
    const at = first.observation.from;
    const finding: Finding = {
      severity: isAlike ? 'error' : 'warning',
      title: 'Initial weights are off',
      fact: `${first.observation.summary.slice(0, -1)}${at === undefined ? '' : ` at ${sayPlace(at)}`}${faults.length > 1 ? `, and ${faults.length - 1} more such findings` : ''}.`,
      confidence: isAlike ? 0.97 : signals.isHarmed || signals.learnedShare < 0.3 ? 0.85 : 0.7,
      ...(isAlike
        ? {
            cause:
              'the weights were set to a constant, so that all units of the layer compute and learn the same',
            advice: 'draw the initial weights at random',
          }
        : {}),
      ...(at === undefined ? {} : { from: at, to: at }),
      observations: faults.slice(0, 6).map(({ observation }) => observation),
    };
    return [finding];
  },
});

function weightFaults(
  weight: ParameterSeries,
  all: readonly ParameterSeries[],
  highRatio: number,
  lowRatio: number,
): Fault[] {
  const std = weight.valueStd[0] ?? Number.NaN;
  const count = weight.elementCount[0] ?? 0;
  const at = placeAt(weight, 0);
  const report = (
    kind: Fault['kind'],
    summary: string,
    observed: number,
    threshold: number,
  ): Fault[] => [
    {
      kind,
      weight: weight.parameterName,
      factor: observed,
      observation: {
        kind: 'parameter_summary',
        source: weight.parameterName,
        summary,
        observed,
        threshold,
        from: at,
        to: at,
      },
    },
  ];
  // A scale of a normalisation layer begins with ones, and has as many elements as there are biases.
  const bias = all.find(
    (other) => other.moduleName === weight.moduleName && other.parameterRole === 'bias',
  );
  const fanOut = bias?.elementCount[0] ?? Number.NaN;
  if (count >= MIN_ALIKE && count > fanOut && beganAlike(weight))
    return report(
      'constant',
      std === 0
        ? `All ${count} elements of ${weight.parameterName} are the same number.`
        : `The ${count} elements of ${weight.parameterName} are no farther apart than the first update took them: they began as the same number.`,
      std,
      0,
    );
  const fanIn = count / fanOut;
  if (!(fanIn >= MIN_SIDE) || !(fanOut >= MIN_SIDE) || count < MIN_ELEMENTS) return [];
  // The norm sees a mean that is not zero, too.
  const size = (weight.valueNorm[0] ?? Number.NaN) / Math.sqrt(count);
  const he = Math.sqrt(2 / fanIn);
  const glorot = Math.sqrt(2 / (fanIn + fanOut));
  if (size > highRatio * Math.max(he, glorot)) {
    const ratio = size / Math.max(he, glorot);
    return report(
      'large',
      `The elements of ${weight.parameterName} are of size ${say(size)}, ${say(ratio)} times what suits its width.`,
      ratio,
      highRatio,
    );
  }
  if (size < lowRatio * Math.min(he, glorot)) {
    const ratio = size / Math.min(he, glorot);
    return report(
      'small',
      `The elements of ${weight.parameterName} are of size ${say(size)}, ${say(ratio)} times what suits its width.`,
      ratio,
      lowRatio,
    );
  }
  return [];
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
      const at = placeAt(layer, 0);
      const summary = `The output of ${layer.moduleName} has ${say(whole)} times the deviation of that of ${start.moduleName}, three layers before.`;
      return [
        {
          kind: 'signal',
          weight: layer.moduleName,
          factor: whole,
          observation: {
            kind: 'layer_summary',
            source: layer.moduleName,
            summary,
            observed: whole,
            threshold: factor ** 3,
            from: at,
            to: at,
          },
        },
      ];
    }
  }
  return [];
}
