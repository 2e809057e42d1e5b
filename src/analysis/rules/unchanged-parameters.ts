import type { ParameterSeries } from '../columns/run-columns.ts';
import { placeAt, sayPlace, sayRange } from './places.ts';
import { defineRule, type Finding } from './rule.ts';
import { trailingRun } from './statistics.ts';

export const unchangedParameters = defineRule({
  id: 'unchanged_parameters',
  category: 'optimization',
  detects: 'Trainable parameters that stay as they are while others are trained.',
  source: 'SageMaker Debugger (UnchangedTensor), DeepDiagnosis (unchanged weights)',
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
    if (first === undefined || !isMoving) return [];
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

function isUnchanged(parameter: ParameterSeries, row: number, limit: number): boolean {
  const ratio = parameter.updateRatio[row] ?? Number.NaN;
  if (!Number.isNaN(ratio)) return ratio <= limit;
  const update = parameter.updateNorm[row] ?? Number.NaN;
  if (!Number.isNaN(update)) return update === 0;
  if (row === 0) return false;
  // Values that are equal in mean, spread and norm are equal.
  return (['valueMean', 'valueStd', 'valueNorm'] as const).every((name) => {
    const value = parameter[name][row] ?? Number.NaN;
    return value === parameter[name][row - 1];
  });
}

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
