import type { LayerSeries, RunColumns } from '../../columns/run-columns.ts';
import { ladder } from '../../signals/ladder.ts';
import {
  deadUnitShare,
  hasEnoughLeft,
  isLastLayer,
  isRecurrent,
  passesOn,
} from '../../signals/layer-facts.ts';
import { activationOf } from '../../signals/model/lint.ts';
import { modelOutline, type ModelOutline } from '../../signals/model/model-outline.ts';
import { observe, ofLayer } from '../../signals/observe.ts';
import { positionAt, sayPosition, saySpan, spanOfRows } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import { trailingRun } from '../../signals/statistics.ts';
import { say, sayOthers, sayShare, when } from '../../text/sentences.ts';

/** Fewer units than this say nothing by their share. */
const MIN_UNITS = 4;

const SHARE = ladder('Share of the units of a layer that are dead', {
  dyingReluWarningShare: 0.5,
  dyingReluErrorShare: 0.8,
  dyingReluCriticalShare: 0.98,
});

export const dyingRelu = defineRule({
  id: 'dying_relu',
  category: 'representation',
  needs: { anyOf: ['activations'], points: 'dyingReluMinProbes' },
  detects:
    'Units that give zero for every sample, in probe after probe, and so can never learn again.',
  source: 'SageMaker Debugger (DeadRelu: more than half of a layer), AUTOTRAINER (0.7)',
  cause:
    'an update that was too large or a very negative bias pushed the units below zero for all inputs',
  advice:
    'lower the learning rate, start with He initialisation and zero biases, or use a leaky ReLU',
  live: 'at_once',
  thresholds: {
    ...SHARE.thresholds,
    dyingReluMinProbes: { value: 3, doc: 'Probes in a row, up to the last.' },
  },
  measure({ columns, model, signals, thresholds: t }) {
    const layers = signals.layers('activation');
    const outline = modelOutline(columns, model);
    const found = layers
      .filter((layer) => !passesOn(layer) && mayHaveRelu(layer, outline))
      .map((layer): DeadUnits => {
        const share = deadUnitShare(layer);
        const isOutput = isLastLayer(layer, layers);
        // An output may well be mostly zero. That of a ReLU that is nothing else, for every sample, says nothing.
        const isDead = (row: number): boolean =>
          isOutput ? layer.norm[row] === 0 : (share[row] ?? 0) > t.dyingReluWarningShare;
        const probes = trailingRun(share.length, isDead);
        const units = layer.unitCount.at(-1) ?? 0;
        return { layer, share, probes, units, isOutput, last: share.at(-1) ?? 0 };
      })
      .filter(
        ({ isOutput, probes, units }) =>
          probes >= t.dyingReluMinProbes &&
          (isOutput ? endsInRelu(columns, model) : units >= MIN_UNITS),
      )
      .toSorted((a, b) => b.last - a.last);
    return found.slice(0, 1).map((worst) => {
      const onset = onsetOf(worst, t.dyingReluMinProbes);
      const severity = SHARE.severityOf(worst.last, t);
      const { isSolved, learnedShare } = signals;
      const isRemark = hasEnoughLeft(worst.last, learnedShare);
      return { ...worst, found, onset, severity, isSolved, isRemark };
    });
  },
  finding: {
    levels: {
      critical: ({ severity }) => severity === 'critical',
      // A wide network may do without half of its units: then it is worth knowing, and no more.
      error: ({ isSolved, severity }) => severity === 'error' && !isSolved,
      warning: ({ isRemark, isSolved, severity }) =>
        !isSolved && !(isRemark && severity === 'warning'),
      info: () => true,
    },
    title: ({ layer }) => `Units of ${layer.moduleName} are dead`,
    fact: ({ found, isOutput, last, layer, onset, probes, share, units }) => {
      const since = `given zero for every sample since ${sayPosition(positionAt(layer, onset))}`;
      if (isOutput) return `${layer.moduleName}, the output, has ${since}.`;
      const before = sayShare(share[share.length - probes - 1] ?? 0);
      const others = when(found.length > 1, `, and ${sayOthers(found.length - 1)} as well`);
      return `${sayShare(last)} of the ${say(units)} units of ${layer.moduleName} have ${since}${when(onset > 0, ` (${before} before)`)}${others}.`;
    },
    confidence: 0.9,
    cause: ({ isOutput }) =>
      isOutput
        ? 'a ReLU stands behind the output, and what it is given lies below zero'
        : undefined,
    advice: ({ isOutput }) =>
      isOutput
        ? 'give the last layer the activation that fits its targets, none for those that may be negative'
        : undefined,
    span: ({ layer, onset }) => spanOfRows(layer, onset),
    evidence: ({ found }, t) =>
      found.slice(0, 5).map(({ last, layer, probes, share: { length } }) => {
        const rows = [length - probes, length - 1] as const;
        const range = saySpan(spanOfRows(layer, ...rows));
        return observe(
          ofLayer(layer),
          rows,
          `${sayShare(last)} of the units dead in ${probes} probes ${range}.`,
          { observed: last, threshold: t.dyingReluWarningShare },
        );
      }),
  },
});

/**
 * Whether a layer may end in a ReLU: by the model where it is known. Zeros of a tanh or a sigmoid are something else, and so are those of
 * the gates of a recurrent layer.
 */
function mayHaveRelu(layer: LayerSeries, outline: ModelOutline | undefined): boolean {
  const name = layer.moduleName.split('/').at(-1);
  const known = outline?.layers.find((one) => one.name === name);
  const activation = known === undefined ? '' : activationOf(known);
  if (/relu/.test(activation)) return true;
  return (
    !isRecurrent(layer) &&
    !/^(?:tanh|hardsigmoid|sigmoid|softmax|softplus|softsign|elu|selu)$/.test(activation)
  );
}

/** A layer with dead units. */
type DeadUnits = {
  readonly layer: LayerSeries;
  /** Share of its units that are dead, a row a probe. */
  readonly share: Float64Array;
  /** Probes in a row, up to the last, with as many as it takes. */
  readonly probes: number;
  readonly units: number;
  readonly isOutput: boolean;
  readonly last: number;
};

/** Whether the output goes through a ReLU, as far as the model is known. */
function endsInRelu(columns: RunColumns, model: unknown): boolean {
  const output = modelOutline(columns, model)?.layers.at(-1);
  return output === undefined || /relu/.test(activationOf(output));
}

/**
 * A unit counts as dead after some probes in a row without an output, so that it died that many probes earlier: as far back as as
 * many units were silent.
 */
function onsetOf(
  { layer, probes, share }: Pick<DeadUnits, 'layer' | 'probes' | 'share'>,
  minProbes: number,
): number {
  const start = share.length - probes;
  const dead = layer.persistentDeadUnitCount[start] ?? Number.NaN;
  let onset = start;
  while (
    onset > 0 &&
    start - onset < minProbes - 1 &&
    (layer.deadUnitCount[onset - 1] ?? Number.NaN) >= dead
  )
    onset--;
  return onset;
}
