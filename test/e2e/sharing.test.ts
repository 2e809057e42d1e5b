/** What is shown to others: a gallery behind a web server, runs in pages of others, reports. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { MetricsLogger, startRun } from 'quark-sdk';
import { quark } from '../cli/fake-io.ts';
import { checkBuilt, collectErrors, launchBrowser, PATIENCE_MS } from './demo-browser.ts';
import { serveFolder, type FileServer } from './file-server.ts';

const LIMIT_MS = 240_000;
/** A name that is a page if it is not escaped. */
const HOSTILE = '<img src=x onerror=alert(1)>';

let browser: Browser;
let page: Page;
let errors: string[];
let folder: string;
let files: FileServer;
const runIds: string[] = [];

beforeAll(async () => {
  checkBuilt();
  folder = await mkdtemp(join(tmpdir(), 'quark-sharing-'));
  for (const [at, lr] of [0.1, 0.01].entries()) {
    const session = await startRun({
      project: 'digits',
      name: at === 0 ? 'wide' : HOSTILE,
      config: { lr },
      storageDir: folder,
    });
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 60; step += 1) {
      metrics.log('train/loss', lr + 1 / (step + 1), { step });
      metrics.log('val/accuracy', step / 60, { step });
    }
    await session.endRun();
    runIds.push(session.runId);
    await session.close();
  }
  const done = await quark(['gallery', 'site', '--title', 'Our digits'], { cwd: folder });
  expect(done).toMatchObject({ code: 0 });
  files = await serveFolder(join(folder, 'site'), '/some/base/');
  browser = await launchBrowser();
}, LIMIT_MS);
afterAll(async () => {
  await browser?.close();
  await files?.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await page?.close();
  page = await browser.newPage({ locale: 'en-US', reducedMotion: 'reduce' });
  page.setDefaultTimeout(PATIENCE_MS);
  errors = collectErrors(page);
});

it(
  'a folder behind a web server is a gallery, which fetches a run when it is opened',
  { timeout: LIMIT_MS },
  async () => {
    await page.goto(files.url);
    await page.getByRole('heading', { name: 'Our digits' }).waitFor();
    await page.getByText('A gallery is only read').waitFor();
    await page.getByText(HOSTILE).first().waitFor();
    expect(await page.getByRole('link', { name: 'Train' }).count()).toBe(0);
    const quarkFiles = (): readonly string[] =>
      files.asked.filter((path) => path.endsWith('.quark'));
    expect(quarkFiles()).toEqual([]);
    await page.getByRole('link', { name: 'wide' }).first().click();
    await page.locator('.panel canvas').first().waitFor();
    expect(quarkFiles()).toEqual([`runs/${runIds[0]}.quark`]);
    await page.reload();
    await page.locator('.panel canvas').first().waitFor();
    expect(errors).toEqual([]);
  },
);
