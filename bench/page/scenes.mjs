// What is done with the page while it is measured. Each scene gives its figures by their names in `FIGURES` of page.mjs.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { measured, memoryOf, requestsBeforeFirstRow, traced, wheel } from './measures.mjs';

/** How long anything is waited for. */
const PATIENCE_MS = 60_000;

/** The first load of the list, with nothing in the cache. */
export async function firstLoad({ page, url }) {
  await page.goto(`${url}#/`);
  await page.waitForSelector('.run-row');
  // What began before has ended by then.
  await page.waitForTimeout(500);
  const { count, kB } = await page.evaluate(requestsBeforeFirstRow);
  return { loadRequests: count, loadKb: kB };
}

/** The list, with its code loaded. */
export async function listOfRuns({ browser, page, url }) {
  await page.goto(`${url}#/nothing`);
  await page.waitForTimeout(500);
  const first = await untilRow(page);
  await page.waitForTimeout(1000);
  await page.mouse.move(600, 600);
  const scroll = await measured(browser, page, 120, () => wheel(page, 90, 240));
  await page.evaluate(() => document.querySelector('.table-frame').scrollTo(0, 0));
  await page.waitForTimeout(500);
  const sort = await untilOtherRow(page, undefined);
  // Every eighth run.
  const filter = await untilOtherRow(page, 'config.seed = 4 and tag:baseline');
  return { first, ...moved('scroll', scroll), sort, filter };
}

/** From the change of the address to the frame after the one with the first row. */
function untilRow(page) {
  return page.evaluate(async () => {
    const before = performance.now();
    location.hash = '#/';
    while (document.querySelector('.run-row') === null) await globalThis.frame();
    await globalThis.frame();
    return performance.now() - before;
  });
}

/** From the line that is typed, or a click on the head of the loss, to the frame after the one whose first row is another run. */
async function untilOtherRow(page, line) {
  return page.evaluate(
    async ({ typed, patience }) => {
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
      while (first() === row) {
        if (performance.now() - before > patience) throw new Error('No other row came.');
        await globalThis.frame();
      }
      await globalThis.frame();
      return performance.now() - before;
    },
    { typed: line, patience: PATIENCE_MS },
  );
}

/** The same list in the database of the browser. */
export async function listInBrowser({ browser, page, url, dist }) {
  await page.route('**/bench-sdk/*', async (route) => {
    const name = new URL(route.request().url()).pathname.split('/').at(-1);
    const body = await readFile(join(dist, name));
    await route.fulfill({ body, contentType: 'text/javascript' });
  });
  await page.goto(`${url}#/nothing`);
  await page.evaluate(async (served) => {
    const { openStorage } = await import(new URL('bench-sdk/index.js', location.href).href);
    const from = await openStorage(served);
    const to = await openStorage('idb:quark');
    for (const { id, name } of await from.listProjects())
      await to.ensureProject({ id, name, createdAtMs: 1 });
    const runs = await from.listRuns({});
    for (let at = 0; at < runs.length; at += 200)
      await Promise.all(
        runs.slice(at, at + 200).map((run) => to.createRun(run).catch(() => undefined)),
      );
    await from.close();
    await to.close();
    localStorage.setItem('quark.source', 'browser');
  }, url);
  await page.reload();
  await page.waitForTimeout(1000);
  const found = await listOfRuns({ browser, page, url });
  await page.evaluate(() => localStorage.removeItem('quark.source'));
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [`idb.${name}`, value]));
}

/** The long run: its first chart, scrolling while it is read, all samples of a chart, scrolling and zooming. */
export async function longRun({ browser, page, url, runId, points }) {
  const first = await firstChart(page, url, runId);
  // Once more, as tracing takes time, too. What the list did before is not part of it.
  await page.reload();
  await listShown(page, url);
  const tracing = await traced(browser, page);
  await chartAfter(page, runId);
  const { taskMs, taskCpuMs } = await tracing.end();
  const began = performance.now();
  await page.mouse.move(400, 700);
  const reading = await measured(browser, page, 240, () => wheel(page, 120, 200));
  await page.evaluate(() => scrollTo(0, 0));
  // A build that holds fewer points of a long run than there are never comes to it.
  const isRead = await page
    .waitForFunction(hasAllSamples, points.toLocaleString('en-US'), {
      timeout: PATIENCE_MS,
      polling: 100,
    })
    .then(
      () => true,
      () => false,
    );
  const read = isRead ? (performance.now() - began) / 1000 : Number.NaN;
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
  await page.locator('.u-over').first().dblclick();
  const smooth = await measured(browser, page, 180, () => smoothed(page));
  return {
    'run.first': first,
    'run.firstTask': taskMs,
    'run.firstTaskCpu': taskCpuMs,
    ...moved('run.reading', reading),
    'run.read': read,
    ...moved('run.scroll', scroll),
    ...moved('run.zoom', zoom),
    ...moved('run.smooth', smooth),
    memory: await memoryOf(browser, page),
    shift: await page.evaluate(() => globalThis.shift),
  };
}

/** Chooses the dearest smoothing, and moves its weight. */
async function smoothed(page) {
  const slider = page.getByRole('slider', { name: 'Smoothing' }).first();
  await slider.fill('0.6');
  await page.getByRole('combobox', { name: 'Kind of smoothing' }).first().selectOption('Gaussian');
  for (const weight of ['0.5', '0.7', '0.9', '0.95', '0']) {
    await slider.fill(weight);
    await page.waitForTimeout(400);
  }
}

/** In the page: whether the first chart names all points, and has a badge of fewer no longer. */
function hasAllSamples(count) {
  const panel = document.querySelector('.chart')?.closest('.panel');
  if (!(panel?.querySelector('.chart')?.ariaLabel ?? '').includes(`${count} points`)) return false;
  return ![...panel.querySelectorAll('.badge')].some(({ textContent }) =>
    / of .* points/.test(textContent ?? ''),
  );
}

function moved(name, { median, p95, taskCpuMs, taskMs }) {
  return {
    [`${name}.median`]: median,
    [`${name}.p95`]: p95,
    [`${name}.task`]: taskMs,
    [`${name}.taskCpu`]: taskCpuMs,
  };
}

/** From the list to the run: from the change of the address to the frame after the first drawn points. */
async function firstChart(page, url, runId) {
  await listShown(page, url);
  return chartAfter(page, runId);
}

/** The list, on the screen for two seconds. */
async function listShown(page, url) {
  await page.goto(`${url}#/`);
  await page.waitForSelector('.run-row');
  await page.waitForTimeout(2000);
  await page.evaluate(() => {
    globalThis.shift = 0;
    globalThis.shifted = [];
  });
}

/** Goes to the run; how long it takes until its first chart is drawn. */
function chartAfter(page, runId) {
  return page.evaluate(async (path) => {
    const before = performance.now();
    location.hash = path;
    const isDrawn = () => Number(document.querySelector('.chart')?.dataset.drawn ?? 0) > 0;
    while (!isDrawn()) await globalThis.frame();
    await globalThis.frame();
    return performance.now() - before;
  }, `#/runs/${runId}`);
}
