/** Every view of the page in the window of a phone, in fonts wider than those it was drawn with: nothing lies beside it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createMemoryStore,
  EventLogger,
  MetricsLogger,
  openStorage,
  TrainingSession,
  type Store,
} from 'quark-sdk';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import { serveService, type ServedService } from 'quark-sdk/service';
import { DataDiagnostics, SystemTelemetry } from 'quark-sdk/probes';
import { distributionRow, layerRow, parameterRow, writeProbeRows } from '../support/probe-rows.ts';
import {
  collectErrors,
  DEMO_DIR,
  dropOn,
  launchBrowser,
  panel,
  PATIENCE_MS,
  serveFiles,
} from './demo-browser.ts';
import { beyondWindow, WIDTHS, writeAs, WRITINGS } from './narrow.ts';
import { longTest } from '../support/long.ts';

const LIMIT_MS = 3 * PATIENCE_MS;
const LONG = 'a_project_with_a_name_that_has_no_place_to_break_and_goes_on';
const LAYER = 'encoder/block_12/attention/query_key_value_projection';

/** Charts are drawn as they come into the window. */
async function drawn(chart: Locator): Promise<void> {
  await chart.scrollIntoViewIfNeeded();
  await chart.locator('canvas').waitFor();
}

/** A run with something in every view of it. */
async function record(store: Store, project: string): Promise<string> {
  const session = await TrainingSession.startRun({
    project,
    storage: store,
    tags: ['baseline', 'learning-rate-warmup-of-1000-steps', 'third'],
    config: { optimizer: { name: 'adam', learning_rate_of_the_first_epoch: 1.25e-9 }, path: LONG },
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  const telemetry = new SystemTelemetry(session);
  const diagnostics = new DataDiagnostics(session);
  for (let step = 0; step < 400; step += 1) {
    const loss = step === 333 ? 80 : step === 20 ? Number.NaN : 2 * Math.exp(-step / 80) + 0.3;
    const epoch = Math.floor(step / 100);
    metrics.log('train/loss', loss, { step, epoch });
    metrics.log('perf/step_time_ms', step % 10 === 0 ? 3 : 2, { step, epoch });
    metrics.log(`a/group_with_a_long_name/${LONG}`, 123_456_789.125 * step, { step, epoch });
    if (step % 50 === 49) metrics.log('val/loss', loss * 1.1, { step, epoch });
    telemetry.recordStep(step, { stepTimeMs: 10 + (step % 40) });
    diagnostics.logBatch(Number.isNaN(loss) ? 1 : loss, {
      step,
      epoch,
      labels: [step % 2, `a-class-with-a-long-name-${step % 5}`],
      sampleIds: [`folder/of/images/image-${step}-${LONG}.png`, 'other'],
    });
  }
  const steps = Array.from({ length: 60 }, (_, at) => at * 10);
  await writeProbeRows(session, {
    layers: steps.flatMap((step) =>
      ['conv', LAYER].map((moduleName) =>
        layerRow({ moduleName, step, mean: step / 100, nonFiniteCount: step === 400 ? 3 : 0 }),
      ),
    ),
    parameters: steps.map((step) =>
      parameterRow({ moduleName: LAYER, parameterName: `${LAYER}/kernel`, step }),
    ),
    distributions: steps.map((step) =>
      distributionRow({ moduleName: LAYER, parameterName: `${LAYER}/kernel`, step }),
    ),
  });
  new EventLogger(session).log('user_log', {
    severity: 'error',
    step: 150,
    payload: { message: `Could not read ${LONG}/${LONG}`, detail: { path: LONG } },
  });
  await telemetry.close();
  await diagnostics.close();
  await session.endRun('failed');
  return session.runId;
}

describe('in the window of a phone, in any font', () => {
  const closers: (() => Promise<unknown>)[] = [];
  let browser: Browser;
  let store: Store;
  let server: ServedStore;
  let service: ServedService;
  let files: { readonly url: string; readonly close: () => Promise<void> };
  let folder: string;
  let runIds: string[];

  beforeAll(async () => {
    files = await serveFiles();
    closers.push(() => files.close());
    folder = await mkdtemp(join(tmpdir(), 'quark-phone-'));
    closers.push(() => rm(folder, { recursive: true, force: true }));
    store = createMemoryStore();
    runIds = [await record(store, 'vision'), await record(store, LONG)];
    server = await serveStore({ store, dashboardDir: DEMO_DIR });
    closers.push(() => server.close());
    service = await serveService({ storage: join(folder, 'service'), dashboardDir: DEMO_DIR });
    closers.push(() => service.close());
    browser = await launchBrowser();
    closers.push(() => browser.close());
  }, LIMIT_MS);
  afterAll(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  }, LIMIT_MS);

  /** Opens a view in a tab of its own and looks at it in each width and writing. */
  async function check(open: (page: Page) => Promise<void>): Promise<void> {
    const page = await browser.newPage({
      viewport: { width: 390, height: 800 },
      colorScheme: 'light',
      locale: 'en-US',
    });
    try {
      page.setDefaultTimeout(PATIENCE_MS);
      const errors = collectErrors(page);
      await open(page);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        for (const writing of WRITINGS) {
          await writeAs(page, writing);
          // Charts are drawn anew for another width, a moment later.
          await expect
            .poll(() => beyondWindow(page), { message: `${writing.name}, ${width} px` })
            .toEqual([]);
        }
      }
      expect(errors.filter((text) => !/status of 40[14]/.test(text))).toEqual([]);
    } finally {
      await page.close();
    }
  }

  const openRun = async (page: Page, view: string): Promise<void> => {
    await page.goto(`${server.url}#/runs/${runIds[1]}?view=${view}`);
    await page.getByRole('heading', { name: LONG, level: 1 }).waitFor();
  };

  it('the list of runs', { timeout: LIMIT_MS }, () =>
    check(async (page) => {
      await page.goto(server.url);
      await page.locator('.run-row .spark path').nth(1).waitFor();
    }),
  );

  longTest('what can be done to runs, and what was done', { timeout: LIMIT_MS }, async () => {
    const open = await serveService({ storage: join(folder, 'open'), dashboardDir: DEMO_DIR });
    closers.push(() => open.close());
    const stored = await openStorage(open.url);
    closers.push(() => stored.close());
    const ids = [await record(stored, 'vision'), await record(stored, LONG)];
    await check(async (page) => {
      await page.goto(open.url);
      await page.locator('.run-row .spark path').nth(1).waitFor();
    });
    await check(async (page) => {
      await page.goto(open.url);
      await page.getByRole('button', { name: `Actions for ${LONG}` }).click();
      await page.getByRole('menuitem', { name: 'Archive' }).click();
      await page.getByText(`Archived ${LONG}`).waitFor();
      await page.goto(`${open.url}#/runs/${ids[1]}`);
      await page.locator('.run-head').getByText('Archived').waitFor();
      await page.locator('.run-head').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('This run was deleted').waitFor();
    });
    await check(async (page) => {
      await page.goto(open.url);
      await page.getByRole('radio', { name: 'Deleted' }).click();
      await page.getByRole('button', { name: /^Restore/ }).waitFor();
    });
    await check(async (page) => {
      await page.goto(`${open.url}#/runs/${ids[1]}`);
      await page.getByRole('heading', { name: 'This run was deleted' }).waitFor();
    });
  });

  longTest('no runs, and how to record one', { timeout: LIMIT_MS }, () =>
    check(async (page) => {
      await page.goto(files.url);
      await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
    }),
  );

  it('the metrics of a run, its events and facts', { timeout: LIMIT_MS }, () =>
    check(async (page) => {
      await openRun(page, 'metrics');
      await drawn(panel(page, 'loss'));
      await page.locator('.event').first().waitFor();
      for (const details of await page.locator('.event details, .facts details').all())
        await details.evaluate((element) => element.setAttribute('open', ''));
    }),
  );

  longTest('its analysis', { timeout: LIMIT_MS }, () =>
    check(async (page) => {
      await openRun(page, 'analysis');
      await page
        .getByText(/health/i)
        .first()
        .waitFor();
      await page.locator('.finding, .alert, [data-finding]').first().waitFor();
    }),
  );

  longTest('its layers, and one of them', { timeout: LIMIT_MS }, () =>
    check(async (page) => {
      await openRun(page, 'layers');
      await page.getByRole('button', { name: LAYER, exact: true }).click();
      await page.locator('.layer-detail canvas').first().waitFor();
      await page.getByTestId('probe-cost').waitFor();
    }),
  );

  longTest('its machine', { timeout: LIMIT_MS }, () =>
    check(async (page) => {
      await openRun(page, 'machine');
      await drawn(panel(page, 'machine:step time (ms)'));
    }),
  );

  longTest('its batches', { timeout: LIMIT_MS }, () =>
    check(async (page) => {
      await openRun(page, 'batches');
      await page
        .getByRole('region', { name: 'Hard batches' })
        .locator('tbody tr')
        .first()
        .waitFor();
      await page.getByRole('region', { name: 'Class exposure' }).waitFor();
    }),
  );

  longTest('a comparison', { timeout: LIMIT_MS }, () =>
    check(async (page) => {
      await page.goto(`${server.url}#/compare?runs=${runIds.join()}`);
      await page.getByRole('heading', { name: 'Comparison', level: 1 }).waitFor();
      await expect.poll(() => page.locator('.comparison .legend-item').count()).toBe(2);
    }),
  );

  longTest(
    'an address that is none, and a run that is not there',
    { timeout: LIMIT_MS },
    async () => {
      await check(async (page) => {
        await page.goto(`${server.url}#/runs/run_${LONG}`);
        await page.getByRole('heading', { name: 'This run is not here' }).waitFor();
      });
      await check(async (page) => {
        await page.goto(`${server.url}#/${LONG}/${LONG}`);
        await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
      });
    },
  );

  longTest('the training page, before and while it trains', { timeout: LIMIT_MS }, async () => {
    await check(async (page) => {
      await page.goto(`${files.url}?backend=cpu#/train`);
      await page.getByRole('button', { name: 'Start training' }).waitFor();
    });
    await check(async (page) => {
      await page.goto(`${files.url}?backend=cpu#/train`);
      await page.getByLabel('Epochs', { exact: true }).fill('500');
      await page.getByRole('button', { name: 'Start training' }).click();
      await page.locator('section[data-run]').waitFor();
      await drawn(panel(page, 'loss'));
    });
  });

  it('dropped files', { timeout: LIMIT_MS }, async () => {
    const good = join(folder, `${LONG}.csv`);
    await writeFile(good, `step,loss\n1,2\n2,1\n${'3,0.5,7,8\n'.repeat(3)}`);
    const bad = join(folder, `photo-${LONG}.jpg`);
    await writeFile(bad, Uint8Array.of(255, 216, 255, 0));
    await check(async (page) => {
      await page.goto(files.url);
      await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
      await dropOn(page, [good, bad]);
      const dock = page.getByRole('complementary', { name: 'Dropped files' });
      await dock.getByText('1 run from').waitFor();
      await dock.locator('summary').first().click();
    });
  });

  longTest('a service that asks for a key, and the account', { timeout: LIMIT_MS }, async () => {
    const { key } = await service.access.createKey({ user: `user-${LONG}`.slice(0, 40) });
    const open = async (page: Page): Promise<void> => {
      await page.goto(service.url);
      await page.getByLabel('User key').waitFor();
    };
    await check(open);
    await check(async (page) => {
      await open(page);
      await page.getByLabel('User key').fill(key);
      await page.getByRole('button', { name: 'Open', exact: true }).click();
      await page.getByRole('button', { name: /Sign out/ }).waitFor();
    });
  });
});
