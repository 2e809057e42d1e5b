import type { ParameterSeries } from '../../columns/run-columns.ts';
import { observe, ofParameter } from '../../signals/observe.ts';
import { positionAt, sayPosition, saySpan, spanOfRows } from '../../signals/positions.ts';
import { defineRuleOfKinds } from '../../signals/rule.ts';
import { trailingRun } from '../../signals/statistics.ts';
import { sayNames, sayOthers } from '../../text/sentences.ts';

export const unchangedParameters = defineRuleOfKinds({
  id: 'unchanged_parameters',
  category: 'optimization',
  needs: { anyOf: ['parameters'], points: 'unchangedParametersProbes' },
  detects:
    'Parameters that stay as they are while others are trained: trainable ones, and frozen ones that were never trained before.',
  source:
    'SageMaker Debugger (UnchangedTensor), DeepDiagnosis (unchanged weights); that biases which are exactly those of the beginning tell a layer that was never trained is ours',
  cause: 'the optimizer was not given these parameters, or no gradient reaches them',
  advice:
    'check the list of variables that the optimizer gets, and whether the layer lies on the way from input to loss',
  live: 'at_once',
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
  measure({ columns, signals, thresholds: t }): readonly (Unchanged | Untrained)[] {
    const probes = columns.parameters
      .filter(({ isFrozen, parameterRole }) => !isFrozen && parameterRole !== 'other')
      .map((parameter) => ({
        parameter,
        count: trailingRun(parameter.steps.length, (row) =>
          isUnchanged(parameter, row, t.unchangedParametersRatio),
        ),
      }));
    const isMoving = probes.some(({ count }) => count === 0);
    if (!isMoving) return [];
    const found = probes.filter(({ count }) => count >= t.unchangedParametersProbes);
    const [first] = found;
    if (first !== undefined)
      return [{ kind: 'unchanged', first, found, isSolved: signals.isSolved }];
    const weights = columns.parameters.filter((_, at) =>
      isUntrained(columns.parameters, at, t.unchangedParametersProbes, t.unchangedParametersRatio),
    );
    return weights.slice(0, 1).map((weight) => ({ kind: 'untrained', weight, weights }));
  },
  findings: {
    unchanged: {
      // A bias that never moves may belong to a layer that does without.
      levels: {
        warning: ({ found }) => found.some(({ parameter }) => parameter.parameterRole === 'weight'),
        info: () => true,
      },
      title: ({ first }) => `${first.parameter.parameterName} does not change`,
      fact: ({ first: { count, parameter }, found }) => {
        const names = found.map((one) => one.parameter.parameterName);
        const stayed = names.length === 1 ? 'it was' : 'they were';
        const range = saySpan(spanOfRows(parameter, parameter.steps.length - count));
        return `${sayNames(names, 3)} stayed as ${stayed} ${range}, while other parameters changed.`;
      },
      confidence: ({ isSolved }) => (isSolved ? 0.75 : 0.9),
      cause: ({ first }) => CAUSES[gradientOf(first.parameter)],
      advice: ({ first }) =>
        gradientOf(first.parameter) === 'rounded'
          ? 'use ReLU-like activations with He initialisation, normalisation layers or skip connections, so that the gradient gets there'
          : undefined,
      evidence: ({ found }, t) =>
        found.slice(0, 5).map(({ count, parameter }) => {
          const start = parameter.steps.length - count;
          const since = sayPosition(positionAt(parameter, start));
          return observe(
            ofParameter(parameter),
            [start, parameter.steps.length - 1],
            `No change in ${count} snapshots since ${since}.`,
            { observed: count, threshold: t.unchangedParametersProbes },
          );
        }),
    },
    untrained: {
      levels: 'warning',
      title: ({ weight }) => `${weight.moduleName} is frozen, and was never trained`,
      fact: ({ weight, weights }) => {
        const others = new Set(weights.map(({ moduleName }) => moduleName)).size - 1;
        const range = saySpan(spanOfRows(weight));
        return others > 0
          ? `${weight.moduleName} and ${sayOthers(others)} are set not to be trained, and have the random numbers of the beginning ${range}.`
          : `${weight.moduleName} is set not to be trained, and has the random numbers of the beginning ${range}.`;
      },
      confidence: 0.85,
      cause: 'trainable was set to false by mistake, or before the trained weights were loaded',
      advice:
        'set it to true, or load the weights first; where layers of random numbers are meant, turn this rule off',
      evidence: ({ weights }, t) =>
        weights
          .slice(0, 5)
          .map((weight) =>
            observe(
              ofParameter(weight),
              [],
              `Frozen and unchanged in ${weight.steps.length} snapshots; its biases, or those of the normalisation behind it, are those of the beginning.`,
              { observed: weight.steps.length, threshold: t.unchangedParametersProbes },
            ),
          ),
    },
  },
});

/** A parameter, and how many snapshots at its end are without a change. */
type Probed = { readonly parameter: ParameterSeries; readonly count: number };

/** Parameters that should be trained, and are not. */
type Unchanged = {
  readonly kind: 'unchanged';
  readonly first: Probed;
  readonly found: readonly Probed[];
  readonly isSolved: boolean;
};

/** Frozen weights that were never trained. */
type Untrained = {
  readonly kind: 'untrained';
  readonly weight: ParameterSeries;
  readonly weights: readonly ParameterSeries[];
};

/** Why parameters stay as they are, by the gradient that reaches them. */
const CAUSES = {
  rounded: 'the gradient of these parameters is so small that its updates are lost in rounding',
  there: 'the optimizer does not have these parameters, since there is a gradient for them',
  none: 'no gradient reaches these parameters: dead units or a detached branch lie behind them',
  unknown: undefined,
} as const;

/** Updates that are this much smaller than the weights are lost when they are added to 32-bit numbers. */
const ROUNDING = 2 ** -24;

function gradientOf({ gradientNorm, valueNorm }: ParameterSeries): keyof typeof CAUSES {
  const norm = gradientNorm.at(-1) ?? Number.NaN;
  if (norm > 0) return norm < ROUNDING * (valueNorm.at(-1) ?? Number.NaN) ? 'rounded' : 'there';
  return norm === 0 ? 'none' : 'unknown';
}

/**
 * Whether a frozen layer has what it was initialised with. A frozen layer that was trained before has biases that were trained, too; biases that
 * are exactly those of the beginning in every snapshot have never been. Where a layer has no biases, those of the normalisation behind it tell.
 */
function isUntrained(
  parameters: readonly ParameterSeries[],
  at: number,
  minProbes: number,
  limit: number,
): boolean {
  const weight = parameters[at];
  if (weight?.isFrozen !== true || weight.parameterRole !== 'weight') return false;
  const { length } = weight.steps;
  // Another optimizer may train it, as one of two networks that play against each other.
  const unchanged = trailingRun(length - 1, (row) => isUnchanged(weight, row + 1, limit));
  if (length < minProbes || unchanged < length - 1) return false;
  const own = biasOf(parameters, weight.moduleName);
  if (own !== undefined) return isInitialBias(own);
  // What looks up vectors has no biases, and may have been loaded.
  if (/embedding/i.test(weight.parameterName)) return false;
  const next = parameters.slice(at).find(({ moduleName }) => moduleName !== weight.moduleName);
  const behind = next === undefined ? undefined : biasOf(parameters, next.moduleName);
  const isScale = next?.elementCount[0] === behind?.elementCount[0];
  return behind !== undefined && isScale && beganAsZeros(behind);
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
