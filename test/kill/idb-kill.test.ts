/**
 * IndexedDB in Chromium, with the tab crashed, closed and the whole browser killed at random moments. The profile stays.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.mjs';
import { startPageServer, type PageServer } from './page-server.ts';

const ROUNDS = 12;
const MAX_LIFE_MS = 400;
const WAYS = ['crash the tab', 'close the tab', 'kill the browser'] as const;

let profile: string;
let server: PageServer;
let running: { readonly child: ChildProcess; readonly browser: Browser } | undefined;

beforeAll(async () => {
  server = await startPageServer('test/kill/kill-page.ts');
  profile = await mkdtemp(join(tmpdir(), 'quark-profile-'));
}, 120_000);

afterAll(async () => {
  await killBrowser();
  await server.close();
  await rm(profile, { recursive: true, force: true, maxRetries: 10 });
});

test(`${ROUNDS} times the plug is pulled: what was acknowledged is there exactly once`, async () => {
  const acknowledged: string[] = [];
  // Chromium that is killed has been seen to begin again with an empty profile, some once in two hundred kills on a loaded machine:
  // what the browser itself throws away no store can keep.
  let thrownAway = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const page = await openPage();
    const lines: string[] = [];
    const begun = new Promise<void>((resolve) => {
      page.on('console', (message) => {
        lines.push(message.text());
        resolve();
      });
    });
    await page.evaluate((writerId) => window.quarkKill.work(writerId), `w${round}`);
    await begun;
    await new Promise((resolve) => {
      setTimeout(resolve, Math.random() * MAX_LIFE_MS);
    });
    await pullThePlug(page, WAYS[round % WAYS.length] ?? 'crash the tab');
    expect(lines.filter((line) => line.startsWith('failed'))).toEqual([]);
    acknowledged.push(...lines);
    const after = await openPage();
    const wrong = await after.evaluate((all) => window.quarkKill.inspect(all), acknowledged);
    if (wrong[0] === 'no database') {
      thrownAway++;
      acknowledged.length = 0;
    } else expect(wrong).toEqual([]);
    await after.close();
  }
  expect(thrownAway).toBeLessThan(2);
  expect(acknowledged.length).toBeGreaterThan(thrownAway === 0 ? ROUNDS : 0);
}, 240_000);

async function openPage(): Promise<Page> {
  running ??= await startBrowser();
  const [context] = running.browser.contexts();
  if (context === undefined) throw new Error('The browser has no context.');
  const page = await context.newPage();
  await page.goto(server.origin);
  await page.waitForFunction(() => 'quarkKill' in window);
  return page;
}

async function pullThePlug(page: Page, way: (typeof WAYS)[number]): Promise<void> {
  switch (way) {
    case 'crash the tab': {
      const crashed = page.waitForEvent('crash');
      const session = await page.context().newCDPSession(page);
      session.send('Page.crash').catch(() => undefined);
      await crashed;
      return;
    }
    case 'close the tab': {
      const session = await page.context().newCDPSession(page);
      const { targetInfo } = await session.send('Target.getTargetInfo');
      const closed = page.waitForEvent('close');
      await session.send('Target.closeTarget', { targetId: targetInfo.targetId });
      await closed;
      return;
    }
    case 'kill the browser':
      await killBrowser();
  }
}

/** A browser of our own making, as a group of processes that can be killed at once. */
async function startBrowser(): Promise<NonNullable<typeof running>> {
  const child = spawn(
    await findChromium(),
    [...CHROMIUM_ARGS, '--headless', '--remote-debugging-port=0', `--user-data-dir=${profile}`],
    { detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const endpoint = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stderr.on('data', (data: Buffer) => {
      output += data.toString();
      const found = /DevTools listening on (\S+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.on('exit', () => reject(new Error(`The browser ended: ${output}`)));
  });
  return { child, browser: await chromium.connectOverCDP(endpoint) };
}

async function killBrowser(): Promise<void> {
  const killed = running;
  running = undefined;
  if (killed?.child.pid === undefined) return;
  const gone = new Promise((resolve) => {
    killed.child.on('exit', resolve);
  });
  if (process.platform === 'win32') killed.child.kill('SIGKILL');
  else process.kill(-killed.child.pid, 'SIGKILL');
  await gone;
  await killed.browser.close().catch(() => undefined);
}
