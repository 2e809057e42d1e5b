/** README.md in the package: what leads nowhere there is words, or leads to the repository. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { packedReadme, repositoryUrl } from '../../../scripts/packed-readme.mjs';

const isPacked = (file: string): boolean => file === 'LICENSE';
const TEXT = `<picture>
  <source srcset="docs/images/a-dark.webp" />
  <img alt="Layers" src="docs/images/a-light.webp" />
</picture>
| [![A run](docs/images/run.webp)](docs/images/run.webp) |
[docs](docs/README.md#top), [licence](LICENSE), [below](#below), [Arrow](https://arrow.apache.org)
\`\`\`js
const link = '[text](docs/README.md)';
\`\`\`
`;

describe('README.md in the package', () => {
  test('has words where no repository is named', () => {
    expect(packedReadme(TEXT, { url: undefined, isPacked })).toBe(`| A run |
docs, [licence](LICENSE), [below](#below), [Arrow](https://arrow.apache.org)
\`\`\`js
const link = '[text](docs/README.md)';
\`\`\`
`);
  });

  test('leads to the repository where one is', () => {
    const url = repositoryUrl({ repository: { url: 'git+https://example.org/quark.git' } });
    const packed = packedReadme(TEXT, { url, isPacked });
    expect(packed).toContain('srcset="https://example.org/quark/raw/main/docs/images/a-dark.webp"');
    expect(packed).toContain(
      '[![A run](https://example.org/quark/raw/main/docs/images/run.webp)](https://example.org/quark/blob/main/docs/images/run.webp)',
    );
    expect(packed).toContain('[docs](https://example.org/quark/blob/main/docs/README.md#top)');
    expect(packed).toContain('[licence](LICENSE)');
    expect(packed).toContain("'[text](docs/README.md)'");
  });

  test('names no file of the repository that is not packed', () => {
    const text = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8');
    const packed = packedReadme(text, { url: undefined, isPacked });
    const links = [...packed.matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset)="([^"]+)"/g)].map(
      (match) => match[1] ?? match[2] ?? '',
    );
    expect(links.filter((link) => !/^(?:https?:|#|LICENSE$|\.\/)/.test(link))).toEqual([]);
    expect(links.length).toBeGreaterThan(0);
  });

  test('takes an address in each form that package.json may have', () => {
    expect(repositoryUrl({})).toBeUndefined();
    expect(repositoryUrl({ repository: '' })).toBeUndefined();
    expect(repositoryUrl({ repository: { url: '' } })).toBeUndefined();
    expect(repositoryUrl({ repository: 'git@example.org:a/b.git' })).toBe(
      'https://example.org/a/b',
    );
  });
});
