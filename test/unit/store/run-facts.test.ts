/** What runs are found by, in SQL: a change writes what it changes, and the first search of an old database writes what is behind. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findRuns, openStorage, type FindRunsQuery, type Store } from 'quark-sdk';
import { examineStore } from '../../../src/doctor/node/diagnose.ts';
import { runOf } from '../../support/segments.ts';

let folder = '';
let store: Store;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-facts-'));
  store = await openStorage(`file:${folder}`);
  await store.ensureProject({ id: 'prj_1', name: 'demo', createdAtMs: 1 });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

function database<T>(work: (opened: InstanceType<typeof Database>) => T): T {
  const opened = new Database(join(folder, '.quark', 'quark.db'));
  try {
    return work(opened);
  } finally {
    opened.close();
  }
}

const documentOf = (config: object): string => JSON.stringify({ config });
const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`option_${i}`, i]));

test('a change writes the facts that it changes, and removes those that are gone', async () => {
  const created = await store.createRun(runOf({ document: documentOf({ ...many, lr: 0.1 }) }));
  database((opened) =>
    opened.exec(`CREATE TABLE written (what TEXT, path TEXT);
      CREATE TRIGGER put AFTER INSERT ON run_facts BEGIN INSERT INTO written VALUES ('put', new.path); END;
      CREATE TRIGGER cut AFTER DELETE ON run_facts BEGIN INSERT INTO written VALUES ('cut', old.path); END;`),
  );
  const { option_7: _gone, ...rest } = many;
  await store.updateRun({ ...created, document: documentOf({ ...rest, lr: 0.2, added: [1, 2] }) });
  const written = database((opened) =>
    opened
      .prepare('SELECT what, path FROM written ORDER BY what, path')
      .all()
      .map((row) => Object.values(row as object).join(' ')),
  );
  expect(written).toEqual([
    'cut config.lr',
    'cut config.option_7',
    'put config.added',
    'put config.added',
    'put config.lr',
  ]);
  const found = async (config: NonNullable<FindRunsQuery['config']>): Promise<number> =>
    (await findRuns(store, { config })).length;
  expect(await found({ lr: 0.2, added: 2, option_8: 8 })).toBe(1);
  expect(await found({ lr: 0.1 })).toBe(0);
  expect(await found({ option_7: { exists: true } })).toBe(0);
  database((opened) => opened.exec('DROP TRIGGER put; DROP TRIGGER cut; DROP TABLE written'));
  expect((await examineStore(folder)).findings.filter(({ code }) => /fact/.test(code))).toEqual([]);
});

test('the first search of an old database finds all runs, from two programs at once, while a run changes', async () => {
  // More than are written in one transaction.
  const count = 504;
  const created = [];
  for (let i = 0; i < count; i++)
    created.push(
      await store.createRun(runOf({ id: `run_${i}`, document: documentOf({ seed: i % 3 }) })),
    );
  database((opened) =>
    opened.exec('DELETE FROM run_facts; UPDATE runs SET indexed_revision = NULL'),
  );
  const other = await openStorage(`file:${folder}`);
  const [first] = created;
  if (first === undefined) throw new Error('no run');
  const [a, b] = await Promise.all([
    findRuns(store, { config: { seed: 1 } }),
    findRuns(other, { config: { seed: 1 } }),
    other.updateRun({ ...first, document: documentOf({ seed: 5 }) }),
  ]);
  expect([a.length, b.length]).toEqual([count / 3, count / 3]);
  expect(await findRuns(store, { config: { seed: { gte: 2 } } })).toHaveLength(count / 3 + 1);
  await other.close();
  expect((await examineStore(folder)).findings.filter(({ code }) => /fact/.test(code))).toEqual([]);
}, 60_000);

test('facts of a run that is not there are found by the doctor', async () => {
  await store.createRun(runOf({ document: documentOf(many) }));
  database((opened) =>
    opened.exec(
      "INSERT INTO run_facts SELECT space, 'nobody', path, fact, kind, number, body FROM run_facts",
    ),
  );
  const { findings } = await examineStore(folder);
  expect(findings.filter(({ where }) => where.includes('nobody'))).toMatchObject([
    { code: 'run_missing', severity: 'note', message: expect.stringContaining('run_facts') },
  ]);
});
