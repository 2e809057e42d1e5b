/** Files dropped on the page: behind a server of files only, as any web host is one. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
import { exportQuark } from 'quark-sdk/exchange';
import { layerRow, writeProbeRows } from '../support/probe-rows.ts';
import {
  collectErrors,
  countColor,
  dropOn,
  launchBrowser,
  panel,
  PATIENCE_MS,
  pointCount,
  serveFiles,
  TRAIN_COLOR,
} from './demo-browser.ts';
import { longTest } from '../support/long.ts';

const LIMIT_MS = 180_000;

/** Lightning's columns: validation on the rows between. */
function lightningCsv(rows: number, scale: number): string {
  const lines = ['epoch,step,train_loss,val_loss'];
  for (let step = 0; step < rows; step += 1) {
    const loss = scale * Math.exp(-step / (rows / 4));
    lines.push(`${Math.floor(step / 100)},${step},${loss},${step % 10 === 9 ? loss * 1.1 : ''}`);
  }
  return `${lines.join('\n')}\n`;
}

describe('files dropped on the page', () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let errors: string[];
  let server: { url: string; close: () => Promise<void> };
  let root: string;

  beforeAll(async () => {
    browser = await launchBrowser();
    server = await serveFiles();
    root = await mkdtemp(join(tmpdir(), 'quark-drop-'));
  }, LIMIT_MS);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await rm(root, { recursive: true, force: true });
  });
  beforeEach(async () => {
    context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      colorScheme: 'light',
      locale: 'en-US',
    });
    page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(server.url);
    await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
    errors = collectErrors(page);
  });
  afterEach(() => context.close());

  const write = async (path: string, text: string | Uint8Array): Promise<string> => {
    const full = join(root, path);
    await mkdir(dirname(full), { recursive: true });
    await writeFile(full, text);
    return full;
  };
  const dock = () => page.getByRole('complementary', { name: 'Dropped files' });
  const imported = (text: string | RegExp) => dock().getByText(text).waitFor();

  it(
    'are curves at once, and nothing of them leaves the machine',
    { timeout: LIMIT_MS },
    async () => {
      const first = await write('first/metrics.csv', lightningCsv(300, 2));
      const second = await write('second/metrics.csv', lightningCsv(200, 3));
      const more = [
        await write('third/metrics.csv', lightningCsv(250, 5)),
        await write('fourth/metrics.csv', lightningCsv(250, 7)),
      ];
      const requests: { url: string; method: string; body: string | null }[] = [];
      context.on('request', (request) => {
        requests.push({ url: request.url(), method: request.method(), body: request.postData() });
      });
      page.on('websocket', (socket) => errors.push(`A socket to ${socket.url()}`));
      await dropOn(page, [first]);
      await page.getByRole('heading', { name: 'metrics', level: 1 }).waitFor();
      await panel(page, 'loss').locator('canvas').waitFor();
      await expect.poll(() => countColor(page, 'loss', TRAIN_COLOR)).toBeGreaterThan(150);
      await expect.poll(() => pointCount(page, 'loss', 'train/loss')).toBe(300);
      await imported('1 run from 1 file');
      // What was asked for is the page's own code.
      for (const { url, method, body } of requests) {
        expect(url).toMatch(new RegExp(`^${server.url}assets/[\\w.-]+\\.(?:js|css)$`));
        expect([method, body]).toEqual(['GET', null]);
      }
      // With all of it there, the page needs no network at all. What a list of runs needs is loaded behind the first run.
      await expect
        .poll(() =>
          page.evaluate(() =>
            ['/one-chart-', '/curve-reading-', '/compare-view-'].filter((part) =>
              performance.getEntriesByType('resource').every(({ name }) => !name.includes(part)),
            ),
          ),
        )
        .toEqual([]);
      await context.setOffline(true);
      requests.length = 0;
      await dropOn(page, [second]);
      await imported('2 runs from 2 files');
      await page.getByRole('link', { name: 'Show the runs' }).click();
      await expect.poll(() => page.locator('.run-row').count()).toBe(2);
      await expect
        .poll(() => page.locator('.comparison .legend-name').allInnerTexts())
        .toHaveLength(2);
      // Runs that come while others are drawn join them.
      await dropOn(page, more);
      await imported('4 runs from 4 files');
      await expect
        .poll(() => page.locator('.comparison .legend-name').allInnerTexts())
        .toHaveLength(4);
      expect(requests).toEqual([]);
      expect(errors).toEqual([]);
    },
  );

  it(
    'may be folders of many runs, some of them broken; kept runs stay, others go',
    { timeout: LIMIT_MS },
    async () => {
      for (const name of ['adam', 'sgd', 'adam-long-warmup'])
        await write(`sweep/${name}/version_0/metrics.csv`, lightningCsv(120, name.length));
      await write('sweep/adam/version_0/hparams.yaml', 'learning_rate: 0.003\n');
      await write('sweep/cut/trainer_state.json', '{"log_history": [{"step": 1, "loss": 2');
      await write('sweep/rows.csv', 'step,loss\n1,2\n2,1,7,8\n3,0.5\n');
      await write(
        'sweep/notes.bin',
        Uint8Array.from({ length: 64 }, (_, at) => at * 3),
      );
      await write('sweep/.git/metrics.csv', lightningCsv(10, 1));
      await dropOn(page, [join(root, 'sweep')]);
      await imported('4 runs from 7 files');
      await page.getByRole('heading', { name: 'Dropped files', level: 1 }).waitFor();
      await expect.poll(() => page.locator('.run-row').count()).toBe(4);

      const chart = page.locator('.comparison .panel');
      await expect
        .poll(async () => (await chart.locator('.legend-name').allInnerTexts()).toSorted())
        .toHaveLength(4);
      await chart.locator('canvas').waitFor();
      await page.locator('.metric-choice select').selectOption('val/loss');
      await expect.poll(() => chart.locator('.legend-item').count()).toBe(3);
      await page.getByText(/^Without val\/loss: /).waitFor();
      // Picked runs are compared alone: the others leave the chart, although nothing new is read.
      for (const name of ['sgd', 'adam-long-warmup'])
        await page.locator('.run-row', { hasText: name }).getByRole('checkbox').check();
      await expect.poll(() => chart.locator('.legend-item').count()).toBe(2);
      await page.getByRole('button', { name: 'Clear' }).click();
      await expect.poll(() => chart.locator('.legend-item').count()).toBe(3);

      await dock().locator('summary').click();
      const problems = await dock().locator('li').allInnerTexts();
      expect(problems.join('\n')).toMatch(/sweep\/rows\.csv\s+line 3/);
      expect(problems.join('\n')).toMatch(/sweep\/cut\/trainer_state\.json/);
      expect(problems.join('\n')).toMatch(/sweep\/notes\.bin\s+No known format/);

      await page.locator('.run-row', { hasText: 'adam' }).first().getByRole('link').click();
      await panel(page, 'loss').locator('canvas').waitFor();
      await dock().getByRole('button', { name: 'Keep in this browser' }).click();
      await imported('4 runs kept in this browser');
      await dock().getByRole('button', { name: 'Close' }).click();
      await page.reload();
      await panel(page, 'loss').locator('canvas').waitFor();
      await page.getByRole('link', { name: 'Quark, all runs' }).click();
      await expect.poll(() => page.locator('.run-row').count()).toBe(4);

      // Runs that are picked here are none of those that are dropped: these are compared, all of them.
      for (const at of [0, 1]) await page.locator('.run-row').nth(at).getByRole('checkbox').check();
      await dropOn(page, [
        await write('again/one.csv', lightningCsv(50, 1)),
        await write('again/two.csv', lightningCsv(60, 2)),
      ]);
      await imported('2 runs from 2 files');
      await page.getByRole('radio', { name: 'Files' }).waitFor();
      await expect.poll(() => chart.locator('.legend-item').count()).toBe(2);
      await dock().getByRole('button', { name: 'Discard' }).click();
      await expect.poll(() => page.locator('.run-row').count()).toBe(4);
      expect(await page.getByRole('radio', { name: 'Files' }).count()).toBe(0);
      expect(await dock().count()).toBe(0);
      expect(errors).toEqual([]);
    },
  );

  longTest(
    'are shown while they are read, until somebody cancels',
    { timeout: LIMIT_MS },
    async () => {
      const long = await write('long.csv', lightningCsv(2_000_000, 2));
      await dropOn(page, [long]);
      await panel(page, 'loss').locator('canvas').waitFor();
      await expect.poll(() => page.locator('.run-title .status').innerText()).toBe('Importing');
      const bar = dock().getByRole('progressbar');
      expect(Number(await bar.getAttribute('aria-valuenow'))).toBeLessThan(100);
      await dock().getByRole('button', { name: 'Cancel' }).click();
      await imported('Cancelled: 1 run');
      await expect.poll(() => page.locator('.run-title .status').innerText()).toBe('Interrupted');
      const count = await pointCount(page, 'loss', 'train/loss');
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThan(2_000_000);
      expect(errors).toEqual([]);
    },
  );

  it(
    'are analysed in a worker: phases, alerts that lead to their place, health',
    { timeout: LIMIT_MS },
    async () => {
      // Learns for 300 steps, then blows up.
      const lines = ['step,train_loss'];
      for (let step = 0; step < 500; step += 1)
        lines.push(
          `${step},${step < 300 ? 2 * Math.exp(-step / 60) + 0.3 : 0.3 * 1.06 ** (step - 300)}`,
        );
      await dropOn(page, [await write('diverges.csv', lines.join('\n'))]);
      await imported('1 run from 1 file');
      await page.getByRole('link', { name: 'Analysis' }).click();
      const phases = page.getByRole('region', { name: 'Phases' });
      await phases.getByRole('button', { name: /^Rapid learning/ }).waitFor();
      await phases.getByRole('button', { name: /^Divergence/ }).waitFor();
      await panel(page, 'loss').locator('canvas').waitFor();
      const alert = page.locator('.alert[data-rule="loss_divergence"]');
      await alert.getByText('critical').waitFor();
      await expect.poll(() => page.locator('.health-score').count()).toBe(5);
      expect(await page.locator('.health-score.is-healthy').count()).toBeLessThan(5);
      expect(await phases.getByRole('button', { name: 'Show all' }).count()).toBe(0);
      await alert.getByRole('button', { name: /^since step 3\d\d/ }).click();
      await phases.getByRole('button', { name: 'Show all' }).click();
      expect(await phases.getByRole('button', { name: 'Show all' }).count()).toBe(0);
      // The same of a run that is recorded in this browser.
      await dock().getByRole('button', { name: 'Keep in this browser' }).click();
      await imported('1 run kept in this browser');
      await page.reload();
      await page.locator('.alert[data-rule="loss_divergence"]').waitFor();
      expect(errors).toEqual([]);
    },
  );

  longTest(
    'may be .quark files, with everything of their runs',
    { timeout: LIMIT_MS },
    async () => {
      const store = createMemoryStore();
      const session = await TrainingSession.startRun({
        project: 'recorded elsewhere',
        config: { optimizer: 'adam' },
        storage: store,
        handleSignals: false,
      });
      const metrics = new MetricsLogger(session);
      for (let step = 0; step < 50; step += 1) metrics.log('train/loss', 1 / (step + 1), { step });
      await writeProbeRows(session, {
        layers: [layerRow({ moduleName: 'conv', step: 3 })],
        parameters: [],
        distributions: [],
      });
      await session.endRun('completed');
      const parts: Uint8Array[] = [];
      for await (const part of exportQuark(await openRun(store, session.runId))) parts.push(part);
      await dropOn(page, [await write('one.quark', Buffer.concat(parts))]);
      await imported('1 run from 1 file');
      await page.getByRole('heading', { name: 'recorded elsewhere', level: 1 }).waitFor();
      expect(page.url()).toContain(session.runId);
      await expect.poll(() => pointCount(page, 'loss', 'train/loss')).toBe(50);
      await expect.poll(() => page.locator('.facts').innerText()).toContain('adam');
      await page.getByRole('link', { name: 'Layers' }).click();
      await expect.poll(() => page.locator('.heat-label').allInnerTexts()).toEqual(['conv']);
      expect(errors).toEqual([]);
    },
  );

  longTest('are picked with the keyboard as well', { timeout: LIMIT_MS }, async () => {
    const file = await write('picked.csv', lightningCsv(60, 2));
    const chosen = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Open files' }).focus();
    await page.keyboard.press('Enter');
    await (await chosen).setFiles([file]);
    await page.getByRole('heading', { name: 'picked', level: 1 }).waitFor();
    await imported('1 run from 1 file');
    await page.getByRole('link', { name: 'Quark, all runs' }).click();
    const folder = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Open a folder' }).focus();
    await page.keyboard.press('Space');
    for (const name of ['a', 'b']) await write(`more/${name}/metrics.csv`, lightningCsv(30, 1));
    await (await folder).setFiles(join(root, 'more'));
    await imported('3 runs from 3 files');
    await expect.poll(() => page.locator('.run-row').count()).toBe(3);
    for (const box of await page.getByRole('checkbox', { name: /^Compare / }).all())
      await box.check();
    await page.getByRole('link', { name: 'Compare', exact: true }).click();
    await page.getByRole('heading', { name: 'Comparison', level: 1 }).waitFor();
    await expect.poll(() => page.locator('.comparison .legend-item').count()).toBe(3);
    expect(errors).toEqual([]);
  });

  longTest('say so when there is nothing to read in them', { timeout: LIMIT_MS }, async () => {
    await dropOn(page, [await write('photo.jpg', Uint8Array.of(255, 216, 255, 0))]);
    await imported('Nothing in these files could be read as a run');
    await dock().locator('summary').click();
    expect(await dock().locator('li').allInnerTexts()).toEqual([
      expect.stringContaining('photo.jpg'),
    ]);
    await dock().getByRole('button', { name: 'Close' }).click();
    await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
    expect(errors).toEqual([]);
  });
});
