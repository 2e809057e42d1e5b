/** The training page in a browser of its own: trains, is reloaded, is killed in the middle, goes on. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Browser, BrowserContext, Page } from 'playwright';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  collectErrors,
  countColor,
  launchBrowser,
  panel,
  PATIENCE_MS,
  pointCount,
  serveFiles,
  TRAIN_COLOR,
  VAL_COLOR,
} from './demo-browser.ts';
import { longTest } from '../support/long.ts';

const LIMIT_MS = 300_000;
/** A whole training on a loaded machine without a GPU. */
const TRAINING_MS = 150_000;
/** Short, so that a killed tab shows soon; long enough for a busy one to renew it. */
const LEASE_TTL_MS = 4000;
/** Of the images that lie beside the page: an epoch takes a quarter of the time. */
const IMAGES = 500;
const BATCH_SIZE = 32;
/** Of the training that is killed: enough that it is still going on then. */
const EPOCHS = 6;
/** Of a training that is stopped: so many that it does not end by itself. */
const MANY_EPOCHS = 300;
/** A fifth of the images is for validation. */
const BATCHES_PER_EPOCH = Math.ceil((IMAGES * 0.8) / BATCH_SIZE);

/** The first of the images, as the page fetches them. */
function fewImages(): Buffer {
  const all = readFileSync(join(import.meta.dirname, '../../demo/public/digits.csv.gz'));
  return gzipSync(gunzipSync(all).toString().split('\n').slice(0, IMAGES).join('\n'));
}

describe('the training page', () => {
  let browser: Browser;
  let server: { url: string; close: () => Promise<void> };
  let context: BrowserContext;
  let page: Page;
  let errors: string[];
  const images = fewImages();

  beforeAll(async () => {
    server = await serveFiles();
    browser = await launchBrowser();
  }, LIMIT_MS);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });
  beforeEach(async () => {
    context = await browser.newContext({
      viewport: { width: 1280, height: 1000 },
      colorScheme: 'light',
      locale: 'en-US',
    });
    await context.route('**/digits.csv.gz', (route) => route.fulfill({ body: images }));
    ({ page, errors } = await openTab());
  });
  afterEach(() => context.close());

  async function openTab(): Promise<{ page: Page; errors: string[] }> {
    const tab = await context.newPage();
    tab.setDefaultTimeout(PATIENCE_MS);
    return { page: tab, errors: collectErrors(tab) };
  }

  /** Without a GPU `cpu` is the quickest for so small a network. */
  const address = (hash: string, backend: string = '&backend=cpu'): string =>
    `${server.url}?leaseTtlMs=${LEASE_TTL_MS}${backend}${hash}`;

  async function start(
    epochs: number,
    backend?: string,
    batchSize: number = BATCH_SIZE,
  ): Promise<string> {
    await page.goto(address('#/train', backend));
    await page.getByLabel('Epochs', { exact: true }).fill(String(epochs));
    await page.getByLabel('Batch size', { exact: true }).fill(String(batchSize));
    await page.getByRole('button', { name: 'Start training' }).click();
    await page.locator('section[data-run]').waitFor();
    return (await page.locator('section[data-run]').getAttribute('data-run')) ?? '';
  }

  /** The train loss that the panel has, once it has at least this many points. */
  async function lossPoints(atLeast: number): Promise<number> {
    await panel(page, 'loss').locator('canvas').waitFor();
    await expect
      .poll(() => pointCount(page, 'loss', 'train/loss'), { timeout: TRAINING_MS })
      .toBeGreaterThanOrEqual(atLeast);
    return pointCount(page, 'loss', 'train/loss');
  }

  longTest(
    'says when recording stops and when it works again, and trains to the end meanwhile',
    { timeout: LIMIT_MS },
    async () => {
      const cdp = await context.newCDPSession(page);
      const { origin } = new URL(server.url);
      await cdp.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 6_000_000 });
      await page.goto(address('#/train'));
      await page.getByRole('button', { name: 'Start training' }).waitFor();
      await page.evaluate(fillStorage);
      await start(2);
      const notice = page.locator('[data-recording="stopped"]');
      await notice.waitFor();
      expect(await notice.getByRole('alert').textContent()).toMatch(
        /Recording has stopped; training goes on\. .*quota/,
      );
      // Below what the ballast takes: a compaction of the browser's database frees nothing then.
      await cdp.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1_000_000 });
      await page.locator('[data-outcome="completed"]').waitFor({ timeout: TRAINING_MS });
      expect(await page.getByTestId('recording-waits').textContent()).toMatch(
        /rows wait in memory/,
      );
      await cdp.send('Storage.overrideQuotaForOrigin', { origin });
      await page.evaluate(() => indexedDB.deleteDatabase('ballast'));
      await page.locator('[data-recording="resumed"]').waitFor();
      expect(await page.locator('[data-recording]').textContent()).toMatch(
        /works again\. Nothing is missing\./,
      );
      await lossPoints(20);
      expect(errors).toEqual([]);
    },
  );

  it(
    'trains, draws while it trains, and has the run after a reload',
    { timeout: LIMIT_MS },
    async () => {
      const runId = await start(2);
      await lossPoints(3);
      await expect.poll(() => countColor(page, 'loss', TRAIN_COLOR)).toBeGreaterThan(30);
      await expect.poll(() => page.getByRole('progressbar').count()).toBe(1);
      await page.locator('.progress[data-outcome="completed"]').waitFor({ timeout: TRAINING_MS });
      await lossPoints(2 * BATCHES_PER_EPOCH);
      await expect.poll(() => page.locator('.guesses li').count()).toBe(30);
      await expect
        .poll(() => page.locator('.guesses header').innerText())
        .toMatch(/\d+ of 30 right/);

      await page.reload();
      await page.goto(address(`#/runs/${runId}`));
      expect(await lossPoints(1)).toBe(2 * BATCHES_PER_EPOCH);
      await expect.poll(() => pointCount(page, 'loss', 'val/loss')).toBe(2);
      await expect.poll(() => countColor(page, 'loss', TRAIN_COLOR)).toBeGreaterThan(100);
      await expect.poll(() => countColor(page, 'loss', VAL_COLOR)).toBeGreaterThan(30);
      await expect.poll(() => page.locator('.run-title .status').innerText()).toBe('Completed');
      expect(await page.getByRole('link', { name: 'Resume' }).count()).toBe(0);
      await page.getByRole('link', { name: 'Layers' }).click();
      await page.locator('.heat-label').first().waitFor();
      expect(await page.locator('.heat-label').allInnerTexts()).toEqual([
        'conv1_input',
        'conv1',
        'conv2',
        'pool',
        'flatten',
        'hidden',
        'digit',
      ]);
      await page.getByRole('button', { name: 'hidden', exact: true }).click();
      await page.locator('[data-histogram="hidden/kernel value"]').waitFor();
      await page.getByRole('link', { name: 'Batches' }).click();
      await page.getByRole('region', { name: 'Class exposure' }).waitFor();
      await page.goto(address('#/'));
      await page.locator(`.run-row[data-run="${runId}"]`).waitFor();
      expect(errors).toEqual([]);
    },
  );

  longTest('records only what is switched on', { timeout: LIMIT_MS }, async () => {
    await page.goto(address('#/train'));
    await page.getByLabel('Epochs', { exact: true }).fill('1');
    await page.getByLabel('Batch size', { exact: true }).fill(String(BATCH_SIZE));
    for (const name of ['Activations and gradients', 'Histograms', 'Machine', 'Batches'])
      await page.getByRole('switch', { name }).click();
    expect(await page.getByRole('switch', { name: 'Parameters' }).isChecked()).toBe(true);
    expect(await page.getByRole('switch', { name: 'Machine' }).isChecked()).toBe(false);
    await page.getByRole('button', { name: 'Start training' }).click();
    await page.locator('.progress[data-outcome="completed"]').waitFor({ timeout: TRAINING_MS });
    await page.getByRole('link', { name: 'Its layers' }).click();
    await page.locator('.heat-label').first().waitFor();
    expect(await page.locator('.quantities .chip').allInnerTexts()).toEqual([
      'Weight gradient',
      'Update ratio',
    ]);
    await page.getByRole('button', { name: 'hidden', exact: true }).click();
    await page.getByRole('heading', { name: 'No histograms of this layer' }).waitFor();
    await page.getByRole('link', { name: 'Machine' }).click();
    await page.getByRole('heading', { name: 'The machine was not watched' }).waitFor();
    await page.getByRole('link', { name: 'Batches' }).click();
    await page.getByRole('heading', { name: 'No batches were recorded' }).waitFor();
    expect(errors).toEqual([]);
  });

  longTest(
    'keeps what was flushed when the tab is killed, and goes on',
    { timeout: LIMIT_MS },
    async () => {
      const runId = await start(EPOCHS);
      // Slowed down, so that a quick machine is not done before it is killed.
      const protocol = await context.newCDPSession(page);
      await protocol.send('Emulation.setCPUThrottlingRate', { rate: 3 });
      // Into the second epoch: the checkpoint of the first is there, and batches after it.
      const seen = await lossPoints(BATCHES_PER_EPOCH + 3);
      const crashed = page.waitForEvent('crash');
      // A tab that is gone answers nothing.
      void protocol.send('Page.crash').catch(() => undefined);
      await crashed;

      ({ page, errors } = await openTab());
      await page.goto(address(`#/runs/${runId}`));
      expect(await lossPoints(1)).toBeGreaterThanOrEqual(seen);
      await expect
        .poll(() => page.locator('.run-title .status').innerText(), { timeout: PATIENCE_MS })
        .toBe('Interrupted');
      await page.getByRole('link', { name: 'Resume' }).click();
      await page.locator('.progress[data-outcome="completed"]').waitFor({ timeout: TRAINING_MS });

      await page.getByRole('link', { name: 'Open the run' }).click();
      await page.getByRole('heading', { name: 'digits-in-browser', level: 1 }).waitFor();
      await expect
        .poll(() => page.locator('.run-title .status').innerText(), { timeout: PATIENCE_MS })
        .toBe('Completed');
      // No step is missing; those between the checkpoint and the kill were written twice and count once.
      expect(await lossPoints(1)).toBe(EPOCHS * BATCHES_PER_EPOCH);
      await expect.poll(() => page.locator('.facts').innerText()).toMatch(/resumed\s+1 time/);
      const events = await page.locator('.event').allInnerTexts();
      expect(events.join('\n')).toMatch(/Going on from the checkpoint after epoch \d+/);
      await expect.poll(() => pointCount(page, 'loss', 'val/loss')).toBe(EPOCHS);
      expect(errors).toEqual([]);
    },
  );

  it(
    'shows alerts while it trains, stops when asked, offers to resume, and refuses senseless settings',
    { timeout: LIMIT_MS },
    async () => {
      await page.goto(address('#/train'));
      await page.getByLabel('Epochs', { exact: true }).fill('0');
      await page.getByText('from 1 to 500').waitFor();
      expect(await page.getByRole('button', { name: 'Start training' }).isDisabled()).toBe(true);
      await page.getByRole('button', { name: 'Epochs 60' }).click();
      // Far too high: the rules have something to say within some fifty steps.
      await page.getByLabel('Learning rate', { exact: true }).fill('10');
      await page.getByRole('button', { name: 'Start training' }).click();
      await page.locator('section[data-run]').waitFor();
      const runId = (await page.locator('section[data-run]').getAttribute('data-run')) ?? '';
      await lossPoints(2);
      const alerts = page.getByRole('region', { name: 'Alerts' });
      await alerts.locator('.alert').first().waitFor({ timeout: TRAINING_MS });
      expect(await page.locator('.progress[data-outcome="training"]').count()).toBe(1);
      await expect
        .poll(() => alerts.locator('.severity').first().innerText())
        .toMatch(/^(warning|error|critical)$/);
      const showAll = page.getByRole('button', { name: 'Show all' });
      await alerts
        .getByRole('button', { name: /^since step \d/ })
        .last()
        .click();
      await expect.poll(() => showAll.isEnabled()).toBe(true);
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.locator('.progress[data-outcome="interrupted"]').waitFor();
      await page.locator(`.resumable li[data-run="${runId}"]`).waitFor();
      await page.getByRole('link', { name: 'Open the run' }).click();
      await expect
        .poll(() => page.locator('.run-title .status').innerText(), { timeout: PATIENCE_MS })
        .toBe('Interrupted');
      await page.locator('.event[data-type="alert"]').first().waitFor();
      expect(errors).toEqual([]);
    },
  );

  longTest(
    'goes on training while another page of it is looked at',
    { timeout: LIMIT_MS },
    async () => {
      await start(MANY_EPOCHS);
      await lossPoints(2);
      await page.getByRole('link', { name: 'Runs', exact: true }).click();
      const loss = page.locator('.run-row .status-live');
      await loss.waitFor();
      const before = await page.locator('.run-row .loss-value').innerText();
      await expect
        .poll(() => page.locator('.run-row .loss-value').innerText(), { timeout: PATIENCE_MS })
        .not.toBe(before);
      await page.getByRole('link', { name: /^Train/ }).click();
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.locator('.progress[data-outcome="interrupted"]').waitFor();
      expect(errors).toEqual([]);
    },
  );

  longTest(
    'keeps what was recorded when the page is reloaded in the middle',
    { timeout: LIMIT_MS },
    async () => {
      const runId = await start(MANY_EPOCHS);
      const seen = await lossPoints(BATCHES_PER_EPOCH);
      await page.reload();
      await page.goto(address(`#/runs/${runId}`));
      expect(await lossPoints(1)).toBeGreaterThanOrEqual(seen);
      await expect
        .poll(() => page.locator('.run-title .status').innerText(), { timeout: PATIENCE_MS })
        .toBe('Interrupted');
      await page.getByRole('link', { name: 'Resume' }).waitFor();
    },
  );

  longTest(
    'trains on WebGL where there is one, else on what there is',
    { timeout: LIMIT_MS },
    async () => {
      await start(1, '', 512);
      await page.locator('.progress[data-outcome="completed"]').waitFor({ timeout: TRAINING_MS });
      await expect.poll(() => page.locator('.progress').innerText()).toContain('webgl');

      await context.addInitScript(() => {
        const refuse = (kind: string): boolean => kind.includes('webgl');
        for (const canvas of [HTMLCanvasElement.prototype, OffscreenCanvas.prototype]) {
          const getContext = canvas.getContext as (kind: string, options?: unknown) => unknown;
          Object.defineProperty(canvas, 'getContext', {
            value(this: HTMLCanvasElement, kind: string, options?: unknown) {
              return refuse(kind) ? null : getContext.call(this, kind, options);
            },
          });
        }
      });
      ({ page, errors } = await openTab());
      await start(1, '', 512);
      await page.locator('.progress[data-outcome="completed"]').waitFor({ timeout: TRAINING_MS });
      await expect.poll(() => page.locator('.progress').innerText()).toContain('cpu');
    },
  );
});

/** Takes all room that the site has. */
async function fillStorage(): Promise<void> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const opening = indexedDB.open('ballast');
    opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore('all'));
    opening.addEventListener('success', () => resolve(opening.result));
    opening.addEventListener('error', () => reject(new Error('no ballast')));
  });
  let size = 500_000;
  for (let key = 0; size > 1000; key++) {
    const transaction = database.transaction('all', 'readwrite');
    const fits = new Promise<boolean>((resolve) => {
      transaction.addEventListener('complete', () => resolve(true));
      transaction.addEventListener('abort', () => resolve(false));
    });
    const noise = new Uint8Array(size);
    for (let at = 0; at < size; at += 65_536)
      crypto.getRandomValues(noise.subarray(at, Math.min(size, at + 65_536)));
    transaction.objectStore('all').put(noise, key);
    if (!(await fits)) size >>= 1;
  }
  database.close();
}
