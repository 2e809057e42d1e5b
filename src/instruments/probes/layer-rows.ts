/** What was found of layers, as rows. */
import type { JsonObject } from '../../base/json.ts';
import type { layerSummaryTable } from '../../records/layer-summary.ts';
import type { ProbePosition } from './instrument.ts';
import type { CapturePoint, LayerInfo, TensorSummary } from './model-source.ts';
import type { NewRow } from '../../session/record-writer.ts';

/** A row of `layer_summaries`. */
export type LayerRow = NewRow<typeof layerSummaryTable.columns>;

/** One tensor that was captured; its summary comes later. */
export type LayerFinding = {
  readonly layer: LayerInfo;
  readonly point: CapturePoint;
  readonly shape: readonly number[];
  summary: TensorSummary | undefined;
};

/** The row of a finding; undefined when its numbers have not come. */
export function layerRow(
  position: ProbePosition,
  timestamp: number,
  { layer, point, shape, summary }: LayerFinding,
  deadUnits: DeadUnits,
): LayerRow | undefined {
  if (summary === undefined) return undefined;
  const isForward = point.direction === 'forward';
  // What a unit does in validation says nothing of how long it has been dead in training.
  const dead =
    summary.deadUnits === null
      ? undefined
      : point.isTraining
        ? deadUnits.add(`${point.layer}/${point.callIndex}/${point.outputIndex}`, summary.deadUnits)
        : { now: countOf(summary.deadUnits), persistent: null };
  return {
    timestamp,
    moduleName: layer.name,
    moduleType: layer.type,
    summaryType: isForward ? 'activation' : 'gradient',
    hookDirection: point.direction,
    step: position.step,
    epoch: position.epoch,
    callIndex: point.callIndex,
    elementCount: summary.elementCount,
    tensorShape: shape,
    mean: summary.mean,
    std: summary.std,
    norm: summary.l2Norm,
    variance: summary.variance,
    deadUnitRatio: isForward ? summary.nearZeroRatio : null,
    saturationRatio: summary.saturatedRatio,
    nonFiniteCount: summary.nonFiniteCount,
    deadUnitCount: dead?.now ?? null,
    persistentDeadUnitCount: dead?.persistent ?? null,
    zeroOutputRatio: isForward ? summary.nearZeroRatio : null,
    deadUnitShare: shareOf(dead?.now, summary.deadUnits),
    metadata: metadataOf(position.metadata, point, unitsBeside(shape, summary.deadUnits)),
  };
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
