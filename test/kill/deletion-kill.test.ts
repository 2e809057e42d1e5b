/** Processes killed while they delete, restore and purge runs, on SQLite and PostgreSQL: a run is there whole, or deleted, or purged. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { openPostgresStorage } from '../../src/store/sql/node/postgres-storage.ts';
import type { Store } from '../../src/store/store.ts';
import { bundledProgram, removeProgram } from '../support/bundled-program.ts';
import { makeSchema } from '../support/postgres.ts';
import { rounds } from '../support/property.ts';
import { runAndKill } from '../support/run-and-kill.ts';
import { inspectDeletion } from './deletion-plan.ts';

const ROUNDS = rounds(6);
const CHILDREN = 2;
const MAX_LIFE_MS = 250;
/** Tables of runs that are gone: a purge has left none. */
const LEFT_BEHIND = 'SELECT count(*) AS n FROM streams WHERE run_id NOT IN (SELECT id FROM runs)';

let program: string;
let directory: string;

beforeAll(async () => {
  program = await bundledProgram('test/kill/deletion-child.ts');
  directory = await mkdtemp(join(tmpdir(), 'quark-kill-'));
}, 120_000);

afterAll(async () => {
  await removeProgram(program);
  await rm(directory, { recursive: true, force: true });
});

/** Kills two processes at a time, and looks at every run after each round. */
async function killAndInspect(place: string, open: (place: string) => Promise<Store>) {
  const acts: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const children = Array.from({ length: CHILDREN }, (_, i) =>
      // One has purged a run before it may be killed, the other need not have made one.
      runAndKill([program, place, `${round}_${i}`], MAX_LIFE_MS, i === 0 ? 7 : 2),
    );
    const lines = (await Promise.all(children)).flat();
    const store = await open(place);
    expect(await inspectDeletion(store, lines)).toEqual([]);
    // What was restored to be read is deleted again, with all bytes.
    for (const { id } of await store.listRuns()) await store.deleteRun(id, { keepMs: 0 });
    await store.purgeDeletedRuns(Date.now() + 1);
    expect(await store.listRuns()).toEqual([]);
    await store.close();
    acts.push(...lines);
  }
  expect(acts.some((line) => line.startsWith('purged'))).toBe(true);
}

test(
  `SQLite: ${ROUNDS * CHILDREN} processes killed while they delete and purge`,
  async () => {
    await killAndInspect(directory, openFileStorage);
    const database = new Database(join(directory, '.quark', 'quark.db'));
    expect(database.pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(database.prepare(LEFT_BEHIND).all([])).toEqual([{ n: 0 }]);
    database.close();
  },
  60_000 + ROUNDS * 10_000,
);

test(
  `PostgreSQL: ${ROUNDS * CHILDREN} clients killed while they delete and purge`,
  async () => {
    const schema = await makeSchema();
    await killAndInspect(schema.uri, openPostgresStorage);
    expect(await schema.query(LEFT_BEHIND)).toEqual([{ n: '0' }]);
    await schema.remove();
  },
  60_000 + ROUNDS * 10_000,
);
