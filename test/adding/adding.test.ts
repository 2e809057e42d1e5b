/** How little of the house an addition touches. Each patch here is one, as docs/adding.md describes it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { roomErrors } from '../../scripts/rooms.mjs';
import { changesOf, PatchedCopy, type Change } from './patched-copy.ts';

/** Files that a patch adds, and the lines that it adds to others. Tests are counted apart. */
const ADDITIONS: Readonly<
  Record<string, { readonly added: readonly string[]; readonly lines: Record<string, number> }>
> = {
  importer: {
    added: ['src/exchange/import/formats/darknet.ts'],
    lines: { 'src/exchange/import/importers.ts': 2 },
  },
  tab: {
    added: ['dashboard/run/environment/style.css', 'dashboard/run/environment/view.tsx'],
    lines: { 'dashboard/run/tabs.ts': 1 },
  },
};
const NAMES = Object.keys(ADDITIONS);

const isTest = ({ path }: Change): boolean => path.startsWith('test/');
const changes = new Map(NAMES.map((name) => [name, changesOf(`${name}.patch`)]));
const testsOf = (name: string): readonly string[] =>
  (changes.get(name) ?? []).map(({ path }) => path).filter((path) => path.endsWith('.test.ts'));

describe.each(NAMES)('adding: %s', (name) => {
  test('touches only what docs/adding.md names', () => {
    const touched = (changes.get(name) ?? []).filter((change) => !isTest(change));
    const added = touched.filter(({ isNew }) => isNew).map(({ path }) => path);
    const changed = touched.filter(({ isNew }) => !isNew);
    expect(added).toEqual(ADDITIONS[name]?.added);
    expect(Object.fromEntries(changed.map(({ path, added: lines }) => [path, lines]))).toEqual(
      ADDITIONS[name]?.lines,
    );
    expect(changed.every(({ removed }) => removed === 0)).toBe(true);
  });

  test('applies to the sources, and breaks no rule of the rooms', () => {
    copy.apply(`${name}.patch`);
    expect(roomErrors(copy.root)).toEqual([]);
    copy.apply(`${name}.patch`, '--reverse');
  });
});

let copy: PatchedCopy;
beforeAll(() => {
  copy = new PatchedCopy();
});
afterAll(() => copy[Symbol.dispose]());

test('all of them together compile, and their tests pass', async () => {
  for (const name of NAMES) copy.apply(`${name}.patch`);
  const tests = NAMES.flatMap(testsOf);
  expect(await copy.compile(tests)).toBe('');
  expect(await copy.test(...tests)).toMatch(new RegExp(`Test Files +${tests.length} passed`));
});
