/** The table of runs on the built page, over a store of 2,000 runs. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openRun, openStorage, type Store } from 'quark-sdk';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import { longTest } from '../support/long.ts';
import { lossOf, makeRuns } from '../support/made-runs.ts';
import { checkBuilt, collectErrors, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';

const LIMIT_MS = 3 * PATIENCE_MS;
const RUNS = 2000;

let folder: string;
let store: Store;
let service: ServedService;
let browser: Browser;
let page: Page;
let errors: string[];

beforeAll(async () => {
  checkBuilt();
  folder = mkdtempSync(join(tmpdir(), 'quark-table-'));
  const local = await openStorage(`file:${folder}`);
  await makeRuns(local, RUNS);
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
});

afterEach(async () => {
  expect(errors).toEqual([]);
  await page.close();
});

const rows = (): Locator => page.locator('.run-row[data-run]');
const idsShown = (): Promise<(string | null)[]> =>
  rows().evaluateAll((all) => all.map((row) => row.getAttribute('data-run')));
const hash = (): Promise<string> => page.evaluate(() => location.hash);
const matches = (count: string): Promise<void> => page.getByText(`${count} match`).waitFor();
const idOf = (at: number): string => `run_${String(at).padStart(5, '0')}`;

async function open(path = ''): Promise<void> {
  await page.goto(`${service.url}${path}`);
  await rows().first().waitFor();
}

describe('the table of 2,000 runs', () => {
  it('sorts and filters all runs, and says so in the address', { timeout: LIMIT_MS }, async () => {
    await open();
    await page.getByText('2,000 recorded').waitFor();
    await expect.poll(async () => (await idsShown())[0]).toBe(idOf(RUNS - 1));
    // The best of all runs, however far down it was.
    await page.getByRole('button', { name: 'Loss', exact: true }).click();
    const best = Array.from({ length: RUNS }, (_, at) => at).toSorted(
      (a, b) => lossOf(a) - lossOf(b),
    );
    await expect
      .poll(async () => (await idsShown()).slice(0, 5))
      .toEqual(best.slice(0, 5).map(idOf));
    await page.getByRole('button', { name: 'Status', exact: true }).click({ modifiers: ['Shift'] });
    await expect.poll(hash).toBe('#/?sort=loss,status');
    await focusQuery();
    await page.keyboard.type('config.lr < 5e-3 and tag:baseline and seed = 4');
    // Runs with this tag have the largest rate.
    await page.getByText('No run matches these filters.').waitFor();
    await page.getByRole('button', { name: 'Clear the query' }).click();
    await page.locator('#runs-query').fill('config.lr < 5e-3 and number');
    await matches('900 runs');
    await page.keyboard.type(' <');
    await page.locator('.query-problem mark').waitFor();
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await page.getByRole('group', { name: 'Filter by status' }).getByText('Failed').click();
    await matches('20 runs');
    await expect
      .poll(hash)
      .toBe('#/?filter=config.lr+%3C+5e-3+and+number&only=status:failed&sort=loss,status');
    await page.reload();
    await matches('20 runs');
  });

  it('completes the query, and shows facets with counts', { timeout: LIMIT_MS }, async () => {
    await open();
    await focusQuery();
    await page.keyboard.type('config.s');
    const options = page.getByRole('option');
    await expect.poll(() => options.first().innerText()).toContain('config.seed');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('#runs-query').inputValue()).toMatch(/^config\.seed/);
    await page.getByRole('button', { name: 'Clear the query' }).click();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Facets' }).click();
    const facets = page.getByRole('complementary', { name: 'Facets' });
    await facets.getByLabel('speech').check();
    await matches('1,000 runs');
    await facets.getByLabel('workers=1').check();
    await matches('334 runs');
    await page.getByRole('button', { name: 'Stop filtering by tag workers=1' }).click();
    await matches('1,000 runs');
  });

  longTest(
    'shows chosen columns, remembers them, and shows what differs',
    { timeout: LIMIT_MS },
    async () => {
      await open();
      await page.getByRole('button', { name: 'Columns' }).click();
      const picker = page.getByRole('dialog', { name: 'Columns' });
      const offered = picker.locator('section').last();
      // What varies comes first, metrics of the machine last.
      await expect.poll(() => offered.locator('li').count()).toBeGreaterThan(10);
      const titles = await offered.locator('li').allInnerTexts();
      expect(titles.findIndex((title) => title.startsWith('lr'))).toBeLessThan(4);
      expect(titles.at(-1)?.replaceAll('\n', '')).toContain('system/ram/used_bytes');
      await picker.getByLabel('Search columns').fill('accuracy');
      const accuracy = offered.getByRole('group', { name: 'val/accuracy' });
      await accuracy.getByRole('button', { name: 'best' }).click();
      await page.keyboard.press('Escape');
      const head = page.getByRole('columnheader', { name: /val\/accuracy/ });
      await head.waitFor();
      const cell = rows().first().locator('.cell-metrics');
      await expect.poll(() => cell.getAttribute('data-tip')).toMatch(/at step \d+$/);
      await cell.focus();
      await page
        .getByRole('tooltip')
        .waitFor({ state: 'attached' })
        .catch(() => undefined);
      await page.getByRole('button', { name: 'What differs' }).click();
      await page.getByRole('columnheader', { name: /^seed/ }).waitFor();
      expect(await page.getByRole('columnheader', { name: /^epochs/ }).count()).toBe(0);
      await head.getByRole('button', { name: 'Column val/accuracy (best)' }).click();
      await page.getByRole('menuitem', { name: 'Pin', exact: true }).click();
      await expect.poll(hash).toContain('metrics.val/accuracy.best!');
      await page.goto('about:blank');
      await open();
      await head.waitFor();
      expect(await head.getAttribute('class')).toContain('pinned');
    },
  );

  it(
    'has columns for groups, hosts, durations, reasons, alerts and health, which are moved and resized; long names keep their ends',
    { timeout: LIMIT_MS },
    async () => {
      await open('#/?columns=name!,status,groups,host,durationMs,alerts,health&only=status:failed');
      await matches('40 runs');
      const first = rows().first();
      await expect
        .poll(() => first.innerText())
        .toMatch(/sweep-\d[^]*gpu-\d[^]*1m[^]*\s[012]\s+\d\d\b/);
      expect(await first.innerText()).toContain('CUDA out of memory');
      const name = first.locator('.run-link');
      const [full = ''] = (await name.getAttribute('data-tip'))?.split('\n') ?? [];
      expect(full).toMatch(/^sweep over learning rates and seeds, number \d+$/);
      expect(await name.locator('.cut-end').innerText()).toBe(full.slice(-10).trimStart());
      expect(
        await name
          .locator('.cut-start')
          .first()
          .evaluate((one) => one.scrollWidth > one.clientWidth),
      ).toBe(true);
      await name.focus();
      await page.getByRole('tooltip').getByText(full).waitFor();
      await page.keyboard.press('Escape');
      const choose = async (column: string, item: string): Promise<void> => {
        await page.getByRole('button', { name: `Column ${column}`, exact: true }).click();
        await page.getByRole('menuitem', { name: item, exact: true }).click();
      };
      await choose('Host', 'Move left');
      await expect
        .poll(hash)
        .toContain('columns=name!,status,host,groups,durationMs,alerts,health');
      await choose('Host', 'Wider');
      await expect
        .poll(hash)
        .toContain('columns=name!,status,host*180,groups,durationMs,alerts,health');
      const width = (): Promise<number> =>
        page
          .getByRole('columnheader', { name: /^Host/ })
          .evaluate((one) => one.getBoundingClientRect().width);
      await expect.poll(width).toBeGreaterThan(175);
    },
  );

  it('groups by a column, with means, and unfolds a group', { timeout: LIMIT_MS }, async () => {
    await open('#/?columns=name!,metrics.train/loss.last,config.seed');
    await page.getByLabel('Group by').selectOption('status');
    const failed = page.getByRole('button', { name: /Status: failed/ });
    await expect.poll(() => failed.innerText()).toContain('40 runs');
    const all = Array.from({ length: RUNS }, (_, at) => at).filter((at) => at % 50 === 7);
    const mean = all.reduce((sum, at) => sum + lossOf(at), 0) / all.length;
    const text = await page.locator('.group-row', { hasText: 'failed' }).innerText();
    expect(text).toContain(Number(mean.toPrecision(4)).toString());
    expect(text).toContain('±');
    await failed.click();
    await expect.poll(() => rows().count()).toBeGreaterThan(5);
    expect(await failed.getAttribute('aria-expanded')).toBe('true');
    for (const id of await idsShown()) expect(Number(id?.slice(4)) % 50).toBe(7);
    await failed.click();
    await expect.poll(() => rows().count()).toBe(0);
  });

  it(
    'has the rows on screen on the page, and goes through all of them',
    { timeout: LIMIT_MS },
    async () => {
      await open();
      const grid = page.getByRole('grid', { name: 'Runs' });
      expect(await grid.getAttribute('aria-rowcount')).toBe(String(RUNS + 1));
      expect(await rows().count()).toBeLessThan(60);
      await page.keyboard.press('j');
      await page.keyboard.press('j');
      await page.keyboard.press('k');
      await expect.poll(focusedRun).toBe(idOf(RUNS - 1));
      await page.keyboard.press('End');
      await expect.poll(focusedRun).toBe(idOf(0));
      expect(await rows().count()).toBeLessThan(60);
      const last = page.locator(`[data-run="${idOf(0)}"]`);
      expect(await last.getAttribute('aria-rowindex')).toBe(String(RUNS + 1));
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: /number 0$/ }).waitFor();
      await page.goBack();
      // As it was scrolled.
      await last.waitFor();
    },
  );

  it(
    'picks by range and all of a filter, changes what is picked, and undoes it',
    { timeout: LIMIT_MS },
    async () => {
      await open('#/?filter=seed+%3D+3');
      await matches('250 runs');
      const ids = await idsShown();
      await rows().nth(0).getByRole('checkbox').check();
      await rows()
        .nth(4)
        .getByRole('checkbox')
        .click({ modifiers: ['Shift'] });
      await page.getByText('5 runs picked').waitFor();
      await page.getByRole('button', { name: 'Tag', exact: true }).click();
      await page.getByLabel('Tags, separated by commas').fill('keep');
      await page.keyboard.press('Enter');
      await page.getByText('Tagged 5 runs with keep').waitFor();
      for (const id of ids.slice(0, 5))
        expect((await openRun(store, id ?? '')).run.tags).toContain('keep');
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('Undone: 5 changes.').waitFor();
      expect((await openRun(store, ids[0] ?? '')).run.tags).not.toContain('keep');
      const bar = page.getByRole('region', { name: 'Picked runs' });
      await bar.getByRole('button', { name: 'Group', exact: true }).click();
      await page.getByLabel('Groups, separated by commas').fill('chosen');
      await page.keyboard.press('Enter');
      await page.getByText('Put 5 runs into chosen').waitFor();
      expect((await openRun(store, ids[4] ?? '')).run.groups).toEqual(['chosen']);
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('Undone: 5 changes.').waitFor();
      const { name: before } = (await openRun(store, ids[4] ?? '')).run;
      await bar.getByRole('button', { name: 'Rename', exact: true }).click();
      await page.getByLabel('Put there').fill('seed {config.seed} no. {n}');
      await page.getByText('5 names change').waitFor();
      await page.getByRole('listitem').filter({ hasText: '→ seed 3 no. 1' }).waitFor();
      await page.keyboard.press('Enter');
      await page.getByText('Renamed 5 runs').waitFor();
      const named = await Promise.all(
        ids.slice(0, 5).map(async (id) => (await openRun(store, id ?? '')).run.name),
      );
      expect(new Set(named)).toEqual(new Set([1, 2, 3, 4, 5].map((n) => `seed 3 no. ${n}`)));
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('Undone: 5 changes.').waitFor();
      expect((await openRun(store, ids[4] ?? '')).run.name).toBe(before);
      await page.getByRole('button', { name: 'All of the filter' }).click();
      await page.getByText('250 runs picked').waitFor();
      await bar.getByRole('button', { name: 'Export' }).click();
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Table as CSV' }).click();
      const text = readFileSync(await (await download).path(), 'utf8');
      const lines = text.trimEnd().split('\r\n');
      expect(lines).toHaveLength(251);
      expect(lines[0]).toMatch(/^Id,Run,Status,Tags,Loss,/);
      expect(lines.slice(1).every((line) => Number(line.slice(4, 9)) % 8 === 3)).toBe(true);
      await page.getByRole('button', { name: 'Close' }).click();
      await bar.getByRole('button', { name: 'Clear' }).click();
    },
  );

  it(
    'renames in the row, and new runs come in without moving what is pointed at',
    { timeout: LIMIT_MS },
    async () => {
      await open();
      const [first = ''] = await idsShown();
      await page.keyboard.press('j');
      await page.keyboard.press('F2');
      await page.getByLabel('Name of the run').fill('the best one');
      await page.keyboard.press('Enter');
      await expect
        .poll(async () => (await openRun(store, first ?? '')).run.name)
        .toBe('the best one');
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText(/^Undone: /).waitFor();
      const before = await idsShown();
      await rows().nth(2).hover();
      const [, extra] = await makeMore();
      await page.getByText('Runs have come or changed their order.').waitFor();
      expect((await idsShown()).slice(0, 5)).toEqual(before.slice(0, 5));
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      await expect.poll(async () => (await idsShown())[0]).toBe(extra);
      await store.deleteRun(extra);
      await page.mouse.move(0, 0);
      await expect.poll(async () => (await idsShown())[0]).toBe(before[0]);
    },
  );

  longTest(
    'scrolls through 10,000 runs, and is a list of cards on a phone',
    { timeout: LIMIT_MS },
    async () => {
      const many = mkdtempSync(join(tmpdir(), 'quark-table-'));
      const local = await openStorage(`file:${many}`);
      await makeRuns(local, 10_000);
      await local.close();
      const server = await serveService({ storage: many, dashboardDir: DEMO_DIR });
      try {
        await page.goto(server.url);
        await page.getByText('10,000 recorded').waitFor();
        const frame = page.locator('.table-frame');
        for (const share of [0.1, 0.5, 0.9, 1]) {
          await frame.evaluate((element, part) => {
            element.scrollTop = part * (element.scrollHeight - element.clientHeight);
          }, share);
          const at = Math.round(10_000 * (1 - share));
          await expect
            .poll(async () =>
              (await idsShown()).some((id) => Math.abs(Number(id?.slice(4)) - at) < 40),
            )
            .toBe(true);
          expect(await rows().count()).toBeLessThan(60);
        }
        await page.setViewportSize({ width: 390, height: 844 });
        await page.locator('.run-card').first().waitFor();
        await page.getByLabel('Sort by').selectOption('+loss');
        await expect.poll(hash).toContain('sort=loss');
        const wide = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        expect(wide).toBe(0);
      } finally {
        await server.close();
        rmSync(many, { recursive: true, force: true });
      }
    },
  );
});

/** The key of the query; a moment later it has the focus. */
async function focusQuery(): Promise<void> {
  await page.keyboard.press('/');
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('runs-query');
}

const focusedRun = (): Promise<string | null> =>
  page.evaluate(
    () => document.activeElement?.closest('[data-run]')?.getAttribute('data-run') ?? null,
  );

/** One run that is newer than all others. */
async function makeMore(): Promise<readonly [Store, string]> {
  const id = 'run_newest';
  const stored = await store.findRun(idOf(0));
  if (stored === undefined) throw new Error('The first run is gone.');
  const { revision: _revision, ...rest } = stored;
  const startedAtMs = Date.parse('2026-06-01T00:00:00Z');
  const document = rest.document
    .replaceAll(idOf(0), id)
    .replace(/"started_at":"[^"]+"/, `"started_at":"${new Date(startedAtMs).toISOString()}"`);
  await store.createRun({ ...rest, id, startedAtMs, document });
  return [store, id];
}
