import type { LayerSeries, RunColumns } from '../../columns/run-columns.ts';
import { activationOf } from '../../signals/lint.ts';
import { modelOutline } from '../../signals/recorded-outline.ts';
import { deadUnitShare, isLastLayer, passesOn } from '../../signals/layer-facts.ts';
import { placeAt, sayPlace, sayRange } from '../../signals/positions.ts';
import {
  defineRule,
  say,
  sayOthers,
  sayShare,
  severityAbove,
  type Finding,
} from '../../signals/rule.ts';
import { trailingRun } from '../../signals/statistics.ts';

/** Fewer units than this say nothing by their share. */
const MIN_UNITS = 4;

export const dyingRelu = defineRule({
  id: 'dying_relu',
  category: 'representation',
  detects:
    'Units that give zero for every sample, in probe after probe, and so can never learn again.',
  source: 'SageMaker Debugger (DeadRelu: more than half of a layer), AUTOTRAINER (0.7)',
  cause: 'a too large update or a very negative bias pushed the units below zero for all inputs',
  advice: 'lower the learning rate, use He initialisation with zero biases, or a leaky ReLU',
  thresholds: {
    dyingReluWarningShare: {
      value: 0.5,
      doc: 'Dead units of a layer for a warning: more than this share.',
    },
    dyingReluErrorShare: { value: 0.8, doc: 'Share of dead units for an error.' },
    dyingReluCriticalShare: { value: 0.98, doc: 'Share of dead units that is critical.' },
    dyingReluMinProbes: { value: 3, doc: 'Probes in a row, up to the last.' },
  },
  evaluate({ columns, model, signals, thresholds: t }) {
    const layers = signals.layers('activation');
    const found = layers
      .filter((layer) => !passesOn(layer))
      .map((layer) => {
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
    const [worst] = found;
    if (worst === undefined) return [];
    const { isOutput, last, layer, probes, share } = worst;
    const start = share.length - probes;
    const onset = onsetOf(worst, t.dyingReluMinProbes);
    const from = placeAt(layer, onset);
    const to = placeAt(layer, share.length - 1);
    const before = onset > 0 ? (share[start - 1] ?? 0) : undefined;
    const severity =
      severityAbove(
        last,
        t.dyingReluWarningShare,
        t.dyingReluErrorShare,
        t.dyingReluCriticalShare,
      ) ?? 'warning';
    const finding: Finding = {
      // A wide network may do without half of its units: then it is worth knowing, and no more.
      severity: signals.isSolved && severity !== 'critical' ? 'info' : severity,
      title: `Units of ${layer.moduleName} are dead`,
      fact: isOutput
        ? `${layer.moduleName}, the output, has given zero for every sample since ${sayPlace(from)}.`
        : `${sayShare(last)} of the ${say(worst.units)} units of ${layer.moduleName} have given zero for every sample since ${sayPlace(from)}${before === undefined ? '' : ` (${sayShare(before)} before)`}${found.length > 1 ? `, and ${sayOthers(found.length - 1)} as well` : ''}.`,
      confidence: 0.9,
      ...(isOutput
        ? {
            cause: 'a ReLU stands behind the output, and what it is given lies below zero',
            advice:
              'give the last layer the activation that fits its targets, none for those that may be negative',
          }
        : {}),
      from,
      to,
      observations: found.slice(0, 5).map((one) => ({
        kind: 'layer_summary',
        source: one.layer.moduleName,
        summary: `${sayShare(one.last)} of the units dead in ${one.probes} probes ${sayRange(placeAt(one.layer, one.share.length - one.probes), placeAt(one.layer, one.share.length - 1))}.`,
        observed: one.last,
        threshold: t.dyingReluWarningShare,
        from: placeAt(one.layer, one.share.length - one.probes),
        to: placeAt(one.layer, one.share.length - 1),
      })),
    };
    return [finding];
  },
});

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
  { layer, probes, share }: { layer: LayerSeries; probes: number; share: Float64Array },
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
