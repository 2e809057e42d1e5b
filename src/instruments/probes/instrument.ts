/** What the hook engine and the parameter diagnostics have in common: schedule, cost, warnings. */
import { checkCount, checkOptionalCount, checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { encodeJsonObject, type JsonObject } from '../../base/json.ts';
import { checkModuleName } from '../../base/names.ts';
import { measured } from '../../base/thread/thread-time.ts';
import type { WriterStatus } from '../../session/writer-options.ts';
import type { OpenWriter, RunHandle } from '../../session/run-handle.ts';
import { sizeOf } from '../../kernel/tensor/reductions.ts';
import type { ProbeSettings } from './hook-config.ts';
import type { ModelSource } from './model-source.ts';
import { OverheadBudget, type CadenceChoice } from './overhead-budget.ts';
import { PendingProbe } from './pending-probe.ts';
import { ProbeWork } from './probe-work.ts';
import type { Schedule } from './schedule.ts';
import { accessKernels, type KernelAccess } from './shared-kernels.ts';
import { Troubles } from './troubles.ts';

/** Where a step belongs. */
export type ProbeStepOptions = {
  /** Training epoch. */
  readonly epoch?: number | null | undefined;
  /** Context of the step's records; a JSON object. */
  readonly metadata?: JsonObject | null | undefined;
};

/** The checked position of a step. */
export type ProbePosition = {
  readonly step: number;
  readonly epoch: number | null;
  readonly metadata: JsonObject | null;
};

/** State of a probe instrument. */
export type ProbeStatus = WriterStatus & {
  /** Steps that were probed. */
  readonly probedSteps: number;
  /** Steps that were due and left out, because the probe before was still under way. */
  readonly skippedProbes: number;
  /** How often each kind of trouble has come up; the first of each is a `probe_warning` event. */
  readonly troubles: ReadonlyMap<string, number>;
  /** Steps from one probe to the next, as the schedule and the overhead budget have it; null: explicit steps only. */
  readonly everyNSteps: number | null;
};

/** Elements of a parameter whose probes are handed to a worker. */
const LARGE_LENGTH = 8192;

export class Instrument {
  readonly handle: RunHandle;
  readonly troubles: Troubles;
  readonly pending: PendingProbe;
  readonly #name: string;
  readonly #source: ModelSource;
  readonly #settings: ProbeSettings & { readonly schedule: Schedule };
  readonly #budget: OverheadBudget | undefined;
  #kernels: KernelAccess | undefined;
  #detach: () => void = () => undefined;
  #probedSteps = 0;
  #skippedProbes = 0;

  /** @throws {QuarkError} `invalid_input` naming a field of the source */
  constructor(
    handle: RunHandle,
    name: string,
    source: ModelSource,
    settings: ProbeSettings & { readonly schedule: Schedule },
  ) {
    checkSource(source);
    this.handle = handle;
    this.#name = name;
    this.#source = source;
    this.#settings = settings;
    this.troubles = new Troubles(handle, name, settings.raiseOnError);
    this.pending = new PendingProbe(handle.clock, settings.probeTimeoutMs, this.troubles);
    this.#budget =
      settings.overheadBudget === null
        ? undefined
        : new OverheadBudget(settings.overheadBudget, settings.schedule.everyNSteps ?? 1);
  }

  /** Begins to be flushed and closed with the session, and to need kernels. */
  open(writer: OpenWriter): void {
    this.#detach = this.handle.attach(writer);
    const isLarge = this.#source.parameters.some(({ shape }) => sizeOf(shape) >= LARGE_LENGTH);
    this.#kernels = accessKernels(this.#settings.kernels, isLarge);
  }

  /** Whether steps are to be timed. */
  get isBudgeted(): boolean {
    return this.#budget !== undefined;
  }

  status(writers: readonly WriterStatus[]): ProbeStatus {
    const { everyNSteps } = this.#settings.schedule;
    return {
      bufferedRows: writers.reduce((sum, { bufferedRows }) => sum + bufferedRows, 0),
      droppedRows: writers.reduce((sum, { droppedRows }) => sum + droppedRows, 0),
      lastError: writers.find(({ lastError }) => lastError !== null)?.lastError ?? null,
      probedSteps: this.#probedSteps,
      skippedProbes: this.#skippedProbes,
      troubles: this.troubles.counts,
      everyNSteps: everyNSteps === null ? null : everyNSteps * (this.#budget?.slowdown ?? 1),
    };
  }

  /** @throws {QuarkError} `invalid_input` */
  isDue(step: number): boolean {
    checkCount('step', step);
    const { schedule } = this.#settings;
    return schedule.isExplicit(step) || schedule.isInCadence(step, this.#budget?.slowdown);
  }

  /** @throws {QuarkError} `invalid_input`; `invalid_run_state` */
  positionOf(step: number, options: ProbeStepOptions): ProbePosition {
    this.handle.checkOpen();
    checkCount('step', step);
    checkOptionNames('options', options, ['epoch', 'metadata']);
    const metadata = options.metadata ?? null;
    if (metadata !== null) encodeJsonObject('metadata', metadata);
    this.troubles.step = step;
    return {
      step,
      epoch: checkOptionalCount('epoch', options.epoch),
      metadata,
    };
  }

  /** What a probe needs to compute; undefined when it has to be left out. */
  begin(): ProbeWork | undefined {
    if (this.pending.isRunning || this.#kernels === undefined) {
      this.#skippedProbes += 1;
      return undefined;
    }
    this.#probedSteps += 1;
    return new ProbeWork(this.#kernels, this.#source, this.#settings.now);
  }

  /** The time of the records of a probe, in epoch milliseconds. */
  timestamp(): number {
    return this.handle.clock.now();
  }

  now(): number {
    return this.#settings.now();
  }

  /** A step without a probe began then. */
  countPlain(beganMs: number | undefined): void {
    if (beganMs !== undefined) this.#budget?.plainStep(this.now() - beganMs);
  }

  /**
   * Ends a probe: `write` is called when its numbers are there, at once or later. The step it belongs to began at `beganMs`;
   * what the probe costs after the step counts too, and another cadence is chosen where the budget asks for it.
   */
  finish(
    position: ProbePosition,
    beganMs: number | undefined,
    work: ProbeWork,
    write: () => void,
  ): void {
    const budget = this.#budget;
    if (budget === undefined || beganMs === undefined) {
      this.pending.finish(work, write);
      return;
    }
    const stepMs = this.now() - beganMs;
    const spentMs = work.spentMs;
    this.pending.finish(work, () => {
      const writingBeganMs = this.now();
      measured('probes', write);
      const writingMs = this.now() - writingBeganMs;
      const choice = budget.probedStep(
        stepMs + (work.spentMs - spentMs) + writingMs,
        work.spentMs + writingMs,
      );
      if (choice !== undefined) this.#recordChoice(position, choice);
    });
  }

  #recordChoice(
    { step, epoch }: ProbePosition,
    { budget, slowdown, probeMs, stepMs }: CadenceChoice,
  ): void {
    const { schedule } = this.#settings;
    if (schedule.everyNSteps === null) return;
    this.handle.notify({
      eventType: 'probe_cadence_chosen',
      severity: 'info',
      step,
      epoch,
      payload: {
        instrument: this.#name,
        every_n_steps: schedule.everyNSteps * slowdown,
        probe_ms: probeMs,
        step_ms: stepMs,
        overhead_budget: budget,
      },
    });
  }

  /** Needs no kernels any more. */
  releaseKernels(): void {
    this.#kernels?.release();
    this.#kernels = undefined;
  }

  /** Is no longer flushed and closed with the session. */
  detach(): void {
    this.#detach();
    this.#detach = () => undefined;
  }
}

/** A model source may be the user's own. @throws {QuarkError} `invalid_input` naming the field */
function checkSource(source: ModelSource): void {
  if (typeof source !== 'object' || source === null)
    throw invalidInput('source', source, 'a model source, such as tfjsModel(tf, model) gives');
  for (const method of ['watchLayers', 'watchParameters', 'readParameter'] as const) {
    if (typeof source[method] !== 'function')
      throw invalidInput(
        `source.${method}`,
        source[method],
        'a function: pass a model source, such as tfjsModel(tf, model) gives, not the model itself',
      );
  }
  if (!Array.isArray(source.layers)) throw invalidInput('source.layers', source.layers, 'a list');
  if (!Array.isArray(source.parameters))
    throw invalidInput('source.parameters', source.parameters, 'a list');
  checkUnique('source.layers', source.layers);
  checkUnique('source.parameters', source.parameters);
}

function checkUnique(field: string, items: readonly { readonly name: string }[]): void {
  const seen = new Set<string>();
  items.forEach(({ name }, i) => {
    if (typeof name !== 'string' || name === '' || seen.has(name))
      throw invalidInput(`${field}[${i}].name`, name, 'non-empty text that no other has');
    checkModuleName(`${field}[${i}].name`, name);
    seen.add(name);
  });
}
