/** What happens inside a chart: wheel, pointer, fingers and keys, what the tooltip tells, axes by metrics, and files. */
import { readFile } from 'node:fs/promises';
import type { Browser, CDPSession, Download, Locator, Page } from 'playwright';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, TrainingSession, type Store } from 'quark-sdk';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import {
  checkBuilt,
  collectErrors,
  DEMO_DIR,
  drawsFrames,
  launchBrowser,
  panel,
  PATIENCE_MS,
} from './demo-browser.ts';

const LIMIT_MS = 240_000;
const STEPS = 2_000;
/** More than eight points a pixel. */
const DENSE_STEPS = 20_000;

async function record(store: Store): Promise<string> {
  const session = await TrainingSession.startRun({
    project: 'inside',
    storage: store,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < STEPS; step += 1) {
    const epoch = Math.floor(step / 100);
    metrics.log('train/loss', 2 * Math.exp(-step / 600) + 0.3, { step, epoch });
    if (step % 100 === 0) metrics.log('val/loss', 2 * Math.exp(-step / 600) + 0.5, { step });
    metrics.log('train/tokens', step * 1000, { step });
  }
  for (let step = 0; step < DENSE_STEPS; step += 1)
    metrics.log('dense/value', Math.sin(step / 900) + Math.sin(step * 2.4) / 4, { step });
  await session.endRun('completed');
  return session.runId;
}

describe('inside a chart', () => {
  let browser: Browser;
  let page: Page;
  let devtools: CDPSession;
  let errors: string[];
  let store: Store;
  let server: ServedStore;
  let loss: Locator;
  let address: string;

  /** Opens the page in a context of its own. */
  const open = async (): Promise<void> => {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      locale: 'en-US',
      hasTouch: true,
    });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    devtools = await context.newCDPSession(page);
    errors = collectErrors(page);
    await page.goto(address);
    loss = panel(page, 'loss').locator('.u-over');
    await loss.waitFor();
    await loss.scrollIntoViewIfNeeded();
  };

  beforeAll(async () => {
    checkBuilt();
    browser = await launchBrowser();
    store = createMemoryStore();
    const runId = await record(store);
    server = await serveStore({ store, dashboardDir: DEMO_DIR });
    address = `${server.url}#/runs/${runId}`;
    await open();
  }, LIMIT_MS);
  beforeEach(async () => {
    if (await drawsFrames(page)) return;
    // What the browser does to one page is no fault of the chart.
    await page.context().close();
    await open();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await store?.close();
  });

  const at = async (share: number): Promise<{ x: number; y: number }> => {
    const box = await loss.boundingBox();
    if (box === null) throw new Error('The plot is not shown.');
    return { x: box.x + box.width * share, y: box.y + box.height * 0.4 };
  };
  /** What is shown of the steps, as the address says it. */
  const zoom = async (): Promise<readonly number[] | undefined> => {
    const hash = await page.evaluate(() => location.hash);
    const found = /zoom=loss:([^:]+):([^&,]+)/.exec(hash);
    return found === null ? undefined : [Number(found[1]), Number(found[2])];
  };
  const width = async (): Promise<number> => {
    const [from = 0, to = STEPS - 1] = (await zoom()) ?? [];
    return to - from;
  };
  const reset = async (): Promise<void> => {
    await panel(page, 'loss').locator('.chart').focus();
    await page.keyboard.press('0');
    await expect.poll(zoom).toBeUndefined();
  };

  it(
    'the pointer is told values, sorted, beside what they are of',
    { timeout: LIMIT_MS },
    async () => {
      const { x, y } = await at(0.5);
      await page.mouse.move(x, y);
      const tooltip = panel(page, 'loss').locator('.chart-tooltip');
      await tooltip.waitFor();
      expect(await tooltip.locator('.tooltip-head').innerText()).toMatch(
        /^step (9\d\d|1,0\d\d) · /,
      );
      expect(await tooltip.locator('.legend-name').allInnerTexts()).toEqual(['val', 'train']);
      const box = await tooltip.boundingBox();
      expect(box === null || x < box.x || x > box.x + box.width).toBe(true);
      await page.mouse.move(0, 0);
      await expect.poll(() => tooltip.count()).toBe(0);
    },
  );

  it(
    'a plain wheel scrolls the page; with Ctrl it zooms at the pointer, and Backspace goes back',
    { timeout: LIMIT_MS },
    async () => {
      const { x, y } = await at(0.25);
      await page.mouse.move(x, y);
      const before = await page.evaluate(() => scrollY);
      await page.mouse.wheel(0, 40);
      await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(before);
      expect(await zoom()).toBeUndefined();

      await loss.scrollIntoViewIfNeeded();
      const there = await at(0.25);
      await page.mouse.move(there.x, there.y);
      await page.keyboard.down('Control');
      await page.mouse.wheel(0, -400);
      await page.keyboard.up('Control');
      await expect.poll(width).toBeLessThan(1_000);
      const [from = 0, to = 0] = (await zoom()) ?? [];
      // A quarter of what is shown is to the left of the pointer, as before.
      expect(Math.abs(from + (to - from) / 4 - (STEPS - 1) / 4)).toBeLessThan(STEPS / 50);
      await panel(page, 'loss').locator('.chart').focus();
      await page.keyboard.press('Backspace');
      await expect.poll(zoom).toBeUndefined();
    },
  );

  it(
    'a drag chooses a part, with Shift it moves it, a double click shows all',
    { timeout: LIMIT_MS },
    async () => {
      const drag = async (from: number, to: number): Promise<void> => {
        const [a, b] = [await at(from), await at(to)];
        await page.mouse.move(a.x, a.y);
        await page.mouse.down();
        await page.mouse.move(b.x, b.y, { steps: 4 });
        await page.mouse.up();
      };
      await drag(0.25, 0.75);
      await expect.poll(zoom).toBeDefined();
      const [from = 0, to = 0] = (await zoom()) ?? [];
      await page.keyboard.down('Shift');
      await drag(0.6, 0.4);
      await page.keyboard.up('Shift');
      await expect.poll(async () => ((await zoom()) ?? [])[0]).toBeGreaterThan(from + 100);
      expect(Math.abs((await width()) - (to - from))).toBeLessThan(2);
      const { x, y } = await at(0.5);
      await page.mouse.dblclick(x, y);
      await expect.poll(zoom).toBeUndefined();
    },
  );

  it('two fingers zoom', { timeout: LIMIT_MS }, async () => {
    const fingers = async (
      type: 'touchStart' | 'touchMove',
      a: number,
      b: number,
    ): Promise<void> => {
      const [left, right] = [await at(a), await at(b)];
      await devtools.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: [
          { ...left, id: 1 },
          { ...right, id: 2 },
        ],
      });
    };
    await fingers('touchStart', 0.45, 0.55);
    for (let move = 1; move <= 5; move += 1)
      await fingers('touchMove', 0.45 - move * 0.05, 0.55 + move * 0.05);
    await devtools.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await expect.poll(width).toBeLessThan(STEPS / 2);
    expect(await width()).toBeGreaterThan(STEPS / 20);
    await reset();
  });

  it('keys tell values, zoom and move', { timeout: LIMIT_MS }, async () => {
    const chart = panel(page, 'loss').locator('.chart');
    await chart.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    const spoken = panel(page, 'loss').locator('.chart-frame [role="status"]');
    await expect.poll(() => spoken.innerText()).toMatch(/^step \d.*train \d/);
    await page.keyboard.press('Escape');
    await page.keyboard.press('+');
    await expect.poll(width).toBeLessThan(STEPS * 0.7);
    const [from = 0] = (await zoom()) ?? [];
    await page.keyboard.press('Shift+ArrowRight');
    await expect.poll(async () => ((await zoom()) ?? [])[0]).toBeGreaterThan(from);
    await reset();
  });

  it('the legend shows one curve alone, by Alt and by S', { timeout: LIMIT_MS }, async () => {
    const items = panel(page, 'loss').locator('.legend-item');
    const pressed = (): Promise<(string | null)[]> =>
      items.evaluateAll((all) => all.map((one) => one.getAttribute('aria-pressed')));
    await items.first().click({ modifiers: ['Alt'] });
    await expect.poll(pressed).toEqual(['true', 'false']);
    await items.nth(1).press('s');
    await expect.poll(pressed).toEqual(['false', 'true']);
    await items.nth(1).press('s');
    await expect.poll(pressed).toEqual(['true', 'true']);
  });

  it('is saved as PNG, SVG and CSV, and as a link', { timeout: LIMIT_MS }, async () => {
    const save = async (group: string, way: string): Promise<Download> => {
      const waiting = page.waitForEvent('download');
      await panel(page, group).locator('.save-menu-button button').first().click();
      await page.getByRole('menuitem', { name: way }).click();
      return waiting;
    };
    const png = await save('loss', 'PNG');
    expect(png.suggestedFilename()).toBe('loss.png');
    const bytes = await readFile(await png.path());
    const plot = await loss.boundingBox();
    // The width of a PNG is at byte 16: twice that of the chart.
    expect(bytes.readUInt32BE(16)).toBeGreaterThan(2 * (plot?.width ?? 0));
    const svg = await readFile(await (await save('loss', 'SVG')).path(), 'utf8');
    expect(svg).toContain('>train ');
    expect(svg.match(/<path/g)?.length).toBeGreaterThan(4);
    const csv = await readFile(await (await save('loss', 'CSV')).path(), 'utf8');
    expect(csv.split('\r\n')).toHaveLength(1 + STEPS + STEPS / 100 + 1);

    await panel(page, 'loss').locator('.save-menu-button button').first().click();
    await page.getByRole('menuitem', { name: 'Link' }).click();
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText()))
      .toBe(await page.evaluate(() => location.href));
  });

  it(
    'goes by epochs and time, on logarithmic axes, and is smoothed in three ways with the curve as recorded behind',
    { timeout: LIMIT_MS },
    async () => {
      const picture = (): Promise<string> =>
        panel(page, 'loss')
          .locator('canvas')
          .first()
          .evaluate((one) => (one instanceof HTMLCanvasElement ? one.toDataURL() : ''));
      const told = async (): Promise<string> => {
        await panel(page, 'loss').locator('.chart').focus();
        await page.keyboard.press('End');
        const text = await panel(page, 'loss').locator('.tooltip-head').innerText();
        await page.keyboard.press('Escape');
        return text;
      };
      /** Waits until the chart is drawn in another way than before. */
      const changes = async (change: () => Promise<void>): Promise<void> => {
        const before = await picture();
        await change();
        await expect.poll(picture).not.toBe(before);
      };
      const axis = page.getByRole('radiogroup', { name: 'Horizontal axis' });
      for (const [name, head] of [
        ['Epoch', /^epoch 19/],
        ['Time', /s/],
        ['Clock', /:/],
        ['Step', /^step 1,9/],
      ] as const) {
        await axis.getByRole('radio', { name, exact: true }).click();
        await expect.poll(told).toMatch(head);
      }
      for (const name of ['Log scale', 'Log x']) {
        await changes(() => page.getByRole('checkbox', { name, exact: true }).check());
        await changes(() => page.getByRole('checkbox', { name, exact: true }).uncheck());
      }
      await changes(() => page.getByRole('slider', { name: 'Smoothing' }).fill('0.9'));
      const paths = async (): Promise<number> => {
        const waiting = page.waitForEvent('download');
        await panel(page, 'loss').locator('.save-menu-button button').first().click();
        await page.getByRole('menuitem', { name: 'SVG' }).click();
        const svg = await readFile(await (await waiting).path(), 'utf8');
        return svg.match(/<path[^>]* opacity=/g)?.length ?? 0;
      };
      // A faint line behind each of the two curves.
      expect(await paths()).toBe(2);
      const kind = page.getByRole('combobox', { name: 'Kind of smoothing' });
      await changes(async () => void (await kind.selectOption('Running mean')));
      await changes(async () => void (await kind.selectOption('Gaussian')));
      await page.getByRole('slider', { name: 'Smoothing' }).fill('0');
      await expect.poll(paths).toBe(0);
    },
  );

  it(
    'shows the range of many points a pixel as an envelope, and says of how many',
    { timeout: LIMIT_MS },
    async () => {
      const dense = panel(page, 'dense/value');
      await dense.scrollIntoViewIfNeeded();
      await dense.locator('canvas').waitFor();
      await expect
        .poll(() => dense.locator('.chart').getAttribute('aria-label'))
        .toContain('20,000 points');
      const waiting = page.waitForEvent('download');
      await dense.locator('.save-menu-button button').first().click();
      await page.getByRole('menuitem', { name: 'SVG' }).click();
      const svg = await readFile(await (await waiting).path(), 'utf8');
      expect(svg).toMatch(/<path[^>]*Z[^>]* opacity=/i);
      await dense.locator('.chart').focus();
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowRight');
      const tooltip = dense.locator('.chart-tooltip');
      await expect.poll(() => tooltip.innerText()).toMatch(/ to [−\d.]+ of \d\d/);
      await page.keyboard.press('Escape');
    },
  );

  it(
    'goes by the values of another metric, and back by the address',
    { timeout: LIMIT_MS },
    async () => {
      // What other tests chose is remembered: scales and smoothing.
      await page.evaluate(() => localStorage.clear());
      await page.goto('about:blank');
      await page.goto(`${address}?axis=metric:train/tokens`);
      await loss.waitFor();
      await loss.scrollIntoViewIfNeeded();
      const { x, y } = await at(0.5);
      await page.mouse.move(x, y);
      await page.mouse.move(x + 1, y);
      const head = panel(page, 'loss').locator('.tooltip-head');
      await expect.poll(() => head.innerText()).toMatch(/^train\/tokens (9|1,0)\d\d,000$/);
      expect(errors).toEqual([]);
    },
  );
});
