/** What probes and diagnostics recorded, on the page of a run that the server of the package serves. */
import type { Browser, Locator, Page } from 'playwright';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, TrainingSession, type Store } from 'quark-sdk';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import { DataDiagnostics, SystemTelemetry } from 'quark-sdk/probes';
import { distributionRow, layerRow, parameterRow, writeProbeRows } from '../support/probe-rows.ts';
import {
  checkBuilt,
  collectErrors,
  DEMO_DIR,
  launchBrowser,
  panel,
  PATIENCE_MS,
} from './demo-browser.ts';
import { longTest } from '../support/long.ts';

const LIMIT_MS = 240_000;
const LAYERS = ['conv', 'hidden', 'out'];
const BACKWARD = { summaryType: 'gradient', hookDirection: 'backward' } as const;

async function started(store: Store): Promise<TrainingSession> {
  return TrainingSession.startRun({
    project: 'layers',
    storage: store,
    config: {},
    handleSignals: false,
  });
}

/** Two layers and one whose gradient is not finite from step 40 on; `conv` is missing at step 20. */
function probed(steps: readonly number[]): Parameters<typeof writeProbeRows>[1] {
  return {
    layers: steps.flatMap((step) => [
      ...LAYERS.filter((name) => name !== 'conv' || step !== 20).map((moduleName, at) =>
        layerRow({ moduleName, step, mean: at - 1 + step / 100, deadUnitRatio: at / 4 }),
      ),
      ...LAYERS.toReversed().map((moduleName) =>
        layerRow({
          moduleName,
          step,
          ...BACKWARD,
          norm: 0.125,
          nonFiniteCount: moduleName === 'hidden' && step >= 40 ? 3 : 0,
        }),
      ),
    ]),
    parameters: steps.map((step) =>
      parameterRow({ moduleName: 'hidden', parameterName: 'hidden/kernel', step }),
    ),
    distributions: steps.flatMap((step) =>
      (['value', 'gradient'] as const).map((distributionType) =>
        distributionRow({
          moduleName: 'hidden',
          parameterName: 'hidden/kernel',
          step,
          distributionType,
        }),
      ),
    ),
  };
}

/** The colours of one row of cells: one pixel from the middle of each. */
async function cellColors(map: Locator, row: number, rowCount: number): Promise<string[]> {
  return map.locator('canvas').evaluate(
    (canvas, at) => {
      if (!(canvas instanceof HTMLCanvasElement)) return [];
      const context = canvas.getContext('2d');
      const count = Number(canvas.dataset['columns']);
      return Array.from({ length: count }, (_, column) => {
        const pixel = context?.getImageData(
          Math.floor(((column + 0.5) * canvas.width) / count),
          Math.floor(((at.row + 0.5) * canvas.height) / at.rowCount),
          1,
          1,
        ).data;
        return [...(pixel ?? [])].join();
      });
    },
    { row, rowCount },
  );
}

describe('the layers of a run', () => {
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

  const openView = async (runId: string, view: string): Promise<void> => {
    await page.goto(`${server.url}#/runs/${runId}?view=${view}`);
    await page.getByRole('heading', { name: 'layers', level: 1 }).waitFor();
  };
  const labels = (): Promise<string[]> => page.locator('.heat-label').allInnerTexts();

  it('are a heat map that grows while the run is live', { timeout: LIMIT_MS }, async () => {
    const session = await started(store);
    await writeProbeRows(session, probed([0, 10, 20]));
    await session.flush();
    await openView(session.runId, 'layers');
    const map = page.locator('.heat-panel').first();
    const columns = (): Promise<string | null> =>
      map.locator('canvas').getAttribute('data-columns');
    await expect.poll(labels, { timeout: PATIENCE_MS }).toEqual(LAYERS);
    await expect.poll(columns).toBe('3');
    await expect.poll(() => map.locator('.heat-axis span').first().innerText()).toBe('step 0');
    const [first, second, missing] = await cellColors(map, 0, 3);
    expect(first).not.toBe(second);
    // Nothing was recorded there: the surface shows through.
    expect(missing).toBe('0,0,0,0');

    await writeProbeRows(session, probed([30, 40]));
    await session.flush();
    await expect.poll(columns, { timeout: PATIENCE_MS }).toBe('5');
    await page.getByRole('button', { name: 'Gradient norm' }).click();
    await expect.poll(labels).toEqual(LAYERS);
    await page.getByText('NaN or infinite').waitFor();
    await expect
      .poll(async () => {
        const colors = await cellColors(map, 1, 3);
        return colors[4] !== colors[3] && colors[0] === colors[3];
      })
      .toBe(true);

    // What is open of a layer grows as well. No pixels are read from here on: beside so many charts that takes long.
    await page.getByRole('button', { name: 'hidden', exact: true }).click();
    const histogram = page.locator('[data-histogram="hidden/kernel value"] canvas');
    await expect.poll(() => histogram.getAttribute('data-columns')).toBe('5');
    await writeProbeRows(session, probed([50]));
    await session.flush();
    await expect.poll(columns, { timeout: PATIENCE_MS }).toBe('6');
    await expect
      .poll(() => histogram.getAttribute('data-columns'), { timeout: PATIENCE_MS })
      .toBe('6');
    const chart = panel(page, 'layer:activation mean').locator('.chart');
    await expect.poll(() => chart.getAttribute('aria-label')).toContain('6 points');
    // Step times are metrics: they come on a way of their own.
    expect(await page.getByTestId('probe-cost').count()).toBe(0);
    const metrics = new MetricsLogger(session);
    for (let step = 0; step <= 50; step += 1)
      metrics.log('perf/step_time_ms', step % 10 === 0 ? 3 : 2, { step });
    await metrics.flush();
    await page.getByTestId('probe-cost').waitFor();
    await session.endRun('completed');
    expect(errors).toEqual([]);
  });

  longTest(
    'can be gone through with the keyboard, and say exact values',
    { timeout: LIMIT_MS },
    async () => {
      const session = await started(store);
      await writeProbeRows(session, probed([0, 10, 20, 30, 40]));
      await session.endRun('completed');
      await openView(session.runId, 'layers');
      await page.getByRole('button', { name: 'Activation mean' }).waitFor();
      const cells = page.getByRole('group', { name: /^Activation mean of 3 layers/ });
      await cells.focus();
      await page.keyboard.press('ArrowDown');
      const said = page.locator('.heat-body [role="status"]').first();
      await expect.poll(() => said.innerText()).toBe('conv · Dense: step 40, value −0.6');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowLeft');
      await expect.poll(() => said.innerText()).toBe('hidden · Dense: step 30, value 0.3');
      await page.keyboard.press('Enter');
      const detail = page.locator('.layer-detail');
      await detail.getByRole('heading', { name: 'hidden', level: 2 }).waitFor();
      await expect
        .poll(() =>
          page.getByRole('button', { name: 'hidden', exact: true }).getAttribute('aria-pressed'),
        )
        .toBe('true');
      const chart = panel(page, 'layer:activation mean').locator('.chart');
      await expect.poll(() => chart.getAttribute('aria-label')).toContain('5 points, last 0.4');
      await chart.focus();
      await page.keyboard.press('+');
      await expect.poll(() => page.url()).toMatch(/layer=hidden&zoom=layer/);
      await page.reload();
      await detail.getByRole('button', { name: 'Reset zoom' }).click();
      await expect.poll(() => page.url()).not.toContain('zoom=');

      const histogram = detail.locator('[data-histogram="hidden/kernel value"]');
      await expect.poll(() => histogram.locator('canvas').getAttribute('data-columns')).toBe('5');
      await expect
        .poll(() => histogram.getByRole('heading').innerText())
        .toMatch(/value of an element by step/);
      const top = await cellColors(histogram, 5, 40);
      const foot = await cellColors(histogram, 35, 40);
      expect(new Set(top).size).toBe(1);
      expect(top[0]).not.toBe(foot[0]);
      await detail.getByRole('radio', { name: 'Gradients' }).click();
      await detail.locator('[data-histogram="hidden/kernel gradient"]').waitFor();
      await page.getByRole('button', { name: 'Close layer hidden' }).click();
      await expect.poll(() => detail.count()).toBe(0);
      expect(errors).toEqual([]);
    },
  );

  longTest('say how to record them where there are none', { timeout: LIMIT_MS }, async () => {
    const session = await started(store);
    await session.endRun('completed');
    await openView(session.runId, 'layers');
    await page.getByRole('heading', { name: 'No layers were recorded' }).waitFor();
    await expect
      .poll(() => page.locator('.snippet').innerText())
      .toContain('quarkCallback(session, tf, model)');
    await page.getByRole('link', { name: 'Machine' }).click();
    await page.getByRole('heading', { name: 'The machine was not watched' }).waitFor();
    await page.getByRole('link', { name: 'Batches' }).click();
    await page.getByRole('heading', { name: 'No batches were recorded' }).waitFor();
    await page.getByRole('link', { name: 'Metrics' }).click();
    await page.getByText('This run recorded no metrics.').waitFor();
    expect(errors).toEqual([]);
  });

  it('come with the machine and the batches', { timeout: LIMIT_MS }, async () => {
    const session = await started(store);
    const metrics = new MetricsLogger(session);
    const telemetry = new SystemTelemetry(session);
    const diagnostics = new DataDiagnostics(session);
    const usual = (step: number): number =>
      0.3 + 2 * Math.exp(-step / 80) + Math.sin(step * step) / 100;
    const train = (from: number, to: number): void => {
      for (let step = from; step < to; step += 1) {
        const loss = step === 533 ? 80 : usual(step);
        metrics.log('train/loss', loss, { step, epoch: step < 300 ? 0 : 1 });
        telemetry.recordStep(step, { stepTimeMs: 10 + (step % 40) });
        diagnostics.logBatch(loss, {
          step,
          epoch: step < 300 ? 0 : 1,
          labels: [step % 2, 1],
          sampleIds: [`image-${step}`, 'other'],
        });
      }
    };
    await openView(session.runId, 'batches');
    await page.getByRole('heading', { name: 'No batches yet' }).waitFor();
    train(0, 300);
    await session.flush();
    // What comes while the page is open is shown, and added to.
    const count = page.locator('.batches .tile dd').first();
    await expect.poll(() => count.innerText(), { timeout: PATIENCE_MS }).toBe('300');
    train(300, 600);
    await telemetry.close();
    await diagnostics.close();
    await session.endRun('completed');
    await expect.poll(() => count.innerText(), { timeout: PATIENCE_MS }).toBe('600');
    const hard = page.getByRole('region', { name: 'Hard batches' });
    const row = hard.locator('tbody tr').first();
    await expect.poll(() => row.innerText()).toMatch(/533\s+1\s+80\s/);
    await expect.poll(() => row.innerText()).toContain('image-533, other');
    await expect.poll(() => row.innerText()).toContain('1 100\u00a0%');
    // A long line of reasons wraps; it does not push the table over what stands beside it.
    const end = await hard.evaluate((section) => {
      const tiles = section.parentElement?.getBoundingClientRect().right ?? Infinity;
      return Math.max(tiles, section.getBoundingClientRect().right);
    });
    const beside = await page.getByLabel('About this run').boundingBox();
    expect(end).toBeLessThanOrEqual(beside?.x ?? 0);
    const classes = page.getByRole('region', { name: 'Class exposure' }).locator('tbody tr');
    expect(await classes.allInnerTexts()).toEqual([
      expect.stringMatching(/^0\s+300\s+25.0 %$/),
      expect.stringMatching(/^1\s+900\s+75.0 %$/),
    ]);

    // What the worker finds: the last asking is of the run that has ended.
    const spike = page
      .getByRole('region', { name: 'Spikes and their batches' })
      .locator('tbody tr');
    await expect
      .poll(() => spike.allInnerTexts(), { timeout: PATIENCE_MS })
      .toEqual([expect.stringMatching(/^train\/loss\s+533\s+0\.3.*80\s+80\s+image-533, other/)]);
    await page.getByText('No class stands out.').waitFor();
    await hard.getByRole('radio', { name: 'Nearby steps' }).click();
    await expect.poll(() => row.innerText()).toMatch(/533\s+1\s+80\s.*is usual at that time/);

    await page.getByRole('link', { name: 'Machine' }).click();
    await panel(page, 'machine:step time (ms)').locator('canvas').waitFor();
    await panel(page, 'machine:memory of the program').locator('canvas').waitFor();
    expect(errors).toEqual([]);
  });

  longTest('fit a phone', { timeout: LIMIT_MS }, async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    const session = await started(store);
    const steps = Array.from({ length: 400 }, (_, at) => at * 10);
    await writeProbeRows(session, probed(steps));
    await session.endRun('completed');
    await openView(session.runId, 'layers');
    await expect.poll(labels, { timeout: PATIENCE_MS }).toEqual(LAYERS);
    await page.getByText(/probed steps a column/).waitFor();
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow).toBeLessThanOrEqual(0);
    expect(errors).toEqual([]);
  });
});
