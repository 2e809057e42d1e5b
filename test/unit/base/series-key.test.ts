import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, mergeJson, type JsonObject } from '../../../src/base/json.ts';
import { splitKey } from '../../../src/base/names.ts';
import { checkSeriesKey, contextKey, contextOf } from '../../../src/base/series-key.ts';
import { sha256OfText } from '../../../src/base/sha256.ts';
import { runs } from '../../support/property.ts';

test('a context is part of the key of a series, in one text only', () => {
  expect(contextKey('loss', { subset: 'val' })).toBe('loss {subset=val}');
  expect(contextKey('val/loss', { subset: 'a b', fold: 2, ema: true })).toBe(
    'val/loss {ema=true, fold=2, subset="a b"}',
  );
  expect(contextKey('loss', {})).toBe('loss');
  expect(contextKey('loss', null)).toBe('loss');
  expect(splitKey('val/loss {at="a/b"}')).toEqual({
    key: 'val/loss {at="a/b"}',
    namespace: 'val',
    name: 'loss',
  });
});

test('bad contexts and keys are refused with the field and the rule', () => {
  expect(() => contextKey('loss', { 'a b': 1 })).toThrow(/context\.a b/);
  expect(() => contextKey('loss', { a: Number.NaN })).toThrow(/context\.a must be a finite number/);
  expect(() => contextKey('loss', { a: '' })).toThrow(/context\.a/);
  for (const key of [
    'loss {',
    'loss {}',
    'loss {a}',
    'loss {b=1, a=2}',
    'loss {a=1,b=2}',
    'loss {a="b"}',
    'loss {a=1.0}',
    'loss {a=1} x',
    'loss {a=1, a=2}',
    '{a=1}',
  ])
    expect(() => checkSeriesKey('key', key), key).toThrow(/key/);
});

test('every context is read back from its key', () => {
  const value = fc.oneof(
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => (one === 0 ? 0 : one)),
    fc.string({ unit: 'binary', maxLength: 8 }).filter(
      // oxlint-disable-next-line no-control-regex -- labels have no control characters
      (text) => text.trim() !== '' && !/[\u0000-\u001f\u007f]/.test(text),
    ),
  );
  const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,5}$/);
  fc.assert(
    fc.property(fc.dictionary(name, value, { minKeys: 1, maxKeys: 4 }), (context) => {
      const key = contextKey('a/b', context);
      expect(contextOf(key)).toEqual({ ...context });
      expect(checkSeriesKey('key', key)).toBe(key);
      expect(splitKey(key)).toMatchObject({ namespace: 'a', name: 'b' });
    }),
    runs(300),
  );
});

test('SHA-256 is that of everybody else', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      expect(sha256OfText(text)).toBe(createHash('sha256').update(text).digest('hex'));
    }),
    runs(200),
  );
  const long = 'quark '.repeat(20_000);
  expect(sha256OfText(long)).toBe(createHash('sha256').update(long).digest('hex'));
});

test('equal JSON has one text, whatever the order of its names', () => {
  expect(canonicalJson({ b: [1, { d: null, c: 'x' }], a: 1e21 })).toBe(
    '{"a":1e+21,"b":[1,{"c":"x","d":null}]}',
  );
  expect(canonicalJson({ '\u20ac': 1, '\r': 2, '1': 3, '\ud83d\ude02': 4, '\ufb33': 5 })).toBe(
    '{"\\r":2,"1":3,"\u20ac":1,"\ud83d\ude02":4,"\ufb33":5}',
  );
});

test('merging loses nothing of either side', () => {
  const json = fc.dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.oneof(fc.integer(), fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.integer())),
  ) as fc.Arbitrary<JsonObject>;
  fc.assert(
    fc.property(json, json, (base, patch) => {
      const merged = mergeJson(base, patch);
      expect(mergeJson(merged, patch)).toEqual(merged);
      for (const [name, value] of Object.entries(patch))
        if (typeof value === 'number') expect(merged[name]).toBe(value);
        else expect(merged[name]).toMatchObject(Object(value));
      for (const name of Object.keys(base)) expect(merged).toHaveProperty(name);
    }),
    runs(200),
  );
});
