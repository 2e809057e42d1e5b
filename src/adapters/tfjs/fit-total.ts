/** How long a fit is meant to be, as `fit` tells its callbacks. */
import type { JsonObject } from '../../base/json.ts';
import { totalPayload } from '../../records/training-total.ts';

/**
 * `fit` makes a `tf.CustomCallback` of a plain object and calls the functions of the object as methods of that: its `params` are those
 * of the fit. `begin` gets them, or undefined where the function is called in another way.
 */
export function withParams<L>(
  begin: (params: unknown, logs?: L) => Promise<void>,
): (logs?: L) => Promise<void> {
  return function (this: unknown, logs) {
    const params: unknown =
      typeof this === 'object' && this !== null ? Reflect.get(this, 'params') : undefined;
    return begin(params, logs);
  };
}

/**
 * The payload of a total; undefined where `fit` does not know how long it is.
 *
 * @param nextStep the step that the fit begins with
 * @param nextEpoch the epoch that it begins with, where that is not the one of `fit`
 */
export function totalOfFit(
  params: unknown,
  nextStep: number,
  nextEpoch: number | undefined,
): JsonObject | undefined {
  const { batchSize, epochs, initialEpoch = 0, samples, steps } = numbersOf(params);
  if (epochs === undefined || !(epochs > initialEpoch)) return undefined;
  const perEpoch =
    steps ??
    (samples === undefined || batchSize === undefined ? undefined : Math.ceil(samples / batchSize));
  const first = Math.max(nextEpoch ?? 0, initialEpoch);
  const total = totalPayload({ epochs: first + epochs - initialEpoch });
  if (perEpoch === undefined || !(perEpoch > 0)) return { ...total, by: 'fit' };
  return {
    ...total,
    steps_per_epoch: perEpoch,
    steps: nextStep + (epochs - initialEpoch) * perEpoch,
    by: 'fit',
  };
}

const NAMES = ['batchSize', 'epochs', 'initialEpoch', 'samples', 'steps'] as const;

function numbersOf(params: unknown): Partial<Record<(typeof NAMES)[number], number>> {
  if (typeof params !== 'object' || params === null) return {};
  const numbers: Partial<Record<(typeof NAMES)[number], number>> = {};
  for (const name of NAMES) {
    const value: unknown = Reflect.get(params, name);
    // A dataset may be endless, and say so.
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) numbers[name] = value;
  }
  return numbers;
}
