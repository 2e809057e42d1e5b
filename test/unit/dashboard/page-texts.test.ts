/** Every text of the page goes through `t`, and the German catalogue has all of them: what `scripts/page-texts.mjs` says of the repository. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { catalogueErrors, pageTexts, readCatalogue } from '../../../scripts/page-texts.mjs';
import { setCatalogue, t, tn } from '../../../dashboard/parts/t.ts';

const root = join(import.meta.dirname, '../../..');
const made: string[] = [];

afterEach(() => {
  setCatalogue({});
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** What is said of a page with this one file. */
function textsOf(code: string): ReturnType<typeof pageTexts> {
  const folder = mkdtempSync(join(tmpdir(), 'quark-texts-'));
  made.push(folder);
  mkdirSync(join(folder, 'dashboard'));
  writeFileSync(join(folder, 'dashboard/page.tsx'), code);
  return pageTexts(folder);
}

describe('the texts of this page', () => {
  const { errors, keys } = pageTexts(root);
  it('go through t, each as a literal that is read when the language is known', () => {
    expect(errors).toEqual([]);
  });
  it('are all in the German catalogue, with the same values and forms, and nothing else is', () => {
    expect(keys.size).toBeGreaterThan(1000);
    expect(catalogueErrors(keys, readCatalogue(root))).toEqual([]);
  });
});

describe('what is found', () => {
  it('words in elements and in attributes that are seen or heard', () => {
    expect(
      textsOf(
        'export const A = () => (\n  <p title="More of it" class="quiet">\n    Nothing yet <code>quark runs</code> GPU\n  </p>\n);\n',
      ).errors,
    ).toEqual([
      'dashboard/page.tsx:2: "More of it" does not go through t',
      'dashboard/page.tsx:2: "Nothing yet" does not go through t',
    ]);
  });
  it('texts that are no literals, and those that are read too early', () => {
    expect(
      textsOf(
        "const early = t('Runs');\nexport const late = (name: string) => t(name) + t(`a ${name}`) + t('One ' + 'text') + early;\n",
      ),
    ).toEqual({
      keys: new Map([
        ['Runs', 'dashboard/page.tsx:1'],
        ['One text', 'dashboard/page.tsx:2'],
      ]),
      errors: [
        'dashboard/page.tsx:1: the text is read before the language is known; put it into a function',
        'dashboard/page.tsx:2: the text is no literal',
        'dashboard/page.tsx:2: the text is no literal',
      ],
    });
  });
  it('what a catalogue lacks, has in other forms, with other values or for nothing', () => {
    const { keys } = textsOf(
      "export const a = (count: number) => t('Runs') + t('Last {value}') + tn(count, '{count} run', '{count} runs');\n",
    );
    expect(
      catalogueErrors(keys, {
        'Last {value}': 'Letzter {wert}',
        '{count} run|{count} runs': '{count} Läufe',
        Old: 'Alt',
      }),
    ).toEqual([
      'dashboard/page.tsx:1: the catalogue lacks "Runs"',
      'dashboard/page.tsx:1: "Letzter {wert}" has other values than "Last {value}"',
      'dashboard/page.tsx:1: "{count} Läufe" has not as many forms as "{count} run|{count} runs"',
      'dashboard/languages/german.json: nothing says "Old"',
    ]);
  });
});

it('says texts in the language that was set, what it lacks in English, and leaves values as they are', () => {
  setCatalogue({
    'Last {value} at {step}': '{step}: zuletzt {value}',
    '{count} run|{count} runs': '{count} Lauf|{count} Läufe',
  });
  expect(t('Last {value} at {step}', { value: '{step} $& <b>', step: 4 })).toBe(
    '4: zuletzt {step} $& <b>',
  );
  expect([0, 1, 2].map((count) => tn(count, '{count} run', '{count} runs'))).toEqual([
    '0 Läufe',
    '1 Lauf',
    '2 Läufe',
  ]);
  expect(t('Close')).toBe('Close');
  expect(tn(2, '{count} row', '{count} rows')).toBe('2 rows');
});
