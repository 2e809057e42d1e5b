/** How long a training is meant to be, as its program says. */
import { invalidInput } from '../base/errors.ts';
import { optional, positive, readOptions } from '../base/options.ts';
import { createEvent } from './event-logger.ts';
import type { RunHandle } from './run-handle.ts';
import type { EventRecord } from '../records/event.ts';
import { TRAINING_TOTAL } from '../records/literals.ts';

/** How long a training is meant to be: `steps`, or `epochs`, or `epochs` and `stepsPerEpoch`. */
export type TrainingTotal = {
  /** Epochs in all, counted from epoch 0. */
  readonly epochs?: number | undefined;
  /** Steps of an epoch. */
  readonly stepsPerEpoch?: number | undefined;
  /** Steps in all, counted from step 0. */
  readonly steps?: number | undefined;
};

/** The event that stores a total. @throws {QuarkError} `invalid_input` naming the option */
export function totalEvent(
  handle: Pick<RunHandle, 'clock' | 'runId'>,
  total: TrainingTotal,
): EventRecord {
  const rule = optional(positive());
  const { epochs, steps, stepsPerEpoch } = readOptions('total', total, {
    epochs: rule,
    stepsPerEpoch: rule,
    steps: rule,
  });
  if (epochs === undefined && steps === undefined)
    throw invalidInput('total', total, 'an object with epochs or steps');
  if (steps !== undefined && stepsPerEpoch !== undefined && epochs !== undefined)
    throw invalidInput('total.steps', steps, 'left out when epochs and stepsPerEpoch are given');
  const all = steps ?? (stepsPerEpoch === undefined ? undefined : (epochs ?? 0) * stepsPerEpoch);
  return createEvent(handle, TRAINING_TOTAL, {
    severity: 'debug',
    payload: {
      epochs: epochs ?? null,
      steps_per_epoch: stepsPerEpoch ?? null,
      steps: all ?? null,
    },
  });
}
