/**
 * Two tabs of one browser on a service: both record without a network, one sends, and when it is closed the other does. What a
 * closed tab left is sent by the next page that is opened. Nothing is lost, and nothing is there twice.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openRun, openStorage, type MetricsLogger, type TrainingSession } from '../../src/index.ts';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import { checkBuilt, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';

/** What a tab of the test keeps between two calls into it. */
type Recording = { session: TrainingSession; metrics: MetricsLogger; step: number };

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url));

let folder = '';
let service: ServedService;
let browser: Browser;
let context: BrowserContext;
const uploads = new Map<Page, number>();
const thrown: string[] = [];

beforeAll(async () => {
  checkBuilt();
  folder = mkdtempSync(join(tmpdir(), 'quark-two-tabs-'));
  [service, browser] = await Promise.all([
    serveService({ storage: folder, dashboardDir: DEMO_DIR }),
    launchBrowser(),
  ]);
  context = await browser.newContext();
  // The package as it is published, from the address of the page.
  await context.route('**/sdk/*', (route) =>
    route.fulfill({ path: join(DIST, new URL(route.request().url()).pathname.slice(5)) }),
  );
}, PATIENCE_MS);

afterAll(async () => {
  await browser?.close();
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A tab with the dashboard, and the package loaded. */
async function openTab(): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on('pageerror', (error) => thrown.push(error.message));
  page.on('request', (request) => {
    if (request.url().endsWith('/api/v1/segments') && request.method() === 'POST')
      uploads.set(page, (uploads.get(page) ?? 0) + 1);
  });
  await page.goto(service.url);
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
  // As text: the test's own compiler would take the import for one of the test.
  await page.evaluate("import('/sdk/index.js').then((sdk) => { globalThis.sdk = sdk; })");
  return page;
}

/** Begins a run in the tab, as the training page does. */
function begin(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const sdk = Reflect.get(globalThis, 'sdk') as typeof import('../../src/index.ts');
    const session = await sdk.startRun({
      project: 'tabs',
      persistenceUrl: location.origin,
      userKey: null,
    });
    const metrics = new sdk.MetricsLogger(session, { flushIntervalMs: 3_600_000 });
    Reflect.set(globalThis, 'recording', { session, metrics, step: 0 } satisfies Recording);
    return session.runId;
  });
}

function log(page: Page, count: number, isFlushed: boolean): Promise<void> {
  return page.evaluate(
    async ([rows, flushes]) => {
      const recording = Reflect.get(globalThis, 'recording') as Recording;
      for (let i = 0; i < rows; i++)
        recording.metrics.log('loss', recording.step, { step: recording.step++ });
      if (flushes) await recording.metrics.flush();
    },
    [count, isFlushed] as const,
  );
}

function status(page: Page): Promise<Awaited<ReturnType<TrainingSession['syncStatus']>>> {
  return page.evaluate(() =>
    (Reflect.get(globalThis, 'recording') as Recording).session.syncStatus(),
  );
}

/** How many hold the lock of those who send, in all tabs. */
function senders(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const { held = [] } = await navigator.locks.query();
    return held.filter(({ name = '' }) => name.startsWith('quark-sync')).length;
  });
}

/** Steps of a run at the service, in the order in which they were recorded there. */
async function arrived(runId: string): Promise<number[]> {
  const store = await openStorage(service.url);
  try {
    return [...(await (await openRun(store, runId)).readMetricColumns()).steps];
  } catch {
    return [];
  } finally {
    await store.close();
  }
}

const steps = (count: number): number[] => Array.from({ length: count }, (_, step) => step);
const wait = { timeout: PATIENCE_MS, interval: 100 };

it(
  'send together, hand over, and leave nothing behind',
  async () => {
    const first = await openTab();
    await expect.poll(() => senders(first), wait).toBe(1);
    const second = await openTab();
    await context.setOffline(true);
    const [runA, runB] = [await begin(first), await begin(second)];
    await log(first, 100, true);
    await log(second, 120, true);
    await expect.poll(async () => (await status(second)).state, wait).toBe('waiting');
    expect(await status(first)).toMatchObject({ state: 'waiting', pendingRows: 101 });
    expect((await status(second)).nextAttemptAtMs).toBeGreaterThan(0);
    expect(await senders(second)).toBe(1);

    await context.setOffline(false);
    await expect.poll(() => arrived(runA), wait).toEqual(steps(100));
    await expect.poll(() => arrived(runB), wait).toEqual(steps(120));
    expect(uploads.get(first)).toBeGreaterThan(0);
    expect(uploads.get(second)).toBeUndefined();

    // What was not even flushed is in the database before the page is gone.
    await log(first, 50, false);
    await first.goto('about:blank');
    await expect.poll(() => arrived(runA), wait).toEqual(steps(150));
    expect(await senders(second)).toBe(1);
    expect(uploads.get(second)).toBeGreaterThan(0);

    await context.setOffline(true);
    await log(second, 30, false);
    await second.goto('about:blank');
    await context.setOffline(false);
    const third = await openTab();
    await expect.poll(() => arrived(runB), wait).toEqual(steps(150));
    expect(uploads.get(third)).toBeGreaterThan(0);
    expect(thrown).toEqual([]);
  },
  3 * PATIENCE_MS,
);
