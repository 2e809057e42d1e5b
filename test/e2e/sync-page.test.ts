/** The training page on a service: what is recorded in the tab arrives, also what was recorded while the service was away. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listRuns, openRun, openStorage } from '../../src/index.ts';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import { checkBuilt, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';

let folder = '';
let service: ServedService;
let browser: Browser;

const serve = (port = 0): Promise<ServedService> =>
  serveService({ storage: folder, dashboardDir: DEMO_DIR, port });

beforeAll(async () => {
  checkBuilt();
  folder = mkdtempSync(join(tmpdir(), 'quark-sync-page-'));
  [service, browser] = await Promise.all([serve(), launchBrowser()]);
}, PATIENCE_MS);

afterAll(async () => {
  await browser?.close();
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Status and number of losses of each run of the service, the newest first. */
async function arrived(userKey: string): Promise<readonly (readonly [string, number])[]> {
  const store = await openStorage(service.url, { userKey });
  try {
    const found = await listRuns(store, { project: 'digits-in-browser' });
    return await Promise.all(
      found.map(async ({ run }) => {
        const reader = await openRun(store, run.id);
        const { values } = await reader.readMetricColumns({ metricKey: 'train/loss' });
        return [run.status, values.length] as const;
      }),
    );
  } finally {
    await store.close();
  }
}

it(
  'shows how far the records are, and sends what was recorded while the service was away',
  async () => {
    const { key } = await service.access.createKey({ user: 'alice' });
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
    page.setDefaultTimeout(PATIENCE_MS);
    const thrown: string[] = [];
    page.on('pageerror', (error) => thrown.push(error.message));
    const sync = page.getByRole('region', { name: 'Sending to the service' });
    const state = sync.getByRole('status');
    await page.goto(`${service.url}?backend=cpu#/train`);
    await state.getByText('Sync off').waitFor();
    await sync.getByText('Give your key').waitFor();
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByLabel('User key').fill(key);
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await page.getByRole('link', { name: 'Train', exact: true }).click();
    await state.getByText('Sync on').waitFor();

    await page.getByLabel('Epochs', { exact: true }).fill('1');
    await page.getByLabel('Batch size', { exact: true }).fill('512');
    await page.getByRole('button', { name: 'Start training' }).click();
    await page.locator('.progress[data-outcome="completed"]').waitFor();
    await state.getByText('All sent').waitFor();
    expect(await arrived(key)).toEqual([['completed', 3]]);

    await page.getByLabel('Epochs', { exact: true }).fill('500');
    // Small batches, so that the page has many turns for other things.
    await page.getByLabel('Batch size', { exact: true }).fill('16');
    await page.getByRole('button', { name: 'Start training' }).click();
    await page.locator('.progress[data-outcome="training"]').waitFor();
    const { port } = service;
    await service.close();
    await state.getByText('Waiting for the service').waitFor();
    await sync.getByText(/It cannot be reached\. [\d,]+ rows? kept in this browser\./).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('.progress[data-outcome="interrupted"]').waitFor();
    await expect.poll(() => state.innerText()).toBe('Waiting for the service');

    service = await serve(port);
    await state.getByText('All sent').waitFor();
    const losses = Number(
      /Batch ([\d,]+) of/.exec(await page.locator('.progress').innerText())?.[1]?.replace(',', ''),
    );
    expect(losses).toBeGreaterThan(0);
    expect(await arrived(key)).toEqual([
      ['interrupted', losses],
      ['completed', 3],
    ]);
    expect(thrown).toEqual([]);
  },
  2 * PATIENCE_MS,
);
