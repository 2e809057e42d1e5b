/** A server that records, bundled into one file by every bundler that is installed in test/bundlers, and run: `npm run matrix`. */
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BUILDERS, WITHOUT_NODE } from '../bundlers/builders.mjs';
import { PAGE_BUILDERS } from '../bundlers/page-builders.mjs';
import { RECORDED, runBundled, SERVER } from './bundled-server.ts';
import { Consumer, packTarball, REPOSITORY } from './consumer.ts';

const isInstalled = existsSync(join(REPOSITORY, 'test/bundlers/node_modules'));
const LIMIT_MS = 240_000;
/** Installed with the repository. */
const OWN = /^(?:Vite|webpack)/;

let tarball: string;
let project: Consumer;
beforeAll(() => {
  tarball = packTarball();
});
afterAll(() => rmSync(dirname(tarball), { recursive: true, force: true }));

function inProject(look: () => Promise<void>): () => Promise<void> {
  return async () => {
    project = new Consumer(tarball, { 'main.js': SERVER });
    try {
      await look();
    } finally {
      project.remove();
    }
  };
}

describe('a bundled server records, reads and has workers', () => {
  for (const [name, build] of Object.entries(BUILDERS))
    test.skipIf(!isInstalled && !OWN.test(name))(
      name,
      inProject(async () => {
        expect(await runBundled(project, build)).toEqual(RECORDED);
      }),
      LIMIT_MS,
    );
});

describe('a server that is bundled as a page says which setting is lacking', () => {
  for (const [name, build] of Object.entries(WITHOUT_NODE))
    test.skipIf(!isInstalled)(
      name,
      inProject(async () => {
        expect(await runBundled(project, build)).toEqual({
          code: 'unsupported',
          message: expect.stringMatching(/esbuild --platform=node.+exportConditions: \["node"\]/),
        });
      }),
      LIMIT_MS,
    );
});

describe('a page gets what it imports', () => {
  for (const [name, bytesOf] of Object.entries(PAGE_BUILDERS))
    test.skipIf(!isInstalled && !OWN.test(name))(
      name,
      async () => {
        expect(await bytesOf(['VERSION'])).toBeLessThan(1000);
        expect(await bytesOf(['isQuarkError'])).toBeLessThan(3000);
        // esbuild makes one file of a page unless it is told otherwise, with all that may come later.
        if (name !== 'esbuild')
          expect(await bytesOf(['startRun', 'MetricsLogger'])).toBeLessThan(80_000);
      },
      LIMIT_MS,
    );
});
