/**
 * A page that records is loaded again, closed, and duplicated: its run is over at once, its own tab goes on with it, and a tab that has
 * only copied the token of another one does not get it.
 */
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.mjs';
import { startPageServer, type PageServer } from '../kill/page-server.ts';

const STORAGE = 'idb:reload';
/** `QUARK_RUNS` multiplies them: six times is the campaign. */
const RELOADS = 5 * Math.max(1, Number(process.env['QUARK_RUNS'] ?? 1));
const TEST_MS = 180_000;

let browser: Browser;
let context: BrowserContext;
let server: PageServer;

beforeAll(async () => {
  server = await startPageServer('test/e2e/reload-page.ts');
}, 120_000);
beforeEach(async () => {
  browser = await chromium.launch({
    executablePath: await findChromium(),
    args: [...CHROMIUM_ARGS],
  });
  context = await browser.newContext();
});
afterEach(() => browser.close());
afterAll(() => server.close());

async function ready(page: Page): Promise<Page> {
  await page.waitForFunction(() => 'quarkReload' in window);
  return page;
}

async function openPage(): Promise<Page> {
  const page = await context.newPage();
  await page.goto(server.origin);
  return ready(page);
}

const start = (page: Page): Promise<string> =>
  page.evaluate((storage) => window.quarkReload.start(storage), STORAGE);
const resume = (page: Page, runId: string): Promise<string | null> =>
  page.evaluate(
    ([storage = '', id = '']) => window.quarkReload.resume(storage, id),
    [STORAGE, runId],
  );
const see = (page: Page, runId: string) =>
  page.evaluate(([storage = '', id = '']) => window.quarkReload.see(storage, id), [STORAGE, runId]);

test(
  'a page that is loaded again goes on with its run at once, each time',
  async () => {
    const page = await openPage();
    const runId = await start(page);
    for (let reload = 1; reload <= RELOADS; reload++) {
      await page.reload();
      await ready(page);
      // No lease is waited for: it lasts 75 seconds, and the call makes one attempt.
      expect(await resume(page, runId)).toBeNull();
    }
    await page.evaluate(() => window.quarkReload.end());
    const seen = await see(page, runId);
    expect(seen.stored).toBe('completed');
    expect(seen.steps).toEqual(Array.from({ length: RELOADS + 1 }, (_, step) => step));
    expect(seen.events.filter((type) => type === 'run_resumed')).toHaveLength(RELOADS);
  },
  TEST_MS,
);

test(
  'a page that is closed leaves a run that has ended',
  async () => {
    const page = await openPage();
    const runId = await start(page);
    await page.close({ runBeforeUnload: true });
    const reader = await openPage();
    await expect
      .poll(async () => (await see(reader, runId)).stored, { timeout: 30_000 })
      .toBe('interrupted');
    const seen = await see(reader, runId);
    expect(seen).toMatchObject({ shown: 'interrupted', steps: [0] });
    expect(seen.events).toContain('runtime_interruption');
    expect(seen.events).toContain('run_ended');
    // Any tab may go on with it.
    expect(await resume(reader, runId)).toBeNull();
  },
  TEST_MS,
);

test(
  'a duplicated tab gets neither a run that goes on, nor one that its twin has taken over, and is told why',
  async () => {
    const page = await openPage();
    const runId = await start(page);
    // A window that a page opens gets a copy of its session storage, as a duplicated tab does.
    const duplicate = async (): Promise<Page> => {
      const opening = context.waitForEvent('page');
      await page.evaluate(() => void window.open('/'));
      return ready(await opening);
    };
    const twin = await duplicate();
    expect(await twin.evaluate(() => sessionStorage.length)).toBe(1);
    expect(await resume(twin, runId)).toBe('duplicated_tab');
    // A tab that is no copy is told that the run is live.
    expect(await resume(await openPage(), runId)).toBe('live');
    await page.reload();
    await ready(page);
    // The page has left and the next one has not gone on yet: both have a token that may be used.
    const second = await duplicate();
    const outcomes = await Promise.all([resume(page, runId), resume(second, runId)]);
    expect(new Set(outcomes)).toEqual(new Set(['taken_over', null]));
    // Later, too: the token of the loser says what it had.
    const loser = outcomes[0] === null ? second : page;
    expect(await resume(loser, runId)).toBe('taken_over');
  },
  TEST_MS,
);
