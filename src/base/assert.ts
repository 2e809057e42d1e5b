/** Checks of arguments that every writer and reader shares. */
import type { Clock } from './clock.ts';
import { closestTo } from './texts/closest.ts';
import { invalidInput, QuarkError } from './errors.ts';

/** @throws {QuarkError} `invalid_input` unless `value` is an integer from 0 to 2^53 - 1 */
export function checkCount(field: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw invalidInput(field, value, 'a non-negative integer');
  }
  return value;
}

/** @throws {QuarkError} `invalid_input` unless `value` is an integer from 1 to 2^53 - 1 */
export function checkPositive(field: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
    throw invalidInput(field, value, 'a positive integer');
  }
  return value;
}

/** Like {@link checkCount}, and absence is null. */
export function checkOptionalCount(field: string, value: unknown): number | null {
  return value === undefined || value === null ? null : checkCount(field, value);
}

/** @throws {QuarkError} `invalid_input` unless `value` is one of `known` */
export function checkLiteral<T extends string>(
  field: string,
  value: unknown,
  known: readonly T[],
): T {
  const found = known.find((item) => item === value);
  if (found === undefined)
    throw invalidInput(field, value, `one of ${known.map((item) => `"${item}"`).join(', ')}`);
  return found;
}

/** @throws {QuarkError} `invalid_input` unless `value` is true or false */
export function checkFlag(field: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw invalidInput(field, value, 'true or false');
  return value;
}

/** Whether an option was given: null and undefined both mean that it was not. */
export function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

/** The time of a record as ISO text: as given, else now. @throws {QuarkError} `invalid_input` */
export function checkTimestamp(value: unknown, clock: Clock): string {
  return new Date(
    value === undefined ? clock.now() : checkInstant('timestamp', value),
  ).toISOString();
}

/** An instant from ISO 8601 text (UTC where it names no zone), a Date or epoch milliseconds. */
export function checkInstant(field: string, value: unknown): number {
  let ms = Number.NaN;
  if (typeof value === 'number') ms = value;
  else if (value instanceof Date) ms = value.getTime();
  else if (typeof value === 'string' && /^(\d{4}|[+-]\d{6})-\d\d-\d\d/.test(value))
    // A time without a zone would mean another instant on every machine: it is UTC, as stored.
    ms = Date.parse(
      /T.*(Z|[+-]\d\d:?\d\d)$/i.test(value) || !value.includes('T') ? value : `${value}Z`,
    );
  if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) {
    throw invalidInput(field, value, 'an instant: ISO 8601 text, a Date or epoch milliseconds');
  }
  return ms;
}

/** Throws the reason of a signal that has been aborted. */
export function checkNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true)
    throw new QuarkError('aborted', 'The operation was aborted.', { cause: signal.reason });
}

/**
 * Refuses a typed array whose buffer was transferred or shrunk away from under it: it looks as if it were empty.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function checkAttached(
  field: string,
  view: { readonly length: number; indexOf(value: number): number },
): void {
  if (view.length > 0) return;
  try {
    // Every method of a typed array looks whether its buffer still is there, the length alone does not.
    view.indexOf(0);
  } catch {
    throw invalidInput(field, 'an array without its buffer', 'not detached or out of bounds');
  }
}

/** Refuses what is no object, and option names that do not exist, so that a typing error does not pass for a default. */
export function checkOptionNames(what: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null) throw invalidInput(what, given, 'an object');
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue;
    const closest = closestTo(key, known);
    const meant = closest === undefined ? '' : ` (did you mean "${closest}"?)`;
    throw invalidInput(
      `${what}.${key}`,
      key,
      `one of the known options${meant}: ${known.join(', ')}`,
    );
  }
}
