/** Arguments of series kernels on their way to a worker: the numbers go into one buffer, the rest is copied. */
import type { SeriesArgument } from './host.ts';
import { isSeries, type SeriesValues } from './module/values.ts';

/** An argument before it is sent. */
export type Argument =
  | { readonly kind: 'series' | 'list'; readonly values: SeriesValues }
  | { readonly kind: 'object'; readonly fields: readonly (readonly [string, Argument])[] }
  | { readonly kind: 'plain'; readonly value: unknown };

const FLOAT64_BYTES = 8;

/**
 * What each argument is. The first argument of a method is a series, or an object of such; elsewhere an array stays an array, since a
 * method may insist on one.
 */
export function describeArguments(args: readonly unknown[]): readonly Argument[] {
  return args.map((value, i) => describe(value, i === 0));
}

function describe(value: unknown, isFirst: boolean): Argument {
  if (isSeries(value)) {
    const isList = Array.isArray(value) && !isFirst;
    return { kind: isList ? 'list' : 'series', values: value };
  }
  const isPlain = !isPlainObject(value) || !Object.values(value).some((field) => isSeries(field));
  if (isPlain) return { kind: 'plain', value };
  const fields = Object.entries(value).map(([name, field]): [string, Argument] => [
    name,
    isSeries(field)
      ? { kind: Array.isArray(field) ? 'list' : 'series', values: field }
      : { kind: 'plain', value: field },
  ]);
  return { kind: 'object', fields };
}

/** The series among the arguments. */
export function seriesOf(args: readonly Argument[]): readonly SeriesValues[] {
  return args.flatMap((argument) => {
    switch (argument.kind) {
      case 'plain':
        return [];
      case 'object':
        return seriesOf(argument.fields.map(([, field]) => field));
      case 'series':
      case 'list':
        return [argument.values];
    }
  });
}

/** Values of all series among the arguments. */
export function lengthOf(args: readonly Argument[]): number {
  return seriesOf(args).reduce((sum, { length }) => sum + length, 0);
}

/** Bytes of a buffer with room for them. */
export function argumentBytes(args: readonly Argument[]): number {
  return lengthOf(args) * FLOAT64_BYTES;
}

/**
 * Writes the series into `buffer` and says where they are.
 *
 * @throws {DOMException} `DataCloneError` when one of the others cannot be copied
 */
export function writeArguments(
  args: readonly Argument[],
  buffer: ArrayBufferLike,
): readonly SeriesArgument[] {
  let end = 0;
  return args.map((argument) =>
    mapSeries(argument, (kind, values) => {
      const byteOffset = end;
      end += values.length * FLOAT64_BYTES;
      new Float64Array(buffer, byteOffset, values.length).set(values);
      return { kind, byteOffset, length: values.length };
    }),
  );
}

/**
 * A copy of an argument with nothing of it in a buffer.
 *
 * @throws {DOMException} `DataCloneError`
 */
export function copyWhole(argument: Argument): SeriesArgument {
  return mapSeries(argument, (_kind, values) => ({ kind: 'plain', value: values.slice() }));
}

function mapSeries(
  argument: Argument,
  place: (kind: 'series' | 'list', values: SeriesValues) => SeriesArgument,
): SeriesArgument {
  switch (argument.kind) {
    case 'plain':
      return { kind: 'plain', value: structuredClone(argument.value) };
    case 'object':
      return {
        kind: 'object',
        fields: argument.fields.map(([name, field]) => [name, mapSeries(field, place)] as const),
      };
    case 'series':
    case 'list':
      return place(argument.kind, argument.values);
  }
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Reflect.getPrototypeOf(Object(prototype)) === null;
}
