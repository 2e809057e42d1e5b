/** The dashboard on a store that the server of the package serves. */
import { gzipSync } from 'node:zlib';
import type { Browser, Page, Request } from 'playwright';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createMemoryStore,
  EventLogger,
  MetricsLogger,
  TrainingSession,
  type Store,
} from 'quark-sdk';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import { Timers } from 'quark-sdk/profiler';
import {
  checkBuilt,
  collectErrors,
  countColor,
  DEMO_DIR,
  launchBrowser,
  panel,
  PATIENCE_MS,
  pointCount,
  TRAIN_COLOR,
  VAL_COLOR,
} from './demo-browser.ts';
import { longTest } from '../support/long.ts';

const LIMIT_MS = 240_000;
const STEPS = 300;
/** The strip of a plot in which NaN is marked; the curves of these tests stay above it. */
const FOOT_PX = 11;

/** A run with curves; at `badSteps` the loss is NaN, at `infiniteStep` infinite. Steps were `stepMs` apart, else as quick as they are. */
async function record(
  store: Store,
  project: string,
  options: {
    tags?: string[];
    badSteps?: number[];
    infiniteStep?: number;
    end?: 'completed' | 'failed';
    stepMs?: number;
  },
): Promise<TrainingSession> {
  const session = await TrainingSession.startRun({
    project,
    storage: store,
    tags: options.tags ?? [],
    config: { epochs: 3, optimizer: { name: 'adam', rate: 0.001 } },
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  const events = new EventLogger(session);
  const startedMs = Date.now() - STEPS * (options.stepMs ?? 0);
  for (let step = 0; step < STEPS; step += 1) {
    const epoch = Math.floor(step / 100);
    const at = options.stepMs === undefined ? {} : { timestamp: startedMs + step * options.stepMs };
    let loss = 2 * Math.exp(-step / 80) + 0.4;
    if (options.badSteps?.includes(step) === true) loss = Number.NaN;
    if (options.infiniteStep === step) loss = Number.POSITIVE_INFINITY;
    metrics.log('train/loss', loss, { step, epoch, ...at });
    metrics.log('optimizer/lr', 0.001, { step, epoch });
    if (step % 100 === 99)
      metrics.log('val/loss', 2.2 * Math.exp(-step / 80) + 0.2, { step, epoch });
  }
  events.log('user_log', {
    severity: 'warning',
    step: 150,
    payload: { message: 'Gradient is large' },
  });
  await session.flush();
  if (options.end !== undefined) await session.endRun(options.end);
  return session;
}

describe('the dashboard', () => {
  let browser: Browser;
  let page: Page;
  let errors: string[];
  let store: Store;
  let server: ServedStore;

  beforeAll(async () => {
    checkBuilt();
    browser = await launchBrowser();
  }, LIMIT_MS);
  afterAll(() => browser?.close());

  beforeEach(async () => {
    store = createMemoryStore();
    server = await serveStore({ store, dashboardDir: DEMO_DIR });
    page = await browser.newPage({
      viewport: { width: 1280, height: 900 },
      colorScheme: 'light',
      locale: 'en-US',
    });
    page.setDefaultTimeout(PATIENCE_MS);
    errors = collectErrors(page);
  });
  afterEach(async () => {
    await page.close();
    await server.close();
    await store.close();
  });

  it('shows how to record a first run when there is none', { timeout: LIMIT_MS }, async () => {
    await page.goto(server.url);
    await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
    await expect.poll(() => page.locator('.snippet').innerText()).toContain("from 'quark-sdk'");
    expect(errors).toEqual([]);
  });

  it('lists runs with status, tags and loss, and filters them', { timeout: LIMIT_MS }, async () => {
    const live = await record(store, 'speech', { tags: ['sweep'] });
    await record(store, 'digits', { tags: ['baseline', 'adam'], end: 'completed' });
    await record(store, 'digits', { tags: ['baseline'], badSteps: [STEPS - 1], end: 'failed' });
    await page.goto(server.url);
    const rows = page.locator('.run-row');
    await expect.poll(() => rows.count(), { timeout: PATIENCE_MS }).toBe(3);
    await expect
      .poll(() => page.locator('.run-row .loss-value').allInnerTexts(), { timeout: PATIENCE_MS })
      .toEqual(['NaN', '0.4476', '0.4476']);
    expect(await page.locator('.run-row .status').allInnerTexts()).toEqual([
      'Failed',
      'Completed',
      'Live',
    ]);
    expect((await page.locator('.spark path').first().getAttribute('d'))?.length).toBeGreaterThan(
      100,
    );

    await page.getByRole('button', { name: 'adam' }).click();
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByRole('button', { name: 'Stop filtering by tag adam' }).click();
    await page.getByRole('group', { name: 'Filter by status' }).getByText('Failed').click();
    await expect.poll(() => page.locator('.run-row .status').allInnerTexts()).toEqual(['Failed']);
    await page.getByRole('group', { name: 'Filter by status' }).getByText('Failed').click();

    await page.keyboard.press('/');
    await page.keyboard.type('speech');
    await expect.poll(() => page.locator('.run-project').allInnerTexts()).toEqual(['speech']);
    await page.keyboard.type(' nothing');
    await page.getByText('No run matches these filters.').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => rows.count()).toBe(3);

    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await expect
      .poll(() => page.locator('.run-project').allInnerTexts())
      .toEqual(['digits', 'digits', 'speech']);
    expect(errors).toEqual([]);
    await live.endRun();
  });

  it('is walked through with the keyboard alone', { timeout: LIMIT_MS }, async () => {
    await record(store, 'first', { end: 'completed' });
    const second = await record(store, 'second', { end: 'completed' });
    await page.goto(server.url);
    await page.locator('.run-row').nth(1).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    const focused = page.locator('.run-row:focus-within .run-project');
    await expect.poll(() => focused.innerText()).toBe('second');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'second', level: 1 }).waitFor();
    expect(new URL(page.url()).hash).toBe(`#/runs/${second.runId}`);

    // Keys zoom what is drawn.
    await expect.poll(() => pointCount(page, 'loss', 'train/loss')).toBe(STEPS);
    await panel(page, 'loss').locator('.chart').focus();
    const showAll = page.getByRole('button', { name: 'Show all' });
    expect(await showAll.isDisabled()).toBe(true);
    await page.keyboard.press('+');
    await expect.poll(() => showAll.isEnabled()).toBe(true);
    await page.keyboard.press('0');
    await expect.poll(() => showAll.isDisabled()).toBe(true);

    const axis = page.getByRole('radiogroup', { name: 'Horizontal axis' });
    await axis.getByRole('radio', { name: 'Step' }).focus();
    await page.keyboard.press('ArrowRight');
    await expect
      .poll(() => axis.getByRole('radio', { name: 'Time' }).getAttribute('aria-checked'))
      .toBe('true');
    expect(errors).toEqual([]);
  });

  it(
    'draws curves, zooms by dragging and shows all on a double click',
    { timeout: LIMIT_MS },
    async () => {
      const { runId } = await record(store, 'digits', { end: 'completed' });
      await page.goto(`${server.url}#/runs/${runId}`);
      await panel(page, 'loss').locator('canvas').waitFor();
      await expect.poll(() => countColor(page, 'loss', TRAIN_COLOR)).toBeGreaterThan(300);
      await expect.poll(() => countColor(page, 'loss', VAL_COLOR)).toBeGreaterThan(100);
      await expect.poll(() => pointCount(page, 'loss', 'train/loss')).toBe(STEPS);
      expect(await panel(page, 'loss').getByTestId('non-finite').count()).toBe(0);
      expect(await countColor(page, 'loss', TRAIN_COLOR, FOOT_PX)).toBe(0);

      const box = await panel(page, 'loss').locator('.u-over').boundingBox();
      if (box === null) throw new Error('The plot is not on the page.');
      await page.mouse.move(box.x + box.width * 0.25, box.y + 40);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 5 });
      await page.mouse.up();
      const showAll = page.getByRole('button', { name: 'Show all' });
      await expect.poll(() => showAll.isEnabled()).toBe(true);
      // Both panels point at the same place.
      await page.mouse.move(box.x + box.width * 0.5, box.y + 50);
      await expect.poll(() => page.locator('.readout').innerText()).toMatch(/^at step 11\d$/);
      await panel(page, 'loss').locator('.u-over').dblclick();
      await expect.poll(() => showAll.isDisabled()).toBe(true);

      await page.locator('.slider input').fill('0.9');
      await expect.poll(() => panel(page, 'loss').locator('.legend-smoothed').count()).toBe(1);
      await page.getByText('Log scale').click();
      await expect.poll(() => countColor(page, 'loss', TRAIN_COLOR)).toBeGreaterThan(300);
      await page
        .getByRole('button', { name: /^train/ })
        .first()
        .click();
      await expect.poll(() => countColor(page, 'loss', TRAIN_COLOR)).toBe(0);

      await expect.poll(() => page.locator('.facts').innerText()).toContain('adam');
      expect(await page.locator('.event-text').allInnerTexts()).toContain('Gradient is large');
      await page
        .getByRole('group', { name: 'Filter events by severity' })
        .getByText('warning')
        .click();
      await expect.poll(() => page.locator('.event').count()).toBe(1);
      expect(errors).toEqual([]);
    },
  );

  it(
    'marks values that are not finite instead of drawing over them',
    { timeout: LIMIT_MS },
    async () => {
      const { runId } = await record(store, 'digits', {
        badSteps: [120, 121, 122, 200],
        infiniteStep: 250,
        end: 'failed',
      });
      await page.goto(`${server.url}#/runs/${runId}`);
      await panel(page, 'loss').locator('canvas').waitFor();
      await expect
        .poll(() => panel(page, 'loss').getByTestId('non-finite').innerText())
        .toContain('5 not finite');
      // The loss never comes down to the foot of the plot: what has its colour there are the crosses.
      await expect.poll(() => countColor(page, 'loss', TRAIN_COLOR, FOOT_PX)).toBeGreaterThan(20);
      await page
        .getByRole('button', { name: /^train/ })
        .first()
        .click();
      await expect.poll(() => countColor(page, 'loss', TRAIN_COLOR, FOOT_PX)).toBe(0);
      await expect
        .poll(() => page.locator('.event[data-type="non_finite_metric"]').count())
        .toBe(1);
      expect(errors).toEqual([]);
    },
  );

  it('grows while the run goes on, and shows its end', { timeout: LIMIT_MS }, async () => {
    const session = await record(store, 'digits', { stepMs: 50 });
    const timers = new Timers(session);
    timers.time('load', () => undefined);
    await page.goto(`${server.url}#/runs/${session.runId}`);
    await panel(page, 'loss').locator('canvas').waitFor();
    await expect.poll(() => page.locator('.run-title .status').innerText()).toBe('Live');
    // Without a total there is no share, only when the last value came.
    await page.locator('.run-progress').getByText('last value').waitFor();
    expect(await page.locator('.run-progress .bar').count()).toBe(0);
    await session.setTotal({ epochs: 10, stepsPerEpoch: 100 });
    await session.flush();
    await expect
      .poll(() => page.locator('.run-progress').innerText(), { timeout: PATIENCE_MS })
      .toBe('epoch 3 of 10, 35 s left');
    const metrics = new MetricsLogger(session);
    for (let step = STEPS; step < STEPS + 50; step += 1)
      metrics.log('train/loss', 5, { step, epoch: 3 });
    metrics.log('gpu/memory_bytes', 1e9, { step: STEPS });
    await metrics.flush();
    await expect
      .poll(() => pointCount(page, 'loss', 'train/loss'), { timeout: PATIENCE_MS })
      .toBe(STEPS + 50);
    // A chart is drawn when it is on the screen.
    await panel(page, 'gpu:bytes').scrollIntoViewIfNeeded();
    await panel(page, 'gpu:bytes').locator('canvas').waitFor();
    new EventLogger(session).log('user_log', { payload: { message: 'Learning rate halved' } });
    await session.flush();
    await page.locator('.event', { hasText: 'Learning rate halved' }).waitFor();
    await page.getByRole('link', { name: 'Machine' }).click();
    await page.getByRole('heading', { name: 'No telemetry yet' }).waitFor();
    metrics.log('system/runtime/step_time_ms', 12, { step: STEPS });
    await metrics.flush();
    await panel(page, 'machine:step time (ms)').locator('canvas').waitFor();
    await expect.poll(() => page.locator('.panel').count()).toBe(1);
    await session.endRun('completed');
    await expect
      .poll(() => page.locator('.run-title .status').innerText(), { timeout: PATIENCE_MS })
      .toBe('Completed');
    await page.locator('.fact', { hasText: 'ended' }).waitFor();
    expect(await page.locator('.run-progress').count()).toBe(0);
    await expect
      .poll(() => page.locator('.fact', { hasText: 'load' }).innerText(), { timeout: PATIENCE_MS })
      .toMatch(/ms ± 0 ms, 1 time, .*median/s);
    await page.getByRole('link', { name: 'Metrics' }).click();
    await panel(page, 'loss').locator('canvas').waitFor();
    expect(await panel(page, 'machine:step time (ms)').count()).toBe(0);
    expect(errors).toEqual([]);
  });

  longTest('draws no more than the screen has room for', { timeout: LIMIT_MS }, async () => {
    const session = await TrainingSession.startRun({
      project: 'long',
      storage: store,
      handleSignals: false,
    });
    const metrics = new MetricsLogger(session, { batchSize: 50_000, maxBufferedRows: 400_000 });
    const count = 200_000;
    const steps = Float64Array.from({ length: count }, (_, step) => step);
    const values = steps.map((step) => (step === 123_456 ? 9 : Math.sin(step / 9000)));
    metrics.logColumns('signal', steps, values);
    await session.endRun();
    await page.goto(`${server.url}#/runs/${session.runId}`);
    await panel(page, 'signal').locator('canvas').waitFor();
    await expect.poll(() => pointCount(page, 'signal', 'signal')).toBe(count);
    await expect
      .poll(() =>
        panel(page, 'signal').evaluate((element) =>
          Number(element.querySelector<HTMLElement>('.chart')?.dataset['drawn']),
        ),
      )
      .toBeLessThan(9 * 1280);
    await expect.poll(() => countColor(page, 'signal', TRAIN_COLOR)).toBeGreaterThan(500);
    // The wave ends at 1; what is drawn above the lower half of an axis from -1 to 9 is the spike of one point.
    const lower = await countColor(page, 'signal', TRAIN_COLOR, 90);
    expect((await countColor(page, 'signal', TRAIN_COLOR)) - lower).toBeGreaterThan(40);
    expect(errors).toEqual([]);
  });

  it(
    'says so when the server goes away, and keeps what it has',
    { timeout: LIMIT_MS },
    async () => {
      const session = await record(store, 'digits', {});
      await page.goto(server.url);
      await page.locator('.run-row').first().waitFor();
      await page.goto(`${server.url}#/runs/${session.runId}`);
      await panel(page, 'loss').locator('canvas').waitFor();
      await server.close();
      await page.getByText('New points cannot be read just now').waitFor();
      await expect.poll(() => pointCount(page, 'loss', 'train/loss')).toBe(STEPS);
      await session.endRun();
    },
  );

  longTest(
    'explains a run that is not there, and an address that is none',
    { timeout: LIMIT_MS },
    async () => {
      await page.goto(`${server.url}#/runs/run_unknown`);
      await page.getByRole('heading', { name: 'This run is not here' }).waitFor();
      await page.getByRole('button', { name: 'Look in: This browser' }).waitFor();
      await page.goto(`${server.url}#/elsewhere`);
      await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
    },
  );

  longTest(
    'finds a run of the server for somebody who last looked at the browser',
    { timeout: LIMIT_MS },
    async () => {
      const { runId } = await record(store, 'digits', { end: 'completed' });
      await page.goto(server.url);
      await page.getByRole('radio', { name: 'This browser' }).click();
      await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
      await page.goto(`${server.url}#/runs/${runId}`);
      await page.getByRole('heading', { name: 'digits', level: 1 }).waitFor();
      await expect
        .poll(() => page.getByRole('radio', { name: 'Server' }).getAttribute('aria-checked'))
        .toBe('true');
      expect(errors).toEqual([]);
    },
  );

  longTest('explains a storage that cannot be read', { timeout: LIMIT_MS }, async () => {
    await page.route('**/quark.json', (request) =>
      request.fulfill({ json: { storage: 'http://127.0.0.1:9/' } }),
    );
    await page.goto(server.url);
    await page.getByRole('alert').waitFor();
    await expect.poll(() => page.getByRole('alert').innerText()).toMatch(/cannot be (opened|read)/);
    await page.getByRole('button', { name: 'Try again' }).waitFor();
  });

  it('is small, and leaves TensorFlow.js to the training page', { timeout: LIMIT_MS }, async () => {
    const scripts: Promise<number>[] = [];
    const finished: Request[] = [];
    page.on('requestfinished', (request) => finished.push(request));
    await page.addInitScript(() => {
      const began = performance.timeOrigin;
      const observer = new MutationObserver(() => {
        if (document.querySelector('.run-row') === null) return;
        document.documentElement.dataset['firstRowMs'] = String(began + performance.now());
        observer.disconnect();
      });
      observer.observe(document, { childList: true, subtree: true });
    });
    page.on('response', (response) => {
      // By its address: what is preloaded is no script by its kind.
      if (!response.url().endsWith('.js')) return;
      const length = response.body().then((body) => gzipSync(body).length);
      // One that arrives while the page is closed fails after the sum, where nobody waits for it any more.
      length.catch(() => undefined);
      scripts.push(length);
    });
    const { runId } = await record(store, 'digits', { end: 'completed' });
    await page.goto(server.url);
    await page.locator('.run-row').waitFor();
    const firstRowMs = Number(await page.locator('html').getAttribute('data-first-row-ms'));
    // What the first row waits for, as it comes over the wire, with what it asks the service; more is loaded ahead behind it.
    const before = finished.filter((request) => request.timing().startTime < firstRowMs);
    const sizes = await Promise.all(
      before.map(async (request) => {
        const { responseBodySize, responseHeadersSize } = await request.sizes();
        return responseBodySize + responseHeadersSize;
      }),
    );
    expect(sizes.length).toBeGreaterThan(4);
    // One of them is the chunk that workers load as well.
    expect(sizes.length).toBeLessThanOrEqual(9);
    const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThan(120_000);
    await page.goto(`${server.url}#/runs/${runId}`);
    await panel(page, 'loss').locator('canvas').waitFor();
    await page.getByRole('radio', { name: 'This browser' }).click();
    await page
      .getByRole('heading', { name: 'This run is not here' })
      .or(page.getByRole('heading', { name: 'digits' }))
      .first()
      .waitFor();
    const scriptBytes = (await Promise.all(scripts)).reduce((sum, bytes) => sum + bytes, 0);
    expect(scriptBytes).toBeGreaterThan(20_000);
    // Half of it is uPlot, Preact and the numeric routines, of which the curves need a part; 20 kB are the way to a service,
    // and 5 to 30 that chunks are those of the workers too: more of them where the worker is loaded before the sum is taken.
    expect(scriptBytes).toBeLessThan(300_000);
    expect(errors).toEqual([]);
  });

  longTest('keeps the theme that was chosen', { timeout: LIMIT_MS }, async () => {
    await page.goto(server.url);
    const themeOf = (): Promise<string | null> => page.locator('html').getAttribute('data-theme');
    expect(await themeOf()).toBe('light');
    await page.getByRole('button', { name: /^Theme: system/ }).click();
    await page.getByRole('button', { name: /^Theme: light/ }).click();
    expect(await themeOf()).toBe('dark');
    await page.reload();
    expect(await themeOf()).toBe('dark');
  });
});
