import { expect, expectTypeOf, test } from 'vitest';
import {
  asGiven,
  asGivenOr,
  callable,
  count,
  flag,
  literal,
  numberWhere,
  optional,
  orDefault,
  positive,
  readOptions,
  text,
} from '../../../src/base/options.ts';

type Options = {
  readonly mode?: 'fast' | 'exact';
  readonly buckets?: number;
  readonly skip?: number;
  readonly share?: number;
  readonly isOpen?: boolean;
  readonly name?: string;
  readonly onProblem?: () => void;
  readonly signal?: AbortSignal;
  readonly list?: readonly number[];
};

const read = (options?: Options) =>
  readOptions('options', options, {
    mode: literal(['fast', 'exact'], 'fast'),
    buckets: positive(100),
    skip: count(0),
    share: numberWhere((x) => x > 0 && x <= 1, 'above 0 and at most 1', 0.5),
    isOpen: flag(false),
    name: optional(text()),
    onProblem: optional(callable),
    signal: asGiven,
    list: asGivenOr([]),
  });

test('every option that is not given has its default', () => {
  const settings = read();
  expect(settings).toEqual({
    mode: 'fast',
    buckets: 100,
    skip: 0,
    share: 0.5,
    isOpen: false,
    name: undefined,
    onProblem: undefined,
    signal: undefined,
    list: [],
  });
  expectTypeOf(settings.mode).toEqualTypeOf<'fast' | 'exact'>();
  expectTypeOf(settings.name).toEqualTypeOf<string | undefined>();
  expectTypeOf(settings.isOpen).toEqualTypeOf<boolean>();
});

test('what is given is checked and comes back', () => {
  const onProblem = (): void => undefined;
  const { signal } = new AbortController();
  const given: Options = { mode: 'exact', buckets: 3, skip: 7, share: 1, isOpen: true, name: 'a' };
  expect(read({ ...given, onProblem, signal, list: [1] })).toEqual({
    ...given,
    onProblem,
    signal,
    list: [1],
  });
});

test.each([
  [{ mode: 'slow' }, 'options.mode'],
  [{ buckets: 0 }, 'options.buckets'],
  [{ skip: -1 }, 'options.skip'],
  [{ share: 2 }, 'options.share'],
  [{ share: Number.NaN }, 'options.share'],
  [{ isOpen: 1 }, 'options.isOpen'],
  [{ name: '' }, 'options.name'],
  [{ onProblem: 'log' }, 'options.onProblem'],
  [{ Buckets: 1 }, 'options.Buckets'],
])('%j is refused with the name of the option', (given, field) => {
  // What a caller without types passes.
  expect(() => read(Object(given))).toThrow(field);
});

test('a prefix of its own', () => {
  const size = (value: number): unknown =>
    readOptions('config', { size: value }, { size: positive() }, '');
  expect(() => size(0)).toThrow(/^size must be/);
});

test('null stands for an option that was not given, where a default says so', () => {
  const limitOf = (limit: number | null | undefined): number =>
    readOptions('options', { limit }, { limit: orDefault(positive(), 100) }).limit;
  expect([limitOf(undefined), limitOf(null), limitOf(3)]).toEqual([100, 100, 3]);
  expect(() => limitOf(0)).toThrow('options.limit');
});
