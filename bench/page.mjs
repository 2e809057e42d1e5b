// The page with a lot to show: a run of 500 metrics of 100,000 points each, and a list of 10,000 runs, in headless Chromium.
//
//   npm run bench -- page
//   QUARK_BENCH_PAGE_STORE=/somewhere npm run bench -- page   # records there once, and measures what is there the next time
//
// QUARK_BENCH_PAGE_METRICS, QUARK_BENCH_PAGE_POINTS and QUARK_BENCH_PAGE_RUNS set the sizes. Needs a build.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright';
import { runnerImport } from 'vite';
import { CHROMIUM_ARGS, findChromium } from '../scripts/chromium.mjs';
import { report } from './harness.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const sizeOf = (name, usual) => Number(process.env[`QUARK_BENCH_PAGE_${name}`] ?? usual);
const METRICS = sizeOf('METRICS', 500);
const POINTS = sizeOf('POINTS', 100_000);
const RUNS = sizeOf('RUNS', 10_000);
/** Rows of a flush: as many as a training of this many metrics would leave in a few seconds. */
const ROWS_PER_FLUSH = 50_000;

/** Records both into a folder; says which run is the long one. */
async function record(folder) {
  const { MetricsLogger, openStorage, startRun } = await import(`${dist}index.js`);
  // Records alone, as the tests of lists make them: a minute instead of half an hour.
  const { module } = await runnerImport(`${root}test/support/made-runs.ts`, {
    configFile: false,
    logLevel: 'error',
  });
  const store = await openStorage(`file:${folder}`);
  await module.makeRuns(store, RUNS);
  await store.close();
  const start = (name) =>
    startRun({ project: 'bench', name, storageDir: folder, handleSignals: false });
  const session = await start('long');
  const metrics = new MetricsLogger(session, { batchSize: ROWS_PER_FLUSH });
  const keys = Array.from({ length: METRICS }, (_, at) => `group${at % 20}/metric_${at}`);
  let noise = 1;
  for (let step = 0, rows = 0; step < POINTS; step++) {
    for (let at = 0; at < METRICS; at++) {
      noise = (noise * 48_271) % 2_147_483_647;
      metrics.log(keys[at], Math.sin(step / 5000 + at) + noise / 2_147_483_647, { step });
    }
    rows += METRICS;
    if (rows < ROWS_PER_FLUSH) continue;
    rows = 0;
    await session.flush();
  }
  await metrics.close();
  await session.endRun('completed');
  await session.close();
  return session.runId;
}

/** `quark dashboard` over the folder. */
async function serve(folder) {
  const args = [`${dist}cli.js`, 'dashboard', `--storage-dir=${folder}`, '--port=0', '--json'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (bytes) => {
      text += bytes;
      const found = /"(http:[^"]+)"/.exec(text);
      if (found !== null) resolve(found[1]);
    });
    child.once('exit', (code) => reject(new Error(`quark dashboard ended (${code})`)));
  });
  return { url, stop: () => child.kill('SIGTERM') };
}

/** In the page before its own code: layout shifts, and distances between frames while something is measured. */
function watchPage() {
  globalThis.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
      if (!entry.hadRecentInput) globalThis.shift += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });
  globalThis.framesOf = async (count) => {
    const gaps = [];
    let last = await new Promise((resolve) => requestAnimationFrame(resolve));
    while (gaps.length < count) {
      const now = await new Promise((resolve) => requestAnimationFrame(resolve));
      gaps.push(now - last);
      last = now;
    }
    return gaps.toSorted((a, b) => a - b);
  };
}

const part = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** Does `work` while the frames are counted and traced: distances between frames, and the longest task of the page. */
async function measured(browser, page, frameCount, work) {
  await browser.startTracing(page, {
    categories: ['toplevel', 'disabled-by-default-devtools.timeline', 'devtools.timeline'],
  });
  const frames = page.evaluate((count) => globalThis.framesOf(count), frameCount);
  await work();
  const gaps = await frames;
  const trace = JSON.parse((await browser.stopTracing()).toString());
  return { p95: part(gaps, 0.95), median: part(gaps, 0.5), ...longestTask(trace.traceEvents) };
}

/** By the clock and in processor time, of the thread that draws the page. */
function longestTask(events) {
  const main = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = events.filter(
    ({ name, pid, tid }) => name.endsWith('RunTask') && main.has(`${pid} ${tid}`),
  );
  const most = (of) => tasks.reduce((max, task) => Math.max(max, (of(task) ?? 0) / 1000), 0);
  return { taskMs: most(({ dur }) => dur), taskCpuMs: most(({ tdur }) => tdur) };
}

/** Private memory of the process that shows the page, in MB. */
async function memoryOf(browser, page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  await devtools.detach();
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const sizes = await Promise.all(
    processInfo
      .filter(({ type }) => type === 'renderer')
      .map(async ({ id }) => {
        const text = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '');
        return Number(/RssAnon:\s+(\d+)/.exec(text)?.[1] ?? Number.NaN) / 1024;
      }),
  );
  return Math.max(...sizes);
}

/** Turns the wheel in small steps. */
async function wheel(page, count, pixels) {
  for (let at = 0; at < count; at++) {
    await page.mouse.wheel(0, at < count / 2 ? pixels : -pixels);
    await page.waitForTimeout(16);
  }
}

async function listOfRuns(browser, page, url) {
  await page.goto(`${url}#/nothing`);
  await page.waitForTimeout(500);
  const firstMs = await page.evaluate(async () => {
    const before = performance.now();
    location.hash = '#/';
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    while (document.querySelector('.run-row') === null) await frame();
    await frame();
    return performance.now() - before;
  });
  await page.waitForTimeout(1000);
  await page.mouse.move(600, 600);
  const scroll = await measured(browser, page, 120, () => wheel(page, 90, 240));
  await page.evaluate(() => document.querySelector('.table-frame').scrollTo(0, 0));
  await page.waitForTimeout(500);
  const sortMs = await untilOtherRow(page, undefined);
  // Every eighth run.
  const filterMs = await untilOtherRow(page, 'config.seed = 4 and tag:baseline');
  return { firstMs, scroll, sortMs, filterMs };
}

/** From the line that is typed, or a click on the head of the loss, to the frame after the one whose first row is another run. */
async function untilOtherRow(page, line) {
  return page.evaluate(async (typed) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const first = () => document.querySelector('.run-row')?.dataset.run;
    const row = first();
    const before = performance.now();
    if (typed === undefined)
      [...document.querySelectorAll('thead .sort')]
        .find((head) => head.textContent.startsWith('Loss'))
        .click();
    else {
      const field = document.querySelector('#runs-query');
      field.focus();
      field.value = typed;
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
    }
    while (first() === row) await frame();
    await frame();
    return performance.now() - before;
  }, line);
}

async function longRun(browser, page, url, runId) {
  await page.goto(`${url}#/nothing`);
  await page.waitForTimeout(500);
  const firstMs = await page.evaluate(async (path) => {
    const before = performance.now();
    location.hash = path;
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const isDrawn = () => Number(document.querySelector('.chart')?.dataset.drawn ?? 0) > 0;
    while (!isDrawn()) await frame();
    await frame();
    return performance.now() - before;
  }, `#/runs/${runId}`);
  await page.mouse.move(400, 700);
  const reading = await measured(browser, page, 240, () => wheel(page, 120, 200));
  const began = performance.now();
  const wanted = `${POINTS.toLocaleString('en-US')} points`;
  await page.evaluate(() => scrollTo(0, 0));
  await page.waitForFunction(
    (text) => (document.querySelector('.chart')?.ariaLabel ?? '').includes(text),
    wanted,
    { timeout: 1_200_000, polling: 500 },
  );
  const readMs = performance.now() - began;
  await page.waitForTimeout(2000);
  const scroll = await measured(browser, page, 240, () => wheel(page, 120, 200));
  await page.evaluate(() => scrollTo(0, 0));
  const plot = page.locator('.u-over').first();
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
  await page.keyboard.down('Control');
  const zoom = await measured(browser, page, 180, () => wheel(page, 90, -60));
  await page.keyboard.up('Control');
  return { firstMs, reading, readMs, scroll, zoom };
}

const given = process.env.QUARK_BENCH_PAGE_STORE;
const folder = given ?? (await mkdtemp(join(tmpdir(), 'quark-bench-page-')));
const noted = join(folder, 'bench-page.txt');
const browser = await chromium.launch({
  executablePath: await findChromium(),
  args: CHROMIUM_ARGS,
});
try {
  const before = performance.now();
  const isThere = existsSync(noted);
  const runId = isThere ? await readFile(noted, 'utf8') : await record(folder);
  await writeFile(noted, runId);
  if (!isThere) console.log(`recorded in ${((performance.now() - before) / 1000).toFixed(0)} s`);
  const service = await serve(folder);
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(120_000);
  await page.addInitScript(watchPage);
  const runs = await listOfRuns(browser, page, service.url);
  const run = await longRun(browser, page, service.url, runId);
  const memory = await memoryOf(browser, page);
  const shift = await page.evaluate(() => globalThis.shift);
  service.stop();
  const row = (what, value, unit, target) => ({ what, value, unit, ...(target && { target }) });
  const moving = (what, { median, p95, taskCpuMs, taskMs }) => [
    row(`${what}: frame, median`, median, 'ms'),
    row(`${what}: frame, p95`, p95, 'ms', 'at most 20'),
    row(`${what}: longest task, by the clock`, taskMs, 'ms', 'at most 50'),
    row(`${what}: longest task, processor time`, taskCpuMs, 'ms'),
  ];
  await report('page', [
    row(`load of the machine (two cores)`, loadavg()[0], 'processes'),
    row(`list of ${RUNS} runs: first row`, runs.firstMs, 'ms', 'at most 300'),
    ...moving('list: scrolling', runs.scroll),
    row('list: sorted by loss', runs.sortMs, 'ms', 'at most 100'),
    row('list: filtered by configuration and tag', runs.filterMs, 'ms', 'at most 100'),
    row(`run of ${METRICS} x ${POINTS}: first chart`, run.firstMs, 'ms', 'at most 500'),
    ...moving('run: scrolling while it is read', run.reading),
    row('run: all of it read', run.readMs / 1000, 's'),
    ...moving('run: scrolling', run.scroll),
    ...moving('run: zooming with the wheel', run.zoom),
    row('memory of the page', memory, 'MB', 'at most 500'),
    row('layout shift', shift, '', 'at most 0.02'),
  ]);
} finally {
  await browser.close();
  if (given === undefined) await rm(folder, { recursive: true, force: true });
}
