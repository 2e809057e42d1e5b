/** What pickles are read as, and why one is not read. */
import { QuarkError } from '../../base/errors.ts';

/** What a pickle of plain data is: dictionaries are maps, tuples are lists, long whole numbers are the nearest number. */
export type PickledValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | PickledValue[]
  | Map<PickledValue, PickledValue>;

export function refusedPickle(what: string): QuarkError {
  return new QuarkError(
    'invalid_input',
    `The pickle is not read: ${what}. Only plain data is read (numbers, texts, lists, dictionaries, arrays of NumPy), and nothing in a file is run.`,
  );
}

export function damagedPickle(what: string): QuarkError {
  return new QuarkError('invalid_input', `The pickle is damaged: ${what}.`);
}
