/** The site of the documentation, as far as it is declared: `npm run docs` builds and checks the rest. */
import { describe, expect, test } from 'vitest';
import {
  addressOf,
  baseOf,
  exampleAddress,
  fileMeant,
  linkBetween,
} from '../../../docs/site/pages/addresses.mjs';
import { pageOf, readNavigation } from '../../../docs/site/pages/navigation.mjs';

describe('the navigation', () => {
  const { sections, problems } = readNavigation();
  const pages = sections.flatMap((section) => section.pages);

  test('has every document once, in a section, and names no other', () => {
    expect(problems).toEqual([]);
    expect(pages.length).toBeGreaterThan(100);
    expect(new Set(pages.map(({ address }) => address.toLowerCase())).size).toBe(pages.length);
  });

  test('tells a page that is missing, one that is in no section, and one that is there twice', () => {
    const section = { title: 'A', about: 'B.' };
    const found = readNavigation({
      sections: [
        { ...section, pages: ['docs/none.md', 'docs/cli.md'] },
        { ...section, pages: ['docs/cli.md'] },
      ],
      leftOut: [],
    });
    expect(found.problems).toEqual(
      expect.arrayContaining([
        'navigation.json names docs/none.md, which does not exist.',
        'docs/formats.md is in no section of navigation.json.',
        'navigation.json has docs/cli.md twice.',
      ]),
    );
  });

  test('takes the title of a page from its front matter, and else from its heading', () => {
    const titleOf = (text: string): string => pageOf('docs/a.md', () => text).title;
    expect(titleOf('# The `quark` command\n\nText.')).toBe('The quark command');
    expect(titleOf('---\ntitle: "Another"\norder: 3\n---\n\n# One\n')).toBe('Another');
  });
});

describe('addresses', () => {
  test.each([
    ['docs/README.md', 'documents.html'],
    ['CHANGELOG.md', 'changelog.html'],
    ['docs/decisions/README.md', 'decisions/index.html'],
    ['docs/guides/own-rules.md', 'guides/own-rules.html'],
  ])('%s is %s', (file, address) => expect(addressOf(file)).toBe(address));

  test('links lead from page to page without a server', () => {
    expect(linkBetween('index.html', 'decisions/index.html')).toBe('decisions/index.html');
    expect(linkBetween('decisions/0001-a.html', 'cli.html#runs')).toBe('../cli.html#runs');
    expect(linkBetween('cli.html', 'cli.html')).toBe('cli.html');
    expect(baseOf('reference/store/index.html')).toBe('../../');
  });

  test('programs of examples have pages, and nothing else in their folder', () => {
    expect(exampleAddress('examples/own-store.mjs')).toBe('examples/own-store.html');
    expect(exampleAddress('examples/browser.html')).toBe('examples/browser.html');
    expect(exampleAddress('examples')).toBeUndefined();
    expect(exampleAddress('docs/examples/own-store.mjs')).toBeUndefined();
  });

  test('links of documents mean files of the repository', () => {
    expect(fileMeant('docs/guides/a.md', '../cli.md#runs')).toBe('docs/cli.md');
    expect(fileMeant('README.md', 'deploy/')).toBe('deploy');
    expect(fileMeant('README.md', '#in-node')).toBeUndefined();
    expect(fileMeant('README.md', 'https://arrow.apache.org')).toBeUndefined();
  });
});
