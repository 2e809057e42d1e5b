import type { ParameterSeries } from '../../columns/run-columns.ts';
import { placeAt, sayPlace, sayRange } from '../../signals/positions.ts';
import { defineRule, sayOthers, type Finding } from '../../signals/rule.ts';
import { trailingRun } from '../../signals/statistics.ts';

export const unchangedParameters = defineRule({
  id: 'unchanged_parameters',
  category: 'optimization',
  detects:
    'Parameters that stay as they are while others are trained: trainable ones, and frozen ones that were never trained before.',
  source:
    'SageMaker Debugger (UnchangedTensor), DeepDiagnosis (unchanged weights); that biases which are exactly those of the beginning tell a layer that was never trained is ours',
  cause: 'the optimizer was not given these parameters, or no gradient reaches them',
  advice:
    'check the list of variables that the optimizer gets, and whether the layer lies on the way from input to loss',
  thresholds: {
    unchangedParametersProbes: {
      value: 3,
      doc: 'Snapshots in a row without a change, up to the last.',
    },
    unchangedParametersRatio: {
      value: 1e-8,
      doc: 'Norm of the update over that of the values that counts as none.',
    },
  },
  evaluate({ signals, columns, thresholds: t }) {
    const known = columns.parameters.filter(
      ({ isFrozen, parameterRole }) => !isFrozen && parameterRole !== 'other',
    );
    const judged = known.map((parameter) => ({
      parameter,
      probes: trailingRun(parameter.steps.length, (row) =>
        isUnchanged(parameter, row, t.unchangedParametersRatio),
      ),
    }));
    const found = judged.filter(({ probes }) => probes >= t.unchangedParametersProbes);
    const isMoving = judged.some(({ probes }) => probes === 0);
    const [first] = found;
    if (!isMoving) return [];
    if (first === undefined) return untrained(columns.parameters, t);
    const { parameter, probes } = first;
    const from = placeAt(parameter, parameter.steps.length - probes);
    const to = placeAt(parameter, parameter.steps.length - 1);
    const names = found.map((one) => one.parameter.parameterName);
    // A bias that never moves may belong to a layer that does without.
    const isWeight = found.some((one) => one.parameter.parameterRole === 'weight');
    const finding: Finding = {
      severity: isWeight ? 'warning' : 'info',
      title: `${parameter.parameterName} does not change`,
      fact: `${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''} stayed as ${names.length === 1 ? 'it was' : 'they were'} ${sayRange(from, to)}, while other parameters changed.`,
      confidence: signals.isSolved ? 0.75 : 0.9,
      ...causeOf(parameter),
      from,
      to,
      observations: found.slice(0, 5).map((one) => ({
        kind: 'parameter_summary',
        source: one.parameter.parameterName,
        summary: `No change in ${one.probes} snapshots since ${sayPlace(placeAt(one.parameter, one.parameter.steps.length - one.probes))}.`,
        observed: one.probes,
        threshold: t.unchangedParametersProbes,
        from: placeAt(one.parameter, one.parameter.steps.length - one.probes),
        to: placeAt(one.parameter, one.parameter.steps.length - 1),
      })),
    };
    return [finding];
  },
});

/**
 * Frozen layers that hold what they were initialised with. A frozen layer that was trained before has biases that were trained, too; biases that
 * are exactly those of the beginning in every snapshot have never been. Where a layer has no biases, those of the normalisation behind it tell.
 */
function untrained(
  parameters: readonly ParameterSeries[],
  t: { readonly unchangedParametersProbes: number; readonly unchangedParametersRatio: number },
): Finding[] {
  const found = parameters.filter((weight, at) => {
    if (!weight.isFrozen || weight.parameterRole !== 'weight') return false;
    const { length } = weight.steps;
    // Another optimizer may train it, as one of two networks that play against each other.
    if (
      length < t.unchangedParametersProbes ||
      trailingRun(length - 1, (i) => isUnchanged(weight, i + 1, t.unchangedParametersRatio)) <
        length - 1
    )
      return false;
    const own = biasOf(parameters, weight.moduleName);
    if (own !== undefined) return isInitialBias(own);
    // What looks up vectors has no biases, and may have been loaded.
    if (/embedding/i.test(weight.parameterName)) return false;
    const next = parameters.slice(at).find(({ moduleName }) => moduleName !== weight.moduleName);
    const behind = next === undefined ? undefined : biasOf(parameters, next.moduleName);
    const isScale = next?.elementCount[0] === behind?.elementCount[0];
    return behind !== undefined && isScale && beganAsZeros(behind);
  });
  const [first] = found;
  if (first === undefined) return [];
  const others = new Set(found.map(({ moduleName }) => moduleName)).size - 1;
  const from = placeAt(first, 0);
  const to = placeAt(first, first.steps.length - 1);
  return [
    {
      severity: 'warning',
      title: `${first.moduleName} is frozen, and was never trained`,
      fact: `${first.moduleName}${others > 0 ? ` and ${sayOthers(others)}` : ''} ${others > 0 ? 'are' : 'is'} set not to be trained, and ${others > 0 ? 'hold' : 'holds'} the random numbers of the beginning ${sayRange(from, to)}.`,
      confidence: 0.85,
      cause: 'trainable was set to false by mistake, or before the trained weights were loaded',
      advice:
        'set it to true, or load the weights first; where layers of random numbers are meant, turn this rule off',
      from,
      to,
      observations: found.slice(0, 5).map((weight) => ({
        kind: 'parameter_summary',
        source: weight.parameterName,
        summary: `Frozen and unchanged in ${weight.steps.length} snapshots; its biases, or those of the normalisation behind it, are those of the beginning.`,
        observed: weight.steps.length,
        threshold: t.unchangedParametersProbes,
        from: placeAt(weight, 0),
        to: placeAt(weight, weight.steps.length - 1),
      })),
    },
  ];
}

function biasOf(
  parameters: readonly ParameterSeries[],
  moduleName: string,
): ParameterSeries | undefined {
  return parameters.find(
    (other) => other.moduleName === moduleName && other.parameterRole === 'bias',
  );
}

/**
 * Whether biases are what layers begin with in every snapshot: zeros; or, with an LSTM, ones for the quarter that belongs to the forget gate
 * and zeros for the rest (Jozefowicz et al. 2015).
 */
function isInitialBias({ elementCount, valueMean, valueNorm, valueStd }: ParameterSeries): boolean {
  const count = elementCount[0] ?? 0;
  const isForgetGate = (row: number): boolean =>
    count % 4 === 0 &&
    isSame(valueMean[row], 1 / 4) &&
    isSame(valueStd[row], Math.sqrt(3) / 4) &&
    isSame(valueNorm[row], Math.sqrt(count) / 2);
  return valueNorm.every((norm, row) => norm === 0 || isForgetGate(row));
}

/** Whether biases were zeros before the first update, so that the first update is all there is of them. */
function beganAsZeros({ isFrozen, updateNorm, valueNorm }: ParameterSeries): boolean {
  const first = valueNorm[0] ?? Number.NaN;
  if (isFrozen) return valueNorm.every((norm) => norm === 0);
  return first <= (updateNorm[0] ?? Number.NaN) * (1 + SAME);
}

/** Two norms that differ by less are one: they were summed in another order. */
const SAME = 1e-4;

function isSame(value: number | undefined, other: number): boolean {
  return Math.abs((value ?? Number.NaN) - other) <= SAME * Math.abs(other);
}

function isUnchanged(parameter: ParameterSeries, row: number, limit: number): boolean {
  const ratio = parameter.updateRatio[row] ?? Number.NaN;
  if (!Number.isNaN(ratio)) return ratio <= limit;
  const update = parameter.updateNorm[row] ?? Number.NaN;
  if (!Number.isNaN(update)) return update === 0;
  if (row === 0) return false;
  // Values that are equal in mean, spread and norm are equal, however they were summed: probes change to a faster way when it is there.
  const size =
    (parameter.valueNorm[row] ?? Number.NaN) / Math.sqrt(parameter.elementCount[row] ?? Number.NaN);
  const scales = { valueMean: size, valueStd: size, valueNorm: parameter.valueNorm[row] } as const;
  return (['valueMean', 'valueStd', 'valueNorm'] as const).every((name) => {
    const value = parameter[name][row] ?? Number.NaN;
    const before = parameter[name][row - 1] ?? Number.NaN;
    return value === before || Math.abs(value - before) <= SUMMED * (scales[name] ?? Number.NaN);
  });
}

/** Difference of two sums of the same numbers, as a share of their size, at most: what is changed by less is not trained. */
const SUMMED = 1e-7;

/** Updates that are this much smaller than the weights are lost when they are added to 32-bit numbers. */
const ROUNDING = 2 ** -24;

function causeOf({ gradientNorm, valueNorm }: ParameterSeries): Pick<Finding, 'cause' | 'advice'> {
  const norm = gradientNorm.at(-1) ?? Number.NaN;
  if (norm > 0 && norm < ROUNDING * (valueNorm.at(-1) ?? Number.NaN))
    return {
      cause: 'the gradient of these parameters is so small that its updates are lost in rounding',
      advice:
        'use ReLU-like activations with He initialisation, normalisation layers or skip connections, so that the gradient gets there',
    };
  if (norm > 0)
    return {
      cause: 'the optimizer does not have these parameters, since there is a gradient for them',
    };
  return norm === 0
    ? {
        cause:
          'no gradient reaches these parameters: dead units or a detached branch lie behind them',
      }
    : {};
}
