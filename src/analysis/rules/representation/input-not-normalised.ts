import type { LayerSeries, RunColumns } from '../../columns/run-columns.ts';
import { isInput } from '../../signals/layer-facts.ts';
import { numberOf } from '../../signals/model/fields.ts';
import { spanOfRows, spanOfSteps, type RunSpan } from '../../signals/positions.ts';
import { defineRuleOfKinds } from '../../signals/rule.ts';
import { type Observation } from '../../signals/rule-types.ts';
import { median } from '../../signals/statistics.ts';
import { say } from '../../text/sentences.ts';

/** Batches or probes whose statistics say what the input is like. */
const SAMPLES = 50;

/** What is known of the numbers that the model gets. */
type Input = {
  /** What sort of evidence it is. */
  readonly of: 'layer_summary' | 'metric' | 'batch_diagnostic';
  readonly source: string;
  readonly mean: number;
  readonly std: number;
  readonly span: RunSpan;
  /** Whether it was the same number everywhere, batch after batch. */
  readonly isConstant?: boolean;
};

export const inputNotNormalised = defineRuleOfKinds({
  id: 'input_not_normalised',
  category: 'representation',
  needs: { anyOf: ['activations', 'batches'] },
  detects:
    'Inputs that are far from zero mean and unit size: raw pixels, values that were normalised twice, or the same number everywhere.',
  source:
    'UMLAUT (outside -1 to 1), SageMaker Debugger (CheckInputImages), TheDeepChecker; wider limits, as standard scores reach 3',
  cause: 'the inputs are fed as they are stored',
  advice:
    'subtract the mean and divide by the standard deviation of the training data (for pixels: divide by 255)',
  live: 'at_once',
  thresholds: {
    inputMaxSize: { value: 5, doc: 'Root mean square of the inputs, above.' },
    inputMaxMean: {
      value: 2,
      doc: 'Size of the mean over the deviation, above, for inputs of unit size or more.',
    },
    inputMinSize: { value: 0.02, doc: 'Root mean square of the inputs, below.' },
  },
  measure({ columns, thresholds: t }): readonly (ConstantInput | UnusualInput)[] {
    const inputs = inputsOf(columns);
    // One of several inputs may be a mask.
    const constant = inputs.length === 1 ? inputs.find((input) => input.isConstant) : undefined;
    if (constant !== undefined) return [{ kind: 'constant', ...constant }];
    const found = inputs.flatMap((input): UnusualInput[] => {
      const size = Math.hypot(input.mean, input.std);
      const isLarge = size > t.inputMaxSize;
      const isShifted = Math.abs(input.mean) / input.std > t.inputMaxMean && size > 1;
      const isSmall = size < t.inputMinSize && size > 0;
      if (!isLarge && !isShifted && !isSmall) return [];
      return [{ kind: 'unusual', ...input, size, isLarge, isSmall }];
    });
    const distanceOf = ({ size }: UnusualInput): number => Math.abs(Math.log(size));
    return found.toSorted((a, b) => distanceOf(b) - distanceOf(a)).slice(0, 1);
  },
  findings: {
    constant: {
      levels: 'error',
      title: 'Inputs are all the same',
      fact: ({ mean, source }) => `All values of the inputs (${source}) are ${say(mean)}.`,
      confidence: 0.9,
      cause: 'the loader fills the batches with a constant, or the values were cut off at a limit',
      advice: 'print one batch as the model gets it',
      evidence: (input) => [
        observeInput(input, {
          summary: `Mean ${say(input.mean)}, standard deviation ${say(input.std)}.`,
          observed: input.std,
          threshold: CONSTANT * Math.abs(input.mean),
        }),
      ],
    },
    unusual: {
      levels: 'warning',
      title: ({ isSmall }) => (isSmall ? 'Inputs are very small' : 'Inputs are not normalised'),
      fact: ({ mean, source, std }) =>
        `The inputs (${source}) have mean ${say(mean)} and standard deviation ${say(std)}.`,
      confidence: ({ isLarge }) => (isLarge ? 0.85 : 0.7),
      cause: ({ isSmall }) =>
        isSmall
          ? 'the inputs were normalised twice, or have another unit than the model expects'
          : undefined,
      evidence: (input, t) => [
        observeInput(input, {
          summary: `Root mean square ${say(input.size)}.`,
          observed: input.size,
          threshold: input.isSmall ? t.inputMinSize : t.inputMaxSize,
        }),
      ],
    },
  },
});

/** Inputs that are one number. */
type ConstantInput = Input & { readonly kind: 'constant' };

/** Inputs that are far from zero mean and unit size. */
type UnusualInput = Input & {
  readonly kind: 'unusual';
  /** Root mean square. */
  readonly size: number;
  readonly isLarge: boolean;
  readonly isSmall: boolean;
};

function observeInput(
  { mean, of, source, span, std }: Input,
  figures: Pick<Observation, 'summary' | 'observed' | 'threshold'>,
): Observation {
  return { kind: of, source, ...span, ...figures, metadata: { mean, std } };
}

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

/** From an input layer that was probed, from metrics, from the metadata of batches; else from what the first layer makes of them. */
function inputsOf(columns: RunColumns): readonly Input[] {
  const given = [...probedInputs(columns), ...loggedInputs(columns), ...batchInputs(columns)];
  const inputs = given.length > 0 ? given : estimates(columns);
  return inputs.filter(({ mean, std }) => Number.isFinite(mean) && Number.isFinite(std));
}

function probedInputs(columns: RunColumns): readonly Input[] {
  return columns.layers
    .filter(
      (layer) =>
        layer.summaryType === 'activation' &&
        !layer.isEvaluation &&
        isInput(layer) &&
        // Numbers of tokens are names, not sizes.
        !isEmbedded(columns, layer.moduleName),
    )
    .map((layer) => {
      const rows = Math.min(SAMPLES, layer.steps.length);
      return {
        of: 'layer_summary',
        source: layer.moduleName,
        mean: median(layer.mean.subarray(0, rows)),
        std: median(layer.std.subarray(0, rows)),
        span: spanOfRows(layer, 0, rows - 1),
        isConstant: isConstant(layer, rows),
      };
    });
}

function loggedInputs({ metrics }: RunColumns): readonly Input[] {
  return ['input', 'data/input', 'inputs'].flatMap((namespace): readonly Input[] => {
    const means = metrics.get(`${namespace}/mean`);
    const deviations = metrics.get(`${namespace}/std`);
    if (means === undefined || deviations === undefined || means.values.length === 0) return [];
    const rows = Math.min(SAMPLES, means.values.length);
    const mean = median(means.values.subarray(0, rows));
    const std = median(deviations.values.subarray(0, rows));
    return [{ of: 'metric', source: means.key, mean, std, span: spanOfRows(means, 0, rows - 1) }];
  });
}

function batchInputs({ batches }: RunColumns): readonly Input[] {
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
  return known.slice(0, 1).map(({ step }) => ({
    of: 'batch_diagnostic',
    source: 'batches',
    mean: median(known.map(({ mean }) => mean)),
    std: median(known.map(({ std }) => std)),
    span: spanOfSteps(step, known.at(-1)?.step ?? Number.NaN),
  }));
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
function estimates(columns: RunColumns): readonly Input[] {
  const layer = columns.layers.find(
    (one) => one.summaryType === 'activation' && !one.isEvaluation && !isInput(one),
  );
  if (layer === undefined || !((layer.steps[0] ?? Number.POSITIVE_INFINITY) <= INITIAL_STEP))
    return [];
  const span = spanOfRows(layer, 0, Math.min(SAMPLES, layer.steps.length) - 1);
  const [mean = Number.NaN] = layer.mean;
  const [std = Number.NaN] = layer.std;
  // Layers that only shape give the inputs themselves.
  if (/^(?:flatten|reshape|zeropadding\dd)$/i.test(layer.moduleType))
    return [{ of: 'layer_summary', source: layer.moduleName, mean, std, span }];
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
  const source = `what ${layer.moduleName} makes of them`;
  return [{ of: 'layer_summary', source, mean: 0, std: size, span }];
}
