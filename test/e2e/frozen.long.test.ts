/**
 * Tabs that Chromium really freezes. While one that records is frozen, another resumes and completes its run: when it thaws, it is told,
 * and writes nothing into the completed run. A frozen tab that sends for all tabs yields to another.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser } from 'playwright';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.mjs';
import { openRun } from '../../src/read/run-reader.ts';
import { serveService } from '../../src/service/node/serve-service.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { startPageServer, type PageServer } from '../kill/page-server.ts';
import { openFreezableTab, type FreezableTab } from './freezing.ts';
import type { SeenRun, StartOptions } from './reload-page.ts';
import { longTest } from '../support/long.ts';

/** So that the test need not wait for 75 s. */
const LEASE_MS = 1_500;
const WAIT = { timeout: 90_000, interval: 100 };

let browser: Browser;
let server: PageServer;

// A browser for each test: its tabs share a profile.
beforeEach(async () => {
  server = await startPageServer('test/e2e/reload-page.ts');
  browser = await chromium.launch({
    executablePath: await findChromium(),
    args: [...CHROMIUM_ARGS],
  });
}, 120_000);
afterEach(async () => {
  await browser?.close();
  await server?.close();
});

async function openTab(): Promise<FreezableTab> {
  const tab = await openFreezableTab(browser, server.origin);
  await expect.poll(() => tab.evaluate(`'quarkReload' in globalThis`), WAIT).toBe(true);
  return tab;
}

const ask = (tab: FreezableTab, call: string, ...args: readonly unknown[]): Promise<unknown> =>
  tab.evaluate(`quarkReload.${call}(${args.map((one) => JSON.stringify(one)).join(', ')})`);

test('another tab completes the run of a frozen one, which is fenced and told when it thaws', async () => {
  const storage = 'idb:frozen';
  const [frozen, other] = [await openTab(), await openTab()];
  const runId = await ask(frozen, 'start', storage, { leaseTtlMs: LEASE_MS });
  expect(await ask(frozen, 'log', 1)).toEqual(['recording', false]);
  await frozen.freeze();
  const before = await ask(frozen, 'ticks');
  await expect.poll(() => ask(other, 'resume', storage, runId), WAIT).toBeNull();
  await ask(other, 'log', 3);
  await ask(other, 'end');
  // It did nothing meanwhile.
  expect(await ask(frozen, 'ticks')).toBe(before);
  await frozen.thaw();
  await expect.poll(() => ask(frozen, 'ticks'), WAIT).not.toBe(before);
  // What it logs now is stored apart, or counted.
  expect(await ask(frozen, 'log', 2)).toEqual(['fenced', true]);
  await ask(frozen, 'end');
  const seen = (await ask(other, 'see', storage, runId)) as SeenRun;
  expect(seen).toMatchObject({ stored: 'completed', steps: [0, 1, 2, 3] });
  expect(seen.events.filter((type) => type === 'session_fenced')).toHaveLength(1);
  expect(seen.events.filter((type) => type === 'run_ended')).toHaveLength(1);
}, 180_000);

longTest(
  'a frozen tab that sends for all yields to another one',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quark-frozen-'));
    const service = await serveService({ storage: folder, allowOrigins: [server.origin] });
    const { key } = await service.access.createKey({ user: 'alice', scope: 'write' });
    const options: StartOptions = { persistenceUrl: service.url, userKey: key };
    const storage = 'idb:leader';
    const remote = await openHttpStorage(service.url, { userKey: key, space: 'leader' });
    const arrived = async (runId: unknown): Promise<readonly number[]> => {
      try {
        return [...(await (await openRun(remote, String(runId))).readMetricColumns()).steps];
      } catch {
        return [];
      }
    };
    try {
      const leader = await openTab();
      const first = await ask(leader, 'start', storage, options);
      await ask(leader, 'log', 1);
      await expect.poll(() => arrived(first), WAIT).toEqual([0, 1]);
      const other = await openTab();
      const second = await ask(other, 'start', storage, options);
      await leader.freeze();
      await ask(other, 'log', 1);
      // The lock is taken away from the frozen one, with all that is not sent.
      await expect.poll(() => arrived(second), WAIT).toEqual([0, 1]);
      await leader.thaw();
      await ask(leader, 'log', 2);
      await expect.poll(() => arrived(first), WAIT).toEqual([0, 1, 2]);
      await expect.poll(() => ask(other, 'senders'), WAIT).toBe(1);
      await expect.poll(() => ask(other, 'sent'), WAIT).toMatchObject({ pendingRows: 0 });
      for (const tab of [leader, other]) await ask(tab, 'end');
      expect([await arrived(first), await arrived(second)]).toEqual([
        [0, 1, 2],
        [0, 1],
      ]);
    } finally {
      await remote.close();
      await service.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  240_000,
);
