/** Programs of the documents that need a page (`js page`), each in a page of Chromium, with the package behind an import map. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ENTRIES } from '../../scripts/entries.mjs';
import { moduleOf } from '../support/blocks/doc-examples.ts';
import { blocksOf, programsOf } from '../support/blocks/document-blocks.ts';
import { openPage, REPOSITORY } from './consumer.ts';
import { workshop } from './workshop.ts';

const GUIDES = join(REPOSITORY, 'docs/guides');
const FRAMEWORKS = new Set(['frameworks.md', 'next.md']);
const programs = readdirSync(GUIDES)
  .filter((name) => name.endsWith('.md') && !FRAMEWORKS.has(name))
  .flatMap((name) => programsOf(blocksOf(name, readFileSync(join(GUIDES, name), 'utf8'))))
  .filter(({ isPage }) => isPage);

/** Preact has the hooks of React. */
const IMPORTS = {
  ...Object.fromEntries(
    ENTRIES.map((entry) => [
      entry === 'index' ? 'quark-sdk' : `quark-sdk/${entry}`,
      `/node_modules/quark-sdk/dist/${entry}.js`,
    ]),
  ),
  preact: '/preact/dist/preact.mjs',
  'preact/hooks': '/preact/hooks/dist/hooks.mjs',
  react: '/preact/compat/dist/compat.mjs',
  'react-dom/client': '/preact/compat/client.mjs',
  'preact/compat': '/preact/compat/dist/compat.mjs',
};

/** Compares what is printed with the comment behind it, as test/support/blocks/doc-example-process.mjs does. */
const PAGE = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>
<div id="root"></div>
<script type="module">
  const wrong = [];
  let printed = 0;
  globalThis.quarkPrints = (line, expected, ...values) => {
    printed++;
    if (values.join(' ') !== expected) wrong.push(values.join(' ') + ' is not ' + expected);
  };
  try { await import('./program.js'); } catch (error) { wrong.push(String(error)); }
  globalThis.outcome = { printed, wrong };
</script>`;

const shop = workshop();

test('there are such programs', () => expect(programs.length).toBeGreaterThan(1));

test.each(programs.map((program) => [`${program.document}:${program.line}`, program] as const))(
  '%s runs in a page',
  async (_, { code, document, index }) => {
    const { root } = shop.consumer({
      'index.html': PAGE,
      'program.js': moduleOf({ entry: document, name: 'block', index, info: 'js', code }),
      ...Object.fromEntries(
        [
          'dist/preact.mjs',
          'hooks/dist/hooks.mjs',
          'compat/dist/compat.mjs',
          'compat/client.mjs',
        ].map((file) => [
          `preact/${file}`,
          readFileSync(join(REPOSITORY, 'node_modules/preact', file), 'utf8'),
        ]),
      ),
    });
    const { url } = await shop.serve(root);
    const { errors, outcome } = await openPage(shop.browser, url);
    expect({ errors, outcome }, code).toEqual({
      errors: [],
      outcome: { printed: expect.any(Number), wrong: [] },
    });
    expect(Object(outcome).printed).toBeGreaterThan(0);
  },
);
