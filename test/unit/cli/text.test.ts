import { describe, expect, it } from 'vitest';
import { columns } from '../../../src/cli/support/args.ts';
import { counted, fit, styleFor, table, textWidth } from '../../../src/cli/support/text.ts';

const NO_STYLE = styleFor(
  { isTty: false, columns: undefined, rows: undefined, write: async () => {} },
  {},
);

describe('widths in a terminal', () => {
  it.each([
    ['loss', 4],
    ['Größe', 5],
    ['Gro\u0308\u00dfe', 5],
    ['手書き数字', 10],
    ['한국어', 6],
    ['🧪', 2],
    ['👩‍🔬', 2],
    ['', 0],
  ])('%s takes %d columns', (text, width) => {
    expect(textWidth(text)).toBe(width);
  });

  it('cuts between characters, and never takes more than there is', () => {
    expect(fit('手書き数字', 10)).toBe('手書き数字');
    expect(fit('手書き数字', 6)).toBe('手書…');
    expect(fit('手書き数字', 5)).toBe('手書…');
    expect(fit('abcdef', 4)).toBe('abc…');
    expect(fit('a👩‍🔬b', 3)).toBe('a…');
  });

  it('lines columns up under wide text', () => {
    const rows = [
      { name: '手書き', value: '1' },
      { name: 'abc', value: '2' },
    ];
    const text = table<(typeof rows)[number]>(
      [
        { title: 'NAME', cell: ({ name }) => name },
        { title: 'VALUE', cell: ({ value }) => value },
      ],
      rows,
      undefined,
      NO_STYLE,
    );
    expect(text).toBe('NAME    VALUE\n手書き  1\nabc     2\n');
    expect(
      columns([
        ['値', 'a'],
        ['key', 'b'],
      ]),
    ).toBe('  値   a\n  key  b\n');
  });
});

it('a noun is singular after one only', () => {
  expect([0, 1, 2].map((value) => counted(value, 'run'))).toEqual(['0 runs', '1 run', '2 runs']);
});
