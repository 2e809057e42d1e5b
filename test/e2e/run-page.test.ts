/** The page of one really recorded run: what people say of it, its console, machine, code, lineage, report and alerts. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openRun, openStorage, type RunRecord } from 'quark-sdk';
import { serveService, type ServedService } from 'quark-sdk/service';
import { longTest } from '../support/long.ts';
import { recordToldRuns, type ToldRuns } from '../support/told-run.ts';
import { checkBuilt, collectErrors, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';

const LIMIT_MS = 2 * PATIENCE_MS;
const LINES = 3000;

let folder = '';
let service: ServedService;
let browser: Browser;
let userKey = '';
let ids: ToldRuns;

beforeAll(async () => {
  checkBuilt();
  folder = mkdtempSync(join(tmpdir(), 'quark-run-page-'));
  service = await serveService({ storage: folder, dashboardDir: DEMO_DIR });
  userKey = (await service.access.createKey({ user: 'ada' })).key;
  const store = await openStorage(service.url, { userKey });
  ids = await recordToldRuns(store, LINES);
  await store.close();
  browser = await launchBrowser();
}, LIMIT_MS);

afterAll(async () => {
  await browser?.close();
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The page of the run, with a key. `hash` follows the id of the run. */
async function open(hash = '', key = userKey): Promise<{ page: Page; errors: string[] }> {
  const page = await browser.newPage({ acceptDownloads: true, locale: 'en-US' });
  page.setDefaultTimeout(PATIENCE_MS);
  const errors = collectErrors(page);
  await page.addInitScript((given) => sessionStorage.setItem('quark.key', given), key);
  await page.goto(`${service.url}#/runs/${ids.runId}${hash}`);
  await page.locator('h1').first().waitFor();
  return { page, errors };
}

async function stored(): Promise<RunRecord> {
  const store = await openStorage(service.url, { userKey });
  const { run } = await openRun(store, ids.runId);
  await store.close();
  return run;
}

it(
  'says first how the run ended, and has its notes as they were meant, with nothing in them that runs or is fetched',
  async () => {
    const requests: string[] = [];
    browser
      .contexts()
      .forEach((context) => context.on('request', (one) => requests.push(one.url())));
    const { page, errors } = await open();
    page.on('request', (request) => requests.push(request.url()));
    await page.getByText('Failed at step 199').waitFor();
    expect(await page.locator('.run-outcome').textContent()).toContain('CUDA out of memory');
    const notes = page.locator('.run-notes');
    await notes.getByRole('heading', { name: 'What this was' }).waitFor();
    expect(await notes.locator('strong').textContent()).toBe('baseline');
    const links = notes.locator('a');
    const hrefs = await links.evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    expect(hrefs).toEqual(['https://example.org/paper', 'https://example.org/spy.png']);
    expect(await links.first().getAttribute('rel')).toContain('noreferrer');
    expect(await notes.locator('img, script, iframe').count()).toBe(0);
    expect(await notes.textContent()).toContain('<script>globalThis.wasHacked = true</script>');
    expect(await page.evaluate(() => Reflect.get(globalThis, 'wasHacked'))).toBeUndefined();
    expect(requests.filter((url) => url.includes('example.org'))).toEqual([]);
    // The whole line of the run, as links.
    const lineage = page.locator('.lineage');
    await lineage.getByRole('link', { name: 'second try' }).waitFor();
    expect(await lineage.locator('li').allTextContents()).toEqual([
      'first try',
      'cosine schedule, rate 1e-3failed',
      'second try',
    ]);
    expect(errors).toEqual([]);
    await page.close();
  },
  LIMIT_MS,
);

it(
  'has the name, notes and labels changed where they stand, and undone',
  async () => {
    const { page, errors } = await open();
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByLabel('Name of the run').fill('the one that broke');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'the one that broke' }).waitFor();
    expect((await stored()).name).toBe('the one that broke');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { name: 'cosine schedule' }).waitFor();
    expect((await stored()).name).toBe('cosine schedule, rate 1e-3');

    await page.getByRole('button', { name: '+ tag' }).click();
    await page.getByLabel('New tag').fill('broken');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Remove broken' }).waitFor();
    await page.getByRole('button', { name: 'Remove baseline' }).click();
    await expect.poll(async () => (await stored()).tags).toEqual(['workers=8', 'broken']);

    await page.keyboard.press('Escape');
    await page.locator('h1').first().click();
    await page.keyboard.press('n');
    const field = page.getByLabel('Notes as Markdown');
    await field.fill('**Do not** use a rate of 1e-2.');
    await page.getByRole('radio', { name: 'Preview' }).click();
    expect(await page.locator('.notes-preview strong').textContent()).toBe('Do not');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect.poll(async () => (await stored()).notes).toBe('**Do not** use a rate of 1e-2.');
    await page.locator('.run-notes:not(form) strong').getByText('Do not').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.locator('.run-notes').getByText('What this was').waitFor();
    expect(await stored()).toMatchObject({
      tags: ['workers=8', 'baseline'],
      groups: ['schedules'],
    });
    expect(errors).toEqual([]);
    await page.close();
  },
  LIMIT_MS,
);

it(
  'offers no changes to a key that may only read',
  async () => {
    const { key } = await service.access.createKey({ user: 'ada', scope: 'read' });
    const { page } = await open('', key);
    await page.locator('.run-notes').waitFor();
    await page.getByRole('button', { name: 'Report' }).waitFor();
    for (const name of ['Rename', 'Edit notes', '+ tag', 'Remove baseline'])
      expect(await page.getByRole('button', { name }).count(), name).toBe(0);
    await page.close();
  },
  LIMIT_MS,
);

it(
  'shows the console: a line by its address, levels, a search, and the text as a file',
  async () => {
    const { page, errors } = await open('?view=console&line=1500');
    const lines = page.locator('.console-line');
    await lines.getByText('step 1499', { exact: true }).waitFor();
    // Only what is on screen is drawn.
    expect(await lines.count()).toBeLessThan(120);
    await page.getByRole('region', { name: 'Line 1500' }).waitFor();
    expect(
      await lines
        .locator('.ink-green')
        .first()
        .evaluate((one) => getComputedStyle(one).color),
    ).toBe('rgb(24, 106, 59)');
    await page.getByRole('button', { name: /^errors/ }).click();
    await page.getByRole('status').getByText('30 lines of 3,000').waitFor();
    await page.getByLabel('Search the lines').fill('ERROR 203');
    await page.getByRole('status').getByText('1 line of 3,000').waitFor();
    expect(await lines.locator('mark').textContent()).toBe('error 203');
    await expect.poll(() => page.url()).toContain('level=error');
    expect(page.url()).toContain('line=1500');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    const text = readFileSync(await download.path(), 'utf8');
    expect(text.split('\n').length).toBe(LINES + 1);
    expect(text).toContain('error 203: could not read the file');
    expect(errors).toEqual([]);
    await page.close();
  },
  LIMIT_MS,
);

it(
  'shows the profile over time, zoomed by its address and by keys, and as a table',
  async () => {
    const { page, errors } = await open('?view=machine');
    // By their title: a bar shows its name only where it is wide enough, and a pause elsewhere in the run makes others narrow.
    const epochs = page.locator('.waterfall-bar[title^="Epoch:"]');
    await epochs.first().waitFor();
    await page.getByText(/^Peak of resident memory/).waitFor();
    const box = page.getByRole('application');
    await box.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    await page.locator('.waterfall-chosen').getByText('Read weights').waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toMatch(/scope=\d+&span=/);
    await page.reload();
    await page.locator('.waterfall-chosen').getByText('Read weights').waitFor();
    expect(await epochs.count()).toBe(0);
    await page.getByRole('button', { name: 'Show all', exact: true }).click();
    await epochs.first().waitFor();
    await page.getByText('Scopes as a table').click();
    const row = page.getByRole('row', { name: /Evaluation/ });
    expect(await row.locator('td').first().textContent()).toBe('5');
    expect(errors).toEqual([]);
    await page.close();
  },
  LIMIT_MS,
);

it(
  'shows the code, and writes the report of quark report',
  async () => {
    const { page, errors } = await open('?view=code');
    await page.getByRole('heading', { name: 'Uncommitted changes' }).waitFor();
    await page.getByText('package-lock.json').first().waitFor();
    // The status line says it meanwhile, however short that is.
    await page.evaluate(() => {
      const line = document.querySelector('.status-line');
      if (line === null) throw new Error('There is no status line.');
      const note = (): void => line.setAttribute('data-seen', line.textContent);
      new MutationObserver(() => line.textContent !== '' && note()).observe(line, {
        childList: true,
      });
    });
    await page.getByRole('button', { name: 'Report' }).click();
    const report = page.getByRole('dialog', { name: 'Report of this run' });
    await report.getByText('The run ran out of memory').first().waitFor();
    const line = page.locator('.status-line');
    await expect.poll(() => line.textContent()).toBe('');
    expect(await line.getAttribute('data-seen')).toBe('Writing the report');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      report.getByRole('button', { name: 'Save as HTML' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('cosine-schedule-rate-1e-3_report.html');
    const html = readFileSync(await download.path(), 'utf8');
    expect(html).toMatch(/^<!doctype html>/);
    expect(html).toContain('CUDA out of memory');
    expect(errors).toEqual([]);
    await page.close();
  },
  LIMIT_MS,
);

it(
  'says the environment in words and units, beside the charts, which get their width where somebody folds it',
  async () => {
    const { page, errors } = await open();
    const about = page.getByRole('complementary', { name: 'About this run' });
    await about.getByText('processor threads', { exact: true }).waitFor();
    expect(await about.innerText()).toMatch(/memory\n?\s*[\d.]+ GiB/);
    expect(await about.innerText()).not.toContain('ram_total_bytes');
    const chart = page.locator('.panel').first();
    const before = (await chart.boundingBox())?.width ?? 0;
    await page.getByRole('button', { name: 'Hide details' }).click();
    await expect
      .poll(async () => (await chart.boundingBox())?.width ?? 0)
      .toBeGreaterThan(before + 20);
    await page.getByRole('button', { name: 'Show details' }).click();
    await about.waitFor();
    expect(errors).toEqual([]);
    await page.close();
  },
  LIMIT_MS,
);

it(
  'has an alert acknowledged with a note, folds it, and takes that back',
  async () => {
    const { page } = await open('?view=analysis');
    const alert = page.locator('.alerts > ol [data-rule="run_end"]').first();
    await alert.getByText('The run ran out of memory').waitFor();
    expect(await page.locator('.verdict p').first().textContent()).toBe(
      'Failed at step 199: CUDA out of memory',
    );
    await alert.getByRole('button', { name: 'Acknowledge…' }).click();
    await alert.getByLabel('Note').fill('The batch was too large.');
    await alert.getByRole('button', { name: 'Acknowledge', exact: true }).click();
    await page.getByText('Acknowledged (1)').click();
    await page.getByText('Acknowledged by ada: The batch was too large.').waitFor();
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await alert.getByRole('button', { name: 'Acknowledge…' }).waitFor();
    expect(await page.getByText('Acknowledged (1)').count()).toBe(0);
    await page.close();
  },
  LIMIT_MS,
);

longTest(
  'moves nothing while the run arrives, and fits a phone',
  async () => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: 'en-US' });
    page.setDefaultTimeout(PATIENCE_MS);
    await page.addInitScript((key) => {
      sessionStorage.setItem('quark.key', key);
      Reflect.set(globalThis, 'shift', 0);
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
          if (Reflect.get(entry, 'hadRecentInput') === false)
            Reflect.set(
              globalThis,
              'shift',
              Number(Reflect.get(globalThis, 'shift')) + Number(Reflect.get(entry, 'value')),
            );
      }).observe({ type: 'layout-shift', buffered: true });
    }, userKey);
    for (const [view, sign] of [
      ['', '.panel canvas'],
      ['?view=console', '.console-line'],
      ['?view=machine', '.waterfall-bar'],
      ['?view=code', '.code-facts'],
    ] as const) {
      await page.goto('about:blank');
      await page.goto(`${service.url}#/runs/${ids.runId}${view}`);
      await page.locator(sign).first().waitFor();
      await page.locator('.lineage').waitFor();
      const shift = await page.evaluate(() => Number(Reflect.get(globalThis, 'shift')));
      expect(shift, view).toBeLessThan(0.02);
      await page.setViewportSize({ width: 390, height: 844 });
      // Charts follow the width in turns.
      await expect
        .poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth), {
          message: view,
        })
        .toBeLessThanOrEqual(0);
      await page.setViewportSize({ width: 1280, height: 900 });
    }
    await page.close();
  },
  LIMIT_MS,
);

longTest(
  'shows runs of dropped files without offering changes',
  { timeout: LIMIT_MS },
  async () => {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.addInitScript((key) => sessionStorage.setItem('quark.key', key), userKey);
    await page.goto(service.url);
    const csv = [
      'step,loss',
      ...Array.from({ length: 50 }, (_, at) => `${at},${1 / (at + 1)}`),
    ].join('\n');
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles({ name: 'dropped.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await page.getByRole('heading', { name: 'dropped' }).waitFor();
    expect(await page.getByRole('button', { name: 'Rename' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Console' }).click();
    await page.getByText('The console was not captured').waitFor();
    await page.close();
  },
);
