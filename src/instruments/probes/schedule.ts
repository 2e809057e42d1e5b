/** Which steps are probed. */
import { checkCount } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { count, orNull, positive, readOptions } from '../../base/options.ts';

/** When probes are active. */
export type HookScheduleConfig = {
  /** Every n-th step from `startStep` on; default 1. Null: explicit steps only. */
  readonly everyNSteps?: number | null;
  /** First step of the cadence; default 0. */
  readonly startStep?: number;
  /** Last step of the cadence, inclusive; default null: none. */
  readonly stopStep?: number | null;
  /** Steps that are always probed, whatever the cadence; default none. */
  readonly explicitSteps?: Iterable<number>;
};

/** The defaults of {@link HookScheduleConfig}. */
export const DEFAULT_HOOK_SCHEDULE_CONFIG = Object.freeze({
  everyNSteps: 1,
  startStep: 0,
  stopStep: null,
  explicitSteps: Object.freeze([]) as readonly number[],
});

const RULES = {
  everyNSteps: orNull(positive(), DEFAULT_HOOK_SCHEDULE_CONFIG.everyNSteps),
  startStep: count(DEFAULT_HOOK_SCHEDULE_CONFIG.startStep),
  stopStep: orNull(count()),
  explicitSteps: (field: string, steps: Iterable<number> = []): ReadonlySet<number> => {
    if (typeof steps !== 'object' || !(Symbol.iterator in steps))
      throw invalidInput(field, steps, 'a list of steps');
    return new Set(Array.from(steps, (step, i) => checkCount(`${field}[${i}]`, step)));
  },
};

/** A checked schedule. */
export class Schedule {
  readonly everyNSteps: number | null;
  readonly #startStep: number;
  readonly #stopStep: number | null;
  readonly #explicitSteps: ReadonlySet<number>;

  /** @throws {QuarkError} `invalid_input` naming the field */
  constructor(config: HookScheduleConfig = {}) {
    const { everyNSteps, explicitSteps, startStep, stopStep } = readOptions(
      'schedule',
      config,
      RULES,
    );
    this.everyNSteps = everyNSteps;
    this.#startStep = startStep;
    this.#stopStep = stopStep;
    this.#explicitSteps = explicitSteps;
    if (stopStep !== null && stopStep < startStep)
      throw invalidInput('schedule.stopStep', stopStep, `at least startStep (${startStep})`);
  }

  /** Whether the step was named. */
  isExplicit(step: number): boolean {
    return this.#explicitSteps.has(step);
  }

  /** Whether the step is one of the cadence; `slowdown` makes the cadence so many times slower. */
  isInCadence(step: number, slowdown = 1): boolean {
    if (this.everyNSteps === null || step < this.#startStep) return false;
    if (this.#stopStep !== null && step > this.#stopStep) return false;
    return (step - this.#startStep) % (this.everyNSteps * slowdown) === 0;
  }
}
