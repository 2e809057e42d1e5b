/**
 * IndexedDB in Chromium, with the tab crashed, closed and the whole browser killed at random moments. The profile stays.
 *
 * A browser that is killed between the two parts of a write leaves half a record behind, and would throw all away when it
 * is started a second time after that (see src/store/idb/idb-log.ts). Of itself this happens after some one in fifty kills of
 * a busy browser; here after every kill, so that no run of this test is spared. Nothing may be lost then either.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { appendFile, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.mjs';
import { rounds } from '../support/property.ts';
import { startPageServer, type PageServer } from './page-server.ts';

const ROUNDS = rounds(6);
const MAX_LIFE_MS = 400;
/** How long a loaded machine may take. */
const PATIENCE_MS = 120_000;
const LOG_BLOCK_BYTES = 32_768;
/** A checksum of four bytes, the length 1,024 in two, and that the record is whole. */
const HALF_A_RECORD = Uint8Array.of(1, 2, 3, 4, 0, 4, 1);
const WAYS = ['crash the tab', 'close the tab', 'kill the browser'] as const;

let profile: string;
let server: PageServer;
let running: { readonly child: ChildProcess; browser?: Browser } | undefined;

beforeAll(async () => {
  server = await startPageServer('test/kill/kill-page.ts');
  profile = await mkdtemp(join(tmpdir(), 'quark-profile-'));
}, 120_000);

afterAll(async () => {
  await killBrowser();
  await server?.close();
  await rm(profile, { recursive: true, force: true, maxRetries: 10 });
});

test(
  `${ROUNDS} times the plug is pulled: what was acknowledged is there exactly once`,
  async () => {
    const acknowledged: string[] = [];
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
      expect(await after.evaluate((all) => window.quarkKill.inspect(all), acknowledged)).toEqual(
        [],
      );
      await after.close();
    }
    expect(acknowledged.length).toBeGreaterThan(ROUNDS);
  },
  ROUNDS * 40_000,
);

async function openPage(): Promise<Page> {
  const [context] = (running?.browser ?? (await startBrowser())).contexts();
  if (context === undefined) throw new Error('The browser has no context.');
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
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
      await leaveHalfARecord();
  }
}

/**
 * A browser of our own making, as a group of processes that can be killed at once. It has a pipe to this process: where
 * this process ends before the test does, however it ends, so does the browser.
 */
async function startBrowser(): Promise<Browser> {
  const child = spawn(
    await findChromium(),
    [
      ...CHROMIUM_ARGS,
      '--headless',
      '--remote-debugging-port=0',
      '--remote-debugging-pipe',
      `--user-data-dir=${profile}`,
    ],
    { detached: true, stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] },
  );
  // Known before it answers: a browser that does not has to be killed as well.
  const started: NonNullable<typeof running> = { child };
  running = started;
  const endpoint = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stderr?.on('data', (data: Buffer) => {
      output += data.toString();
      const found = /DevTools listening on (\S+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.on('error', reject);
    child.on('exit', () => reject(new Error(`The browser ended: ${output}`)));
  });
  started.browser = await chromium.connectOverCDP(endpoint, { timeout: PATIENCE_MS });
  return started.browser;
}

async function killBrowser(): Promise<void> {
  const killed = running;
  running = undefined;
  if (killed?.child.pid === undefined) return;
  const { child, browser } = killed;
  const gone = new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(undefined);
    else child.on('exit', resolve);
  });
  try {
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-killed.child.pid, 'SIGKILL');
  } catch {
    // All of the group have ended.
  }
  await gone;
  await browser?.close().catch(() => undefined);
}

/**
 * Ends the log of the databases as a kill in the middle of a write does: with the head of a record whose bytes are missing.
 * A Chromium that keeps IndexedDB in another form than LevelDB has no such log.
 */
async function leaveHalfARecord(): Promise<void> {
  const folder = join(profile, 'Default', 'IndexedDB');
  const files = await readdir(folder, { recursive: true }).catch(() => []);
  // A number of six digits each: the last is the one that is written.
  const log = files
    .filter((file) => /\.leveldb.\d+\.log$/.test(file))
    .sort()
    .at(-1);
  if (log === undefined) return;
  const { size } = await stat(join(folder, log));
  // A head never lies across two blocks of 32 KiB.
  if (LOG_BLOCK_BYTES - (size % LOG_BLOCK_BYTES) > HALF_A_RECORD.byteLength)
    await appendFile(join(folder, log), HALF_A_RECORD);
}
