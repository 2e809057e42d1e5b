/** Stores and files of the build before the rooms: today's code reads them, and writes the same. */
import 'fake-indexeddb/auto';
import { join } from 'node:path';
import type { Store } from 'quark-sdk';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  dumpDatabase,
  dumpSqlite,
  withoutLater,
  restoreDatabase,
  type DatabaseDump,
} from './databases.ts';
import {
  withoutAddedColumns,
  withoutAddedRunFields,
  withoutAddedShapes,
} from './earlier-columns.ts';
import { fixture, Folders, inJson, jsonFixture } from './fixtures.ts';
import type { Fixed } from './scenario.ts';

vi.mock(import('../../../src/records/layer-summary.ts'), async (load) =>
  withoutAddedColumns(await load()),
);
vi.mock(import('../../../src/records/run.ts'), async (load) => withoutAddedRunFields(await load()));
vi.mock(import('../../../src/records/shapes/run.ts'), async (load) =>
  withoutAddedShapes(await load()),
);
vi.mock(import('../../../src/records/parameter-summary.ts'), async (load) =>
  withoutAddedColumns(await load()),
);

type Content = {
  readonly runIds: readonly string[];
  readonly projects: unknown;
  readonly runs: Readonly<Record<string, { readonly stored: unknown; readonly tables: object }>>;
};

/** Files whose schema says that a score may be null, since schema version 2. Their rows are compared as CSV and JSON lines. */
const SINCE_VERSION_2 = /\/health_scores\.(?:arrow|parquet)$/u;
/** Tables that analysis has filled, in the folder only. */
const ANALYSIS = ['alerts', 'health_scores', 'phases'];

const { runIds, ...content } = jsonFixture('store.json') as Content;
const checksums = comparable(jsonFixture('exports.json') as Record<string, object>);
const folders = new Folders();
let fixed: Fixed;
let core: typeof import('quark-sdk');
let exchange: typeof import('quark-sdk/exchange');
let scenario: typeof import('./scenario.ts');
beforeEach(async () => {
  // New modules: what a schema says of nulls is cached from the first segment that is encoded.
  vi.resetModules();
  core = await import('quark-sdk');
  exchange = await import('quark-sdk/exchange');
  scenario = await import('./scenario.ts');
  fixed = scenario.fixTimeAndRandomness();
});
afterEach(() => {
  fixed.restore();
  folders.clear();
});

/** The same content before the analysis. */
function asRecorded(): object {
  const runs = Object.entries(content.runs).map(([runId, { stored, tables }]) => {
    const kept = Object.entries(tables).filter(([table]) => !ANALYSIS.includes(table));
    return [runId, { stored, tables: Object.fromEntries(kept) }];
  });
  return { ...content, runs: Object.fromEntries(runs) };
}

/** The bits of numbers that are null are the engine's choice: of Arrow's own writer only the size is compared. */
function comparable(all: Readonly<Record<string, object>>): Record<string, object> {
  const settled = Object.entries(all).map(([name, one]): [string, object] => [
    name,
    name.endsWith('/metrics-only.arrow') ? { ...one, sha256: '' } : one,
  ]);
  return Object.fromEntries(settled.filter(([name]) => !SINCE_VERSION_2.test(name)));
}

async function checksumsOf(store: Store): Promise<Record<string, object>> {
  const found: Record<string, object> = {};
  for (const [index, runId] of runIds.entries())
    for (const [name, bytes] of await scenario.exportsOf(store, runId))
      found[`${index}/${name}`] = scenario.checksumOf(bytes);
  return comparable(found);
}

/** Those of tables, without the ones that analysis has filled. */
function ofTables(all: Readonly<Record<string, object>>): object {
  const names = Object.keys(all).filter(
    (name) =>
      !name.includes('/mlflow/') &&
      !name.endsWith('.quark') &&
      !ANALYSIS.some((table) => name.includes(`/${table}.`)),
  );
  return Object.fromEntries(names.map((name) => [name, all[name]]));
}

test('a folder is read, and exported to the same bytes', async () => {
  const store = await core.openStorage(`file:${folders.addStore()}`, { clock: fixed.clock });
  expect(inJson(await scenario.contentOf(store, runIds))).toEqual(content);
  expect(await checksumsOf(store)).toEqual(checksums);
  await store.close();
});

test('a folder is written row by row as before', async () => {
  const folder = folders.add();
  const store = await core.openStorage(`file:${folder}`, { clock: fixed.clock });
  expect(await scenario.record(store, fixed)).toEqual(runIds);
  expect(inJson(await scenario.contentOf(store, runIds))).toEqual(asRecorded());
  expect(ofTables(await checksumsOf(store))).toEqual(ofTables(checksums));
  await store.close();
  const dump = inJson(dumpSqlite(join(folder, '.quark/quark.db')));
  const before = jsonFixture('recorded-sqlite.json');
  expect(withoutLater(dump, before)).toEqual(before);
});

test('an IndexedDB database is read', async () => {
  await restoreDatabase('before-read', jsonFixture('indexeddb.json') as DatabaseDump);
  const store = await core.openStorage('idb:before-read', { clock: fixed.clock });
  expect(inJson(await scenario.contentOf(store, runIds))).toEqual(asRecorded());
  expect(ofTables(await checksumsOf(store))).toEqual(ofTables(checksums));
  await store.close();
});

test('an IndexedDB database is written as before', async () => {
  const store = await core.openStorage('idb:before-written', { clock: fixed.clock });
  await scenario.record(store, fixed);
  await store.close();
  const before = jsonFixture('indexeddb.json') as DatabaseDump;
  const found = inJson(await dumpDatabase('before-written')) as DatabaseDump;
  // Later layouts have added object stores. Those are empty here, but for the times at which blobs were put.
  const known = new Set(before.stores.map(({ name }) => name));
  const added = found.stores.filter(({ name }) => !known.has(name) && name !== 'blobPuts');
  expect(added.flatMap(({ rows }) => rows)).toEqual([]);
  // The ids of changed runs are one note, behind all names, which an earlier release never reads.
  const stores = found.stores
    .filter(({ name }) => known.has(name))
    .map((one) =>
      one.name === 'notes'
        ? { ...one, rows: one.rows.filter((row) => !JSON.stringify(row).includes('run-changes')) }
        : one,
    );
  expect({ ...found, version: before.version, stores }).toEqual(before);
});

test('a .quark file is read, and written to the same bytes', async () => {
  const store = scenario.withoutMachine(core.createMemoryStore());
  const bytes = fixture('run.quark');
  const report = await exchange.importRuns(
    [exchange.bytesInput('run.quark', bytes)],
    scenario.withoutMachine(store),
  );
  expect(report.runs.map(({ runId }) => runId)).toEqual(runIds.slice(0, 1));
  const found: Record<string, object> = {};
  for (const [name, exported] of await scenario.exportsOf(store, runIds[0] ?? ''))
    found[`/${name}`] = scenario.checksumOf(exported);
  const before = Object.entries(jsonFixture('imported.json') as Record<string, object>);
  expect(comparable(found)).toEqual(
    comparable(Object.fromEntries(before.map(([name, one]) => [`/${name}`, one]))),
  );
});
