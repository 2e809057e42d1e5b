import type { LayerSeries } from '../../columns/run-columns.ts';
import { placeAt, sayRange } from '../../signals/positions.ts';
import {
  defineRule,
  say,
  sayOthers,
  sayShare,
  severityAbove,
  type Observation,
} from '../../signals/rule.ts';
import { deadUnitShare, isLastLayer, passesOn } from '../../signals/layer-facts.ts';
import { median } from '../../signals/statistics.ts';
import type { AlertSeverity } from '../../../records/literals.ts';

/** Probes at the end that the state of a layer comes from. */
const LAST_PROBES = 3;
/** A deviation this small beside the mean is that of a constant; beside its own start, of a layer that has collapsed. */
const CONSTANT_RATIO = 0.01;
const SHRUNK_RATIO = 0.02;
/** More than this share of the units dead for every sample, probe after probe. */
const PERSISTENT_SHARE = 0.5;

type Collapse = {
  readonly layer: LayerSeries;
  readonly severity: AlertSeverity;
  readonly what: string;
  readonly observation: Observation;
};

export const activationCollapse = defineRule({
  id: 'activation_collapse',
  category: 'representation',
  detects: 'A layer whose outputs say nothing any more: dead, saturated, or all alike.',
  source: 'the reference; persistence and position in the network are ours',
  cause: 'too large updates or a bad initialisation pushed the units out of their working range',
  advice:
    'lower the learning rate and check the initialisation and the normalisation before this layer',
  thresholds: {
    activationCollapseWarningDeadUnitRatio: {
      value: 0.8,
      doc: 'Share of zero outputs for a warning.',
    },
    activationCollapseErrorDeadUnitRatio: {
      value: 0.92,
      doc: 'Share of zero outputs for an error.',
    },
    activationCollapseCriticalDeadUnitRatio: {
      value: 0.98,
      doc: 'Share of zero outputs that is critical.',
    },
    activationCollapseWarningSaturationRatio: {
      value: 0.9,
      doc: 'Share of saturated outputs for a warning.',
    },
    activationCollapseErrorSaturationRatio: {
      value: 0.97,
      doc: 'Share of saturated outputs for an error.',
    },
    activationCollapseCriticalSaturationRatio: {
      value: 0.995,
      doc: 'Share of saturated outputs that is critical.',
    },
    activationCollapseWarningStd: {
      value: 0.05,
      doc: 'Standard deviation of the outputs for a warning.',
    },
    activationCollapseErrorStd: {
      value: 0.01,
      doc: 'Standard deviation of the outputs for an error.',
    },
    activationCollapseCriticalStd: {
      value: 0.001,
      doc: 'Standard deviation of the outputs that is critical.',
    },
  },
  evaluate({ isReference, signals, thresholds: t }) {
    const layers = signals.layers('activation');
    const found: Collapse[] = [];
    for (const layer of layers) {
      const rows = layer.std.length;
      if (rows === 0 || (!isReference && (rows < 2 || passesOn(layer)))) continue;
      // An output may well be saturated, and mostly zero; one that is the same for all samples says nothing.
      const isOutput = !isReference && isLastLayer(layer, layers);
      const last = (values: Float64Array): number => median(values.subarray(-LAST_PROBES));
      const from = placeAt(layer, Math.max(0, rows - LAST_PROBES));
      const to = placeAt(layer, rows - 1);
      const add = (
        severity: AlertSeverity | undefined,
        what: string,
        observed: number,
        threshold: number,
      ): void => {
        if (severity === undefined) return;
        const observation = {
          kind: 'layer_summary',
          source: layer.moduleName,
          summary: `${what} ${sayRange(from, to)}.`,
          observed,
          threshold,
          from,
          to,
        };
        found.push({ layer, severity, what, observation });
      };
      const dead = last(layer.deadUnitRatio);
      if (isReference || (!isOutput && isDeadForGood(layer)))
        add(
          severityAbove(
            dead,
            t.activationCollapseWarningDeadUnitRatio,
            t.activationCollapseErrorDeadUnitRatio,
            t.activationCollapseCriticalDeadUnitRatio,
          ),
          `${sayShare(dead)} of the outputs are zero`,
          dead,
          t.activationCollapseWarningDeadUnitRatio,
        );
      const saturated = last(layer.saturationRatio);
      if (isReference || (!isOutput && !signals.isSolved))
        add(
          severityAbove(
            saturated,
            t.activationCollapseWarningSaturationRatio,
            t.activationCollapseErrorSaturationRatio,
            t.activationCollapseCriticalSaturationRatio,
          ),
          `${sayShare(saturated)} of the outputs are saturated`,
          saturated,
          t.activationCollapseWarningSaturationRatio,
        );
      const std = last(layer.std);
      if (isReference || (isConstant(layer, std) && !(isOutput && signals.isSolved)))
        add(
          severityAbove(
            -std,
            -t.activationCollapseWarningStd,
            -t.activationCollapseErrorStd,
            -t.activationCollapseCriticalStd,
          ),
          `The standard deviation of the outputs is ${say(std)}`,
          std,
          t.activationCollapseWarningStd,
        );
    }
    const order = ['critical', 'error', 'warning', 'info'];
    const sorted = found.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
    const [worst] = sorted;
    if (worst === undefined) return [];
    const { from, to } = worst.observation;
    const names = new Set(found.map(({ layer }) => layer.moduleName));
    return [
      {
        severity: worst.severity,
        title: `The outputs of ${worst.layer.moduleName} have collapsed`,
        fact: `In ${worst.layer.moduleName}: ${worst.observation.summary.slice(0, -1)}${names.size > 1 ? `; ${sayOthers(names.size - 1)} as well` : ''}.`,
        confidence: isReference ? 0.6 : 0.85,
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        observations: sorted.slice(0, 5).map(({ observation }) => observation),
      },
    ];
  },
});

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
