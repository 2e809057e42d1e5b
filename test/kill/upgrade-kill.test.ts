/**
 * Databases of earlier layouts, whose upgrade is killed again and again: before a statement of it, so also between two steps, and
 * at random moments. The next opening goes on, and all rows are there. `QUARK_LONG` kills before every statement.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'libsql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { openPostgresStorage } from '../../src/store/sql/node/postgres-storage.ts';
import { SQL_LAYOUT_VERSION } from '../../src/store/sql/sql-layout.ts';
import { bundledProgram, removeProgram } from '../support/bundled-program.ts';
import {
  FIRST_SHARED_LAYOUT,
  FIXTURE_NOW_MS,
  fixtureContent,
  makePostgresAt,
  makeSqliteAt,
  readFixture,
} from '../support/earlier-layouts.ts';
import { makeSchema } from '../support/postgres.ts';
import { isLong, rounds, seedOfRun } from '../support/property.ts';
import { random as randomFrom } from '../support/tensors.ts';

/** Databases of each kind. */
const DATABASES = rounds(2);
/** Kills of one database at most before it is opened in peace. */
const MAX_KILLS = 5;
const MAX_LIFE_MS = 60;
const clock = { now: () => FIXTURE_NOW_MS };

let program: string;

beforeAll(async () => {
  program = await bundledProgram('test/kill/kill-upgrader.ts');
}, 120_000);

afterAll(() => removeProgram(program));

/** How an opening ended: with the number of its statements, or by the kill. */
type Ending = { readonly statements: number } | 'killed';

/** Opens a database in a process. @param kill before a statement, from 1, or some time after the opening has begun */
function upgrade(
  place: string,
  kill: { readonly statement: number } | { readonly afterMs: number } = { statement: 0 },
): Promise<Ending> {
  return new Promise((resolve, reject) => {
    const args = [program, place, 'statement' in kill ? String(kill.statement) : '0'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let [output, problems, isBegun] = ['', '', false];
    child.stdout.on('data', (data: Buffer) => {
      output += data.toString();
      if (isBegun || !('afterMs' in kill)) return;
      isBegun = true;
      void pause(kill.afterMs).then(() => child.kill('SIGKILL'));
    });
    child.stderr.on('data', (data: Buffer) => {
      problems += data.toString();
    });
    child.on('error', reject);
    child.on('close', (_code, signal) => {
      const opened = /opened after (\d+)/.exec(output)?.[1];
      if (opened !== undefined) resolve({ statements: Number(opened) });
      else if (signal === 'SIGKILL') resolve('killed');
      else reject(new Error(`The opening failed: ${output}${problems}`));
    });
  });
}

/** A database of an earlier layout. */
type Earlier = {
  readonly place: string;
  /** The layout of the database as it is, which has to be whole. */
  layout(): Promise<number>;
  /** All that a store reads in it. */
  read(): Promise<unknown>;
  remove(): Promise<unknown>;
};

const expected = await fixtureContent();

async function sqliteAt(version: number): Promise<Earlier> {
  const place = await mkdtemp(join(tmpdir(), 'quark-upgrade-'));
  await makeSqliteAt(place, version);
  return {
    place,
    async layout() {
      const database = new Database(join(place, '.quark', 'quark.db'));
      expect(database.pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }]);
      const rows = database.prepare('SELECT version FROM quark_layout').raw(true).all([]);
      database.close();
      expect(rows).toHaveLength(1);
      return Number(rows.flat()[0]);
    },
    async read() {
      const store = await openFileStorage(place, { clock });
      const found = await readFixture(store, expected);
      await store.close();
      return found;
    },
    remove: () => rm(place, { recursive: true, force: true }),
  };
}

async function postgresAt(version: number): Promise<Earlier> {
  const schema = await makeSchema();
  const rows = await mkdtemp(join(tmpdir(), 'quark-upgrade-'));
  await makePostgresAt(schema, version, rows);
  await rm(rows, { recursive: true, force: true });
  return {
    place: schema.uri,
    async layout() {
      const found = await schema.query('SELECT version FROM quark_layout');
      expect(found).toHaveLength(1);
      return Number(found[0]?.['version']);
    },
    async read() {
      const store = await openPostgresStorage(schema.uri, { clock });
      const found = await readFixture(store, expected);
      await store.close();
      return found;
    },
    remove: () => schema.remove(),
  };
}

describe.each([
  ['SQLite', 1, sqliteAt],
  ['PostgreSQL', FIRST_SHARED_LAYOUT, postgresAt],
] as const)('%s', (name, first, make) => {
  const layouts = Array.from({ length: SQL_LAYOUT_VERSION - first }, (_, i) => first + i);

  test(
    `${DATABASES} databases of earlier layouts, with the upgrade killed up to ${MAX_KILLS} times each: nothing is lost`,
    async () => {
      const random = randomFrom(seedOfRun());
      let kills = 0;
      for (let i = 0; i < DATABASES; i++) {
        // The first layout of all has the longest way.
        const from = i === 0 ? first : (layouts[Math.floor(random() * layouts.length)] ?? first);
        const earlier = await make(from);
        let layout = from;
        for (let tries = 0; tries < MAX_KILLS && layout < SQL_LAYOUT_VERSION; tries++) {
          const isRandom = tries % 2 === 1;
          const kill = isRandom
            ? { afterMs: random() * MAX_LIFE_MS }
            : { statement: 1 + Math.floor(random() * 8 * (SQL_LAYOUT_VERSION - layout)) };
          if ((await upgrade(earlier.place, kill)) === 'killed') kills++;
          const next = await earlier.layout();
          expect(next).toBeGreaterThanOrEqual(layout);
          layout = next;
        }
        expect(await upgrade(earlier.place)).toMatchObject({
          statements: expect.any(Number) as number,
        });
        expect(await earlier.layout()).toBe(SQL_LAYOUT_VERSION);
        expect(await earlier.read(), `${name}, from layout ${from}`).toEqual(expected);
        await earlier.remove();
      }
      expect(kills).toBeGreaterThan(0);
    },
    60_000 + DATABASES * 60_000,
  );

  test.runIf(isLong)(
    `from layout ${first}, killed before every statement: the next opening goes on`,
    async () => {
      const whole = await make(first);
      const ending = await upgrade(whole.place);
      await whole.remove();
      if (ending === 'killed') throw new Error('Nobody has killed this one.');
      for (let statement = 1; statement <= ending.statements; statement++) {
        const earlier = await make(first);
        expect(await upgrade(earlier.place, { statement })).toBe('killed');
        expect(await earlier.read(), `killed before statement ${statement}`).toEqual(expected);
        await earlier.remove();
      }
    },
    3_600_000,
  );
});
