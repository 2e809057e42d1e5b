/**
 * A training in Chromium while its storage is full, forbidden or cleared: its result is returned, and its rows are stored
 * once there is room. Each test has a browser of its own: the browser remembers for a while what room there was.
 */
import {
  chromium,
  type Browser,
  type BrowserContext,
  type CDPSession,
  type Page,
} from 'playwright';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.mjs';
import { startPageServer, type PageServer } from './page-server.ts';
import { casesOf } from '../support/long.ts';
import type { StoredTraining } from './recording-page.ts';

const STORAGE = 'idb:training';
/** Retries come after 30 seconds at most. */
const PATIENCE_MS = 90_000;

let browser: Browser;
let context: BrowserContext;
let server: PageServer;
let lines: string[];

beforeAll(async () => {
  server = await startPageServer('test/kill/recording-page.ts');
}, 120_000);
beforeEach(async () => {
  browser = await chromium.launch({
    executablePath: await findChromium(),
    args: [...CHROMIUM_ARGS],
  });
  context = await browser.newContext();
  lines = [];
});
afterEach(() => browser.close());
afterAll(() => server.close());

async function openPage(path = '/'): Promise<{ page: Page; cdp: CDPSession }> {
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.text().startsWith('Quark:')) lines.push(message.text());
  });
  const cdp = await context.newCDPSession(page);
  await page.goto(server.origin + path);
  if (path !== '/frame') await page.waitForFunction(() => 'quarkTraining' in window);
  return { page, cdp };
}

async function setQuota(cdp: CDPSession, quotaSize?: number): Promise<void> {
  const quota = quotaSize === undefined ? {} : { quotaSize };
  await cdp.send('Storage.overrideQuotaForOrigin', { origin: server.origin, ...quota });
}

/** Waits until everything has been stored. */
async function storedTraining(page: Page, runId: string): Promise<StoredTraining> {
  await page.waitForFunction(
    () => {
      const { bufferedRows, state } = window.quarkTraining.recordingStatus();
      return state === 'recording' && bufferedRows === 0;
    },
    undefined,
    { timeout: PATIENCE_MS },
  );
  return page.evaluate(
    ([storage = '', id = '']) => window.quarkTraining.stored(storage, id),
    [STORAGE, runId],
  );
}

const kinds = (page: Page) =>
  page.evaluate(() => window.quarkTraining.problems().map(([kind]) => kind));
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('a quota that is full', () => {
  for (const moment of casesOf(['middle', 'start', 'end'] as const, 1)) {
    test(`at the ${moment}: the model is returned, and every row is stored once there is room`, async () => {
      const { cdp, page } = await openPage();
      const begin = (): Promise<string> =>
        page.evaluate((storage) => window.quarkTraining.begin(storage), STORAGE);
      await setQuota(cdp, moment === 'start' ? 1 : 5_000_000);
      const runId = await begin();
      const first = await page.evaluate(() => window.quarkTraining.log(50));
      expect(first.state).toBe(moment === 'start' ? 'stopped' : 'recording');
      // Ten megabytes, of which some are written before anybody flushes.
      const flushes = moment !== 'end';
      const status = await page.evaluate(
        (isFlushed) => window.quarkTraining.log(200, 50_000, isFlushed),
        flushes,
      );
      if (flushes) expect(status).toMatchObject({ state: 'stopped', droppedRows: 0 });
      await page.evaluate((isFlushed) => window.quarkTraining.log(20, 0, isFlushed), flushes);
      const finished = await page.evaluate(() => window.quarkTraining.finish());
      expect(finished).toEqual({ isModel: true, status: 'completed' });
      const [problem] = await page.evaluate(() => window.quarkTraining.problems());
      expect(problem).toEqual(['stopped', 'full', 0]);
      expect(await kinds(page)).toEqual(['stopped']);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain('has stopped');
      await setQuota(cdp);
      const stored = await storedTraining(page, runId);
      expect(stored.values).toEqual(upTo(270));
      expect(stored.status).toBe('completed');
      const told = stored.eventTypes.filter((type) => type !== 'runtime_error');
      expect(told).toEqual(['run_started', 'run_ended']);
      expect(await kinds(page)).toEqual(['stopped', 'resumed']);
      expect(lines).toHaveLength(2);
    }, 180_000);
  }
});

describe('a page with an opaque origin', () => {
  for (const path of ['/sandbox', '/frame']) {
    test(`${path}: a typed error, and a training that waits in memory or is in memory`, async () => {
      const { page } = await openPage(path);
      const frame = path === '/frame' ? page.frames()[1] : page.mainFrame();
      if (frame === undefined) throw new Error('There is no frame.');
      await frame.waitForFunction(() => 'quarkTraining' in window);
      const error = await frame.evaluate(() => window.quarkTraining.openError('idb:x'));
      expect(error?.slice(0, 2)).toEqual(['store_failed', 'unwritable']);
      expect(error?.[2]).toMatch(/gives this page no IndexedDB.*memory:/);
      expect(await frame.evaluate(() => window.quarkTraining.openError('memory:x'))).toBe(null);
      await frame.evaluate(() => window.quarkTraining.begin('idb:x'));
      const status = await frame.evaluate(() => window.quarkTraining.log(10));
      expect(status).toMatchObject({ state: 'stopped', bufferedRows: 11, droppedRows: 0 });
      const finished = await frame.evaluate(() => window.quarkTraining.finish());
      expect(finished.isModel).toBe(true);
      expect(lines).toHaveLength(1);
      const runId = await frame.evaluate(() => window.quarkTraining.begin('memory:x'));
      await frame.evaluate(() => window.quarkTraining.log(10));
      const stored = await frame.evaluate(
        (id) => window.quarkTraining.stored('memory:x', id),
        runId,
      );
      expect(stored.values).toHaveLength(10);
      expect((await frame.evaluate(() => window.quarkTraining.finish())).isModel).toBe(true);
    }, 120_000);
  }
});

describe('storage that is cleared while it is recorded', () => {
  const ways: readonly [string, (page: Page, cdp: CDPSession) => Promise<void>][] = [
    [
      'by the tools of the browser',
      async (_page, cdp) => {
        await cdp.send('Storage.clearDataForOrigin', {
          origin: server.origin,
          storageTypes: 'all',
        });
      },
    ],
    [
      'by another tab that deletes the database',
      async () => {
        const other = await context.newPage();
        await other.goto(server.origin);
        await other.evaluate(
          () =>
            new Promise<void>((resolve, reject) => {
              const deleting = indexedDB.deleteDatabase('training');
              deleting.addEventListener('success', () => resolve());
              deleting.addEventListener('error', () => reject(new Error('not deleted')));
            }),
        );
        await other.close();
      },
    ],
  ];
  for (const [way, clear] of ways) {
    test(`${way}: the run begins anew with what is in memory, and says so`, async () => {
      const { cdp, page } = await openPage();
      const runId = await page.evaluate((storage) => window.quarkTraining.begin(storage), STORAGE);
      await page.evaluate(() => window.quarkTraining.log(30));
      await clear(page, cdp);
      const status = await page.evaluate(() => window.quarkTraining.log(10));
      expect(status).toMatchObject({ state: 'recording', bufferedRows: 0, lostRows: 31 });
      const finished = await page.evaluate(() => window.quarkTraining.finish());
      expect(finished).toEqual({ isModel: true, status: 'completed' });
      const stored = await storedTraining(page, runId);
      expect(stored.values).toEqual(upTo(40).slice(30));
      expect(stored.status).toBe('completed');
      expect(stored.eventTypes).toEqual(['storage_cleared', 'run_ended']);
      expect(stored.lostRows).toEqual([31]);
      expect(await kinds(page)).toContain('storage_cleared');
      expect(lines.some((line) => line.includes('31 stored rows are gone'))).toBe(true);
    }, 120_000);
  }
});
