/** IndexedDB in Chromium with a small quota. In a browser of its own: the browser remembers for a while what room there was. */
import { chromium, type Browser } from 'playwright';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.mjs';
import { startPageServer, type PageServer } from './page-server.ts';

let browser: Browser;
let server: PageServer;

beforeAll(async () => {
  server = await startPageServer('test/kill/kill-page.ts');
  browser = await chromium.launch({
    executablePath: await findChromium(),
    args: [...CHROMIUM_ARGS],
    timeout: 120_000,
  });
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

test('a full quota: what did not fit left nothing behind, and on it goes once there is room', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  const { origin } = server;
  await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 5_000_000 });
  await page.goto(origin);
  await page.waitForFunction(() => 'quarkKill' in window);
  const { kept, listed, message } = await page.evaluate(() => window.quarkKill.fill());
  expect(kept).toBeGreaterThan(0);
  expect(listed).toBe(kept);
  expect(message).toContain('quota');
  await session.send('Storage.overrideQuotaForOrigin', { origin });
  expect(await page.evaluate(() => window.quarkKill.appendOne())).toBe(kept);
});
