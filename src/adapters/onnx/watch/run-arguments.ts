/** The arguments of onnxruntime's `run`, which may come in several forms. */
import type { OrtValues } from '../ort.ts';

/** `run(feeds, fetches?, options?)` or `run(feeds, options?)`. */
export type RunArguments = [feeds: OrtValues, ...rest: unknown[]];

/** What a run is to give. */
export type AskedOutputs = {
  readonly names: readonly string[];
  /** Whether nothing but names was given. */
  readonly isPlain: boolean;
  readonly options: unknown;
};

/**
 * Reads the arguments of `run` as onnxruntime does: an object with a name of an output is a list of outputs. Undefined for
 * arguments that it throws at.
 */
export function askedOutputs(
  [, second, third]: RunArguments,
  all: readonly string[],
): AskedOutputs | undefined {
  if (Array.isArray(second)) {
    const isValid = second.length > 0 && second.every((name) => all.includes(name));
    return isValid ? { names: second, isPlain: true, options: third } : undefined;
  }
  if (second === undefined) return { names: all, isPlain: true, options: third };
  if (typeof second !== 'object' || second === null || isTensor(second)) return undefined;
  const given = (name: string): unknown =>
    Object.hasOwn(second, name) ? Reflect.get(second, name) : undefined;
  const names = all.filter((name) => given(name) === null || isTensor(given(name)));
  if (names.length === 0) return { names: all, isPlain: true, options: second };
  return { names, isPlain: names.every((name) => given(name) === null), options: third };
}

const isTensor = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'getData' in value &&
  typeof value.getData === 'function';
