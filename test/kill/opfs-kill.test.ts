/**
 * Files of the origin-private file system in Chromium, with tabs crashed and closed and the whole browser killed at random moments,
 * while several tabs write to one run. The profile stays.
 *
 * A kill in the middle of a write leaves a part of a frame at the end of a file. Of itself this is rare; here it is so after every kill
 * of the browser, in every file, and in the LevelDB in which Chromium has the names of the files (see src/store/opfs/opfs-names.ts).
 * Nothing may be lost then either, nor be there twice. IndexedDB goes the same way beside it, with half a record in its own LevelDB.
 */
import { appendFile, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { casesOf } from '../support/long.ts';
import { isWhole, rounds } from '../support/property.ts';
import { leaveHalfARecord } from './half-a-record.ts';
import { openMortalPage, type MortalPage } from './mortal-page.ts';

const ROUNDS = rounds(isWhole ? 6 : 2);
const MAX_LIFE_MS = 400;
const TABS = 2;
const MAGIC = 'QKF1';
/** The head of a frame: a header of 64 bytes and parts of 256, and nothing of either. */
// oxfmt-ignore
const HALF_A_FRAME = Buffer.from([0x51, 0x4b, 0x46, 0x31, 64, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4, 123]);

let mortal: MortalPage;

beforeEach(async () => {
  mortal = await openMortalPage('test/kill/kill-page.ts');
}, 120_000);

afterEach(() => mortal?.close());

test.each(casesOf(['opfs', 'idb'], 1))(
  `%s: ${ROUNDS} times the plug is pulled: what was acknowledged is there exactly once`,
  async (kind) => {
    const openPage = (): Promise<Page> =>
      mortal.browser.openPage(`${mortal.origin}/?${kind}`, 'quarkKill');
    const acknowledged: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const tabs: Page[] = [];
      const lines: string[] = [];
      for (let tab = 0; tab < TABS; tab++) {
        const page = await openPage();
        tabs.push(page);
        const begun = new Promise<void>((resolve) => {
          page.on('console', (message) => {
            lines.push(message.text());
            resolve();
          });
        });
        await page.evaluate((writerId) => window.quarkKill.work(writerId), `w${round}-${tab}`);
        await begun;
      }
      await new Promise((resolve) => {
        setTimeout(resolve, Math.random() * MAX_LIFE_MS);
      });
      const [first, ...others] = tabs;
      if (round % 2 === 1 && first !== undefined) {
        await crash(first);
        // The others go on: what the crashed tab left does not keep them.
        const before = lines.length;
        await expect.poll(() => lines.length).toBeGreaterThan(before);
        for (const page of others) await page.close();
      } else {
        await mortal.browser.kill();
        if (kind === 'opfs') await leaveHalfAFrame();
        for (const folder of ['File System', 'IndexedDB'])
          await leaveHalfARecord(join(mortal.profile, 'Default', folder));
      }
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

async function crash(page: Page): Promise<void> {
  const crashed = page.waitForEvent('crash');
  const session = await page.context().newCDPSession(page);
  session.send('Page.crash').catch(() => undefined);
  await crashed;
}

/** Ends every file of frames as a kill in the middle of a write does. */
async function leaveHalfAFrame(): Promise<void> {
  const folder = join(mortal.profile, 'Default', 'File System');
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  let ended = 0;
  for (const file of files) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath, file.name);
    const head = await beginOf(path);
    if (head !== MAGIC) continue;
    await appendFile(path, HALF_A_FRAME);
    ended++;
  }
  expect(ended).toBeGreaterThan(1);
}

async function beginOf(path: string): Promise<string> {
  const file = await open(path);
  const bytes = Buffer.alloc(MAGIC.length);
  await file.read(bytes, 0, bytes.length, 0);
  await file.close();
  return bytes.toString('latin1');
}
