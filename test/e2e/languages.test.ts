/** The page in German: by the language of the browser and by the button at its lower end. */
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, TrainingSession, type Store } from 'quark-sdk';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import { readCatalogue } from '../../scripts/page-texts.mjs';
import { checkBuilt, collectErrors, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';
import { beyondWindow } from './narrow.ts';

const LIMIT_MS = 240_000;

let browser: Browser;
let store: Store;
let server: ServedStore;
const runIds: string[] = [];

/** English sentences that have another form in German: names and single words may be part of what was recorded. */
const ENGLISH: ReadonlySet<string> = new Set(
  Object.entries(readCatalogue(new URL('../..', import.meta.url).pathname))
    .filter(([key, text]) => key !== text && /^[A-Z][^{|]* [^{|]*$/.test(key))
    .map(([key]) => key),
);

beforeAll(async () => {
  checkBuilt();
  store = createMemoryStore();
  for (const lr of [0.1, 0.2]) {
    const session = await TrainingSession.startRun({
      project: 'ziffern',
      config: { lr },
      storage: store,
      handleSignals: false,
    });
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 60; step += 1) {
      metrics.log('train/loss', lr + 1 / (step + 1), { step });
      metrics.log('val/loss', lr + 1.2 / (step + 1), { step });
    }
    await session.addLog('begonnen', { identifier: 'Info', step: 0 });
    await session.endRun();
    runIds.push(session.runId);
  }
  server = await serveStore({ store, dashboardDir: DEMO_DIR });
  browser = await launchBrowser();
}, LIMIT_MS);
afterAll(async () => {
  await browser?.close();
  await server?.close();
  await store?.close();
});

async function pageIn(locale: string): Promise<{ page: Page; errors: string[] }> {
  const page = await browser.newPage({ locale, reducedMotion: 'reduce' });
  page.setDefaultTimeout(PATIENCE_MS);
  return { page, errors: collectErrors(page) };
}

/** All that the page says to eyes and ears, a text each. */
async function shownTexts(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) found.push(walker.currentNode.textContent ?? '');
    for (const element of document.querySelectorAll('*'))
      for (const name of ['title', 'aria-label', 'placeholder', 'alt'])
        found.push(element.getAttribute(name) ?? '');
    return found.map((text) => text.trim().replaceAll(/\s+/g, ' ')).filter((text) => text !== '');
  });
}

const english = async (page: Page): Promise<readonly string[]> =>
  (await shownTexts(page)).filter((text) => ENGLISH.has(text));

/** Views, and what each says in German once it is there. */
const VIEWS = (): readonly (readonly [address: string, text: string | RegExp])[] => [
  ['#/', '2 aufgezeichnet'],
  [`#/runs/${runIds[0]}`, 'Details ausblenden'],
  [`#/runs/${runIds[0]}?view=analysis`, 'Phasen'],
  [`#/compare?runs=${runIds.join(',')}`, 'Einstellungen und Code'],
  ['#/train', 'In diesem Tab trainieren'],
];

it(
  'is German for a browser in German, without an English sentence and without sideways scroll on a phone',
  { timeout: LIMIT_MS },
  async () => {
    const { errors, page } = await pageIn('de-DE');
    await page.setViewportSize({ width: 1280, height: 900 });
    expect(ENGLISH.size).toBeGreaterThan(300);
    for (const [address, text] of VIEWS()) {
      await page.goto(`${server.url}${address}`);
      await page.getByText(text).first().waitFor({ state: 'attached' });
      expect(await page.evaluate(() => document.documentElement.lang)).toBe('de');
      expect(await english(page), address).toEqual([]);
      await page.setViewportSize({ width: 390, height: 844 });
      // Charts take the new width with the next frames.
      await expect
        .poll(() => beyondWindow(page), { timeout: PATIENCE_MS, message: address })
        .toEqual([]);
      await page.setViewportSize({ width: 1280, height: 900 });
    }
    expect(errors).toEqual([]);
    await page.close();
  },
);

it('changes its language by a button, and keeps it', { timeout: LIMIT_MS }, async () => {
  const { page } = await pageIn('en-US');
  await page.goto(server.url);
  await page.getByRole('link', { name: 'Runs', exact: true }).waitFor();
  // The check can fail: the page in English has such sentences.
  expect((await english(page)).length).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Deutsch' }).click();
  await page.getByRole('link', { name: 'Läufe', exact: true }).waitFor();
  await page.reload();
  await page.getByRole('link', { name: 'Läufe', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Deutsch', pressed: true }).waitFor();
  await page.getByRole('button', { name: 'English' }).click();
  await page.getByRole('link', { name: 'Runs', exact: true }).waitFor();
  expect(await page.evaluate(() => document.documentElement.lang)).toBe('en');
  await page.close();
});
