import type { AlertSeverity } from '../../../records/literals.ts';
import type { LayerSeries } from '../../columns/run-columns.ts';
import { ladder } from '../../signals/ladder.ts';
import { deadUnitShare, isLastLayer, passesOn } from '../../signals/layer-facts.ts';
import { observe, ofLayer } from '../../signals/observe.ts';
import { saySpan, spanOfRows } from '../../signals/positions.ts';
import { defineRule, mostSevereFirst } from '../../signals/rule.ts';
import { type RuleContext } from '../../signals/rule-types.ts';
import { median } from '../../signals/statistics.ts';
import { say, sayOthers, sayShare, when } from '../../text/sentences.ts';

/** Probes at the end that the state of a layer comes from. */
const LAST_PROBES = 3;
/** A deviation this small beside the mean is that of a constant; beside its own start, of a layer that has collapsed. */
const CONSTANT_RATIO = 0.01;
const SHRUNK_RATIO = 0.02;
/** More than this share of the units dead for every sample, probe after probe. */
const PERSISTENT_SHARE = 0.5;

const DEAD = ladder('Share of the outputs of a layer that are zero', {
  activationCollapseWarningDeadUnitRatio: 0.8,
  activationCollapseErrorDeadUnitRatio: 0.92,
  activationCollapseCriticalDeadUnitRatio: 0.98,
});
const SATURATED = ladder('Share of the outputs of a layer that are saturated', {
  activationCollapseWarningSaturationRatio: 0.9,
  activationCollapseErrorSaturationRatio: 0.97,
  activationCollapseCriticalSaturationRatio: 0.995,
});
const STD = ladder('Standard deviation of the outputs of a layer', {
  activationCollapseWarningStd: 0.05,
  activationCollapseErrorStd: 0.01,
  activationCollapseCriticalStd: 0.001,
});

/** How the outputs of a layer may say nothing any more. */
const SIGNS = {
  dead: {
    ladder: DEAD,
    say: (share: number) => `${sayShare(share)} of the outputs are zero`,
  },
  saturated: {
    ladder: SATURATED,
    say: (share: number) => `${sayShare(share)} of the outputs are saturated`,
  },
  constant: {
    ladder: STD,
    say: (std: number) => `The standard deviation of the outputs is ${say(std)}`,
  },
} as const;

export const activationCollapse = defineRule({
  id: 'activation_collapse',
  category: 'representation',
  needs: { anyOf: ['activations'] },
  detects: 'A layer whose outputs say nothing any more: dead, saturated, or all alike.',
  source: 'abiotic-quark; persistence and position in the network are ours',
  cause: 'too large updates or a bad initialisation pushed the units out of their working range',
  advice:
    'lower the learning rate and check the initialisation and the normalisation before this layer',
  live: 'trend',
  thresholds: { ...DEAD.thresholds, ...SATURATED.thresholds, ...STD.thresholds },
  measure(context) {
    const { isAbsolute, signals, thresholds: t } = context;
    const layers = signals.layers('activation');
    const found = layers.flatMap((layer): readonly Collapse[] => {
      const values = figuresOf(layer, isLastLayer(layer, layers), context);
      return [
        collapseOf('dead', layer, values.dead, DEAD.severityOf(values.dead, t)),
        collapseOf('saturated', layer, values.saturated, SATURATED.severityOf(values.saturated, t)),
        collapseOf('constant', layer, values.constant, STD.severityOf(values.constant, t)),
      ].flat();
    });
    const sorted = mostSevereFirst(found);
    const count = new Set(found.map(({ layer }) => layer.moduleName)).size;
    return sorted.slice(0, 1).map((worst) => ({ worst, sorted, count, isAbsolute }));
  },
  finding: {
    levels: {
      critical: ({ worst }) => worst.severity === 'critical',
      error: ({ worst }) => worst.severity === 'error',
      warning: () => true,
    },
    title: ({ worst }) => `The outputs of ${worst.layer.moduleName} have collapsed`,
    fact: ({ count, worst }) => {
      const others = when(count > 1, `; ${sayOthers(count - 1)} as well`);
      return `In ${worst.layer.moduleName}: ${sayCollapse(worst)}${others}.`;
    },
    confidence: ({ isAbsolute }) => (isAbsolute ? 0.6 : 0.85),
    evidence: ({ sorted }, t) =>
      sorted.slice(0, 5).map((one) =>
        observe(ofLayer(one.layer), lastRows(one.layer), `${sayCollapse(one)}.`, {
          observed: one.value,
          threshold: SIGNS[one.sign].ladder.warningOf(t),
        }),
      ),
  },
});

type Collapse = {
  readonly sign: keyof typeof SIGNS;
  readonly layer: LayerSeries;
  readonly value: number;
  readonly severity: AlertSeverity;
};

function collapseOf(
  sign: Collapse['sign'],
  layer: LayerSeries,
  value: number,
  severity: AlertSeverity | undefined,
): readonly Collapse[] {
  return severity === undefined ? [] : [{ sign, layer, value, severity }];
}

/** The figures of a layer, by sign; NaN where they say nothing of it. */
function figuresOf(
  layer: LayerSeries,
  isLast: boolean,
  { isAbsolute, signals }: Pick<RuleContext<never>, 'isAbsolute' | 'signals'>,
): Readonly<Record<keyof typeof SIGNS, number>> {
  const dead = lastOf(layer.deadUnitRatio);
  const saturated = lastOf(layer.saturationRatio);
  const constant = lastOf(layer.std);
  if (isAbsolute) return { dead, saturated, constant };
  const isJudged = layer.std.length >= 2 && !passesOn(layer);
  const where = (isSo: boolean, value: number): number => (isJudged && isSo ? value : Number.NaN);
  // An output may well be saturated, and mostly zero; one that is the same for all samples says nothing.
  return {
    dead: where(!isLast && isDeadForGood(layer), dead),
    saturated: where(!isLast && !signals.isSolved, saturated),
    constant: where(isConstant(layer, constant) && !(isLast && signals.isSolved), constant),
  };
}

function lastRows({ std: { length } }: LayerSeries): readonly [first: number, last: number] {
  return [Math.max(0, length - LAST_PROBES), length - 1];
}

function lastOf(values: Float64Array): number {
  return median(values.subarray(-LAST_PROBES));
}

function sayCollapse({ layer, sign, value }: Collapse): string {
  return `${SIGNS[sign].say(value)} ${saySpan(spanOfRows(layer, ...lastRows(layer)))}`;
}

/** The same units in every probe, not others each time: that is sparsity. Where units are not known, nearly everything. */
function isDeadForGood(layer: LayerSeries): boolean {
  const share = deadUnitShare(layer);
  const persistent = median(share.subarray(-LAST_PROBES));
  if (!Number.isNaN(persistent)) return persistent > PERSISTENT_SHARE;
  return median(layer.deadUnitRatio.subarray(-LAST_PROBES)) >= 0.995;
}

function isConstant(layer: LayerSeries, std: number): boolean {
  if (std === 0) return true;
  const mean = Math.abs(median(layer.mean.subarray(-LAST_PROBES)));
  return std <= CONSTANT_RATIO * mean || std <= SHRUNK_RATIO * (layer.std[0] ?? 0);
}
