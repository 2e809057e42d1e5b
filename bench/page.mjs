// The page with a lot to show: a run of 500 metrics of 100,000 points each, and a list of 10,000 runs, in headless Chromium.
//
//   npm run bench -- page
//   QUARK_BENCH_PAGE_STORE=/somewhere npm run bench -- page   # records there once, and measures what is there the next time
//   QUARK_BENCH_PAGE_BEFORE=/another/dist npm run bench -- page   # measures that build, too, in turn with this one
//
// QUARK_BENCH_PAGE_METRICS, QUARK_BENCH_PAGE_POINTS and QUARK_BENCH_PAGE_RUNS set the sizes, QUARK_BENCH_PAGE_ROUNDS how often all of it
// is measured (default 1; medians are printed), QUARK_BENCH_PAGE_SCENES which scenes (default list,browser,run). Needs a build.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright';
import { CHROMIUM_ARGS, findChromium } from '../scripts/chromium.mjs';
import { median, save } from './harness.mjs';
import { watchPage } from './page/measures.mjs';
import { recordedIn, serve } from './page/recording.mjs';
import { firstLoad, listInBrowser, listOfRuns, longRun } from './page/scenes.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const setting = (name) => process.env[`QUARK_BENCH_PAGE_${name}`];
const sizeOf = (name, usual) => Number(setting(name) ?? usual);
const sizes = {
  metrics: sizeOf('METRICS', 500),
  points: sizeOf('POINTS', 100_000),
  runs: sizeOf('RUNS', 10_000),
};
const rounds = sizeOf('ROUNDS', 1);
const wanted = (setting('SCENES') ?? 'list,browser,run').split(',');
const before = setting('BEFORE');
const builds = {
  ...(before === undefined ? {} : { before: `${resolve(before)}/` }),
  now: dist,
};

/** Figure, unit and limit, by the names that scenes give. */
const moving = (name, what) => [
  [`${name}.median`, `${what}: frame, median`, 'ms'],
  [`${name}.p95`, `${what}: frame, p95`, 'ms', 20],
  [`${name}.task`, `${what}: longest task, by the clock`, 'ms', 50],
  [`${name}.taskCpu`, `${what}: longest task, processor time`, 'ms', 50],
];
const FIGURES = [
  ['loadRequests', 'first load of the list: requests', '', 8],
  ['loadKb', 'first load of the list: over the network', 'kB', 120],
  ['first', `list of ${sizes.runs} runs: first row`, 'ms', 300],
  ...moving('scroll', 'list, scrolling'),
  ['sort', 'list: sorted by loss', 'ms', 100],
  ['filter', 'list: filtered by configuration and tag', 'ms', 100],
  ['idb.first', 'the same list in IndexedDB: first row', 'ms', 300],
  ...moving('idb.scroll', 'list in IndexedDB, scrolling'),
  ['idb.sort', 'list in IndexedDB: sorted by loss', 'ms', 100],
  ['idb.filter', 'list in IndexedDB: filtered', 'ms', 100],
  ['run.first', `run of ${sizes.metrics} x ${sizes.points}: first chart`, 'ms', 500],
  ['run.firstTask', 'first chart: longest task, by the clock', 'ms', 50],
  ['run.firstTaskCpu', 'first chart: longest task, processor time', 'ms', 16],
  ...moving('run.reading', 'run, scrolling while it is read'),
  ['run.read', 'run: all samples of the first charts', 's'],
  ...moving('run.scroll', 'run, scrolling'),
  ...moving('run.zoom', 'run, zooming with the wheel'),
  ...moving('run.smooth', 'run, smoothed by a Gaussian'),
  ['memory', 'memory of the page', 'MB', 500],
  ['shift', 'layout shift', '', 0.02],
];

const SCENES = {
  list: async (given) => ({ ...(await firstLoad(given)), ...(await listOfRuns(given)) }),
  browser: listInBrowser,
  run: longRun,
};

/** The figures of a scene in a browser that is started for it, each with the load of the machine before and after. */
async function play(scene, build, runId, folder) {
  const browser = await chromium.launch({
    executablePath: await findChromium(),
    args: CHROMIUM_ARGS,
  });
  const service = await serve(folder, build);
  const load = loadavg()[0];
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    page.setDefaultTimeout(120_000);
    await page.addInitScript(watchPage);
    const { points } = sizes;
    const given = { browser, page, url: service.url, runId, points, dist: build };
    const found = await SCENES[scene](given);
    const mean = (load + loadavg()[0]) / 2;
    return Object.entries(found).map(([name, value]) => ({ name, value, load: mean }));
  } catch (error) {
    console.error(`${scene}: ${String(error)}`);
    return [];
  } finally {
    service.stop();
    await browser.close();
  }
}

const given = setting('STORE');
const folder = given ?? (await mkdtemp(join(tmpdir(), 'quark-bench-page-')));
const found = new Map(Object.keys(builds).map((name) => [name, new Map()]));
try {
  await mkdir(folder, { recursive: true });
  const runId = await recordedIn(folder, sizes, dist, root);
  for (let round = 0; round < rounds; round++)
    for (const scene of wanted)
      for (const [name, build] of Object.entries(builds))
        for (const one of await play(scene, build, runId, folder)) {
          const figures = found.get(name);
          figures.set(one.name, [...(figures.get(one.name) ?? []), one]);
        }
  await print();
} finally {
  if (given === undefined) await rm(folder, { recursive: true, force: true });
}

/** One table: figure, limit, and for each build the median and the load beside it. */
async function print() {
  const shown = (value) =>
    Number.isNaN(value) ? '-' : value >= 100 ? value.toFixed(0) : value.toPrecision(3);
  const of = (build, name, field) => {
    const all = (found.get(build)?.get(name) ?? []).map((one) => one[field]);
    return all.length === 0 ? Number.NaN : median(all);
  };
  const names = Object.keys(builds);
  const head = names.flatMap((name) => [name.padStart(9), 'load'.padStart(6)]).join(' ');
  console.log(`\npage\n  ${'figure'.padEnd(58)} ${'limit'.padStart(6)} ${head}`);
  const rows = FIGURES.map(([name, what, unit, limit]) => {
    const values = names.flatMap((build) => [
      shown(of(build, name, 'value')).padStart(9),
      of(build, name, 'load').toFixed(1).padStart(6),
    ]);
    const label = unit === '' ? what : `${what}, ${unit}`;
    console.log(`  ${label.padEnd(58)} ${String(limit ?? '').padStart(6)} ${values.join(' ')}`);
    return {
      what,
      unit,
      limit,
      ...Object.fromEntries(names.map((one) => [one, of(one, name, 'value')])),
      load: of('now', name, 'load'),
    };
  });
  await save('page', rows);
}
