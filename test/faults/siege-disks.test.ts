/** A quota that is used up, in short; `npm run bench -- siege --only=disks` has full, slow and used-up disks of every store. */
import { timingSafeEqual } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tryDisk } from '../../bench/siege/disks/trial.ts';
import { AccessBook } from '../../src/service/access/access-book.ts';
import { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
import { buildProgram, startService, type Program } from './processes.ts';
import { casesOf } from '../support/long.ts';

let program: Program;
let directory: string;

beforeAll(async () => {
  program = await buildProgram('fault-program.ts');
  directory = await mkdtemp(join(tmpdir(), 'quark-disks-'));
});

afterAll(async () => {
  await program.remove();
  await rm(directory, { recursive: true, force: true });
});

test.each(casesOf(['rows', 'blobs'] as const, 1))(
  'a quota is used up under clients that write %s: it is refused as that, nothing acknowledged is lost, and it goes on',
  async (writes) => {
    const storage = join(directory, writes);
    const spaces = await openSpaces(storage);
    const access = new AccessBook({ database: spaces.database, clock: Date, timingSafeEqual });
    const { key: userKey } = await access.createKey({ user: 'worker' });
    const service = startService(program, { storage });
    const set = async (bytes: number | null): Promise<void> => {
      await access.quotas.set({ user: 'worker', bytes });
    };
    const { wrong, refused } = await tryDisk({
      port: Number(await service.line('listening')),
      userKey,
      writes,
      fill: () => set(1),
      free: () => set(null),
      refusals: ['quota'],
      requests: 4,
    });
    expect(wrong).toEqual([]);
    expect(refused).toBe('quota');
    await spaces.close();
    expect(await service.stop()).toBe('0');
  },
);
