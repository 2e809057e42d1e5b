/** What was found of layers, as rows. */
import type { JsonObject } from '../../base/json.ts';
import type { layerSummaryTable } from '../../records/layer-summary.ts';
import type { ProbePosition } from './instrument.ts';
import type { CapturePoint, LayerInfo, TensorSummary } from './model-source.ts';
import type { MutableRow } from '../../session/record-writer.ts';

/** A row of `layer_summaries`. */
export type LayerRow = MutableRow<typeof layerSummaryTable.columns>;

/** One tensor that was captured; its summary comes later. */
export type LayerFinding = {
  readonly layer: LayerInfo;
  readonly point: CapturePoint;
  readonly shape: readonly number[];
  summary: TensorSummary | undefined;
};

/** A row whose fields are set anew for each finding: that costs a tenth of making twenty of them. */
export function blankLayerRow(): LayerRow {
  return {
    timestamp: 0,
    moduleName: '',
    moduleType: '',
    summaryType: 'activation',
    hookDirection: 'forward',
    step: 0,
    epoch: null,
    callIndex: 0,
    elementCount: 0,
    tensorShape: [],
    mean: null,
    std: null,
    norm: null,
    variance: null,
    deadUnitRatio: null,
    saturationRatio: null,
    nonFiniteCount: 0,
    deadUnitCount: null,
    persistentDeadUnitCount: null,
    zeroOutputRatio: null,
    deadUnitShare: null,
    metadata: null,
  };
}

/** Makes a row that of a finding; false when its numbers have not come. */
export function setLayerRow(
  row: LayerRow,
  position: ProbePosition,
  timestamp: number,
  { layer, point, shape, summary }: LayerFinding,
  deadUnits: DeadUnits,
): boolean {
  if (summary === undefined) return false;
  const isForward = point.direction === 'forward';
  // What a unit does in validation says nothing of how long it has been dead in training.
  const dead =
    summary.deadUnits === null
      ? undefined
      : point.isTraining
        ? deadUnits.add(`${point.layer}/${point.callIndex}/${point.outputIndex}`, summary.deadUnits)
        : { now: countOf(summary.deadUnits), persistent: null };
  row.timestamp = timestamp;
  row.moduleName = layer.name;
  row.moduleType = layer.type;
  row.summaryType = isForward ? 'activation' : 'gradient';
  row.hookDirection = point.direction;
  row.step = position.step;
  row.epoch = position.epoch;
  row.callIndex = point.callIndex;
  row.elementCount = summary.elementCount;
  row.tensorShape = shape;
  row.mean = summary.mean;
  row.std = summary.std;
  row.norm = summary.l2Norm;
  row.variance = summary.variance;
  row.deadUnitRatio = isForward ? summary.nearZeroRatio : null;
  row.saturationRatio = summary.saturatedRatio;
  row.nonFiniteCount = summary.nonFiniteCount;
  row.deadUnitCount = dead?.now ?? null;
  row.persistentDeadUnitCount = dead?.persistent ?? null;
  row.zeroOutputRatio = row.deadUnitRatio;
  row.deadUnitShare = shareOf(dead?.now, summary.deadUnits);
  row.metadata = metadataOf(position.metadata, point, unitsBeside(shape, summary.deadUnits));
  return true;
}

function shareOf(dead: number | undefined, units: Uint8Array | null): number | null {
  return dead === undefined || units === null || units.length === 0 ? null : dead / units.length;
}

function countOf(flags: Uint8Array): number {
  return flags.reduce((sum, flag) => sum + flag, 0);
}

/** Number of units where it is not the length of the last axis, as in tensors with the channels first. */
function unitsBeside(shape: readonly number[], deadUnits: Uint8Array | null): number | undefined {
  return deadUnits === null || deadUnits.length === shape.at(-1) ? undefined : deadUnits.length;
}

function metadataOf(
  metadata: JsonObject | null,
  point: CapturePoint,
  unitCount: number | undefined,
): JsonObject | null {
  if (point.isTraining && point.outputIndex === 0 && unitCount === undefined) return metadata;
  return {
    ...metadata,
    ...(unitCount === undefined ? {} : { unit_count: unitCount }),
    ...(point.isTraining ? {} : { pass: 'evaluation' }),
    ...(point.outputIndex === 0 ? {} : { output_index: point.outputIndex }),
  };
}

/** Whether two points are one. */
export function isSamePoint(a: CapturePoint, b: CapturePoint): boolean {
  return (
    a.layer === b.layer &&
    a.direction === b.direction &&
    a.callIndex === b.callIndex &&
    a.outputIndex === b.outputIndex
  );
}

/** Longest streak that is counted. */
const FOREVER = 65_535;

/** Counts for how many probes in a row each unit of a layer has been dead. */
export class DeadUnits {
  readonly #probes: number;
  readonly #streaks = new Map<string, Uint16Array>();

  /** @param probes probes in a row that make a unit persistently dead */
  constructor(probes: number) {
    this.#probes = probes;
  }

  /** Adds a probe of one output; says how many units were dead in it, and how many have been for long. */
  add(output: string, dead: Uint8Array): { readonly now: number; readonly persistent: number } {
    let streaks = this.#streaks.get(output);
    if (streaks?.length !== dead.length) {
      streaks = new Uint16Array(dead.length);
      this.#streaks.set(output, streaks);
    }
    let now = 0;
    let persistent = 0;
    for (let unit = 0; unit < dead.length; unit++) {
      if (dead[unit] === 0) {
        streaks[unit] = 0;
        continue;
      }
      const streak = Math.min(FOREVER, (streaks[unit] ?? 0) + 1);
      streaks[unit] = streak;
      now += 1;
      if (streak >= this.#probes) persistent += 1;
    }
    return { now, persistent };
  }
}
