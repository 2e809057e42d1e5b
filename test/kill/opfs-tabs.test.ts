/**
 * Ten tabs of one browser that work on one run of one store in files: appends, merges, blobs, and a run for each. Some are closed on
 * the way. Nothing of what was acknowledged may be missing at the end, and nothing be there twice.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type BrowserContext, type Page } from 'playwright';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.mjs';
import { longTest } from '../support/long.ts';
import { startPageServer, type PageServer } from './page-server.ts';

const TABS = 10;

let browser: BrowserContext;
let profile: string;
let server: PageServer;

beforeEach(async () => {
  server = await startPageServer('test/kill/kill-page.ts');
  profile = await mkdtemp(join(tmpdir(), 'quark-tabs-'));
  // Playwright starts it so that tabs behind others go on as those in front.
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: await findChromium(),
    args: [...CHROMIUM_ARGS],
    timeout: 120_000,
  });
}, 120_000);

afterEach(async () => {
  await browser?.close();
  await server?.close();
  await rm(profile, { recursive: true, force: true, maxRetries: 10 });
});

async function openPage(): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(`${server.origin}/?opfs`);
  await page.waitForFunction(() => 'quarkKill' in window);
  return page;
}

/** What is wrong after ten tabs have worked, `generations` times one after the other, until each was told so many lines. */
async function workTogether(lines: number, generations: number): Promise<string[]> {
  const wrong: string[] = [];
  const acknowledged: string[] = [];
  for (let generation = 0; generation < generations; generation++) {
    const work = async (tab: number): Promise<void> => {
      const page = await openPage();
      const own: string[] = [];
      const done = new Promise<void>((resolve) => {
        page.on('console', (message) => {
          own.push(message.text());
          if (own.length >= lines || message.text().startsWith('failed')) resolve();
        });
      });
      await page.evaluate((id) => window.quarkKill.work(id), `g${generation}-${tab}`);
      await done;
      // In the middle of its work: the others go on.
      await page.close();
      acknowledged.push(...own);
    };
    await Promise.all(Array.from({ length: TABS }, (_, tab) => work(tab)));
    const after = await openPage();
    wrong.push(...acknowledged.filter((line) => line.startsWith('failed')));
    wrong.push(...(await after.evaluate((all) => window.quarkKill.inspect(all), acknowledged)));
    await after.close();
  }
  if (acknowledged.length < TABS * lines * generations) wrong.push('too few lines');
  return wrong;
}

test(
  'ten tabs on one run of one store: all is there exactly once',
  async () => expect(await workTogether(30, 1)).toEqual([]),
  120_000,
);

longTest(
  'three times ten tabs, until each has merged and stored blobs many times',
  async () => expect(await workTogether(300, 3)).toEqual([]),
  900_000,
);
