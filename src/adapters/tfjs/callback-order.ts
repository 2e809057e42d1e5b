/** A list of callbacks in an order that makes `fit` call one of them without end. */
import { invalidInput } from '../../base/errors.ts';

/** More than anybody lists callbacks; a callback that calls itself gets there at once. */
const MAX_READINGS = 1000;

/**
 * Where the first of `callbacks` is no `tf.Callback`, `fit` makes a `tf.CustomCallback` of the functions of every one of them, whatever it is. The
 * functions of a `tf.CustomCallback` call the function it was made of: made of their own, each calls itself, until memory is full. All callbacks
 * share the logs of a call, and each goes through their names first: from the thousandth time on that throws, and `fit` rejects with it.
 *
 * @param logs what `fit` gave to `onTrainBegin`
 */
export function refuseEndlessList(logs: object | undefined): void {
  if (logs === undefined) return;
  let readings = 0;
  const prototype = new Proxy(Object.create(Object.getPrototypeOf(logs)), {
    ownKeys(target) {
      if (++readings > MAX_READINGS)
        throw invalidInput(
          'callbacks',
          '[quarkCallback(...), new tf.CustomCallback(...)]',
          'a list with callbacks of TensorFlow.js before quarkCallback(...), which comes last: [new tf.CustomCallback(...), quarkCallback(...)]',
        );
      return Reflect.ownKeys(target);
    },
  });
  Reflect.setPrototypeOf(logs, prototype);
}
