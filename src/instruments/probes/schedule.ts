/** Which steps are probed. */
import { checkCount, checkOptionNames, checkPositive } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';

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

/** A checked schedule. */
export class Schedule {
  readonly everyNSteps: number | null;
  readonly #startStep: number;
  readonly #stopStep: number | null;
  readonly #explicitSteps: ReadonlySet<number>;

  /** @throws {QuarkError} `invalid_input` naming the field */
  constructor(config: HookScheduleConfig = {}) {
    checkOptionNames('schedule', config, Object.keys(DEFAULT_HOOK_SCHEDULE_CONFIG));
    const { everyNSteps = 1, startStep = 0, stopStep = null, explicitSteps = [] } = config;
    this.everyNSteps =
      everyNSteps === null ? null : checkPositive('schedule.everyNSteps', everyNSteps);
    this.#startStep = checkCount('schedule.startStep', startStep);
    this.#stopStep = stopStep === null ? null : checkCount('schedule.stopStep', stopStep);
    if (this.#stopStep !== null && this.#stopStep < this.#startStep)
      throw invalidInput('schedule.stopStep', stopStep, `at least startStep (${startStep})`);
    if (typeof explicitSteps !== 'object' || !(Symbol.iterator in explicitSteps))
      throw invalidInput('schedule.explicitSteps', explicitSteps, 'a list of steps');
    this.#explicitSteps = new Set(
      Array.from(explicitSteps, (step, i) => checkCount(`schedule.explicitSteps[${i}]`, step)),
    );
  }

  /** Whether the step was named. */
  isExplicit(step: number): boolean {
    return this.#explicitSteps.has(step);
  }

  /** Whether the step is one of the cadence; `stretch` makes the cadence so many times slower. */
  isInCadence(step: number, stretch = 1): boolean {
    if (this.everyNSteps === null || step < this.#startStep) return false;
    if (this.#stopStep !== null && step > this.#stopStep) return false;
    return (step - this.#startStep) % (this.everyNSteps * stretch) === 0;
  }
}
