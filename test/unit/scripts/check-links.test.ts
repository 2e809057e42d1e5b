/** The documents name only files and headings that exist. */
import { describe, expect, it } from 'vitest';
import { anchorsOf, brokenLinks, staleComments } from '../../../scripts/check-links.mjs';

const brokenIn = (text: string): string[] => brokenLinks(['docs/page.md'], () => text);

describe('links of the documents', () => {
  it('lead to files and headings that exist', () => {
    expect(brokenLinks()).toEqual([]);
  });

  it('are reported with file, line and target where they do not', () => {
    expect(
      brokenIn(
        'See [this](README.md),\n[that](nowhere.md) and [there](../CONTRIBUTING.md#nowhere).',
      ),
    ).toEqual([
      'docs/page.md:2: there is no docs/nowhere.md',
      'docs/page.md:2: CONTRIBUTING.md has no heading for #nowhere',
    ]);
  });

  it('include files and folders that are named as code, with stars for any of them', () => {
    expect(brokenIn('`src/base/errors.ts`, `src/store/sql/sql-*.ts`, `test/unit/`')).toEqual([]);
    expect(brokenIn('`src/base/mistakes.ts` and `src/store/idb/sql-*.ts`')).toEqual([
      'docs/page.md:1: there is no src/base/mistakes.ts',
      'docs/page.md:1: there is no src/store/idb/sql-*.ts',
    ]);
  });

  it('are not looked for in blocks of code, in addresses and in paths of a user', () => {
    expect(
      brokenIn(
        '```\n[a](b.md)\n```\n\n    `src/none.ts`\n\n[web](https://example.com/x.md) `DIR/src`',
      ),
    ).toEqual([]);
  });
});

describe('files that comments name', () => {
  it('exist', () => {
    expect(staleComments()).toEqual([]);
  });

  it('are reported where they do not, by name or by the end of a path', () => {
    const text =
      "// See 'sql/sql-layout.ts'.\n/** As 'mistakes.ts' has it. */\nconst a = 'page.ts';";
    expect(staleComments(['src/page.ts'], () => text.replaceAll("'", '`'))).toEqual([
      'src/page.ts:2: there is no mistakes.ts',
    ]);
  });
});

describe('anchors of headings', () => {
  it('are those that GitHub makes', () => {
    expect([...anchorsOf('# A `b.c` (d)\n## Same\n## Same\n```\n# no\n```')]).toEqual([
      'a-bc-d',
      'same',
      'same-1',
    ]);
  });
});
