/**
 * Three tasks that somebody does who sees the page for the first time: by visible texts alone, from the start page, in a counted
 * number of steps. A step is a click, a text that is typed, or a key.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { listRuns, MetricsLogger, openStorage, TrainingSession, type Store } from 'quark-sdk';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import { layerRow, parameterRow, writeProbeRows } from '../support/probe-rows.ts';
import { checkBuilt, collectErrors, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';

const LIMIT_MS = 3 * PATIENCE_MS;
const RATES = [0.3, 0.1, 0.03, 0.01];
const LAYERS = ['embedding', 'encoder', 'head'];
const BROKEN_STEP = 140;
/** The last letters of the name of the best run: in the list, names are cut before them. */
const BEST_END = '16, seed 1';

let folder: string;
let service: ServedService;
let store: Store;
let browser: Browser;
let page: Page;
let errors: string[];
let steps = 0;

/** One of 24 runs: four rates, three batch sizes, two seeds. The rate decides; a rate of 0.03 is best. */
async function recordOfSweep(target: Store, at: number): Promise<void> {
  const rate = RATES[at % 4] ?? 0;
  const batchSize = [16, 32, 64][Math.floor(at / 4) % 3] ?? 0;
  const seed = Math.floor(at / 12);
  const session = await TrainingSession.startRun({
    project: 'sweep',
    name: `rate ${rate}, batch ${batchSize}, seed ${seed}`,
    config: { rate, batchSize, seed, epochs: 4 },
    storage: target,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  const end = 0.2 + Math.abs(Math.log10(rate / 0.03)) / 2 + ((at * 7) % 24) / 1000;
  for (let step = 0; step < 60; step += 1)
    metrics.log('val/loss', end + 2 * Math.exp(-step / 12), { step });
  await session.endRun('completed');
}

/** A run whose encoder explodes and then has values that are no numbers, while the layers before it are well. */
async function recordBroken(target: Store): Promise<void> {
  const session = await TrainingSession.startRun({
    project: 'translation',
    name: 'the run that broke',
    storage: target,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 200; step += 1)
    metrics.log('train/loss', step < BROKEN_STEP ? 2 * Math.exp(-step / 80) : Number.NaN, { step });
  const probed = Array.from({ length: 20 }, (_, at) => at * 10);
  await writeProbeRows(session, {
    layers: probed.flatMap((step) =>
      LAYERS.map((moduleName, at) =>
        layerRow({ moduleName, step, nonFiniteCount: at > 0 && step >= BROKEN_STEP ? 8 : 0 }),
      ),
    ),
    parameters: probed.flatMap((step) =>
      LAYERS.map((moduleName, at) =>
        parameterRow({
          moduleName,
          parameterName: `${moduleName}/kernel`,
          step,
          gradientNorm: at === 1 && step >= BROKEN_STEP - 40 ? 0.5 * 6 ** ((step - 90) / 10) : 0.5,
        }),
      ),
    ),
  });
  await session.endRun('failed');
}

beforeAll(async () => {
  checkBuilt();
  folder = mkdtempSync(join(tmpdir(), 'quark-tasks-'));
  const local = await openStorage(`file:${folder}`);
  await recordBroken(local);
  for (let at = 0; at < 24; at += 1) await recordOfSweep(local, at);
  await local.close();
  service = await serveService({ storage: folder, dashboardDir: DEMO_DIR });
  store = await openStorage(service.url);
  browser = await launchBrowser();
}, LIMIT_MS);

afterAll(async () => {
  await browser?.close();
  await store?.close();
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
  page.setDefaultTimeout(PATIENCE_MS);
  errors = collectErrors(page);
  steps = 0;
  await page.goto(service.url);
  await page.getByText('25 recorded').waitFor();
});

afterEach(async () => {
  expect(errors).toEqual([]);
  await page.close();
});

const button = (name: string): Locator => page.getByRole('button', { name, exact: true });
async function click(target: Locator): Promise<void> {
  steps += 1;
  await target.click();
}
async function type(target: Locator, text: string): Promise<void> {
  steps += 1;
  await target.fill(text);
}
async function press(key: string): Promise<void> {
  steps += 1;
  await page.keyboard.press(key);
}
/** The first run of the list. */
const firstRow = (): Promise<string> =>
  page.getByRole('grid', { name: 'Runs' }).getByRole('row').nth(1).innerText();

it(
  'finds the best run of a sweep, and what set it apart, in six steps',
  { timeout: LIMIT_MS },
  async () => {
    await click(page.getByRole('group', { name: 'Filter by status' }).getByText('Completed'));
    await click(button('Loss'));
    await expect.poll(firstRow).toContain(BEST_END);
    await click(button('What differs'));
    // In which settings the runs differ, and which the best one has.
    for (const name of [/^rate/, /^batchSize/, /^seed/])
      await page.getByRole('columnheader', { name }).waitFor();
    expect(await page.getByRole('columnheader', { name: /^epochs/ }).count()).toBe(0);
    await expect.poll(firstRow).toMatch(/0\.03/);
    await click(page.getByRole('checkbox', { name: 'Pick all runs of the filter' }));
    await click(page.getByRole('link', { name: 'Compare', exact: true }));
    await click(page.getByRole('tab', { name: 'Importance' }));
    const table = page.getByRole('region', { name: 'Table of importance' });
    await expect
      .poll(() => table.getByRole('row').nth(1).innerText(), { timeout: PATIENCE_MS })
      .toMatch(/^rate\s.*yes$/s);
    expect(await table.getByRole('row').nth(2).innerText()).not.toMatch(/yes$/);
    expect(steps).toBeLessThanOrEqual(6);
  },
);

it('finds when and in which layer a run broke, in three steps', { timeout: LIMIT_MS }, async () => {
  await click(page.getByRole('group', { name: 'Filter by status' }).getByText('Failed'));
  await click(page.getByRole('link', { name: 'the run that broke' }));
  await click(page.getByRole('link', { name: 'Analysis' }));
  const alerts = page.getByRole('region', { name: 'Alerts' });
  await alerts.getByText('critical').first().waitFor();
  await alerts.getByText('Non-finite numbers, first in encoder').waitFor();
  expect(await alerts.innerText()).toContain(
    'NaN or infinity was seen first at step 140 in the output of the layer encoder',
  );
  expect(steps).toBeLessThanOrEqual(3);
});

it(
  'cleans up: names, tags, exports what is worth it and archives the rest, in 17 steps',
  { timeout: LIMIT_MS },
  async () => {
    await click(page.getByRole('group', { name: 'Filter by status' }).getByText('Completed'));
    await click(button('Loss'));
    await expect.poll(firstRow).toContain(BEST_END);
    const first = page.getByRole('grid', { name: 'Runs' }).getByRole('row').nth(1);

    await click(first.getByRole('button', { name: /^Actions for/ }));
    await click(page.getByRole('menuitem', { name: 'Rename' }));
    await type(page.getByLabel('Name of the run'), 'for the paper');
    await press('Enter');
    await page.getByRole('link', { name: 'for the paper' }).waitFor();

    await click(first.getByRole('checkbox'));
    await click(button('Tag'));
    await type(page.getByLabel('Tags, separated by commas'), 'paper');
    await press('Enter');
    await page.getByText('tagged 1 run with paper').waitFor();

    await click(
      page.getByRole('region', { name: 'Picked runs' }).getByRole('button', { name: 'Export' }),
    );
    const download = page.waitForEvent('download');
    await click(button('Runs as a .quark file'));
    const file = await download;
    expect(file.suggestedFilename()).toMatch(/\.quark$/);
    expect(readFileSync(await file.path()).length).toBeGreaterThan(1000);
    await click(button('Close'));

    await click(button('All of the filter'));
    await page.getByText('24 runs picked').waitFor();
    await click(first.getByRole('checkbox'));
    await page.getByText('23 runs picked').waitFor();
    await click(
      page.getByRole('region', { name: 'Picked runs' }).getByRole('button', { name: 'Archive' }),
    );
    await expect
      .poll(() => page.getByRole('grid', { name: 'Runs' }).getByRole('row').count())
      .toBe(2);
    expect(steps).toBeLessThanOrEqual(17);

    const stored = await listRuns(store, { project: 'sweep' });
    expect(stored.map(({ run }) => [run.name, run.tags])).toEqual([['for the paper', ['paper']]]);
    expect(await listRuns(store, { project: 'sweep', archived: 'any' })).toHaveLength(24);
  },
);
