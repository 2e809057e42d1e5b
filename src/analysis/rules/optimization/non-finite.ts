import type { PlacedColumns } from '../../columns/run-columns.ts';
import { batchEvidence } from '../../signals/batch-evidence.ts';
import { isInput } from '../../signals/layer-facts.ts';
import { placeAt, sayPlace, type Place } from '../../signals/positions.ts';
import { defineRule, type Finding, type Observation } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { longestRun } from '../../signals/statistics.ts';
import type { RunColumns } from '../../columns/run-columns.ts';
import type { AlertSeverity } from '../../../records/literals.ts';

/** The order within a step: what is computed first is suspected first. */
const STAGES = ['activation', 'gradient', 'parameter gradient', 'loss', 'update', 'value'] as const;
type Stage = (typeof STAGES)[number];

type Sighting = {
  readonly stage: Stage;
  readonly kind: string;
  readonly source: string;
  readonly series: PlacedColumns;
  readonly row: number;
  /** Position within the stage: the order of the pass. */
  readonly order: number;
  readonly severity: AlertSeverity;
  readonly summary: string;
  /** Whether this is what the model is fed with. */
  readonly isInput?: boolean;
};

const BROKEN_INPUT = {
  cause:
    'the data hold NaN or infinite numbers, such as missing values or a division by zero when they were scaled',
  advice: 'find these samples and fill them in or leave them out',
};

/** Where a layer or an operation is named, the fault is nearly found. */
const WHAT: Readonly<Record<Stage, string>> = {
  activation: 'the output of the layer',
  gradient: 'the gradient that reaches the layer',
  'parameter gradient': 'the gradient of the parameter',
  loss: 'the metric',
  update: 'the update of the parameter',
  value: 'the value of the parameter',
};

export const nonFinite = defineRule({
  id: 'non_finite',
  category: 'optimization',
  detects:
    'NaN or infinite numbers in losses, activations, gradients, updates or parameters, and where they came first.',
  source: 'SageMaker Debugger (ExplodingTensor), TheDeepChecker',
  cause: 'an operation overflowed or divided by zero, after a too large update or on a bad batch',
  advice:
    'look at the batch of that step and at this place for log, division and exp, lower the learning rate and clip the gradients',
  thresholds: {
    nonFiniteMaxIsolatedRun: {
      value: 2,
      doc: 'Non-finite losses in a row that count as an event when finite ones follow; the norm of all gradients may have as many without an alert, as loss scaling makes them.',
    },
  },
  evaluate({ columns, signals, thresholds }) {
    const sightings = [
      ...lossSightings(signals, thresholds.nonFiniteMaxIsolatedRun),
      ...layerSightings(columns, signals),
      ...parameterSightings(columns),
    ];
    const [first, ...others] = sightings.toSorted(
      (a, b) =>
        positionOf(a) - positionOf(b) ||
        STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage) ||
        a.order - b.order,
    );
    if (first === undefined) return [];
    const at = placeOf(first);
    const fed = sightings.find(({ isInput: isFed }) => isFed);
    const loss = sightings.find(({ stage }) => stage === 'loss');
    const severity = sightings.some((one) => one.severity === 'critical')
      ? 'critical'
      : sightings.some((one) => one.severity === 'error')
        ? 'error'
        : 'warning';
    const where = `${WHAT[first.stage]} ${first.source}`;
    const also =
      loss !== undefined && loss !== first
        ? `, and ${loss.source} at ${sayPlace(placeOf(loss))}`
        : '';
    const input =
      fed !== undefined && fed !== first
        ? `; the inputs held some at ${sayPlace(placeOf(fed))}`
        : '';
    const finding: Finding = {
      severity,
      title: `Non-finite numbers, first in ${first.source}`,
      fact: `NaN or infinity was seen first at ${sayPlace(at)} in ${where}${also}${input}.`,
      confidence: severity === 'warning' ? 0.75 : 0.98,
      // Inputs do not depend on the weights: whatever broke later, these were broken when they came in.
      ...(fed === undefined ? {} : BROKEN_INPUT),
      from: at,
      to: lastPlace(sightings),
      observations: [
        ...[first, ...others].slice(0, 6).map(observe),
        ...batchEvidence(columns, first.series, first.row),
      ],
    };
    return [finding];
  },
});

function positionOf({ row, series }: Sighting): number {
  const step = series.steps[row] ?? Number.NaN;
  if (!Number.isNaN(step)) return step;
  return series.epochs[row] ?? Number.MAX_VALUE;
}

function placeOf({ row, series }: Sighting): Place {
  return placeAt(series, row);
}

function lastPlace(sightings: readonly Sighting[]): Place {
  const places = sightings.map(({ series }) => placeAt(series, series.steps.length - 1));
  return places.reduce((a, b) => ((b.step ?? -1) > (a.step ?? -1) ? b : a));
}

function observe(sighting: Sighting): Observation {
  const from = placeOf(sighting);
  return {
    kind: sighting.kind,
    source: sighting.source,
    summary: sighting.summary,
    from,
    to: placeAt(sighting.series, sighting.series.steps.length - 1),
    metadata: { stage: sighting.stage },
  };
}

function lossSightings(signals: Signals, maxIsolated: number): Sighting[] {
  const validation = signals.lossPairs.map((pair) => pair.validation);
  const losses = new Set([...signals.trainLosses, ...validation]);
  const found = [...losses].flatMap((series, order): Sighting[] => {
    const { key, values } = series;
    const row = firstNonFinite(values);
    if (row < 0) return [];
    const worst = longestRun(values.length, (i) => !Number.isFinite(values[i] ?? 0));
    const isLast = worst.start + worst.length === values.length;
    const isLasting = worst.length > maxIsolated || isLast;
    const isTraining = signals.trainLosses.includes(series);
    // A validation column that never held a number is a placeholder, or a validation that never worked.
    const isEmpty = worst.length === values.length && !isTraining;
    const severity = isLasting && !isEmpty ? (isTraining ? 'critical' : 'error') : 'warning';
    const summary = isLasting
      ? `${values[row]} first at ${sayPlace(placeAt(series, row))}, ${isLast ? 'and no finite value since' : 'several in a row'}.`
      : `${values[row]} at ${sayPlace(placeAt(series, row))}; finite values follow.`;
    return [{ stage: 'loss', kind: 'metric', source: key, series, row, order, severity, summary }];
  });
  const norm = signals.gradientNorm;
  if (norm === undefined || firstNonFinite(norm.values) < 0) return found;
  const { values } = norm;
  const worst = longestRun(values.length, (i) => !Number.isFinite(values[i] ?? 0));
  if (worst.length <= maxIsolated) return found;
  const source = norm.key;
  const isLast = worst.start + worst.length === values.length;
  const summary = `${worst.length} non-finite values in a row, first at ${sayPlace(placeAt(norm, worst.start))}.`;
  return [
    ...found,
    {
      stage: 'gradient',
      kind: 'metric',
      source,
      series: norm,
      row: worst.start,
      order: 0,
      severity: isLast ? 'critical' : 'warning',
      summary,
    },
  ];
}

function layerSightings(columns: RunColumns, signals: Signals): Sighting[] {
  const isLossFine =
    signals.trainLosses.length > 0 &&
    signals.trainLosses.every((series) => firstNonFinite(series.values) < 0);
  const count = columns.layers.length;
  return columns.layers.flatMap((layer, order): Sighting[] => {
    const { moduleName, nonFiniteCount, summaryType } = layer;
    const row = nonFiniteCount.findIndex((value) => value > 0);
    if (row < 0) return [];
    // Masked scores of attention are -Infinity in every pass, and nothing is wrong.
    const isMask = isLossFine && nonFiniteCount.every((value) => value > 0);
    if (isMask) return [];
    const isLast = (nonFiniteCount.at(-1) ?? 0) > 0;
    return [
      {
        stage: summaryType,
        kind: 'layer_summary',
        source: moduleName,
        series: layer,
        row,
        isInput: summaryType === 'activation' && isInput(layer),
        // A backward pass goes from the last layer to the first.
        order: summaryType === 'gradient' ? count - order : order,
        severity: isLast && !isLossFine ? 'critical' : 'warning',
        summary: `${nonFiniteCount[row]} non-finite elements in the ${summaryType} of ${moduleName} at ${sayPlace(placeAt(layer, row))}.`,
      },
    ];
  });
}

function parameterSightings(columns: RunColumns): Sighting[] {
  return columns.parameters.flatMap((parameter, order) => {
    const parts: [Stage, Float64Array, string][] = [
      ['parameter gradient', parameter.gradientNonFiniteCount, 'gradient'],
      ['update', parameter.updateNonFiniteCount, 'update'],
      ['value', parameter.valueNonFiniteCount, 'value'],
    ];
    return parts.flatMap(([stage, counts, name]): Sighting[] => {
      const row = counts.findIndex((value) => value > 0);
      if (row < 0) return [];
      const isBroken = stage === 'value' && (counts.at(-1) ?? 0) > 0;
      return [
        {
          stage,
          kind: 'parameter_summary',
          source: parameter.parameterName,
          series: parameter,
          row,
          order,
          severity: isBroken ? 'critical' : 'warning',
          summary: `${counts[row]} non-finite elements in the ${name} of ${parameter.parameterName} at ${sayPlace(placeAt(parameter, row))}.`,
        },
      ];
    });
  });
}

function firstNonFinite(values: Float64Array): number {
  for (let row = 0; row < values.length; row++) {
    const value = values[row] ?? 0;
    if (value - value !== 0) return row;
  }
  return -1;
}
