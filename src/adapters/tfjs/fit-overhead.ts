/** What a training callback takes of the thread of its fits: measured, limited, and told. */
import { messageOf } from '../../base/errors.ts';
import { measured, spentMs } from '../../base/thread/thread-time.ts';
import { ThreadBudget } from '../../instruments/probes/thread-budget.ts';
import { OVERHEAD_EVENT, overheadPayload, type OverheadReport } from '../../records/overhead.ts';
import type { RunHandle } from '../../session/run-handle.ts';
import type { QuarkCallbackOptions } from './callback-options.ts';

/** Share of the training time that a callback keeps to, unless told otherwise. */
const BUDGET = 0.03;
/** Epochs of which every batch is recorded, and which of the later ones are. */
const ALL_BATCHES = 2;
const SOME_BATCHES = 10;
/** Time between two records of what the callback takes. */
const TELL_MS = 10_000;

/** Resolved: what most calls of a callback return. */
export const DONE: Promise<void> = Promise.resolve();

/** State of a `QuarkCallback`. */
export type TrainingDiagnostics = {
  /** What it takes of the training thread; null where its `overheadBudget` is null. */
  readonly overhead: OverheadReport | null;
};

type Position = () => { readonly step: number; readonly epoch: number };

export class FitOverhead {
  readonly #handle: RunHandle;
  readonly #budget: ThreadBudget | undefined;
  /** Whether telemetry may be recorded less often: it was given no cadence. */
  readonly #isTelemetryFree: boolean;
  readonly #position: Position;
  readonly #detach: () => void;
  #toldMs = 0;

  /** @param position where the training is */
  constructor(
    handle: RunHandle,
    { now, overheadBudget = BUDGET, telemetry }: QuarkCallbackOptions,
    position: Position,
  ) {
    this.#handle = handle;
    this.#position = position;
    this.#budget = overheadBudget === null ? undefined : new ThreadBudget(overheadBudget, now);
    this.#isTelemetryFree =
      telemetry === undefined || (telemetry !== false && telemetry.sampleEveryNSteps === undefined);
    this.#detach = handle.attach({
      drain: () => DONE,
      drainNow: () => undefined,
      close: () => Promise.resolve(this.close()),
    });
  }

  get diagnostics(): TrainingDiagnostics {
    return { overhead: this.#budget?.report ?? null };
  }

  /** Share of the training time that probes may take, asked for at every choice; null: as scheduled. */
  get probeShare(): (() => number) | null {
    const budget = this.#budget;
    return budget === undefined ? null : () => budget.probeShare;
  }

  /** How many times less often to record telemetry. */
  get telemetrySlowdown(): number {
    return this.#isTelemetryFree ? this.#slowdown : 1;
  }

  /** Whether to record the batch of a step, after so many epochs. */
  wantsBatch(epochsSeen: number, step: number): boolean {
    // Which samples come again is known only where all of the first batches are seen.
    return epochsSeen < ALL_BATCHES || step % (SOME_BATCHES * this.#slowdown) === 0;
  }

  get #slowdown(): number {
    return this.#budget?.telemetrySlowdown ?? 1;
  }

  beginFit(): void {
    this.#budget?.begin();
  }

  endFit(): void {
    this.#budget?.end();
    this.tell();
  }

  endStep(): void {
    this.#budget?.step();
  }

  /** Measures work of a step. A promise is made only where something is to be waited for: there are two calls a step. */
  counted(work: () => Promise<void> | void): Promise<void> {
    try {
      return measured('callback', work) ?? DONE;
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(messageOf(error)));
    }
  }

  /** Writes what waits. `isAsked`: also where that would take much of the time, because epochs are very short. */
  async flush(isAsked: boolean, write: () => Promise<void>): Promise<void> {
    if (!isAsked && this.#budget?.isFlushDue() === false) return;
    const before = spentMs('flush');
    await write();
    this.#budget?.flushed(spentMs('flush') - before);
  }

  /** Records what the callback has taken so far: now and then, and at last. */
  tell(isLast: boolean = false): void {
    const nowMs = this.#handle.clock.now();
    if (this.#budget === undefined || (!isLast && nowMs - this.#toldMs < TELL_MS)) return;
    const { report } = this.#budget;
    if (report.trainingMs === 0) return;
    this.#toldMs = nowMs;
    this.#handle.notify({
      eventType: OVERHEAD_EVENT,
      severity: 'debug',
      ...this.#position(),
      payload: overheadPayload(report),
    });
  }

  /** The run ends, or the callback is closed. */
  close(): void {
    this.#budget?.end();
    this.tell(true);
    this.#detach();
  }
}
