/** Deleting, archiving and restoring of runs on the built page, with a second tab beside it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Locator, Page } from 'playwright';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, openStorage, startRun, type Store } from 'quark-sdk';
import { serveStore } from 'quark-sdk/node';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import { checkBuilt, DEMO_DIR, launchBrowser, panel, PATIENCE_MS } from './demo-browser.ts';
import { beyondWindow } from './narrow.ts';
import { longTest } from '../support/long.ts';

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url));
const LIMIT_MS = 3 * PATIENCE_MS;

let folder = '';
let service: ServedService;
let store: Store;
let browser: Browser;
let context: BrowserContext;
const thrown: string[] = [];

beforeAll(async () => {
  checkBuilt();
  browser = await launchBrowser();
}, PATIENCE_MS);

afterAll(async () => {
  await browser?.close();
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-deletion-'));
  service = await serveService({ storage: folder, dashboardDir: DEMO_DIR });
  store = await openStorage(service.url);
  context = await browser.newContext();
  // How long a notice stays is tested with a clock; here a slow machine has all the time it needs.
  await context.addInitScript(() => {
    const later = globalThis.setTimeout;
    const slow = (run: () => void, ms?: number): unknown =>
      later(run, ms === 30_000 ? 3_600_000 : ms);
    Reflect.set(globalThis, 'setTimeout', slow);
  });
  thrown.length = 0;
}, PATIENCE_MS);

afterEach(async () => {
  await context?.close();
  await store?.close();
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function record(into: Store, project: string, ends: boolean = true): Promise<string> {
  const session = await startRun({ project, storage: into, handleSignals: false });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 50; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await metrics.flush();
  if (ends) await session.endRun();
  return session.runId;
}

async function openTab(url: string = service.url): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on('pageerror', (error) => thrown.push(error.message));
  await page.goto(url);
  return page;
}

const row = (page: Page, runId: string): Locator => page.locator(`.run-row[data-run="${runId}"]`);
const strip = (page: Page): Locator => page.getByRole('complementary', { name: 'What was done' });
const gone = { state: 'detached' } as const;

/** Chooses from the menu of a row. */
async function choose(page: Page, runId: string, action: string): Promise<void> {
  await row(page, runId).getByRole('button', { name: 'Actions' }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

async function show(page: Page, list: string): Promise<void> {
  await page.getByRole('radio', { name: list, exact: true }).click();
}

describe('the runs of a service', () => {
  it(
    'are deleted and come back with undo, and a second tab sees it',
    async () => {
      const [vision, speech] = [await record(store, 'vision'), await record(store, 'speech')];
      const [first, second] = [await openTab(), await openTab()];
      await row(second, vision).waitFor();
      await choose(first, vision, 'Delete');
      await strip(first).getByText('Deleted vision').waitFor();
      await row(first, vision).waitFor(gone);
      await row(second, vision).waitFor(gone);
      await choose(first, speech, 'Delete');
      await strip(first).getByText('Deleted 2 runs.').waitFor();
      // Its last run is gone: the lists are the way back.
      await first.getByRole('heading', { name: 'No runs yet' }).waitFor();
      await show(first, 'Deleted');
      await expect.poll(() => first.locator('.run-row').count()).toBe(2);
      await first.getByText(/\d{4}/).first().waitFor();
      await strip(first).getByRole('button', { name: 'Undo' }).focus();
      await first.keyboard.press('Enter');
      await strip(first).getByText('Undone: 2 changes.').waitFor();
      await first.getByText('No deleted run can be restored.').waitFor();
      await row(second, vision).waitFor();
      await row(second, speech).waitFor();
      await strip(first).getByRole('button', { name: 'Dismiss' }).click();
      await expect.poll(() => strip(first).getByRole('button').count()).toBe(0);
      expect(thrown).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    'are archived with the keyboard, listed apart, and restored',
    async () => {
      const runId = await record(store, 'vision');
      const page = await openTab();
      await row(page, runId).getByRole('button', { name: 'Actions' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('menuitem', { name: 'Archive' }).waitFor();
      const focused = page.locator(':focus');
      await expect.poll(() => focused.textContent()).toContain('Rename');
      // From the first item up to the last one, and on to the one before it.
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('ArrowUp');
      await expect.poll(() => focused.textContent()).toContain('Archive');
      await page.keyboard.press('Enter');
      await strip(page).getByText('Archived vision').waitFor();
      // Who works with keys goes on at the way back.
      await expect.poll(() => focused.textContent()).toContain('Undo');
      await row(page, runId).waitFor(gone);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await expect.poll(() => focused.getAttribute('id')).toBe('main');
      expect((await store.findRun(runId))?.archivedAtMs).toBeTypeOf('number');
      await show(page, 'Archived');
      await row(page, runId).getByRole('link').click();
      await page.locator('.run-head').getByText('Archived').waitFor();
      await page.locator('.run-head').getByRole('button', { name: 'Restore' }).click();
      await page.locator('.run-head').getByRole('button', { name: 'Archive' }).waitFor();
      expect((await store.findRun(runId))?.archivedAtMs).toBeUndefined();
      expect(thrown).toEqual([]);
    },
    LIMIT_MS,
  );

  longTest(
    'say on their page that another client deleted them, and go on once restored',
    async () => {
      const runId = await record(store, 'vision');
      const page = await openTab(`${service.url}#/runs/${runId}`);
      await panel(page, 'loss').waitFor();
      await store.deleteRun(runId, { by: 'alice' });
      await page.getByText('This run was deleted by alice').waitFor();
      expect(await panel(page, 'loss').count()).toBe(1);
      expect(await page.locator('.run-head').getByRole('button', { name: 'Delete' }).count()).toBe(
        0,
      );
      const later = await openTab(`${service.url}#/runs/${runId}`);
      await later.getByRole('heading', { name: 'This run was deleted' }).waitFor();
      await later.setViewportSize({ width: 390, height: 800 });
      await later.getByRole('button', { name: 'Restore' }).click();
      await panel(later, 'loss').waitFor();
      expect(await beyondWindow(later)).toEqual([]);
      await page.getByText('This run was deleted by alice').waitFor(gone);
      await page.locator('.run-head').getByRole('button', { name: 'Delete' }).waitFor();
      expect(thrown).toEqual([]);
    },
    LIMIT_MS,
  );

  longTest(
    'are asked about while they go on',
    async () => {
      const runId = await record(store, 'vision', false);
      const page = await openTab();
      await choose(page, runId, 'Delete');
      const question = page.getByRole('dialog');
      await question.getByText('nothing more is stored').waitFor();
      await page.keyboard.press('Escape');
      await question.waitFor(gone);
      expect(await store.findRun(runId)).toBeDefined();
      await choose(page, runId, 'Delete');
      await question.getByRole('button', { name: 'Delete' }).click();
      await strip(page).getByText('Deleted vision').waitFor();
      expect(await store.findRun(runId)).toBeUndefined();
      expect(thrown).toEqual([]);
    },
    LIMIT_MS,
  );
});

it(
  'deletes from the database of the browser, and says what was not done and why',
  async () => {
    // The package as it is published, from the address of the page.
    await context.route('**/sdk/*', (route) =>
      route.fulfill({ path: join(DIST, new URL(route.request().url()).pathname.slice(5)) }),
    );
    const page = await openTab();
    // As text: the test's own compiler would take the import for one of the test.
    await page.evaluate("import('/sdk/index.js').then((sdk) => { globalThis.sdk = sdk; })");
    const ids = await page.evaluate(async () => {
      const sdk = Reflect.get(globalThis, 'sdk') as typeof import('../../src/index.ts');
      const local = await sdk.openStorage('idb:quark');
      Reflect.set(globalThis, 'local', local);
      const made: string[] = [];
      for (const project of ['here', 'there']) {
        const session = await sdk.startRun({ project, storage: local });
        await session.endRun();
        made.push(session.runId);
      }
      return made;
    });
    const [here = '', there = ''] = ids;
    await show(page, 'This browser');
    await choose(page, here, 'Delete');
    await row(page, here).waitFor(gone);
    // Another tab removes its bytes for good.
    await page.evaluate(async (runId) => {
      const local = Reflect.get(globalThis, 'local') as Store;
      await local.purgeDeletedRuns(undefined, [runId]);
    }, here);
    await strip(page).getByRole('button', { name: 'Undo' }).click();
    await strip(page).getByRole('alert').getByText('cannot be restored').waitFor();
    await row(page, there).waitFor();
    await show(page, 'Deleted');
    await page.getByText('of 1 run the bytes have been removed').waitFor();
    expect(thrown).toEqual([]);
  },
  LIMIT_MS,
);

it(
  'offers nothing where the server only shows runs, and says so',
  async () => {
    const memory = createMemoryStore();
    const runId = await record(memory, 'vision');
    const server = await serveStore({ store: memory, dashboardDir: DEMO_DIR, port: 0 });
    try {
      const page = await openTab(server.url);
      await row(page, runId).waitFor();
      expect(await page.getByRole('button', { name: 'Actions' }).count()).toBe(0);
      await row(page, runId).getByRole('checkbox').check();
      const bar = page.getByRole('region', { name: 'Picked runs' });
      const offered = bar.getByRole('button');
      expect(await offered.allInnerTexts()).toEqual(['Export', 'Clear']);
      for (const key of ['F2', 'Shift+T', 'Shift+N', 'Shift+E', 'Delete'])
        await page.keyboard.press(key);
      expect(await page.getByLabel('Name of the run').count()).toBe(0);
      expect(await page.getByRole('dialog').count()).toBe(0);
      await offered.getByText('Clear').click();
      await show(page, 'Archived');
      await page.getByText('This server only shows runs').waitFor();
      await memory.deleteRun(runId);
      await show(page, 'Deleted');
      await row(page, runId).waitFor();
      expect(await page.getByRole('button', { name: 'Restore' }).count()).toBe(0);
      expect(thrown).toEqual([]);
    } finally {
      await server.close();
    }
  },
  LIMIT_MS,
);
