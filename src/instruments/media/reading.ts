/** Reads payloads that may be damaged: each function gives a value of its type, or throws. */
import { SessionStoreError } from '../../base/errors.ts';

/** @returns the error of a payload that does not fit */
export function corrupt(what: string): SessionStoreError {
  return new SessionStoreError('corrupt', `The payload of an artifact is damaged: ${what}.`);
}

/** A field of an object; undefined where it has none. */
export function fieldIn(payload: unknown, name: string): unknown {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload))
    throw corrupt('it is no object');
  return Object.hasOwn(payload, name) ? Reflect.get(payload, name) : undefined;
}

export function numberIn(payload: unknown, name: string): number {
  const value = fieldIn(payload, name);
  if (typeof value !== 'number') throw corrupt(`${name} is no number`);
  return value;
}

/** An integer from 0 to `max`. */
export function integerIn(payload: unknown, name: string, max: number): number {
  const value = numberIn(payload, name);
  if (!Number.isSafeInteger(value) || value < 0 || value > max)
    throw corrupt(`${name} is out of range`);
  return value;
}

export function listIn(payload: unknown, name: string): readonly unknown[] {
  const value = fieldIn(payload, name);
  if (!Array.isArray(value)) throw corrupt(`${name} is no list`);
  return value;
}

export function textsIn(payload: unknown, name: string): readonly string[] {
  return listIn(payload, name).map((value) => {
    if (typeof value !== 'string') throw corrupt(`${name} has an item that is no text`);
    return value;
  });
}

export function numbersIn(payload: unknown, name: string): readonly number[] {
  return listIn(payload, name).map((value) => {
    if (typeof value !== 'number') throw corrupt(`${name} has an item that is no number`);
    return value;
  });
}
