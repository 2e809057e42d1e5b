import type { AlertSeverity } from '../../../records/literals.ts';
import type { LayerSeries } from '../../columns/run-columns.ts';
import { ladder } from '../../signals/ladder.ts';
import {
  deadUnitShare,
  hasEnoughLeft,
  isLastLayer,
  isSoftmax,
  passesOn,
  softmaxCertainty,
} from '../../signals/layer-facts.ts';
import { observe, ofLayer } from '../../signals/observe.ts';
import { saySpan, spanOfRows } from '../../signals/positions.ts';
import { defineRule, mostSevereFirst } from '../../signals/rule.ts';
import { type RuleContext } from '../../signals/rule-types.ts';
import type { Signals } from '../../signals/signals.ts';
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

const CERTAIN = ladder('Certainty of a softmax that is wrong: mean sum of its squared outputs', {
  activationCollapseWarningCertainty: 0.97,
  activationCollapseErrorCertainty: 0.99,
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
  certain: {
    ladder: CERTAIN,
    say: (certainty: number) =>
      `The softmax is saturated (the sum of its squared outputs is ${say(certainty)}), and sure of answers that are wrong`,
  },
} as const;

export const activationCollapse = defineRule({
  id: 'activation_collapse',
  category: 'representation',
  needs: { anyOf: ['activations'] },
  detects: 'A layer whose outputs say nothing any more: dead, saturated, or all alike.',
  source: 'abiotic-quark; persistence and position in the network are ours',
  cause:
    'updates that were too large or a bad initialisation pushed the units out of their working range',
  advice:
    'lower the learning rate and check the initialisation and the normalisation before this layer',
  live: 'trend',
  thresholds: {
    ...DEAD.thresholds,
    ...SATURATED.thresholds,
    ...STD.thresholds,
    ...CERTAIN.thresholds,
  },
  measure(context) {
    const { isAbsolute, signals, thresholds: t } = context;
    const layers = signals.layers('activation');
    const found = layers.flatMap((layer): readonly Collapse[] => {
      const values = figuresOf(layer, isLastLayer(layer, layers), context);
      return [
        collapseOf('dead', layer, values.dead, DEAD.severityOf(values.dead, t)),
        collapseOf('saturated', layer, values.saturated, SATURATED.severityOf(values.saturated, t)),
        collapseOf('constant', layer, values.constant, STD.severityOf(values.constant, t)),
        collapseOf('certain', layer, values.certain, CERTAIN.severityOf(values.certain, t)),
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
    title: ({ worst }) =>
      worst.sign === 'certain'
        ? `The softmax of ${worst.layer.moduleName} is saturated`
        : `The outputs of ${worst.layer.moduleName} have collapsed`,
    fact: ({ count, worst }) => {
      const others = when(count > 1, `; ${sayOthers(count - 1)} as well`);
      return `In ${worst.layer.moduleName}: ${sayCollapse(worst)}${others}.`;
    },
    confidence: ({ isAbsolute }) => (isAbsolute ? 0.6 : 0.85),
    cause: ({ worst }) =>
      worst.sign === 'certain'
        ? 'its inputs are far too large, by the initial weights, the inputs of the model or the learning rate, so that hardly a gradient passes'
        : undefined,
    advice: ({ worst }) =>
      worst.sign === 'certain'
        ? 'give the last layer smaller initial weights, normalise the inputs and lower the learning rate'
        : undefined,
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
  if (isAbsolute) return { dead, saturated, constant, certain: Number.NaN };
  const isJudged = layer.std.length >= 2 && !passesOn(layer);
  const spread = spreadOf(layer);
  const where = (isSo: boolean, value: number): number => (isJudged && isSo ? value : Number.NaN);
  // An output may well be saturated, and mostly zero; one that is the same for all samples says nothing.
  return {
    dead: where(!isLast && isDeadForGood(layer, signals.learnedShare), dead),
    saturated: where(!isLast && !signals.isSolved, saturated),
    constant: where(
      isConstant(layer, spread) && !(isLast && (signals.isSolved || isAsAtFirst(layer, spread))),
      spread,
    ),
    certain: where(isLast && isWrong(signals) && isSoftmax(layer), lastOf(softmaxCertainty(layer))),
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
function isDeadForGood(layer: LayerSeries, learnedShare: number): boolean {
  const share = deadUnitShare(layer);
  const persistent = median(share.subarray(-LAST_PROBES));
  if (!Number.isNaN(persistent))
    return persistent > PERSISTENT_SHARE && !hasEnoughLeft(persistent, learnedShare);
  return median(layer.deadUnitRatio.subarray(-LAST_PROBES)) >= 0.995;
}

/** Elements of a probe below which their deviation says little: one unit of one sample has none. */
const FEW_ELEMENTS = 8;
const MANY_PROBES = 12;

/** Deviation of the outputs in the last probes; where a probe has few of them, that of all of these probes together. NaN where they are too few. */
function spreadOf({ elementCount, mean, std }: LayerSeries): number {
  if (lastOf(elementCount) >= FEW_ELEMENTS) return lastOf(std);
  if (mean.length < MANY_PROBES) return Number.NaN;
  const means = mean.subarray(-MANY_PROBES);
  const middle = means.reduce((a, b) => a + b, 0) / means.length;
  const between = means.reduce((sum, value) => sum + (value - middle) ** 2, 0) / means.length;
  return Math.hypot(lastOf(std), Math.sqrt(between));
}

/** Loss of classes, in nats, that is far from that of right answers. */
const WRONG_LOSS = 0.7;

/** Whether the training ends with a loss that answers which are sure cannot have unless many of them are wrong. */
function isWrong(signals: Signals): boolean {
  return (
    !(signals.finalAccuracy >= 0.9) &&
    signals.trainLosses.some((series) => (signals.course(series)?.end ?? 0) > WRONG_LOSS)
  );
}

/** Share of its first deviation from which an output is as it was before anything was learned: it says nothing yet, and has not collapsed. */
const AS_AT_FIRST = 0.5;

function isAsAtFirst({ std }: LayerSeries, spread: number): boolean {
  return spread > 0 && spread >= AS_AT_FIRST * (std[0] ?? Number.NaN);
}

function isConstant(layer: LayerSeries, std: number): boolean {
  if (std === 0) return true;
  const mean = Math.abs(median(layer.mean.subarray(-LAST_PROBES)));
  return std <= CONSTANT_RATIO * mean || std <= SHRUNK_RATIO * (layer.std[0] ?? 0);
}
