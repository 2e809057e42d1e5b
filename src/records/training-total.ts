/** How long a training is meant to be, as its program says: an event of the run. */
import { invalidInput } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { optional, positive, readOptions } from '../base/options.ts';

/** Type of the event. Its payload has `epochs`, `steps_per_epoch` and `steps`, null where that is not known, and `by`: `program` or `fit`. */
export const TRAINING_TOTAL = 'training_total';

/** How long a training is meant to be: `steps`, or `epochs`, or `epochs` and `stepsPerEpoch`. */
export type TrainingTotal = {
  /** Epochs in all, counted from epoch 0. */
  readonly epochs?: number | undefined;
  /** Steps of an epoch. */
  readonly stepsPerEpoch?: number | undefined;
  /** Steps in all, counted from step 0. */
  readonly steps?: number | undefined;
};

/** The payload of the event. @throws {QuarkError} `invalid_input` naming the option */
export function totalPayload(total: TrainingTotal): JsonObject {
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
  const product = stepsPerEpoch === undefined ? null : (epochs ?? 0) * stepsPerEpoch;
  return {
    epochs: epochs ?? null,
    steps_per_epoch: stepsPerEpoch ?? null,
    steps: steps ?? product,
    by: 'program',
  };
}
