/** Alerts, phases and layers of two runs. */
import type { AlertRecord } from '../../records/alert.ts';
import { ALERT_SEVERITIES, PHASE_NAMES, type AlertSeverity } from '../../records/literals.ts';
import type { PhaseRecord } from '../../records/phase.ts';
import type { LayerSeries } from '../columns/run-columns.ts';
import {
  alertDiffRecord,
  layerSummaryDiffRecord,
  phaseDiffRecord,
  type AlertDiff,
  type LayerSummaryDiff,
  type PhaseDiff,
  type Presence,
} from './diff-records.ts';

type RuleSide = {
  readonly count: number;
  readonly severity: AlertSeverity | null;
  readonly step_start: number | null;
};

/** Which rules fired where, and how severely. */
export function diffAlerts(
  primary: readonly AlertRecord[],
  reference: readonly AlertRecord[],
): AlertDiff {
  const ids = [...new Set([...primary, ...reference].map(({ ruleId }) => ruleId))].toSorted();
  const rules = ids.map((ruleId) => ({
    rule_id: ruleId,
    primary: sideOf(primary, ruleId),
    reference: sideOf(reference, ruleId),
  }));
  const rank = ({ severity }: RuleSide): number =>
    severity === null ? -1 : ALERT_SEVERITIES.indexOf(severity);
  const idsWhere = (isWanted: (a: number, b: number) => boolean): readonly string[] =>
    rules
      .filter((rule) => isWanted(rank(rule.primary), rank(rule.reference)))
      .map((rule) => rule.rule_id);
  return alertDiffRecord.create({
    primaryCount: primary.length,
    referenceCount: reference.length,
    newRuleIds: idsWhere((_, b) => b < 0),
    resolvedRuleIds: idsWhere((a) => a < 0),
    sharedRuleIds: idsWhere((a, b) => a >= 0 && b >= 0),
    worsenedRuleIds: idsWhere((a, b) => b >= 0 && a > b),
    improvedRuleIds: idsWhere((a, b) => a >= 0 && a < b),
    primarySeverityCounts: countSeverities(primary),
    referenceSeverityCounts: countSeverities(reference),
    rules,
  });
}

function sideOf(alerts: readonly AlertRecord[], ruleId: string): RuleSide {
  const own = alerts.filter((alert) => alert.ruleId === ruleId);
  const severity = ALERT_SEVERITIES.findLast((each) =>
    own.some((alert) => alert.severity === each),
  );
  const steps = own.flatMap(({ stepStart }) => stepStart ?? []);
  return {
    count: own.length,
    severity: severity ?? null,
    step_start: steps.length === 0 ? null : Math.min(...steps),
  };
}

function countSeverities(alerts: readonly AlertRecord[]): Record<string, number> {
  return Object.fromEntries(
    ALERT_SEVERITIES.map((severity) => [
      severity,
      alerts.filter((alert) => alert.severity === severity).length,
    ]),
  );
}

/** Each phase that one of the runs has, in the order of {@link PHASE_NAMES}. */
export function diffPhases(
  primary: readonly PhaseRecord[],
  reference: readonly PhaseRecord[],
): readonly PhaseDiff[] {
  return PHASE_NAMES.flatMap((phaseName) => {
    const [a, b] = [primary, reference].map((phases) => extentOf(phases, phaseName));
    if (a === undefined && b === undefined) return [];
    return phaseDiffRecord.create({
      phaseName,
      presence: presenceOf(a, b),
      primaryStepStart: a?.start ?? null,
      referenceStepStart: b?.start ?? null,
      stepStartDelta: delta(a?.start, b?.start),
      primaryStepEnd: a?.end ?? null,
      referenceStepEnd: b?.end ?? null,
      stepEndDelta: delta(a?.end, b?.end),
      primaryStepCount: a?.count ?? 0,
      referenceStepCount: b?.count ?? 0,
      primaryShare: a?.share ?? null,
      referenceShare: b?.share ?? null,
      shareDelta: delta(a?.share ?? 0, b?.share ?? 0),
    });
  });
}

type Extent = {
  readonly start: number;
  readonly end: number;
  readonly count: number;
  readonly share: number;
};

function extentOf(phases: readonly PhaseRecord[], phaseName: string): Extent | undefined {
  const own = phases.filter((phase) => phase.phaseName === phaseName);
  const [first] = own;
  const last = own.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const lengthOf = (list: readonly PhaseRecord[]): number =>
    list.reduce((sum, { stepEnd, stepStart }) => sum + stepEnd - stepStart + 1, 0);
  const count = lengthOf(own);
  return { start: first.stepStart, end: last.stepEnd, count, share: count / lengthOf(phases) };
}

const STATISTICS = [
  ['mean', 'mean'],
  ['std', 'std'],
  ['norm', 'norm'],
  ['deadUnitRatio', 'dead_unit_ratio'],
  ['saturationRatio', 'saturation_ratio'],
] as const;

/** Each layer and kind of summary that one of the runs has, in the order of the primary's model; passes that train only. */
export function diffLayers(
  primary: readonly LayerSeries[],
  reference: readonly LayerSeries[],
): readonly LayerSummaryDiff[] {
  const [first, second] = [primary, reference].map(byLayer);
  const names = new Set([...(first?.keys() ?? []), ...(second?.keys() ?? [])]);
  return [...names].flatMap((name) => {
    const a = first?.get(name);
    const b = second?.get(name);
    const any = a?.[0] ?? b?.[0];
    if (any === undefined) return [];
    const statistics = STATISTICS.map(([field, stored]) => {
      const [one, two] = [meanOf(a, field), meanOf(b, field)];
      return [stored, { primary: one, reference: two, delta: delta(one, two) }];
    });
    return layerSummaryDiffRecord.create({
      moduleName: any.moduleName,
      moduleType: any.moduleType,
      summaryType: any.summaryType,
      presence: presenceOf(a, b),
      primaryCount: rowsOf(a),
      referenceCount: rowsOf(b),
      statistics: Object.fromEntries(statistics),
    });
  });
}

function byLayer(layers: readonly LayerSeries[]): Map<string, LayerSeries[]> {
  const groups = new Map<string, LayerSeries[]>();
  for (const layer of layers) {
    if (layer.isEvaluation) continue;
    const name = `${layer.moduleName}\n${layer.summaryType}`;
    groups.set(name, [...(groups.get(name) ?? []), layer]);
  }
  return groups;
}

function rowsOf(layers: readonly LayerSeries[] | undefined): number {
  return (layers ?? []).reduce((sum, { mean }) => sum + mean.length, 0);
}

/** Mean over all probes that have the figure; null where none has. */
function meanOf(
  layers: readonly LayerSeries[] | undefined,
  field: (typeof STATISTICS)[number][0],
): number | null {
  let sum = 0;
  let count = 0;
  for (const layer of layers ?? []) {
    for (const value of layer[field]) {
      if (!Number.isFinite(value)) continue;
      sum += value;
      count++;
    }
  }
  return count === 0 || !Number.isFinite(sum) ? null : sum / count;
}

function presenceOf(primary: unknown, reference: unknown): Presence {
  if (primary === undefined) return 'reference';
  return reference === undefined ? 'primary' : 'both';
}

function delta(a: number | null | undefined, b: number | null | undefined): number | null {
  return a === null || a === undefined || b === null || b === undefined ? null : a - b;
}
