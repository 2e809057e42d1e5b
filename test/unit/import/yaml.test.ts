import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseYaml } from '../../../src/codecs/yaml/yaml.ts';
import { runs } from '../../support/property.ts';

function read(text: string): unknown {
  const { value, problems } = parseYaml(text, 20);
  expect(problems).toEqual([]);
  return value;
}

describe('YAML', () => {
  test('of settings: scalars of every kind', () => {
    expect(
      read(
        `%YAML 1.1
---
# settings
lr: 1e-3
rate: .5
nan: .nan
low: -.inf
steps: 1_000
count: 12
octal: 0x1F
huge: 9223372036854775807
none: null
tilde: ~
empty:
yes_word: yes
flag: True
date: 2024-01-02
url: http://host:80/a#b # comment
quoted: "a: b # c \\u00e4\\n"
single: 'it''s'
'quoted key': 1
`,
      ),
    ).toEqual({
      lr: 0.001,
      rate: 0.5,
      nan: Number.NaN,
      low: -Infinity,
      steps: '1_000',
      count: 12,
      octal: 31,
      huge: '9223372036854775807',
      none: null,
      tilde: null,
      empty: null,
      yes_word: 'yes',
      flag: true,
      date: '2024-01-02',
      url: 'http://host:80/a#b',
      quoted: 'a: b # c ä\n',
      single: "it's",
      'quoted key': 1,
    });
  });

  test('of settings: mappings and lists in each other, by indentation and in brackets', () => {
    expect(
      read(
        `a:
  b:
    - 1
    - c: 2
      d: [x, "y, z", {k: v, l: [1.5]}]
    -
      e: 3
    - - 4
      - 5
  f: {}
list:
- name: x
  value: 1
- name: y
wrapped: this is a text that
  goes on
flow: [1,
  2, # two
  3]
text: |
  line 1
    line 2

  line 4
folded: >-
  a
  b
last: 1`,
      ),
    ).toEqual({
      a: { b: [1, { c: 2, d: ['x', 'y, z', { k: 'v', l: [1.5] }] }, { e: 3 }, [4, 5]], f: {} },
      list: [{ name: 'x', value: 1 }, { name: 'y' }],
      wrapped: 'this is a text that goes on',
      flow: [1, 2, 3],
      text: 'line 1\n  line 2\n\nline 4',
      folded: 'a b',
      last: 1,
    });
  });

  test('reports what it does not understand, by line, and reads the rest', () => {
    const { value, problems } = parseYaml(
      'a: !!python/tuple\n- 1\nb: &id001\n  c: 1\nd: *id001\ne: "Load "big" model"\nf: [1, 2\ng: 3\nno pair\ng: 4\n---\nh: 5',
      20,
    );
    expect(value).toEqual({
      a: [1],
      b: { c: 1 },
      d: '*id001',
      e: 'Load "big" model',
      f: '[1, 2',
      g: 4,
    });
    expect(problems.map(({ line, reason }) => [line, reason.slice(0, 24)])).toEqual([
      [11, 'There are more documents'],
      [1, 'The tag !!python/tuple i'],
      [5, 'An alias is not followed'],
      [6, 'The quotes do not match:'],
      [7, 'The brackets cannot be r'],
      [9, 'It is no "key: value" of'],
      [10, 'There is a second "g": t'],
    ]);
  });

  test('is bounded in depth, and a key called __proto__ is a key', () => {
    const deep = Array.from({ length: 50 }, (_, i) => `${' '.repeat(i)}k:`).join('\n');
    expect(parseYaml(deep, 20).problems[0]?.reason).toMatch(/limits\.maxDepth/);
    expect(parseYaml(`a: ${'['.repeat(100_000)}`, 20).problems[0]?.reason).toMatch(/brackets/);
    expect(Object.keys(read('__proto__: 1\nx: {__proto__: 2}') as object)).toEqual([
      '__proto__',
      'x',
    ]);
  });

  test('ends soon on lines made to take long', () => {
    const many = (line: string): string => line.repeat(200_000);
    for (const text of [
      many('a: [\n'),
      many('a: "\n'),
      many("a: 'x\n"),
      many('! '),
      many('a '),
      many('- '),
      many('"a" '),
      many('a:\t'),
      `a: |\n${many(' x\n')}`,
      many('[ { '),
      `k${many(' ')}x`,
    ])
      expect(parseYaml(text, 64)).toHaveProperty('value');
  });

  test('reads back what is written, whatever the values', () => {
    const scalar = fc.oneof(
      fc.integer(),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.string({ unit: 'grapheme' }),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        scalar,
        fc.array(tie('tree'), { minLength: 1, maxLength: 4 }),
        fc.dictionary(fc.string({ minLength: 1 }), tie('tree'), { minKeys: 1, maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), tree, { minKeys: 1 }), (value) => {
        expect(read(write(value, ''))).toEqual(value);
      }),
      runs(500),
    );
  });

  test('whatever the text, it ends', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.constantFrom(
              '\n',
              '  ',
              '- ',
              ': ',
              'a',
              '"',
              "'",
              '[',
              ']',
              '{',
              '}',
              '#',
              '|',
              ',',
              '&x ',
              '!t ',
              '*',
              '\t',
              '---',
              '1',
            ),
            fc.string(),
          ),
          { maxLength: 60 },
        ),
        (parts) => {
          expect(parseYaml(parts.join(''), 10)).toHaveProperty('problems');
        },
      ),
      runs(3000),
    );
  });
});

/** Block style, as programs write it. */
function write(value: unknown, indent: string): string {
  const scalar = (item: unknown): string => {
    if (typeof item === 'string') return JSON.stringify(item);
    if (typeof item === 'number') {
      if (Number.isNaN(item)) return '.nan';
      if (!Number.isFinite(item)) return item > 0 ? '.inf' : '-.inf';
      if (Number.isInteger(item) && !Number.isSafeInteger(item)) return item.toExponential();
      return Object.is(item, -0) ? '-0' : String(item);
    }
    return String(item);
  };
  const isTree = (item: unknown): boolean => typeof item === 'object' && item !== null;
  const below = (item: unknown): string =>
    isTree(item) ? `\n${write(item, `${indent}  `)}` : ` ${scalar(item)}\n`;
  if (Array.isArray(value)) return value.map((item) => `${indent}-${below(item)}`).join('');
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(([key, item]) => `${indent}${JSON.stringify(key)}:${below(item)}`)
      .join('');
  return `${indent}${scalar(value)}\n`;
}
