/** What recording has taken of a training thread, as an event says it. */
import type { JsonObject } from '../base/json.ts';
import { OVERHEAD_PARTS, type OverheadPart } from '../base/thread/thread-time.ts';

/** Event type of a measurement; the last one of a run has all before it. */
export const OVERHEAD_EVENT = 'overhead_measured';

/** What Quark has taken of the training thread. */
export type OverheadReport = {
  /** Share of the training time that it may take, as 0.03. */
  readonly budget: number;
  /** Time of the training without Quark, in milliseconds. */
  readonly trainingMs: number;
  /** Milliseconds by part: the callback itself, logging, flushes, batches, telemetry, probes. */
  readonly spentMs: Readonly<Record<OverheadPart, number>>;
  /** All parts as a share of the training time: 0.02. */
  readonly share: number;
  /** How many times less often than asked for telemetry and batches are recorded now. */
  readonly telemetrySlowdown: number;
};

export function overheadPayload(report: OverheadReport): JsonObject {
  const { budget, share, spentMs, telemetrySlowdown, trainingMs } = report;
  return {
    overhead_budget: budget,
    training_ms: round(trainingMs),
    share: round(share),
    spent_ms: Object.fromEntries(OVERHEAD_PARTS.map((part) => [part, round(spentMs[part])])),
    telemetry_slowdown: telemetrySlowdown,
  };
}

/** Four digits are more than a clock knows. */
function round(value: number): number {
  return Number(value.toPrecision(4));
}
