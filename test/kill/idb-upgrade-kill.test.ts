/**
 * IndexedDB databases of earlier layouts in Chromium, which is killed while the store upgrades them: before an object store is made,
 * and at random moments. The next opening goes on, and all rows are there.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IDB_LAYOUT_VERSION } from '../../src/store/idb/idb-layout.ts';
import { rounds } from '../support/property.ts';
import { openMortalPage, type MortalPage } from './mortal-page.ts';

/** Object stores that each layout before the present one lacks. */
const LACKING: readonly number[] = [4, 2];
const RANDOM_KILLS = rounds(1);
const MAX_LIFE_MS = 40;

let mortal: MortalPage;

beforeAll(async () => {
  mortal = await openMortalPage('test/kill/kill-upgrade-page.ts');
}, 120_000);

afterAll(() => mortal?.close());

test('the layouts before the present one are those that are tried', () => {
  expect(LACKING).toHaveLength(IDB_LAYOUT_VERSION - 1);
});

test.each(LACKING.map((lacking, i) => [i + 1, lacking] as const))(
  'layout %i, with the browser killed before each of %i new object stores and at random moments: nothing is lost',
  async (version, lacking) => {
    const stops = Array.from({ length: lacking }, (_, i) => i + 1);
    const kills = [...stops, ...Array.from({ length: RANDOM_KILLS }, () => 0)];
    for (const [i, stopAt] of kills.entries()) {
      const name = `layout-${version}-${i}`;
      const page = await mortal.browser.openPage(mortal.origin, 'quarkUpgrade');
      await page.evaluate(([db, layout]) => window.quarkUpgrade.make(db, layout), [
        name,
        version,
      ] as const);
      const awaited = stopAt > 0 ? 'stopped' : 'opening';
      const begun = page.waitForEvent('console', (message) => message.text() === awaited);
      page
        .evaluate(([db, at]) => window.quarkUpgrade.open(db, at), [name, stopAt] as const)
        .catch(() => 'the browser was killed');
      await begun;
      if (stopAt === 0) await pause(Math.random() * MAX_LIFE_MS);
      await mortal.browser.kill();
      const after = await mortal.browser.openPage(mortal.origin, 'quarkUpgrade');
      const layout = await after.evaluate((db) => window.quarkUpgrade.layout(db), name);
      if (stopAt > 0) expect(layout).toBe(version);
      const { found, made } = await after.evaluate((db) => window.quarkUpgrade.read(db), name);
      expect(found).toBe(made);
      expect(await after.evaluate((db) => window.quarkUpgrade.layout(db), name)).toBe(
        // The browser counts layouts as the store does.
        IDB_LAYOUT_VERSION,
      );
      await after.close();
    }
  },
  60_000 + (6 + RANDOM_KILLS) * 30_000,
);
