import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LinearPattern } from '../../../src/codecs/pattern/linear-pattern.ts';
import { runs } from '../../support/property.ts';

/** A pattern out of parts that mean the same in JavaScript. */
const pattern: fc.Arbitrary<string> = fc.letrec<{ node: string; atom: string }>((tie) => ({
  atom: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(
      'a',
      'b',
      '1',
      '.',
      '\\d',
      '\\w',
      '\\s',
      '[ab]',
      '[^a]',
      '[a-c1]',
      '\\.',
      '\\b',
      '^',
      '$',
    ),
    tie('node').map((inner) => `(${inner})`),
    tie('node').map((inner) => `(?:${inner})`),
  ),
  node: fc
    .array(
      fc.tuple(
        tie('atom'),
        fc.constantFrom('', '', '*', '+', '?', '*?', '+?', '??', '{2}', '{1,2}', '{1,}?'),
      ),
      { minLength: 1, maxLength: 4 },
    )
    .chain((parts) =>
      fc.constantFrom('', '|').map((between) =>
        // What may be empty is not repeated: there JavaScript has rules of its own.
        parts
          .map(([atom, times]) =>
            new RegExp(`^(?:${atom})$`).test('') || /\\b|\^|\$/.test(atom.replaceAll('[^', '['))
              ? atom
              : atom + times,
          )
          .join(between),
      ),
    ),
})).node;

describe('a pattern of somebody else', () => {
  test('finds what the regular expression of JavaScript finds', () => {
    fc.assert(
      fc.property(pattern, fc.stringMatching(/^[ab1. c]{0,12}$/), (source, text) => {
        const expected = new RegExp(source).exec(text);
        const match = new LinearPattern(source).exec(text);
        expect(match === undefined ? null : text.slice(match.start, match.end)).toBe(
          expected === null ? null : expected[0],
        );
        expect(match?.start).toBe(expected?.index);
      }),
      runs(1200),
    );
  });

  test('gives its named groups, and all matches', () => {
    const one = new LinearPattern(
      String.raw`round\s+(?<step>\d+) .*?loss\s*(?:=|:)\s*(?<loss>[-+.\deE]+)`,
    );
    expect(one.names).toEqual(['step', 'loss']);
    expect(one.exec('x round  12 at 3: Loss=1 loss = 0.5e-3, loss: 9')?.groups).toEqual({
      step: '12',
      loss: '0.5e-3',
    });
    const pairs = new LinearPattern(String.raw`(?i)(?<key>[a-z]+)=(?<value>[\d.]+)`);
    expect([...pairs.matchAll('a=1 B=2.5 c= d=3')].map(({ groups }) => groups)).toEqual([
      { key: 'a', value: '1' },
      { key: 'B', value: '2.5' },
      { key: 'd', value: '3' },
    ]);
    expect(new LinearPattern('(?<a>x)|(?<b>y)').exec('y')?.groups).toEqual({ b: 'y' });
    expect([...new LinearPattern('a*').matchAll('baac')]).toHaveLength(4);
    expect(new LinearPattern(String.raw`\x41\u0042\t[\]\-]é`).exec('AB\t-é')).toBeDefined();
  });

  test.each([
    [String.raw`(?=a)`, 'lookahead'],
    [String.raw`(?<!a)b`, 'lookbehind'],
    [String.raw`(a)\1`, 'back references'],
    ['(a', '")" for every "("'],
    ['a)', '"(" for the ")"'],
    ['[a', '"]" for every "["'],
    ['*a', 'something to repeat'],
    ['a**', 'two in a row'],
    ['a{3,1}', 'ascending order'],
    ['[z-a]', 'ascending order'],
    [String.raw`\q`, 'means nothing here'],
    ['(?<a>x)(?<a>y)', 'one group called a'],
    ['(?:(?:a{100}){100}){100}', 'at most 1000 steps'],
    [`${'(?:'.repeat(20)}${'){1000}'.repeat(20)}`, 'at most 1000 steps'],
    ['('.repeat(200), 'in another'],
    ['a'.repeat(3000), 'at most 2000 characters'],
  ])('%s is refused with a sentence', (source, rule) => {
    expect(() => new LinearPattern(source)).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        message: expect.stringContaining(rule),
        details: expect.objectContaining({ field: 'pattern' }),
      }),
    );
  });

  // These take a regular expression of JavaScript longer than the universe is old: that it ends is the test.
  test.each(['(a+)+$', '(a|a)*b', '(.*)*x', '(?:a?){50}a{50}b', '(?:.*a){20}b'])(
    '%s ends',
    (source) => {
      expect(new LinearPattern(source).exec('a'.repeat(2000) + 'c')).toBeUndefined();
    },
  );
});
