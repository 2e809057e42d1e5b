/**
 * A server that records, and a page, made by every bundler that is installed in test/bundlers, and run: `npm run matrix`, which prints the
 * rows that this file leaves in build/matrix.md.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Browser } from 'playwright';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { APP_BUILDERS, WORKER_BUILDERS } from '../bundlers/app-builders.mjs';
import { BUILDERS, BUN, WITHOUT_NODE, type Builder } from '../bundlers/builders.mjs';
import { PAGE_BUILDERS } from '../bundlers/page-builders.mjs';
import { RECORDED, runBundled, SERVER } from './bundled-server.ts';
import {
  Consumer,
  launchBrowser,
  openPage,
  packTarball,
  REPOSITORY,
  StaticServer,
} from './consumer.ts';
import { PAGE, PROBE } from './probe.ts';

const isInstalled = existsSync(join(REPOSITORY, 'test/bundlers/node_modules'));
const LIMIT_MS = 240_000;
/** Installed with the repository. */
const OWN = /^(?:Vite|webpack)/;

let tarball: string;
let browser: Browser;
const rows: string[] = [];
beforeAll(async () => {
  tarball = packTarball();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser.close();
  rmSync(dirname(tarball), { recursive: true, force: true });
  mkdirSync(join(REPOSITORY, 'build'), { recursive: true });
  writeFileSync(
    join(REPOSITORY, 'build/matrix.md'),
    [
      '| bundler | builds | records and reads | workers | WebAssembly | storage |',
      '| --- | --- | --- | --- | --- | --- |',
      ...rows,
      '',
    ].join('\n'),
  );
});

type Row = {
  readonly runs: unknown;
  readonly workers: unknown;
  readonly wasm: unknown;
  readonly storage: string;
};

/** Builds and runs, and leaves a row of the table: of what failed, the first line. */
async function row(
  name: string,
  work: (project: Consumer) => Promise<Row>,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const project = new Consumer(tarball, files);
  try {
    const { runs, storage, wasm, workers } = await work(project);
    rows.push(`| ${[name, 'yes', runs, workers, wasm, storage].map(String).join(' | ')} |`);
  } catch (error) {
    const [reason = ''] = String(error).split('\n');
    rows.push(`| ${name} | no: ${reason.slice(0, 200).replaceAll('|', '/')} | | | | |`);
    throw error;
  } finally {
    project.remove();
  }
}

/** What the server said, and a row of the table. */
async function served(name: string, build: Builder, runtime?: string): Promise<unknown> {
  let said: unknown;
  await row(
    name,
    async (project) => {
      said = await runBundled(project, build, runtime);
      if (!isDeepStrictEqual(said, RECORDED)) throw new Error(JSON.stringify(said));
      return { runs: 'yes', workers: 'yes', wasm: 'yes', storage: 'SQLite' };
    },
    { 'main.js': SERVER },
  );
  return said;
}

describe('a bundled server records, reads and has workers', () => {
  for (const [name, build] of Object.entries(BUILDERS))
    test.skipIf(!isInstalled && !OWN.test(name))(
      name,
      async () => {
        expect(await served(name, build)).toEqual(RECORDED);
      },
      LIMIT_MS,
    );
});

/** The page of a probe that chooses its worker itself. */
const MAIN = `
import { probe } from './probe.js';
globalThis.outcome = await probe('idb:bundled', ['auto']);
`;

type Probed = {
  readonly auto: {
    readonly threw?: string;
    readonly tensor: { readonly used: string; readonly kernel: string };
    readonly series: { readonly used: string; readonly kernel: string };
    readonly watch: { readonly used: string };
  };
  readonly run: { readonly threw?: string; readonly status: string; readonly rows: number };
};

async function shown(folder: string): Promise<unknown> {
  const server = new StaticServer(folder);
  try {
    const { errors, outcome } = await openPage(browser, await server.listen());
    return outcome ?? errors;
  } finally {
    await server.close();
  }
}

describe('a page records, reads and has workers', () => {
  for (const [name, build] of Object.entries(APP_BUILDERS))
    test.skipIf(!isInstalled && !OWN.test(name))(
      name,
      () =>
        row(
          name,
          async ({ root }) => {
            const { auto, run } = (await shown(await build(root))) as Probed;
            expect([auto.threw, run.threw]).toEqual([undefined, undefined]);
            expect(run).toMatchObject({ status: 'completed', rows: 250 });
            const ways = [auto.tensor.used, auto.series.used, auto.watch.used];
            expect(ways).not.toContain('none');
            expect([auto.tensor.kernel, auto.series.kernel]).toEqual(['wasm', 'wasm']);
            const workers = ways.every((way) => way === 'url') ? 'yes' : 'yes, from the text';
            return { runs: 'yes', workers, wasm: 'yes', storage: 'IndexedDB' };
          },
          { 'index.html': PAGE, 'main.js': MAIN, 'probe.js': PROBE },
        ),
      LIMIT_MS,
    );
});

describe('a worker of a page records and reads', () => {
  for (const [name, build] of Object.entries(WORKER_BUILDERS))
    test(
      name,
      () =>
        row(
          name,
          async ({ root }) => {
            expect(await shown(await build(root))).toEqual([250, 1 / 250]);
            return { runs: 'yes', workers: 'is one', wasm: 'not asked', storage: 'IndexedDB' };
          },
          {
            'index.html': PAGE,
            'main.js': `
              const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
              worker.onmessage = ({ data }) => { globalThis.outcome = data; };
              worker.onerror = ({ message }) => { globalThis.outcome = message; };
            `,
            'worker.js': `
              import { MetricsLogger, openRun, openStorage, startRun } from 'quark-sdk${name.includes('min.js') ? '/quark.min.js' : ''}';
              async function record() {
                const session = await startRun({ project: 'bundled' });
                const metrics = new MetricsLogger(session);
                for (let step = 0; step < 250; step++) metrics.log('train/loss', 1 / (step + 1), { step });
                await session.endRun();
                await session.close();
                const run = await openRun(await openStorage(), session.runId);
                const { rowCount, values } = await run.readMetricColumns({ metricKey: 'train/loss' });
                return [rowCount, values[249]];
              }
              record().then(postMessage, (error) => postMessage(String(error)));
            `,
          },
        ),
      LIMIT_MS,
    );
});

/** Bun runs the bundle for Node. Modules of Node that Bun lacks would fail here. */
test.skipIf(!existsSync(BUN))(
  'Bun as the runtime of a server that it bundled',
  async () => {
    const build = BUILDERS['Bun, target node, libsql external'];
    if (build === undefined) throw new Error('it has another name');
    const said = await served('Bun, target node, libsql external; run by Bun', build, BUN);
    expect(said).toEqual(RECORDED);
  },
  LIMIT_MS,
);

describe('a server that is bundled as a page says which setting is lacking', () => {
  for (const [name, build] of Object.entries(WITHOUT_NODE))
    test.skipIf(!isInstalled)(
      name,
      async () => {
        const project = new Consumer(tarball, { 'main.js': SERVER });
        try {
          expect(await runBundled(project, build)).toEqual({
            code: 'unsupported',
            message: expect.stringMatching(/esbuild --platform=node.+exportConditions: \["node"\]/),
          });
        } finally {
          project.remove();
        }
      },
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
