/** docs/compared.md: every test that it names exists, and its counts are those of its rows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/compared.md'), 'utf8');

type Row = {
  readonly number: number;
  readonly feature: string;
  readonly others: readonly string[];
  readonly quark: string;
  readonly tests: string;
};

const rows: readonly Row[] = page
  .split('\n')
  .filter((line) => /^\| +\d+ +\|/.test(line))
  .map((line) => {
    const cells = line
      .slice(1, line.lastIndexOf('|'))
      .split('|')
      .map((cell) => cell.trim());
    const [number = '', feature = '', ...rest] = cells;
    return {
      number: Number(number),
      feature,
      others: rest.slice(0, 5),
      quark: rest[5] ?? '',
      tests: rest[6] ?? '',
    };
  });

const namedTests = ({ tests }: Row): readonly { readonly file: string; readonly title: string }[] =>
  Array.from(tests.matchAll(/`([\w/-]+)`: "([^"]+)"/g), ([, name = '', title = '']) => ({
    file: `test/${name.includes('/') ? name : `e2e/${name}`}.test.ts`,
    title,
  }));

const isMissing = ({ quark }: Row): boolean => /^no\b/.test(quark);
const isPart = ({ quark }: Row): boolean => quark.startsWith('partly: ');
const works = (row: Row): boolean => !isMissing(row) && !isPart(row) && namedTests(row).length > 0;

test('every feature is compared with five others, and numbered', () => {
  expect(rows.length).toBeGreaterThanOrEqual(60);
  expect(rows.map(({ number }) => number)).toEqual(rows.map((_, at) => at + 1));
  for (const { feature, number, others, quark, tests } of rows) {
    expect(others, feature).toHaveLength(5);
    for (const cell of [...others, quark, tests]) expect(cell, `row ${number}`).not.toBe('');
  }
});

test('every named test exists, and a row without one says so', () => {
  for (const row of rows) {
    const named = namedTests(row);
    if (named.length === 0) expect(row.tests, `row ${row.number}`).toBe('none');
    for (const { file, title } of named) {
      const titles = Array.from(
        readFileSync(join(root, file), 'utf8').matchAll(
          /\b(?:it|test|longTest)\(\s*(['"`])((?:(?!\1).)+)\1/g,
        ),
        ([, , found]) => found,
      );
      expect(titles, `row ${row.number} in ${file}`).toContain(title);
    }
  }
});

test('the counts are those of the rows', () => {
  const working = rows.filter(works).length;
  const parts = rows.filter(isPart).length;
  const missing = rows.filter(isMissing).length;
  const untested = rows.length - working - parts - missing;
  expect(page).toContain(
    `Of ${rows.length} features ${working} work and are shown by a test, ${untested} work without a test of their own, ` +
      `${parts} work in part, and ${missing} are missing.`,
  );
  // 55 of 60.
  expect(working / rows.length).toBeGreaterThanOrEqual(55 / 60);
});
