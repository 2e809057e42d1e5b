/** What is on every page: the command palette, the keys and their help. */
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, TrainingSession, type Store } from 'quark-sdk';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import { checkBuilt, collectErrors, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';

const LIMIT_MS = 240_000;

let browser: Browser;
let store: Store;
let server: ServedStore;
let runId: string;
let page: Page;
let errors: string[];

beforeAll(async () => {
  checkBuilt();
  store = createMemoryStore();
  const session = await TrainingSession.startRun({
    project: 'digits',
    name: 'wide_net 100%',
    storage: store,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 50; step += 1) metrics.log('loss', 1 / (step + 1), { step });
  await session.endRun();
  runId = session.runId;
  server = await serveStore({ store, dashboardDir: DEMO_DIR });
  browser = await launchBrowser();
  page = await browser.newPage({ locale: 'en-US', reducedMotion: 'reduce' });
  page.setDefaultTimeout(PATIENCE_MS);
  errors = collectErrors(page);
}, LIMIT_MS);
afterAll(async () => {
  await browser?.close();
  await server?.close();
  await store?.close();
});

it('opens a run by its name from the palette', { timeout: LIMIT_MS }, async () => {
  await page.goto(`${server.url}#/train`);
  await page.getByRole('button', { name: 'Find an action or a run' }).waitFor();
  await page.keyboard.press('Control+k');
  const text = page.getByRole('combobox', { name: 'Find an action or a run' });
  await text.fill('NET 100%');
  await page.getByRole('option', { name: /^wide_net 100%/ }).waitFor();
  await text.press('Enter');
  await page.waitForURL(new RegExp(`#/runs/${runId}`));
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(errors).toEqual([]);
});

it(
  'runs an action with the arrow keys alone, and says when nothing is found',
  { timeout: LIMIT_MS },
  async () => {
    await page.goto(`${server.url}#/nowhere`);
    await page.getByRole('button', { name: 'Find an action or a run' }).click();
    const text = page.getByRole('combobox', { name: 'Find an action or a run' });
    await text.fill('no such thing');
    await page.getByText('Nothing has this name.').waitFor();
    await text.fill('theme');
    await page.getByRole('option', { name: /Change the theme/ }).waitFor();
    await text.press('ArrowDown');
    await text.press('Enter');
    await expect
      .poll(() => page.evaluate(() => document.documentElement.dataset['theme']))
      .toBe('light');
    expect(await page.evaluate(() => localStorage.getItem('quark.theme'))).toBe('light');
  },
);

it('shows the keys of the page', { timeout: LIMIT_MS }, async () => {
  await page.goto(`${server.url}#/runs/${runId}`);
  await page.locator('.panel canvas').first().waitFor();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys' });
  await help.getByText('Find an action or a run').waitFor();
  expect(await help.locator('kbd').allTextContents()).toContain('Ctrl K');
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
});

it('is German for who chooses it, and remembers that', { timeout: LIMIT_MS }, async () => {
  await page.goto(server.url);
  await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
  await page.getByText('Deutsch', { exact: true }).click();
  await page.getByRole('heading', { name: 'Läufe', level: 1 }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Läufe', level: 1 }).waitFor();
  expect(await page.evaluate(() => document.documentElement.lang)).toBe('de');
  await page.getByText('English', { exact: true }).click();
  await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
});
