/** What is shown to others: a gallery behind a web server, runs in pages of others, reports. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { MetricsLogger, openStorage, startRun, type Store } from 'quark-sdk';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import { endpointAt } from '../../src/wire/route-paths.ts';
import { quark } from '../cli/fake-io.ts';
import { checkBuilt, collectErrors, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';
import { serveFolder, type FileServer } from './file-server.ts';

const LIMIT_MS = 240_000;
/** A name that is a page if it is not escaped. */
const HOSTILE = '<img src=x onerror=alert(1)>';

let browser: Browser;
let page: Page;
let errors: string[];
let folder: string;
let files: FileServer;
/** A blog of another origin, with the page beside it. */
let blog: FileServer;
let store: Store;
let server: ServedStore;
const posts: Record<string, string> = {};
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
  blog = await serveFolder(join(folder, 'site'), '/blog/', posts);
  store = await openStorage(folder);
  server = await serveStore({
    store,
    dashboardDir: DEMO_DIR,
    changes: true,
    allowFrames: [new URL(blog.url).origin],
  });
  browser = await launchBrowser();
}, LIMIT_MS);
afterAll(async () => {
  await browser?.close();
  await files?.close();
  await blog?.close();
  await server?.close();
  await store?.close();
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

it(
  'a page of another origin shows a run by <quark-run>, of a file and of a gallery',
  { timeout: LIMIT_MS },
  async () => {
    posts['post.html'] = `<!doctype html><title>Post</title>
    <script type="module" src="./quark-run.js"></script>
    <quark-run id="file" src="runs/${runIds[1]}.quark" metric="train/loss" theme="dark"></quark-run>
    <quark-run id="gallery" src="${files.url}#/runs/${runIds[0]}" height="300"></quark-run>
    <quark-run id="wrong" src="javascript:alert(1)"></quark-run>`;
    await page.goto(`${blog.url}post.html`);
    const ofFile = page.frameLocator('#file iframe');
    await ofFile.locator('.panel canvas').first().waitFor();
    await ofFile.getByRole('heading', { name: HOSTILE }).waitFor();
    expect(await ofFile.locator('html').getAttribute('data-theme')).toBe('dark');
    expect(await ofFile.locator('.panel').count()).toBe(1);
    await page.locator('#gallery').scrollIntoViewIfNeeded();
    const ofGallery = page.frameLocator('#gallery iframe');
    await ofGallery.getByRole('heading', { name: 'wide' }).waitFor();
    await ofGallery.locator('.panel canvas').first().waitFor();
    const link = ofGallery.getByRole('link', { name: 'Open in Quark' });
    expect(await link.getAttribute('href')).toBe(`${files.url}#/runs/${runIds[0]}`);
    expect(await page.locator('#gallery iframe').getAttribute('sandbox')).not.toContain('top-nav');
    expect(await page.locator('#wrong iframe').count()).toBe(0);
    expect(errors).toEqual([]);
  },
);

it(
  'only a listed origin frames a server, only its embedded page, and nothing there changes a run',
  { timeout: LIMIT_MS },
  async () => {
    const writes: string[] = [];
    page.on('request', (request) => {
      const method = request.method();
      // Long questions are sent as bodies: the table of routes says which routes only read.
      const route = endpointAt(new URL(request.url()).pathname)?.methods.find(
        (one) => one.method === method,
      );
      if (!['GET', 'HEAD'].includes(method) && route?.isRead !== true) writes.push(request.url());
    });
    const run = `#/runs/${runIds[0]}`;
    posts['frames.html'] = `<!doctype html><title>Frames</title>
    <iframe id="embedded" width="900" height="600" src="${server.url}?embed=1${run}"></iframe>
    <iframe id="whole" width="900" height="600" src="${server.changeUrl}${run}"></iframe>`;
    // The cookie that allows changes is there.
    await page.goto(server.changeUrl);
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await page.goto(`${blog.url}frames.html`);
    const embedded = page.frameLocator('#embedded');
    await embedded.locator('.panel canvas').first().waitFor();
    expect(
      await embedded.getByRole('button', { name: /delete|archive|rename|tag|note/i }).count(),
    ).toBe(0);
    expect(await embedded.locator('textarea, input[type=text]').count()).toBe(0);
    await expect
      .poll(() => errors.filter((text) => text.includes('frame-ancestors')).length)
      .toBe(1);
    expect(await page.frameLocator('#whole').locator('#app').count()).toBe(0);
    // Another host name is another origin, and is not listed.
    await page.goto(`${blog.url.replace('127.0.0.1', 'localhost')}frames.html`);
    await expect
      .poll(() => errors.filter((text) => text.includes('frame-ancestors')).length)
      .toBe(3);
    expect(await page.frameLocator('#embedded').locator('#app').count()).toBe(0);
    expect(writes).toEqual([]);
  },
);

it(
  'a report is written, saved, read again, and exported as a file that runs and fetches nothing',
  { timeout: LIMIT_MS },
  async () => {
    await page.goto(server.changeUrl);
    await page.getByRole('link', { name: 'Reports' }).click();
    await page.getByRole('button', { name: 'New report' }).click();
    await page.getByRole('heading', { name: 'Untitled report' }).waitFor();
    await page.getByRole('button', { name: 'Write', exact: true }).click();
    await page.getByRole('textbox', { name: 'Title of the report' }).fill(`Rates ${HOSTILE}`);
    await page
      .getByRole('textbox', { name: 'Text, as Markdown' })
      .fill(
        `## Found\n\n${HOSTILE} [bad](javascript:alert(1)) [good](https://example.org) <script>alert(1)</script>`,
      );
    await page.getByRole('button', { name: 'Add a chart' }).click();
    await page.getByRole('button', { name: 'Add a table of runs' }).click();
    await page.locator('.report-block .panel canvas').first().waitFor();
    await page.getByRole('button', { name: 'Freeze' }).first().click();
    await page.getByRole('button', { name: 'Frozen: make live' }).waitFor();
    await page.getByRole('button', { name: 'Move block 3 up' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+s');
    await page.getByRole('button', { name: 'Save', exact: true }).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('heading', { name: `Rates ${HOSTILE}` }).waitFor();
    await page.locator('.report-block .panel canvas').first().waitFor();
    // The frozen chart is one of the page: it zooms and tells its values.
    const chart = page.locator('.report-block .panel .chart');
    await chart.focus();
    await page.keyboard.press('End');
    await page.locator('.report-block .chart-tooltip').waitFor();
    await page.keyboard.press('+');
    await page.getByRole('button', { name: 'Reset zoom' }).waitFor();
    await page.locator('.report-rows').getByRole('cell', { name: 'wide' }).waitFor();
    expect(await page.locator('.report-block').nth(1).locator('table').count()).toBe(1);
    expect(await page.locator('.report-body script, .report-body img').count()).toBe(0);
    expect(await page.locator('.report-body a').allInnerTexts()).toEqual(['good']);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export as HTML' }).click(),
    ]);
    const path = join(folder, 'report.html');
    await download.saveAs(path);
    const html = await readFile(path, 'utf8');
    expect(html).not.toMatch(
      /<(?:script|img|iframe|link|object)|javascript:[^)]*"|\son\w+=(?!alert)/i,
    );
    const other = await browser.newPage();
    const asked: string[] = [];
    other.on('request', (request) => asked.push(request.url()));
    await other.goto(pathToFileURL(path).href);
    expect(await other.locator('svg .curve').count()).toBe(2);
    expect(await other.getByRole('heading', { name: `Rates ${HOSTILE}` }).count()).toBe(1);
    expect(asked).toEqual([pathToFileURL(path).href]);
    await other.close();
    // It is deleted and comes back, as often as wanted.
    const title = `Rates ${HOSTILE}`;
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('There is no report yet.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name: title }).waitFor();
    await page.getByRole('button', { name: `Delete the report ${title}` }).click();
    await page.getByRole('link', { name: title }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name: title }).click();
    await page.getByRole('heading', { name: title }).waitFor();
    expect(errors).toEqual([]);
  },
);
