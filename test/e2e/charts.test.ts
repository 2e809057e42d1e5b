/** Charts and their address: ranges, outliers, styles of runs, and the way back to what was seen. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, TrainingSession, type Store } from 'quark-sdk';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import {
  checkBuilt,
  collectErrors,
  DEMO_DIR,
  dropOn,
  launchBrowser,
  panel,
  PATIENCE_MS,
} from './demo-browser.ts';
import { longTest } from '../support/long.ts';

const LIMIT_MS = 240_000;
const STEPS = 200;

/** A run whose losses diverge if it is told so, and whose batch times go on for longer than its losses. */
async function record(store: Store, at: number, isDiverging: boolean): Promise<string> {
  const session = await TrainingSession.startRun({
    project: 'sweep',
    storage: store,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < STEPS; step += 1) {
    const loss = (2 + at / 10) * Math.exp(-step / 60) + 0.3;
    metrics.log('train/loss', isDiverging && step > 100 ? 1e3 * 1.1 ** (step - 100) : loss, {
      step,
    });
    metrics.log('optimizer/lr', 0.001 * Math.exp(-step / 200), { step });
    metrics.log('perf/long', step, { step: step * 20 });
  }
  await session.endRun('completed');
  return session.runId;
}

/** Drags over the plot of a panel, from and to these shares of its width. */
async function drag(page: Page, plot: Locator, from: number, to: number): Promise<void> {
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  if (box === null) throw new Error('The plot is not shown.');
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, y, { steps: 4 });
  await page.mouse.up();
}

describe('the charts', () => {
  let browser: Browser;
  let page: Page;
  let errors: string[];
  let store: Store;
  let server: ServedStore;
  let runIds: string[];

  beforeAll(async () => {
    checkBuilt();
    browser = await launchBrowser();
    store = createMemoryStore();
    runIds = [];
    for (let at = 0; at < 12; at += 1) runIds.push(await record(store, at, at === 5));
    server = await serveStore({ store, dashboardDir: DEMO_DIR });
  }, LIMIT_MS);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await store?.close();
  });
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 1280, height: 700 }, locale: 'en-US' });
    page.setDefaultTimeout(PATIENCE_MS);
    errors = collectErrors(page);
  });
  afterEach(() => page.close());

  const hash = (): Promise<string> => page.evaluate(() => location.hash);
  const valueOf = (group: string): Promise<string> =>
    panel(page, group).locator('.legend-value').first().innerText();

  it(
    'have a range each, and say nothing where there is nothing',
    { timeout: LIMIT_MS },
    async () => {
      await page.goto(`${server.url}#/runs/${runIds[0]}`);
      const loss = panel(page, 'loss').locator('.u-over');
      await loss.waitFor();
      await drag(page, loss, 0.25, 0.75);
      await expect
        .poll(hash, { timeout: PATIENCE_MS })
        .toMatch(/\?zoom=loss:4\d[\d.]*:1[45]\d[\d.]*$/);

      const long = panel(page, 'perf/long').locator('.u-over');
      // Drawn when it comes near the screen.
      await panel(page, 'perf/long').scrollIntoViewIfNeeded();
      // Drawn anew at its own height: a plot that was found may be gone a moment later.
      // A plot is drawn anew at its own height: one that was found may be gone a moment later.
      const pointAtEnd = async (): Promise<string> => {
        const box = await long.boundingBox({ timeout: 1000 }).catch(() => null);
        if (box === null) return '';
        await page.mouse.move(box.x + box.width * 0.9, box.y + box.height / 2);
        return valueOf('perf/long');
      };
      await expect.poll(pointAtEnd).toMatch(/^1[78]\d/);
      // Far beyond the last step of the loss.
      expect(await valueOf('loss')).toBe('–');
      await page.mouse.move(0, 0);
      await expect.poll(() => valueOf('loss')).not.toBe('–');

      await page.reload();
      await expect
        .poll(() => page.getByRole('button', { name: 'Show all' }).isEnabled())
        .toBe(true);
      expect(await hash()).toContain('zoom=loss:');
      await page.getByRole('button', { name: 'Show all' }).click();
      await expect.poll(hash).not.toContain('zoom');
      expect(errors).toEqual([]);
    },
  );

  it('tell twelve runs apart, and leave one that diverged out', { timeout: LIMIT_MS }, async () => {
    await page.goto(`${server.url}#/compare?runs=${runIds.join()}`);
    const swatches = page.locator('.run-legend .swatch-button');
    await expect.poll(() => swatches.count(), { timeout: PATIENCE_MS }).toBe(12);
    const styles = (): Promise<string[]> =>
      swatches.evaluateAll((all) =>
        all.map((one) => one.getAttribute('aria-label')?.split(': ')[1] ?? ''),
      );
    expect(new Set(await styles()).size).toBe(12);

    await page.getByLabel('Ignore outliers').check();
    await expect
      .poll(() => panel(page, 'train/loss').getByTestId('outliers').innerText())
      .toMatch(/^outliers up to 1.*e7 cut off$/);
    await swatches.nth(2).click();
    await page.getByRole('button', { name: 'dotted rose', exact: true }).click();
    await expect.poll(async () => (await styles())[2]).toBe('dotted rose');

    // Another comparison, with the same runs in another order: they stay as they were.
    const before = await styles();
    await page.goto(`${server.url}#/compare?runs=${[runIds[7], runIds[2]].join()}`);
    await expect.poll(() => swatches.count()).toBe(2);
    expect(await styles()).toEqual([before[7], before[2]]);
    await page.reload();
    await expect.poll(() => swatches.count()).toBe(2);
    expect(await styles()).toEqual([before[7], before[2]]);
    expect(errors).toEqual([]);
  });

  it('and lists are as they were after a way there and back', { timeout: LIMIT_MS }, async () => {
    await page.setViewportSize({ width: 1280, height: 400 });
    await page.goto(server.url);
    await page.locator('.run-row').nth(11).waitFor();
    await page.getByRole('button', { name: 'Loss', exact: true }).click();
    await page.getByRole('group', { name: 'Filter by status' }).getByText('Completed').click();
    await expect.poll(hash).toBe('#/?only=status:completed&sort=loss');
    const frame = page.locator('.table-frame');
    await frame.evaluate((element) => {
      element.scrollTop = 100;
    });
    const scrolled = (): Promise<number> => frame.evaluate(({ scrollTop }) => scrollTop);
    await expect.poll(scrolled).toBe(100);

    const link = page.locator('.run-row .run-link').nth(4);
    // A click of the mouse would scroll to the link first; and rows that are sorted by losses that arrive move.
    await link.evaluate((element) => {
      if (element instanceof HTMLElement) element.click();
    });
    await panel(page, 'loss').waitFor();
    expect(await page.evaluate(() => scrollY)).toBe(0);
    await page.goBack();
    await page.locator('.run-row').nth(11).waitFor();
    await expect.poll(scrolled).toBe(100);
    expect(await hash()).toBe('#/?only=status:completed&sort=loss');
    await page.reload();
    await page.locator('.run-row').nth(11).waitFor();
    await expect.poll(scrolled).toBe(100);
    await page.getByRole('button', { name: 'Completed', pressed: true }).waitFor();
    expect(await page.locator('th[aria-sort="ascending"]').innerText()).toContain('Loss');
    expect(errors).toEqual([]);
  });

  it('are small in the list, for any metric', { timeout: LIMIT_MS }, async () => {
    await page.goto(`${server.url}#/?columns=name!,curve:optimizer/lr`);
    await expect
      .poll(() => page.locator('.run-row .spark path').count(), { timeout: PATIENCE_MS })
      .toBeGreaterThan(9);
    await page.getByRole('columnheader', { name: /optimizer\/lr/ }).waitFor();
    expect(errors).toEqual([]);
  });

  longTest('are linked on request', { timeout: LIMIT_MS }, async () => {
    await page.goto(`${server.url}#/runs/${runIds[0]}?linked=1`);
    const loss = panel(page, 'loss').locator('.u-over');
    await loss.waitFor();
    expect(await page.getByLabel('Link ranges').isChecked()).toBe(true);
    await drag(page, loss, 0, 0.1);
    await expect.poll(hash).toMatch(/linked=1&zoom=\*:0:39\d/);
  });

  longTest(
    'of a comparison are found by name, and the tab before is shown on the way back',
    { timeout: LIMIT_MS },
    async () => {
      await page.goto(`${server.url}#/compare?runs=${runIds.slice(0, 3).join()}`);
      await panel(page, 'train/loss').waitFor();
      await page.getByRole('searchbox', { name: 'Find charts' }).fill('optimizer');
      await expect.poll(() => panel(page, 'train/loss').count()).toBe(0);
      await panel(page, 'optimizer/lr').waitFor();
      await expect.poll(hash).toContain('find=optimizer');
      await page.getByRole('tab', { name: 'Values' }).click();
      await expect.poll(hash).toContain('tab=values');
      await page.goBack();
      await panel(page, 'optimizer/lr').waitFor();
    },
  );

  longTest('of files without times are drawn over their steps', { timeout: LIMIT_MS }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quark-axis-'));
    try {
      const lines = (count: number, line: (at: number) => string): string =>
        Array.from({ length: count }, (_, at) => line(at)).join('\n');
      const write = async (name: string, text: string): Promise<string> => {
        await writeFile(join(folder, name), text);
        return join(folder, name);
      };
      const paths = [
        await write(
          'results.csv',
          `epoch,train/box_loss,train/loss\n${lines(20, (at) => `${at},${2 / (at + 1)},${3 / (at + 1)}`)}`,
        ),
        await write(
          'metrics.csv',
          `epoch,step,train/loss\n${lines(40, (at) => `${Math.floor(at / 10)},${at * 50},${3 / (at + 1)}`)}`,
        ),
        await write(
          'trainer_state.json',
          JSON.stringify({
            global_step: 300,
            log_history: Array.from({ length: 30 }, (_, at) => ({
              loss: 3 / (at + 1),
              step: at * 10 + 10,
              epoch: at / 10,
              learning_rate: 1e-4,
            })),
          }),
        ),
        await write(
          'train.log',
          lines(30, (at) => `step ${at * 10} loss=${3 / (at + 1)} lr=0.001`),
        ),
      ];
      // Somebody who looked at times the last time.
      await page.addInitScript(() => localStorage.setItem('quark.charts', '{"axis":"time"}'));
      await page.goto(server.url);
      await page.locator('.run-row').first().waitFor();
      await dropOn(page, paths);
      await expect.poll(() => page.locator('.run-row').count(), { timeout: PATIENCE_MS }).toBe(4);
      await expect
        .poll(() => page.getByRole('radio', { name: 'Step' }).getAttribute('aria-checked'))
        .toBe('true');
      expect(errors).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
