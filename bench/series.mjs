// What a page pays for the series of a run: all of a long run, and a poll that brings a few rows.
//
//   npm run bench -- series [--rows=1000000] [--keys=8] [--before=DIR] [--rounds=7]
//
// `--before`: another checkout with a build, measured in turn with this one.
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'vite';
import { interleaved, report } from './harness.mjs';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    keys: { type: 'string', default: '8' },
    before: { type: 'string' },
    rounds: { type: 'string', default: '7' },
  },
});
const rows = Number(options.rows);
const keys = Number(options.keys);

/** Where the feed of a run's page is, in this checkout and in older ones. */
const FEEDS = ['dashboard/series/run-feed.ts', 'demo/dashboard/model/run-feed.ts'];

/** The feed of a checkout as a page has it, over the build of that checkout. */
async function load(root, folder, name) {
  const input = FEEDS.map((path) => join(root, path)).find((path) => existsSync(path));
  const entry = join(root, 'dist/index.js');
  const file = join(folder, `${name}.mjs`);
  await build({
    configFile: false,
    root,
    logLevel: 'silent',
    resolve: { alias: { 'quark-sdk': entry } },
    build: {
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      lib: { entry: input, formats: ['es'], fileName: () => `${name}.mjs` },
      rolldownOptions: { external: [entry] },
    },
  });
  return {
    sdk: await import(pathToFileURL(entry).href),
    ...(await import(pathToFileURL(file).href)),
  };
}

/** A run with many rows, merged as after its end, in a store in memory. */
async function recorded({ sdk }) {
  const store = sdk.createMemoryStore();
  const session = await sdk.TrainingSession.startRun({
    project: 'series',
    config: {},
    storage: store,
    handleSignals: false,
  });
  const metrics = new sdk.MetricsLogger(session, { batchSize: 65_536, maxBufferedRows: 1 << 22 });
  const steps = Math.ceil(rows / keys);
  for (let step = 0; step < steps; step++) {
    for (let key = 0; key < keys; key++)
      metrics.log(`train/metric_${key}`, Math.sin(step / 100 + key), {
        step,
        epoch: Math.floor(step / 1000),
      });
    if (step % 20_000 === 19_999) await session.flush();
  }
  await session.endRun();
  return { store, session, steps };
}

const folder = await mkdtemp(join(tmpdir(), 'quark-series-'));
try {
  const sides = { now: resolve(fileURLToPath(new URL('..', import.meta.url))) };
  if (options.before !== undefined) sides.before = resolve(options.before);
  const cases = {};
  for (const [name, root] of Object.entries(sides)) {
    const code = await load(root, folder, name);
    const run = await recorded(code);
    cases[`first look, ${name}`] = async () => {
      const feed = await code.RunFeed.open(run.store, run.session.runId);
      while (feed.hasMore) await feed.poll();
      if (feed.series.pointCount !== run.steps * keys) throw new Error('rows are missing');
    };
    const live = await liveRun(code);
    cases[`poll of ${keys * 10} new rows, ${name}`] = () => live.poll();
  }
  const medians = await interleaved(cases, Number(options.rounds));
  await report(
    'series',
    Object.entries(medians).map(([what, value]) => ({
      what: `${what} (${rows} rows, ${keys} metrics)`,
      value,
      unit: 'ms',
    })),
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** A run that goes on, and the page's feed that follows it. The time of a poll is that of the feed alone. */
async function liveRun({ RunFeed, sdk }) {
  const store = sdk.createMemoryStore();
  const session = await sdk.TrainingSession.startRun({
    project: 'live',
    config: {},
    storage: store,
    handleSignals: false,
  });
  const metrics = new sdk.MetricsLogger(session);
  let step = 0;
  const log = async (count) => {
    for (let at = 0; at < count; at++, step++)
      for (let key = 0; key < keys; key++) metrics.log(`train/metric_${key}`, step, { step });
    await session.flush();
  };
  await log(10_000);
  const feed = await RunFeed.open(store, session.runId);
  while (feed.hasMore) await feed.poll();
  return {
    async poll() {
      let ms = 0;
      for (let at = 0; at < 20; at++) {
        await log(10);
        const before = performance.now();
        const change = await feed.poll();
        ms += performance.now() - before;
        if (!change.metrics) throw new Error('the poll brought nothing');
      }
      return ms / 20;
    },
  };
}
