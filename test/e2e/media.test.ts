/** Media and artifacts of recorded runs on the page, one path through each view. */
import { readFile } from 'node:fs/promises';
import type { Browser, Locator, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMemoryStore, startRun, type Store } from 'quark-sdk';
import { MediaLogger } from 'quark-sdk/media';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import { recordMediaRun } from '../support/media-run.ts';
import { checkBuilt, collectErrors, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';

const LIMIT_MS = 240_000;

describe('media of a run', () => {
  let browser: Browser;
  let page: Page;
  let errors: string[];
  let store: Store;
  let server: ServedStore;
  let runId: string;

  beforeAll(async () => {
    checkBuilt();
    store = createMemoryStore();
    runId = await recordMediaRun(store, { name: 'first' });
    server = await serveStore({ store, dashboardDir: DEMO_DIR });
    browser = await launchBrowser();
    page = await browser.newPage({
      viewport: { width: 1280, height: 900 },
      colorScheme: 'light',
      locale: 'en-US',
    });
    page.setDefaultTimeout(PATIENCE_MS);
    errors = collectErrors(page);
  }, LIMIT_MS);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await store?.close();
  });

  const openMedia = async (kind: string): Promise<void> => {
    await page.goto(`${server.url}#/runs/${runId}?view=media&media=${kind}`);
    await page.getByRole('group', { name: 'Kind of media' }).waitFor();
  };
  const panel = (name: string): Locator => page.getByRole('region', { name, exact: true });

  it(
    'has images at a step, chosen by keys, with boxes, and enlarged',
    { timeout: LIMIT_MS },
    async () => {
      await openMedia('images');
      const ring = panel('samples/ring');
      await ring.locator('img').waitFor();
      // The file of 28 pixels a side, from a Blob.
      expect(
        await ring.locator('img').evaluate(async (image) => {
          if (!(image instanceof HTMLImageElement)) return undefined;
          await image.decode();
          return [image.naturalWidth, image.src.slice(0, 5)];
        }),
      ).toEqual([28, 'blob:']);
      await ring.getByText('step 300', { exact: true }).waitFor();
      await ring.getByText('ring 0.9').waitFor();
      await page.getByRole('slider', { name: 'Step' }).focus();
      await page.keyboard.press('Home');
      await ring.getByText('step 0', { exact: true }).waitFor();
      // Away from the slider, which has keys of its own.
      await page.getByRole('heading', { level: 1 }).click();
      await page.keyboard.press('.');
      await ring.getByText('step 100', { exact: true }).waitFor();
      await expect.poll(() => page.url()).toContain('media-step=100');
      await page.getByRole('button', { name: 'Enlarge samples/ring of first' }).click();
      const dialog = page.getByRole('dialog', { name: 'samples/ring' });
      await dialog.locator('img').waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await expect.poll(() => dialog.count()).toBe(0);
      expect(errors).toEqual([]);
    },
  );

  it('has tables that are sorted, filtered and saved', { timeout: LIMIT_MS }, async () => {
    await openMedia('tables');
    const table = panel('val/predictions');
    await table.getByRole('button', { name: 'score' }).click();
    await table.getByRole('button', { name: 'score' }).click();
    const first = table.locator('tbody tr:not(.data-gap)').first();
    await expect.poll(() => first.locator('td').nth(2).innerText()).toBe('1');
    // Of 500 rows those on screen are drawn.
    expect(await table.locator('tbody tr').count()).toBeLessThan(60);
    await table.getByRole('searchbox').fill('owl false');
    await table.getByText('of 500 rows').waitFor();
    const download = page.waitForEvent('download');
    await table.getByRole('button', { name: 'Save as CSV' }).click();
    const csv = await readFile(await (await download).path(), 'utf8');
    expect(csv.split('\r\n')[0]).toBe('id,label,score,right,sample');
    expect(csv).not.toContain('cat');
    expect(errors).toEqual([]);
  });

  it('has texts, and what differs between two steps', { timeout: LIMIT_MS }, async () => {
    await openMedia('texts');
    await panel('notes/caption').getByText('A ring of step 300.').waitFor();
    await page.getByRole('radio', { name: 'Changes since the first step' }).click();
    await expect
      .poll(() => page.getByTestId('diff-summary').innerText())
      .toBe('2 lines added, 2 removed');
    expect(await panel('notes/caption').locator('mark').allInnerTexts()).toContain('300');
  });

  it('has sound that waits for its reader', { timeout: LIMIT_MS }, async () => {
    await openMedia('audio');
    const audio = panel('speech/tone').locator('audio');
    await expect
      .poll(() => audio.evaluate((one) => one instanceof HTMLAudioElement && one.duration))
      .toBe(1);
    expect(await audio.evaluate((one) => one instanceof HTMLAudioElement && one.paused)).toBe(true);
    await page.getByRole('img', { name: /^Outline of speech\/tone/ }).waitFor();
    expect(errors).toEqual([]);
  });

  it(
    'has confusion matrices and curves with exact numbers by keys',
    { timeout: LIMIT_MS },
    async () => {
      await openMedia('confusion');
      await page.getByRole('radio', { name: 'Counts' }).click();
      await page.getByRole('group', { name: /^val\/confusion: confusion matrix of 4/ }).focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      await page.getByText('True cat, predicted dog: 5').waitFor();
      const matrix = panel('val/confusion');
      await matrix.getByRole('button', { name: 'Save val/confusion' }).click();
      const csv = page.waitForEvent('download');
      await matrix.getByRole('menuitem', { name: /^CSV/ }).click();
      const [header] = (await readFile(await (await csv).path(), 'utf8')).split('\r\n');
      expect(header).toBe('true_class,predicted_class,count');
      await matrix.getByRole('button', { name: 'Save val/confusion' }).click();
      const png = page.waitForEvent('download');
      await matrix.getByRole('menuitem', { name: /^PNG/ }).click();
      const bytes = await readFile(await (await png).path());
      expect(bytes.subarray(1, 4).toString('latin1')).toBe('PNG');
      await openMedia('curves');
      await panel('val/roc')
        .getByText(/^area 0\.9/)
        .first()
        .waitFor();
      await page.getByRole('group', { name: /^val\/roc: 2 curves/ }).focus();
      await page.keyboard.press('ArrowRight');
      await page
        .getByText('cat: true positive rate 0, false positive rate 0 at threshold +∞')
        .waitFor();
      expect(errors).toEqual([]);
    },
  );

  it('has distributions over steps in two forms', { timeout: LIMIT_MS }, async () => {
    await openMedia('distributions');
    const weights = panel('weights/dense');
    await expect
      .poll(() => weights.locator('canvas').getAttribute('data-columns'), { timeout: PATIENCE_MS })
      .toBe('4');
    await page.getByRole('radio', { name: 'Ridges' }).click();
    await page.getByRole('img', { name: /^Distributions of weights\/dense at 4 steps/ }).waitFor();
    expect(await weights.locator('.ridges polygon').count()).toBe(4);
  });

  it('has embeddings with neighbours, found by label', { timeout: LIMIT_MS }, async () => {
    await openMedia('embeddings');
    await page.getByText(/have 9\d\.\d % of the variance/).waitFor();
    await page.getByRole('searchbox', { name: 'Find points by label' }).fill('fox');
    await page.getByText('150 found; Enter chooses the first').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('Neighbours of fox (3)').waitFor();
    // Clusters of four labels, far apart from each other.
    expect(new Set(await page.locator('.neighbours bdi').allInnerTexts())).toEqual(
      new Set(['fox']),
    );
    await page.getByRole('radio', { name: '2 components' }).click();
    await page.getByRole('application').focus();
    await page.keyboard.press('Enter');
    await page.getByText(/^Neighbours of /).waitFor();
    expect(errors).toEqual([]);
  });

  it('has models as graphs that fold', { timeout: LIMIT_MS }, async () => {
    await openMedia('models');
    await page.getByRole('button', { name: 'features/conv1 Conv2D [?, 28, 28, 1]' }).click();
    await page.getByText('features/conv1/kernel').waitFor();
    await page.getByRole('button', { name: 'Fold all', exact: true }).click();
    await page.getByRole('button', { name: 'Unfold features 2 layers' }).waitFor();
    await page.getByRole('searchbox', { name: 'Find a layer' }).fill('dense1');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^head\/dense1 Dense/, pressed: true }).waitFor();
    await page.getByRole('button', { name: 'Show more of 2 names' }).click();
    await panel('onnx-model')
      .getByRole('button', { name: /LogSoftmax/ })
      .waitFor();
    expect(errors).toEqual([]);
  });

  it(
    'has artifacts that are looked at as what they are, and saved',
    { timeout: LIMIT_MS },
    async () => {
      await page.goto(`${server.url}#/runs/${runId}?view=artifacts`);
      const row = (name: string): Locator => page.getByRole('button', { name: `file ${name}` });
      await row('files/picture.svg').click();
      // A document is never active: its source is shown.
      await page.getByText('<script>alert(1)</script>').waitFor();
      expect(await page.locator('.artifact-open img').count()).toBe(0);
      await row('files/readme.md').click();
      await page.getByRole('heading', { name: 'Data' }).waitFor();
      await row('files/labels.csv').click();
      await page.getByRole('cell', { name: 'dog' }).waitFor();
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download' }).click();
      expect((await download).suggestedFilename()).toBe('labels.csv');
      await page.getByText('the hash is right').waitFor();
      expect(errors).toEqual([]);
    },
  );

  it('stand side by side on the comparison', { timeout: LIMIT_MS }, async () => {
    const otherId = await recordMediaRun(store, { name: 'second', shift: 2 });
    await page.goto(`${server.url}#/compare?runs=${runId},${otherId}`);
    const ring = panel('samples/ring');
    await ring.locator('img').nth(1).waitFor();
    expect(await ring.locator('.media-run').allInnerTexts()).toEqual(['first', 'second']);
    await page.getByRole('button', { name: /^PR and ROC curves/ }).click();
    await panel('val/roc').getByText('dog · second').waitFor();
    expect(errors).toEqual([]);
  });

  it(
    'has a tab once there are some, and grows while the run goes on',
    { timeout: LIMIT_MS },
    async () => {
      const session = await startRun({
        project: 'media',
        name: 'live',
        storage: store,
        config: {},
      });
      await page.goto(`${server.url}#/runs/${session.runId}`);
      await page.getByRole('heading', { name: 'live', level: 1 }).waitFor();
      const tabs = page.getByRole('navigation', { name: 'Parts of this run' });
      await tabs.getByText('Metrics').waitFor();
      expect(await tabs.getByText('Media').count()).toBe(0);
      const media = new MediaLogger(session);
      const image = { data: new Uint8Array(16), width: 4, height: 4 };
      await media.logImage('sample', image, { step: 1 });
      await tabs.getByText('Media').click();
      await panel('sample').getByText('step 1', { exact: true }).waitFor();
      await media.logImage('sample', image, { step: 2 });
      await panel('sample').getByText('step 2', { exact: true }).waitFor();
      await session.endRun('completed');
      expect(errors).toEqual([]);
    },
  );
});
