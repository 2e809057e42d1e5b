/**
 * IndexedDB in Chromium, with the tab crashed, closed and the whole browser killed at random moments. The profile stays.
 *
 * A browser that is killed between the two parts of a write leaves half a record behind, and would throw all away when it
 * is started a second time after that (see src/store/idb/idb-log.ts). Of itself this happens after some one in fifty kills of
 * a busy browser; here after every kill, so that no run of this test is spared. Nothing may be lost then either.
 */
import { join } from 'node:path';
import type { Page } from 'playwright';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rounds } from '../support/property.ts';
import { leaveHalfARecord } from './half-a-record.ts';
import { openMortalPage, type MortalPage } from './mortal-page.ts';

const ROUNDS = rounds(6);
const MAX_LIFE_MS = 400;
const WAYS = ['crash the tab', 'close the tab', 'kill the browser'] as const;

let mortal: MortalPage;

beforeAll(async () => {
  mortal = await openMortalPage('test/kill/kill-page.ts');
}, 120_000);

afterAll(() => mortal?.close());

test(
  `${ROUNDS} times the plug is pulled: what was acknowledged is there exactly once`,
  async () => {
    const acknowledged: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const page = await mortal.browser.openPage(mortal.origin, 'quarkKill');
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
      const after = await mortal.browser.openPage(mortal.origin, 'quarkKill');
      expect(await after.evaluate((all) => window.quarkKill.inspect(all), acknowledged)).toEqual(
        [],
      );
      await after.close();
    }
    expect(acknowledged.length).toBeGreaterThan(ROUNDS);
  },
  ROUNDS * 40_000,
);

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
      await mortal.browser.kill();
      await leaveHalfARecord(join(mortal.profile, 'Default', 'IndexedDB'));
  }
}
