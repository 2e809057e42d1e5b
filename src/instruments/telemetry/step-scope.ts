/** The clock of one training step. */
import { DISPOSE } from '../../base/dispose.ts';
import type { SystemTelemetryRecord } from '../../records/system-telemetry.ts';

/** How long the parts of a step took, in milliseconds; null where the data was never marked ready. */
export type StepTimes = {
  readonly stepTimeMs: number;
  readonly dataTimeMs: number | null;
  readonly computeTimeMs: number | null;
};

/** Outcome of a step, beside its times. */
export type StepOutcome = {
  /** Whether gradients overflowed (mixed precision). Default false. */
  readonly overflowOccurred?: boolean;
  /** Whether the optimizer skipped the step. Default false. */
  readonly skippedStep?: boolean;
};

/**
 * A step under way. Made by `SystemTelemetry.startStep`; `using scope = telemetry.startStep(step)` finishes it by itself.
 *
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { SystemTelemetry } from 'quark-sdk/probes';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const telemetry = new SystemTelemetry(session);
 *   const scope = telemetry.startStep(0, { epoch: 0 }); // a StepTelemetryScope
 *   const batch = await Promise.resolve([1, 2, 3]); // read the batch
 *   scope.markDataReady();
 *   batch.reduce((sum, x) => sum + x, 0); // train on it
 *   const { stepTimeMs, dataTimeMs, computeTimeMs } = scope.finish();
 *   console.log(stepTimeMs >= dataTimeMs, computeTimeMs >= 0); // true true
 * });
 * ```
 */
export class StepTelemetryScope implements Disposable {
  readonly #report: (times: StepTimes, outcome: StepOutcome) => SystemTelemetryRecord | null;
  readonly #startMs = performance.now();
  #readyMs: number | undefined;
  #isFinished = false;

  /** @internal */
  constructor(report: (times: StepTimes, outcome: StepOutcome) => SystemTelemetryRecord | null) {
    this.#report = report;
  }

  /** Says that the batch is there: what came before counts as data time, what follows as compute time. The first call counts. */
  markDataReady(): void {
    if (!this.#isFinished) this.#readyMs ??= performance.now();
  }

  /**
   * Ends the step and records it. Ending it again does nothing.
   *
   * @returns the record; null for a step that the cadence leaves out
   * @throws {QuarkError} as `SystemTelemetry.recordStep`
   */
  finish(outcome: StepOutcome = {}): SystemTelemetryRecord | null {
    if (this.#isFinished) return null;
    this.#isFinished = true;
    const endMs = performance.now();
    const readyMs = this.#readyMs;
    return this.#report(
      {
        stepTimeMs: endMs - this.#startMs,
        dataTimeMs: readyMs === undefined ? null : readyMs - this.#startMs,
        computeTimeMs: readyMs === undefined ? null : endMs - readyMs,
      },
      outcome,
    );
  }

  /** Same as {@link finish}. */
  [DISPOSE](): void {
    this.finish();
  }
}
