/** How little of the house an addition touches. Each patch here is one, as docs/adding.md describes it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { roomErrors } from '../../scripts/rooms.mjs';
import { isWhole } from '../support/property.ts';
import { changesOf, PatchedCopy, type Change } from './patched-copy.ts';

type Addition = {
  /** Files that the patch adds, without tests. */
  readonly files: readonly string[];
  /** Lines that it adds to files that are there. */
  readonly lines: Readonly<Record<string, number>>;
};

/** What each patch may touch. */
const ADDITIONS: Readonly<Record<string, Addition>> = {
  rule: {
    files: ['src/analysis/rules/optimization/zero-learning-rate.ts'],
    lines: { 'src/analysis/rules/rules.ts': 2 },
  },
  importer: {
    files: ['src/exchange/import/formats/darknet.ts'],
    lines: { 'src/exchange/import/importers.ts': 2 },
  },
  tab: {
    files: ['dashboard/run/environment/style.css', 'dashboard/run/environment/view.tsx'],
    lines: { 'dashboard/run/tabs.ts': 1 },
  },
  'store-method': {
    files: [],
    lines: {
      'src/service/access/guarded-store.ts': 3,
      'src/store/memory/memory-store.ts': 3,
      'src/store/sql/sql-runs.ts': 9,
      'src/store/sql/sql-store.ts': 3,
      'src/store/store.ts': 3,
    },
  },
  'manifest-field': {
    files: [],
    lines: { 'src/records/shapes/manifest.ts': 1, 'src/store/sql/sql-layout.ts': 1 },
  },
  route: {
    files: [],
    lines: { 'src/service/routes/run-routes.ts': 4, 'src/wire/routes.ts': 1 },
  },
};
/** Writes the page on the rules from their declarations. */
const PAGE_OF_RULES = 'test/unit/analysis/rules/rule-docs.test.ts';
const NAMES = Object.keys(ADDITIONS);

const isTest = ({ path }: Change): boolean => path.startsWith('test/');
const changes = new Map(NAMES.map((name) => [name, changesOf(`${name}.patch`)]));
const testsOf = (name: string): readonly string[] =>
  (changes.get(name) ?? []).map(({ path }) => path).filter((path) => path.endsWith('.test.ts'));

describe.each(NAMES)('adding: %s', (name) => {
  test('touches only what docs/adding.md names', () => {
    const touched = (changes.get(name) ?? []).filter((change) => !isTest(change));
    const changed = touched.filter(({ isNew }) => !isNew);
    expect({
      files: touched.filter(({ isNew }) => isNew).map(({ path }) => path),
      lines: Object.fromEntries(changed.map(({ path, added }) => [path, added])),
    }).toEqual(ADDITIONS[name]);
    expect(changed.filter(({ removed }) => removed > 0)).toEqual([]);
  });

  test('applies to the sources', () => {
    expect(() => {
      copy.apply(`${name}.patch`);
      copy.apply(`${name}.patch`, '--reverse');
    }).not.toThrow();
  });
});

let copy: PatchedCopy;
beforeAll(() => {
  copy = new PatchedCopy();
});
afterAll(() => copy[Symbol.dispose]());

describe.runIf(isWhole)('all of them together', () => {
  const tests = NAMES.flatMap(testsOf);
  beforeAll(() => {
    for (const name of NAMES) copy.apply(`${name}.patch`);
  });

  test('break no rule of the rooms', () => {
    expect(roomErrors(copy.root)).toEqual([]);
  });

  test('compile', async () => {
    expect(await copy.compile(tests)).toBe('');
  });

  test('work: the tests that they bring along pass', async () => {
    expect(await copy.test(PAGE_OF_RULES, ...tests, '-u')).toMatch(
      new RegExp(`Test Files +${tests.length + 1} passed`),
    );
    expect(copy.read('docs/analysis-rules.md')).toContain('\n## zero_learning_rate\n');
  });
});
