/** The built page on a service with keys: asks for one, shows what it opens, and forgets it when told to. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MetricsLogger, openStorage, TrainingSession } from '../../src/index.ts';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import { checkBuilt, DEMO_DIR, launchBrowser, PATIENCE_MS } from './demo-browser.ts';

let folder = '';
let service: ServedService;
let browser: Browser;
const keys = new Map<string, string>();

beforeAll(async () => {
  checkBuilt();
  folder = mkdtempSync(join(tmpdir(), 'quark-service-page-'));
  service = await serveService({ storage: folder, dashboardDir: DEMO_DIR });
  for (const [user, projects] of [
    ['alice', ['vision', 'hidden']],
    ['bob', ['speech']],
  ] as const) {
    const { key } = await service.access.createKey({ user });
    keys.set(user, key);
    const store = await openStorage(service.url, { userKey: key });
    for (const project of projects) {
      const options = { project, storage: store, handleSignals: false };
      await TrainingSession.run(options, (session) => {
        const metrics = new MetricsLogger(session);
        for (let step = 0; step < 50; step++) metrics.log('train/loss', 1 / (step + 1), { step });
      });
    }
  }
  await service.access.share({ owner: 'alice', project: 'vision', user: 'bob' });
  browser = await launchBrowser();
}, PATIENCE_MS);

afterAll(async () => {
  await browser?.close();
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function give(page: Page, key: string): Promise<void> {
  await page.getByLabel('User key').fill(key);
  await page.getByRole('button', { name: 'Open', exact: true }).click();
}

describe('the page of a service with keys', () => {
  it(
    'shows what the key opens, and what is shared, and nothing else',
    async () => {
      const page = await browser.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      const thrown: string[] = [];
      page.on('pageerror', (error) => thrown.push(error.message));
      await page.goto(service.url);
      await give(page, 'qk_mistyped');
      await page.getByRole('alert').getByText('typing error').waitFor();
      expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
      await give(page, keys.get('bob') ?? '');
      const list = page.locator('main');
      await list.getByText('speech').first().waitFor();
      await page.getByLabel('Space').selectOption('alice:default');
      await list.getByText('vision').first().waitFor();
      expect(await list.getByText('hidden').count()).toBe(0);
      expect(await list.getByText('speech').count()).toBe(0);
      // The same after loading the page again; the analysis runs in a worker, which has to have the key as well.
      await page.reload();
      await list.getByText('vision').first().click();
      await page.getByRole('link', { name: 'Analysis' }).click();
      await page
        .getByText(/health/i)
        .first()
        .waitFor();
      await page.getByRole('button', { name: /Sign out/ }).click();
      await page.getByLabel('User key').waitFor();
      expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
      expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('qk_');
      expect(thrown).toEqual([]);
    },
    2 * PATIENCE_MS,
  );

  it(
    'offers to delete runs where the key may, and says elsewhere why not',
    async () => {
      const page = await browser.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      const list = page.locator('main');
      const actions = list.getByRole('button', { name: /^Actions for/ });
      await page.goto(service.url);
      // Its scope is "write".
      await give(page, keys.get('bob') ?? '');
      await list.getByText('speech').first().waitFor();
      await actions.click();
      const items = list.getByRole('menuitem');
      await items.first().waitFor();
      expect(await items.allInnerTexts()).toEqual(['Rename', 'Groups', 'Tags', 'Notes']);
      await page.keyboard.press('Escape');
      await page.getByRole('radio', { name: 'Archived' }).click();
      await list.getByText('Your key has the scope "write".').waitFor();
      await page.getByRole('button', { name: /Sign out/ }).click();
      const { key } = await service.access.createKey({ user: 'bob', scope: 'delete' });
      await give(page, key);
      await page.getByRole('radio', { name: 'Runs', exact: true }).click();
      await actions.click();
      await items.first().waitFor();
      expect(await items.allInnerTexts()).toEqual(['Archive', 'Delete']);
      await page.getByRole('menuitem', { name: 'Archive' }).click();
      await page.getByText(/^Archived speech/).waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await actions.waitFor();
      // What is shared is its owner's to delete.
      await page.getByLabel('Space').selectOption('alice:default');
      await list.getByText('vision').first().waitFor();
      expect(await actions.count()).toBe(0);
      // It is shared for reading: a key of scope "write" offers no change either.
      await page.getByRole('button', { name: /Sign out/ }).click();
      await give(page, keys.get('bob') ?? '');
      await actions.waitFor();
      await page.getByLabel('Space').selectOption('alice:default');
      await list.getByText('vision').first().waitFor();
      expect(await actions.count()).toBe(0);
      await list.getByText('vision').first().click();
      await page.getByRole('link', { name: 'Analysis' }).waitFor();
      expect(await page.getByRole('button', { name: /Rename|^\+ / }).count()).toBe(0);
      await page.close();
    },
    2 * PATIENCE_MS,
  );

  it(
    'asks again when the key has been revoked',
    async () => {
      const page = await browser.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      const { key, keyId } = await service.access.createKey({ user: 'bob' });
      await page.goto(service.url);
      await give(page, key);
      await page.locator('main').getByText('speech').first().waitFor();
      await service.access.revokeKey(keyId);
      await page.reload();
      await page.getByRole('alert').getByText('revoked').waitFor();
      await expect.poll(() => page.getByLabel('User key').count()).toBe(1);
    },
    2 * PATIENCE_MS,
  );
});
