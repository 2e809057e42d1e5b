import type { AlertSeverity } from '../../../records/literals.ts';
import type { MetricSeries, RunColumns } from '../../columns/run-columns.ts';
import { batchEvidence } from '../../signals/batch-evidence.ts';
import { isInput } from '../../signals/layer-facts.ts';
import { observe, ofLayer, ofMetric, ofParameter, type Subject } from '../../signals/observe.ts';
import { positionAt, sayPosition, type RunPosition } from '../../signals/positions.ts';
import { defineRule, mostSevereFirst } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { longestRun } from '../../signals/statistics.ts';

/** What may break, in the order within a step: what is computed first is suspected first. */
const STAGES = {
  activation: 'the output of the layer',
  gradient: 'the gradient that reaches the layer',
  'parameter gradient': 'the gradient of the parameter',
  loss: 'the metric',
  update: 'the update of the parameter',
  value: 'the value of the parameter',
} as const;
type Stage = keyof typeof STAGES;

/** Numbers that are not finite in one series. */
type Break = Subject & {
  readonly stage: Stage;
  /** The first row. */
  readonly row: number;
  /** Position within the stage: the order of the pass. */
  readonly order: number;
  readonly severity: AlertSeverity;
  readonly summary: string;
  /** Whether this is what the model is fed with. */
  readonly isInput?: boolean;
};

export const nonFinite = defineRule({
  id: 'non_finite',
  category: 'optimization',
  needs: {
    anyOf: ['train_loss', 'val_loss', 'gradient_norm', 'activations', 'gradients', 'parameters'],
  },
  detects:
    'NaN or infinite numbers in losses, activations, gradients, updates or parameters, and where they came first.',
  source: 'SageMaker Debugger (ExplodingTensor), TheDeepChecker',
  cause:
    'an operation overflowed or divided by zero, after an update that was too large or on a bad batch',
  advice:
    'look in the model, the loss and the batch of that step for a logarithm, a division or an exponential; then lower the learning rate and clip the gradients',
  live: 'at_once',
  thresholds: {
    nonFiniteMaxIsolatedRun: {
      value: 2,
      doc: 'Non-finite losses in a row that count as an event when finite ones follow; the norm of all gradients may have as many without an alert, as loss scaling makes them.',
    },
  },
  measure({ columns, signals, thresholds: t }) {
    const stages = Object.keys(STAGES);
    const found = [
      ...lossBreaks(signals, t.nonFiniteMaxIsolatedRun),
      ...layerBreaks(columns, signals),
      ...parameterBreaks(columns),
    ];
    const breaks = found.toSorted(
      (a, b) =>
        axisPosition(a) - axisPosition(b) ||
        stages.indexOf(a.stage) - stages.indexOf(b.stage) ||
        a.order - b.order,
    );
    const [first] = breaks;
    const [worst] = mostSevereFirst(breaks);
    if (first === undefined || worst === undefined) return [];
    const loss = found.find(({ stage }) => stage === 'loss');
    const input = found.find((one) => one.isInput);
    const batch = batchEvidence(columns, first.series, first.row);
    return [{ breaks, first, loss, input, severity: worst.severity, batch }];
  },
  finding: {
    levels: {
      critical: ({ severity }) => severity === 'critical',
      error: ({ severity }) => severity === 'error',
      warning: () => true,
    },
    title: ({ first }) => `Non-finite numbers, first in ${first.source}`,
    fact: ({ first, input, loss }) => {
      const where = `${STAGES[first.stage]} ${first.source}`;
      const also =
        loss === undefined || loss === first
          ? ''
          : `, and ${loss.source} at ${sayPosition(positionOf(loss))}`;
      const fed =
        input === undefined || input === first
          ? ''
          : `; the inputs held some at ${sayPosition(positionOf(input))}`;
      return `NaN or infinity was seen first at ${sayPosition(positionOf(first))} in ${where}${also}${fed}.`;
    },
    confidence: ({ severity }) => (severity === 'warning' ? 0.75 : 0.98),
    // Inputs do not depend on the weights: whatever broke later, these were broken when they came in.
    cause: ({ input }) =>
      input &&
      'the data contain NaN or infinite numbers, such as missing values or a division by zero when they were scaled',
    advice: ({ input }) => input && 'find these samples and fill them in or leave them out',
    span: ({ breaks, first }) => ({ from: positionOf(first), to: lastPosition(breaks) }),
    evidence: ({ batch, breaks }) => [
      ...breaks.slice(0, 6).map((one) =>
        observe(one, [one.row, one.series.steps.length - 1], one.summary, {
          metadata: { stage: one.stage },
        }),
      ),
      ...batch,
    ],
  },
});

function axisPosition({ row, series }: Break): number {
  const step = series.steps[row] ?? Number.NaN;
  if (!Number.isNaN(step)) return step;
  return series.epochs[row] ?? Number.MAX_VALUE;
}

function positionOf({ row, series }: Break): RunPosition {
  return positionAt(series, row);
}

function lastPosition(breaks: readonly Break[]): RunPosition {
  const positions = breaks.map(({ series }) => positionAt(series, series.steps.length - 1));
  return positions.reduce((a, b) => ((b.step ?? -1) > (a.step ?? -1) ? b : a));
}

function lossBreaks(signals: Signals, maxIsolated: number): Break[] {
  const validation = signals.lossPairs.map((pair) => pair.validation);
  const losses = [...new Set([...signals.trainLosses, ...validation])];
  const norm = signals.gradientNorm;
  return [
    ...losses.flatMap((series, order) => lossBreak(series, order, signals, maxIsolated) ?? []),
    ...((norm && normBreak(norm, maxIsolated)) ?? []),
  ];
}

function lossBreak(
  series: MetricSeries,
  order: number,
  signals: Signals,
  maxIsolated: number,
): readonly Break[] | undefined {
  const { values } = series;
  const row = firstNonFinite(values);
  if (row < 0) return undefined;
  const { isLast, length } = longestBreak(values);
  const isLasting = length > maxIsolated || isLast;
  const isTraining = signals.trainLosses.includes(series);
  // A validation column that never had a number is a placeholder, or a validation that never worked.
  const isEmpty = length === values.length && !isTraining;
  const lasting = isTraining ? 'critical' : 'error';
  const at = sayPosition(positionAt(series, row));
  const course = isLast ? 'and no finite value since' : 'several in a row';
  return [
    {
      ...ofMetric(series),
      stage: 'loss',
      row,
      order,
      severity: isLasting && !isEmpty ? lasting : 'warning',
      summary: isLasting
        ? `${values[row]} first at ${at}, ${course}.`
        : `${values[row]} at ${at}; finite values follow.`,
    },
  ];
}

function normBreak(norm: MetricSeries, maxIsolated: number): readonly Break[] | undefined {
  if (firstNonFinite(norm.values) < 0) return undefined;
  const { isLast, length, start } = longestBreak(norm.values);
  if (length <= maxIsolated) return undefined;
  const at = sayPosition(positionAt(norm, start));
  return [
    {
      ...ofMetric(norm),
      stage: 'gradient',
      row: start,
      order: 0,
      severity: isLast ? 'critical' : 'warning',
      summary: `${length} non-finite values in a row, first at ${at}.`,
    },
  ];
}

function layerBreaks(columns: RunColumns, signals: Signals): Break[] {
  const isLossFine =
    signals.trainLosses.length > 0 &&
    signals.trainLosses.every((series) => firstNonFinite(series.values) < 0);
  const count = columns.layers.length;
  return columns.layers.flatMap((layer, order): Break[] => {
    const { moduleName, nonFiniteCount, summaryType } = layer;
    const row = nonFiniteCount.findIndex((value) => value > 0);
    // Masked scores of attention are -Infinity in every pass, and nothing is wrong.
    const isMask = isLossFine && nonFiniteCount.every((value) => value > 0);
    if (row < 0 || isMask) return [];
    const isLast = (nonFiniteCount.at(-1) ?? 0) > 0;
    const at = sayPosition(positionAt(layer, row));
    return [
      {
        ...ofLayer(layer),
        stage: summaryType,
        row,
        isInput: summaryType === 'activation' && isInput(layer),
        // A backward pass goes from the last layer to the first.
        order: summaryType === 'gradient' ? count - order : order,
        severity: isLast && !isLossFine ? 'critical' : 'warning',
        summary: `${nonFiniteCount[row]} non-finite elements in the ${summaryType} of ${moduleName} at ${at}.`,
      },
    ];
  });
}

function parameterBreaks(columns: RunColumns): Break[] {
  return columns.parameters.flatMap((parameter, order) => {
    const parts: [Stage, Float64Array, string][] = [
      ['parameter gradient', parameter.gradientNonFiniteCount, 'gradient'],
      ['update', parameter.updateNonFiniteCount, 'update'],
      ['value', parameter.valueNonFiniteCount, 'value'],
    ];
    return parts.flatMap(([stage, counts, name]): Break[] => {
      const row = counts.findIndex((value) => value > 0);
      if (row < 0) return [];
      const isBroken = stage === 'value' && (counts.at(-1) ?? 0) > 0;
      const at = sayPosition(positionAt(parameter, row));
      const summary = `${counts[row]} non-finite elements in the ${name} of ${parameter.parameterName} at ${at}.`;
      const severity = isBroken ? 'critical' : 'warning';
      return [{ ...ofParameter(parameter), stage, row, order, severity, summary }];
    });
  });
}

/** The longest run of values that are not finite, and whether it goes on to the end. */
function longestBreak(values: Float64Array) {
  const run = longestRun(values.length, (row) => !Number.isFinite(values[row] ?? 0));
  return { ...run, isLast: run.start + run.length === values.length };
}

function firstNonFinite(values: Float64Array): number {
  for (let row = 0; row < values.length; row++) {
    const value = values[row] ?? 0;
    if (value - value !== 0) return row;
  }
  return -1;
}
