// The same files, loaded in every way a user loads them, with the worker really running in each.
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { build, createLogger, createServer, type InlineConfig, type Rolldown } from 'vite';
import { expect, test } from 'vitest';
import webpack, { type Stats } from 'webpack';
import { ENTRIES, subpathsOf } from '../../scripts/entries.mjs';
import { openPage, REPOSITORY, type Consumer } from './consumer.ts';
import { BUILDERS } from '../bundlers/builders.mjs';
import { RECORDED, runBundled, SERVER } from './bundled-server.ts';
import { GOOD_OUTCOME, kernelOutcome, PAGE, PAGE_MODULE, PROBE } from './probe.ts';
import { casesOf, longTest } from '../support/long.ts';
import { workshop } from './workshop.ts';

const SUBPATHS = subpathsOf(ENTRIES);

const FILES = { 'index.html': PAGE, 'main.js': PAGE_MODULE, 'probe.js': PROBE };

const shop = workshop();

const consumer = (files: Readonly<Record<string, string>> = FILES): Consumer =>
  shop.consumer(files);

test('Node loads every entry, runs the probe, and the command shows the run', () => {
  const project = consumer({
    'probe.js': PROBE,
    'main.js': `
      import { probe } from './probe.js';
      const entries = {};
      for (const name of ${JSON.stringify(SUBPATHS)}) {
        entries['.' + name] = Object.keys(await import('quark-sdk' + name)).length > 0;
      }
      console.log(JSON.stringify({ entries, outcome: await probe('file:./data') }));
    `,
  });
  expect(project.run('main.js')).toEqual({
    entries: Object.fromEntries(SUBPATHS.map((name) => [`.${name}`, true])),
    outcome: GOOD_OUTCOME,
  });
  expect(existsSync(join(project.root, 'data/.quark/quark.db'))).toBe(true);

  const installed = 'node_modules/quark-sdk';
  const manifest = JSON.parse(
    readFileSync(join(project.root, installed, 'package.json'), 'utf8'),
  ) as { bin: { quark: string } };
  const command = join(installed, manifest.bin.quark);
  expect(JSON.stringify(project.run(command, 'runs', '--json', '--storage-dir', 'data'))).toContain(
    '"package-test"',
  );
});

test("SQL uses the DuckDB of the user's project, and says how to install it where there is none", () => {
  const project = consumer({
    'main.js': `
      import { openStorage } from 'quark-sdk';
      import { queryRuns } from 'quark-sdk/node';
      const store = await openStorage('memory:');
      const answer = await queryRuns(store, 'select 6 * 7 from range(2)').catch((error) => error);
      console.log(JSON.stringify([answer.rows, answer.code, answer.message]));
    `,
  });
  const [rows, code, message] = project.run('main.js') as [unknown, string, string];
  expect([rows, code]).toEqual([null, 'unsupported']);
  expect(message).toMatch(
    /^Queries need the package @duckdb\/node-api, which could not be loaded \(.+\)\. Install it with: npm install @duckdb\/node-api$/,
  );
  symlinkSync(
    join(REPOSITORY, 'node_modules/@duckdb'),
    join(project.root, 'node_modules/@duckdb'),
    'junction',
  );
  expect(project.run('main.js')).toEqual([[[42], [42]], null, null]);
});

test('Node ends by itself while a worker still waits for work', () => {
  const project = consumer({
    'main.js': `
      import { createKernels, startRun } from 'quark-sdk';
      import { AnalyzerEngine } from 'quark-sdk/analysis';
      const pool = await createKernels({ inlineBytes: 0 });
      await pool.tensorStats(new Float32Array(5000));
      const session = await startRun({ project: 'package-test', storage: 'memory:' });
      const watch = new AnalyzerEngine(session).watch();
      await session.flush();
      console.log(JSON.stringify([pool.diagnostics().workerMode, watch.status.workerMode]));
    `,
  });
  expect(project.run('main.js')).toEqual(['url', 'url']);
});

const PLAIN_FILES = {
  'index.html': PAGE,
  'main.js': PAGE_MODULE.replaceAll(/'quark-sdk\/(\w+)'/g, `'./node_modules/quark-sdk/dist/$1.js'`),
  'probe.js': PROBE.replace(`'quark-sdk'`, `'./node_modules/quark-sdk/dist/index.js'`).replace(
    `'quark-sdk/analysis'`,
    `'./node_modules/quark-sdk/dist/analysis.js'`,
  ),
};

test('a plain page loads the files as they are', async () => {
  const { url, server } = await shop.serve(consumer(PLAIN_FILES).root);
  expect(await openPage(shop.browser, url)).toEqual({ outcome: GOOD_OUTCOME, errors: [] });
  const dist = '/node_modules/quark-sdk/dist/';
  expect(server.requested).toContain(`${dist}worker.js`);
  expect(server.requested).toContain(`${dist}series-worker.js`);
  expect(server.requested).toContain(`${dist}watch-worker.js`);
  expect(server.requested).not.toContain(`${dist}node.js`);
  expect(server.requested).not.toContain(`${dist}node-platform.js`);
});

longTest('a plain page without worker.js starts the worker it carries', async () => {
  const { url } = await shop.serve(consumer(PLAIN_FILES).root, /worker\.js$/);
  const { outcome } = await openPage(shop.browser, url);
  expect(outcome).toMatchObject({
    url: kernelOutcome('none', 'wasm', 1),
    'inline-source': GOOD_OUTCOME['inline-source'],
    auto: kernelOutcome('inline-source', 'wasm', 1),
    run: GOOD_OUTCOME.run,
  });
});

longTest(
  'a page whose policy forbids WebAssembly gets the same answers from plain JavaScript',
  async () => {
    const { url } = await shop.serve(consumer(PLAIN_FILES).root, undefined, {
      'content-security-policy': "script-src 'self'; worker-src 'self' blob:",
    });
    const { outcome } = await openPage(shop.browser, url);
    expect(outcome).toMatchObject({
      url: kernelOutcome('url', 'js', 1),
      'inline-source': kernelOutcome('inline-source', 'js', 1),
      auto: kernelOutcome('url', 'js', 1),
    });
  },
);

/** Vite as a user has it, and everything it warned of. */
function viteUser(root: string): { config: InlineConfig; warnings: string[] } {
  const warnings: string[] = [];
  const customLogger = createLogger('warn', { allowClearScreen: false });
  // How long plugins took is said on a busy machine.
  const keep = (message: string): void => {
    if (!message.includes('PLUGIN_TIMINGS')) warnings.push(message);
  };
  Object.assign(customLogger, { warn: keep, warnOnce: keep, error: keep });
  return { config: { root, configFile: false, customLogger }, warnings };
}

test.each(
  casesOf<[string, string[]]>(
    [
      ['with the package pre-bundled', []],
      ['with the package served as it is', ['quark-sdk']],
    ],
    0,
  ),
)('a Vite app in development, %s', async (_how, exclude) => {
  const { config, warnings } = viteUser(consumer().root);
  const server = await createServer({
    ...config,
    optimizeDeps: { exclude },
    server: { port: 0, host: '127.0.0.1' },
  });
  try {
    await server.listen();
    const url = server.resolvedUrls?.local[0];
    expect(await openPage(shop.browser, url ?? 'no address')).toEqual({
      outcome: GOOD_OUTCOME,
      errors: [],
    });
  } finally {
    await server.close();
  }
  expect(warnings).toEqual([]);
});

test('a Vite app as built', async () => {
  const { root } = consumer();
  const { config, warnings } = viteUser(root);
  const built = (await build(config)) as Rolldown.RolldownOutput;
  const names = built.output.map(({ fileName }) => fileName);
  expect(names.filter((name) => /(?:worker|node)-[^/]*\.js$/.test(name)).toSorted()).toEqual([
    expect.stringContaining('chunk-inline-opfs-worker-'),
    expect.stringContaining('chunk-inline-series-worker-'),
    expect.stringContaining('chunk-inline-watch-worker-'),
    expect.stringContaining('chunk-inline-worker-'),
    expect.stringMatching(/^assets\/opfs-worker-/),
    expect.stringMatching(/^assets\/series-worker-/),
    expect.stringMatching(/^assets\/watch-worker-/),
    expect.stringMatching(/^assets\/worker-/),
  ]);
  const { url } = await shop.serve(join(root, 'dist'));
  expect(await openPage(shop.browser, url)).toEqual({ outcome: GOOD_OUTCOME, errors: [] });
  expect(warnings).toEqual([]);
});

test('a server that Vite bundles into one file records, reads and has workers', async () => {
  const builder = BUILDERS['Vite, build.ssr with ssr.noExternal'];
  if (builder === undefined) throw new Error('it has another name');
  expect(await runBundled(consumer({ 'main.js': SERVER }), builder)).toEqual(RECORDED);
});

longTest('a webpack 5 app', async () => {
  const { root } = consumer({
    ...FILES,
    'public/index.html': PAGE,
  });
  const stats = await new Promise<Stats>((resolve, reject) => {
    webpack(
      {
        context: root,
        mode: 'production',
        entry: './main.js',
        output: { path: join(root, 'public'), filename: 'main.js' },
        performance: { hints: false },
        // The app that Vite builds is minified; here it would take most of the time.
        optimization: { minimize: false },
      },
      (error, result) => (result ? resolve(result) : reject(error ?? new Error('no result'))),
    );
  });
  const { errors, warnings, assets } = stats.toJson({
    all: false,
    errors: true,
    warnings: true,
    assets: true,
  });
  expect({ errors, warnings }).toEqual({ errors: [], warnings: [] });
  // An asset with a source file is one that webpack copied as it is: worker.js a second time, or node.js.
  expect(assets?.filter(({ info }) => info.sourceFilename).map(({ name }) => name)).toEqual([]);
  const { url } = await shop.serve(join(root, 'public'));
  expect(await openPage(shop.browser, url)).toEqual({ outcome: GOOD_OUTCOME, errors: [] });
});
