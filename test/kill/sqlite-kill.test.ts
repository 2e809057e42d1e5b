/** SQLite, with processes killed at random moments, two at a time on one database. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { bundledProgram, removeProgram } from '../support/bundled-program.ts';
import { rounds } from '../support/property.ts';
import { runAndKill } from '../support/run-and-kill.ts';
import { inspect } from './workload.ts';

const ROUNDS = rounds(13);
const CHILDREN = 2;
const MAX_LIFE_MS = 150;

let program: string;
let directory: string;

beforeAll(async () => {
  program = await bundledProgram('test/kill/kill-child.ts');
  directory = await mkdtemp(join(tmpdir(), 'quark-kill-'));
}, 120_000);

afterAll(async () => {
  await removeProgram(program);
  await rm(directory, { recursive: true, force: true });
});

test(
  `${ROUNDS * CHILDREN} processes killed: what was acknowledged is there exactly once`,
  async () => {
    const acknowledged: string[] = [];
    // The first two make the database, at the same time.
    for (let round = 0; round < ROUNDS; round++) {
      const children = Array.from({ length: CHILDREN }, (_, i) =>
        // One may be killed before it has kept anything, the other has.
        runAndKill([program, directory, `w${round}-${i}`], MAX_LIFE_MS, 1 + (i % 2)),
      );
      acknowledged.push(...(await Promise.all(children)).flat());
      const store = await openFileStorage(directory);
      expect(await inspect(store, acknowledged)).toEqual([]);
      await store.close();
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(ROUNDS);
    const database = new Database(join(directory, '.quark', 'quark.db'));
    expect(database.pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    database.close();
  },
  60_000 + ROUNDS * 7_000,
);
