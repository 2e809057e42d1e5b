/** Databases of earlier layouts, and of later ones. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import { SQL_LAYOUT_VERSION } from '../../../src/store/sql/sql-layout.ts';
import {
  FIXTURE_NOW_MS,
  fixtureContent,
  LAYOUT_1_STORE,
  readFixture,
} from '../../support/earlier-layouts.ts';
import { segmentOf } from '../../support/segments.ts';

const expected = await fixtureContent();
const clock = { now: () => FIXTURE_NOW_MS };
let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quark-layout-'));
  path = join(directory, '.quark', 'quark.db');
  await cp(LAYOUT_1_STORE, join(directory, '.quark'), { recursive: true });
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** Tables and indexes of a database, however they came about. */
function shapeOf(file: string): unknown {
  const database = new Database(file);
  const all = (text: string): Record<string, unknown>[] =>
    database.prepare(text).all([]) as Record<string, unknown>[];
  const tables = all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  const shape = tables.map(({ name }) => ({
    name,
    columns: all(`SELECT name, type, "notnull", pk FROM pragma_table_info('${String(name)}')`),
    indexes: all(
      `SELECT origin, "unique", (SELECT group_concat(name) FROM pragma_index_info(list.name)) AS columns
       FROM pragma_index_list('${String(name)}') AS list ORDER BY columns`,
    ),
  }));
  database.close();
  return shape;
}

test('a store of layout 1 reads the same in this layout, and again when opened again', async () => {
  for (let round = 0; round < 2; round++) {
    const store = await openFileStorage(directory, { clock });
    expect(await readFixture(store, expected)).toEqual(expected);
    await store.close();
  }
});

test('what was acknowledged in layout 1 is known: appended again it changes nothing; new batches go on', async () => {
  const store = await openFileStorage(directory, { clock });
  const merged = segmentOf(3, { runId: 'run_1', writerId: 'writer-a' });
  const live = segmentOf(5, { runId: 'run_1', writerId: 'writer-b' });
  const fresh = segmentOf(6, { runId: 'run_1', writerId: 'writer-b' });
  const placed = await store.appendSegments([merged, live, fresh]);
  const before = expected.segments['run_1/metrics'] ?? [];
  expect(placed[0]).toEqual(before.find((one) => one.manifest.sources.length > 0)?.manifest);
  expect(placed[1]).toEqual(
    before.find((one) => one.manifest.batchNumber === 5 && one.manifest.writerId === 'writer-b')
      ?.manifest,
  );
  expect(placed[2]?.firstSequence).toBe(120);
  const [run] = expected.runs;
  if (run === undefined) throw new Error('The fixture has runs.');
  expect((await store.updateRun({ ...run, tags: ['new'] })).kind).toBe('updated');
  expect(await store.listRuns({ tags: ['new'] })).toHaveLength(1);
  await store.close();
});

test('a migrated database has the tables and indexes of a new one', async () => {
  await (await openFileStorage(directory)).close();
  const other = await mkdtemp(join(tmpdir(), 'quark-layout-new-'));
  await (await openFileStorage(other)).close();
  expect(shapeOf(path)).toEqual(shapeOf(join(other, '.quark', 'quark.db')));
  await rm(other, { recursive: true });
});

test('a step that fails leaves the database in the layout it had', async () => {
  const broken = new Database(path);
  // A name that the step wants to use.
  broken.exec('CREATE TABLE blob_spaces (something TEXT)');
  broken.close();
  await expect(openFileStorage(directory)).rejects.toMatchObject({ code: 'store_failed' });
  const database = new Database(path);
  expect(database.prepare('SELECT version FROM quark_layout').all([])).toEqual([{ version: 1 }]);
  expect(database.prepare('SELECT count(*) AS count FROM runs').all([])).toEqual([{ count: 5 }]);
  database.exec('DROP TABLE blob_spaces');
  database.close();
  const store = await openFileStorage(directory, { clock });
  expect(await readFixture(store, expected)).toEqual(expected);
  await store.close();
});

test('a newer layout is refused and stays as it is', async () => {
  await (await openFileStorage(directory)).close();
  const newer = new Database(path);
  newer.exec(`UPDATE quark_layout SET version = ${SQL_LAYOUT_VERSION + 1}`);
  newer.close();
  await expect(openFileStorage(directory)).rejects.toMatchObject({
    code: 'store_failed',
    reason: 'version',
    message: expect.stringContaining(`layout ${SQL_LAYOUT_VERSION + 1}`) as string,
  });
  const database = new Database(path);
  expect(database.prepare('SELECT version FROM quark_layout').all([])).toEqual([
    { version: SQL_LAYOUT_VERSION + 1 },
  ]);
  database.close();
});
