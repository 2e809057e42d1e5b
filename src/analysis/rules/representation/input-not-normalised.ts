import type { LayerSeries, RunColumns } from '../../columns/run-columns.ts';
import { numberOf } from '../../signals/metadata-number.ts';
import { placeAt, placeOfStep, type Place } from '../../signals/positions.ts';
import { defineRule, say, type Finding } from '../../signals/rule.ts';
import { isInput } from '../../signals/layer-facts.ts';
import { median } from '../../signals/statistics.ts';

/** Batches or probes whose statistics say what the input is like. */
const SAMPLES = 50;

/** What is known of the numbers that the model gets. */
type Input = {
  readonly kind: string;
  readonly source: string;
  readonly mean: number;
  readonly std: number;
  readonly from: Place;
  readonly to: Place;
  /** Whether it was the same number everywhere, batch after batch. */
  readonly isConstant?: boolean;
};

export const inputNotNormalised = defineRule({
  id: 'input_not_normalised',
  category: 'representation',
  detects:
    'Inputs that are far from zero mean and unit size: raw pixels, values that were normalised twice, or the same number everywhere.',
  source:
    'UMLAUT (outside -1 to 1), SageMaker Debugger (CheckInputImages), TheDeepChecker; wider limits, as standard scores reach 3',
  cause: 'the inputs are fed as they are stored',
  advice:
    'subtract the mean and divide by the standard deviation of the training data (for pixels: divide by 255)',
  thresholds: {
    inputMaxSize: { value: 5, doc: 'Root mean square of the inputs, above.' },
    inputMaxMean: {
      value: 2,
      doc: 'Size of the mean over the deviation, above, for inputs of unit size or more.',
    },
    inputMinSize: { value: 0.02, doc: 'Root mean square of the inputs, below.' },
  },
  evaluate({ columns, thresholds: t }) {
    const inputs = inputsOf(columns);
    // One of several inputs may be a mask.
    const constant = inputs.length === 1 ? inputs.find((input) => input.isConstant) : undefined;
    if (constant !== undefined) return [constantInput(constant)];
    const found = inputs.flatMap((input): { finding: Finding; off: number }[] => {
      const size = Math.hypot(input.mean, input.std);
      const shift = Math.abs(input.mean) / input.std;
      const isLarge = size > t.inputMaxSize;
      const isShifted = shift > t.inputMaxMean && size > 1;
      const isSmall = size < t.inputMinSize && size > 0;
      if (!isLarge && !isShifted && !isSmall) return [];
      const finding: Finding = {
        severity: 'warning',
        title: isSmall ? 'Inputs are very small' : 'Inputs are not normalised',
        fact: `The inputs (${input.source}) have mean ${say(input.mean)} and standard deviation ${say(input.std)}.`,
        confidence: isLarge ? 0.85 : 0.7,
        ...(isSmall
          ? {
              cause:
                'the inputs were normalised twice, or have another unit than the model expects',
            }
          : {}),
        from: input.from,
        to: input.to,
        observations: [
          {
            kind: input.kind,
            source: input.source,
            summary: `Root mean square ${say(size)}.`,
            observed: size,
            threshold: isSmall ? t.inputMinSize : t.inputMaxSize,
            from: input.from,
            to: input.to,
            metadata: { mean: input.mean, std: input.std },
          },
        ],
      };
      return [{ finding, off: Math.abs(Math.log(size)) }];
    });
    const [worst] = found.toSorted((a, b) => b.off - a.off);
    return worst === undefined ? [] : [worst.finding];
  },
});

/** Probes that have to agree in that nothing tells one sample from another. */
const MIN_CONSTANT = 3;
/** Deviation over mean of float32 values that are all the same number, at most. */
const CONSTANT = 1e-6;

function isConstant({ mean, std }: LayerSeries, rows: number): boolean {
  const first = mean[0] ?? Number.NaN;
  const limit = CONSTANT * Math.abs(first);
  if (rows < MIN_CONSTANT) return false;
  for (let row = 0; row < rows; row++)
    if (!(Math.abs((mean[row] ?? Number.NaN) - first) <= limit && (std[row] ?? 1) <= limit))
      return false;
  return true;
}

function constantInput({ from, kind, mean, source, std, to }: Input): Finding {
  return {
    severity: 'error',
    title: 'Inputs are all the same',
    fact: `All values of the inputs (${source}) are ${say(mean)}.`,
    confidence: 0.9,
    cause: 'the loader fills the batches with a constant, or the values were cut off at a limit',
    advice: 'look at one batch as the model gets it',
    from,
    to,
    observations: [
      {
        kind,
        source,
        summary: `Mean ${say(mean)}, standard deviation ${say(std)}.`,
        observed: std,
        threshold: CONSTANT * Math.abs(mean),
        from,
        to,
        metadata: { mean, std },
      },
    ],
  };
}

/** From an input layer that was probed, from metrics, from the metadata of batches. */
function inputsOf(columns: RunColumns): Input[] {
  const inputs: Input[] = [];
  for (const layer of columns.layers) {
    if (layer.summaryType !== 'activation' || layer.isEvaluation || !isInput(layer)) continue;
    const rows = Math.min(SAMPLES, layer.steps.length);
    const mean = median(layer.mean.subarray(0, rows));
    const std = median(layer.std.subarray(0, rows));
    // Numbers of tokens are names, not sizes.
    if (isEmbedded(columns, layer.moduleName)) continue;
    const [from, to] = [placeAt(layer, 0), placeAt(layer, rows - 1)];
    inputs.push({
      kind: 'layer_summary',
      source: layer.moduleName,
      mean,
      std,
      from,
      to,
      isConstant: isConstant(layer, rows),
    });
  }
  for (const namespace of ['input', 'data/input', 'inputs']) {
    const means = columns.metrics.get(`${namespace}/mean`);
    const deviations = columns.metrics.get(`${namespace}/std`);
    if (means === undefined || deviations === undefined || means.values.length === 0) continue;
    const rows = Math.min(SAMPLES, means.values.length);
    const mean = median(means.values.subarray(0, rows));
    const std = median(deviations.values.subarray(0, rows));
    inputs.push({
      kind: 'metric',
      source: means.key,
      mean,
      std,
      from: placeAt(means, 0),
      to: placeAt(means, rows - 1),
    });
  }
  const { batches } = columns;
  const known: { mean: number; std: number; step: number }[] = [];
  for (let row = 0; row < batches.rowCount && known.length < SAMPLES; row++) {
    const text = batches.metadata[row];
    if (text === null || text === undefined || !text.includes('input')) continue;
    const value: unknown = JSON.parse(text);
    const mean = numberOf(value, 'inputMean', 'input_mean');
    const std = numberOf(value, 'inputStd', 'input_std');
    if (mean !== undefined && std !== undefined)
      known.push({ mean, std, step: batches.steps[row] ?? Number.NaN });
  }
  const [first] = known;
  if (first !== undefined)
    inputs.push({
      kind: 'batch_diagnostic',
      source: 'batches',
      mean: median(known.map(({ mean }) => mean)),
      std: median(known.map(({ std }) => std)),
      from: placeOfStep(first.step),
      to: placeOfStep(known.at(-1)?.step ?? Number.NaN),
    });
  if (inputs.length === 0) inputs.push(...estimates(columns));
  return inputs.filter(({ mean, std }) => Number.isFinite(mean) && Number.isFinite(std));
}

function isEmbedded(columns: RunColumns, name: string): boolean {
  const at = columns.layers.findIndex(({ moduleName }) => moduleName === name);
  const next = columns.layers.slice(at).find(({ moduleName }) => moduleName !== name);
  return next !== undefined && /embedding/i.test(next.moduleType);
}

/** Steps up to which weights count as independent of the inputs. */
const INITIAL_STEP = 10;
const LINEAR = /^(?:dense|linear|gemm|(?:depthwise|separable)?conv\d?d?)$/i;

/**
 * What the size of the first layer's outputs says of its inputs, before training has made them fit each other: a unit's
 * output is the sum of inputs times weights, so that its mean square is that of the inputs times the sum of the squared
 * weights of the unit (He et al., 2015). Activations that squash give a lower bound, and say nothing of large inputs.
 */
function estimates(columns: RunColumns): Input[] {
  const layer = columns.layers.find(
    (one) => one.summaryType === 'activation' && !one.isEvaluation && !isInput(one),
  );
  if (layer === undefined || !((layer.steps[0] ?? Number.POSITIVE_INFINITY) <= INITIAL_STEP))
    return [];
  const [from, to] = [placeAt(layer, 0), placeAt(layer, Math.min(SAMPLES, layer.steps.length) - 1)];
  const source = `what ${layer.moduleName} makes of them`;
  // Layers that only shape give the inputs themselves.
  if (/^(?:flatten|reshape|zeropadding\dd)$/i.test(layer.moduleType))
    return [
      {
        kind: 'layer_summary',
        source: layer.moduleName,
        mean: layer.mean[0] ?? Number.NaN,
        std: layer.std[0] ?? Number.NaN,
        from,
        to,
      },
    ];
  const own = columns.parameters.filter(
    ({ moduleName, steps }) =>
      moduleName === layer.moduleName && (steps[0] ?? Number.POSITIVE_INFINITY) <= INITIAL_STEP,
  );
  const weight = own.find(({ parameterRole }) => parameterRole === 'weight');
  const bias = own.find(({ parameterRole }) => parameterRole === 'bias');
  const units = bias?.elementCount[0] ?? Number.NaN;
  if (
    weight === undefined ||
    !LINEAR.test(layer.moduleType) ||
    !((bias?.valueNorm[0] ?? Number.NaN) < 0.1 * Math.sqrt(units))
  )
    return [];
  const output = (layer.norm[0] ?? Number.NaN) / Math.sqrt(layer.elementCount[0] ?? Number.NaN);
  const size = output / ((weight.valueNorm[0] ?? Number.NaN) / Math.sqrt(units));
  // Half of the outputs of a ReLU are zero, which makes the inputs look smaller by the root of 2: well within the limits.
  return [{ kind: 'layer_summary', source, mean: 0, std: size, from, to }];
}
