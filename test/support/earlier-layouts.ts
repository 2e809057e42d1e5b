/** Databases in every earlier layout, with the rows of the fixture of layout 1, and what a store has to read in them. */
import { createHash } from 'node:crypto';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'libsql';
import { toSqlite } from '../../src/store/sql/node/sqlite.ts';
import type { SqlRow } from '../../src/store/sql/sql-database.ts';
import { migrateStep } from '../../src/store/sql/sql-layout.ts';
import type { SegmentManifest, Store, StoredRun } from '../../src/store/store.ts';
import type { TestSchema } from './postgres.ts';

const FIXTURE = join(import.meta.dirname, '../fixtures/layout-1');
/** The store of the fixture: a folder to be copied to `.quark`. */
export const LAYOUT_1_STORE: string = join(FIXTURE, 'store');
/** The first layout that other servers than SQLite have had. */
export const FIRST_SHARED_LAYOUT = 2;
/** What the clock of a store says that is compared with the fixture. */
export const FIXTURE_NOW_MS = 1_700_000_000_000;

/** Tables of layout 2, all of them: in layouts before it, the same rows without spaces. */
const TABLES = [
  'projects',
  'runs',
  'run_tags',
  'leases',
  'streams',
  'segments',
  'segment_bytes',
  'merged_batches',
  'blobs',
  'blob_spaces',
  'blob_parts',
] as const;

/** What the code of layout 1 read back. */
export type FixtureContent = {
  readonly projects: unknown;
  readonly runs: readonly StoredRun[];
  readonly completed: readonly string[];
  readonly leases: unknown;
  readonly segments: Record<
    string,
    readonly { readonly manifest: SegmentManifest; readonly sha256: string }[]
  >;
  readonly blobs: readonly { readonly sha256: string; readonly size: number }[];
};

/** What a store over the rows of the fixture has to read. */
export async function fixtureContent(): Promise<FixtureContent> {
  return JSON.parse(await readFile(join(FIXTURE, 'expected.json'), 'utf8')) as FixtureContent;
}

/** Everything a store can be asked for, in the form of {@link FixtureContent}. */
export async function readFixture(store: Store, expected: FixtureContent): Promise<unknown> {
  const segments: Record<string, unknown> = {};
  for (const name of Object.keys(expected.segments)) {
    const [runId = '', table = ''] = name.split('/');
    const manifests = await store.listSegments({ runId, table });
    const reads = await store.readSegments(manifests);
    segments[name] = manifests.map((manifest, i) => {
      const read = reads[i];
      return { manifest, sha256: read?.kind === 'bytes' ? sha256Of(read.bytes) : read?.kind };
    });
  }
  const blobs = [];
  for (const { sha256 } of expected.blobs) {
    const bytes = await store.getBlob(sha256);
    blobs.push({ sha256, size: bytes?.byteLength });
  }
  const completed = await store.listRuns({ statuses: ['completed'], tags: ['all', 'ended'] });
  return {
    projects: await store.listProjects(),
    runs: await store.listRuns(),
    completed: completed.map((run) => run.id),
    leases: await store.listLeases(),
    segments,
    blobs,
  };
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Copies the store of the fixture into a folder, and takes it to a layout. */
export async function makeSqliteAt(folder: string, version: number): Promise<void> {
  await cp(LAYOUT_1_STORE, join(folder, '.quark'), { recursive: true });
  const database = new Database(join(folder, '.quark', 'quark.db'));
  await migrateTo(version, (text, params) => {
    const statement = database.prepare(toSqlite(text)) as Database.Statement;
    if (statement.reader) return statement.raw(true).all(params) as SqlRow[];
    statement.run(params);
    return [];
  });
  database.close();
}

/**
 * Takes an empty schema to a layout, with the rows of the fixture.
 *
 * @param version from {@link FIRST_SHARED_LAYOUT}
 * @param sqlite an empty folder, into which the rows are read first
 */
export async function makePostgresAt(
  schema: TestSchema,
  version: number,
  sqlite: string,
): Promise<void> {
  const run = async (text: string, params: readonly unknown[]): Promise<SqlRow[]> => {
    let count = 0;
    const rows = await schema.query(
      text.replaceAll('?', () => `$${++count}`),
      params,
    );
    return rows.map((row) => Object.values(row).map(Number));
  };
  await migrateTo(FIRST_SHARED_LAYOUT, run);
  await makeSqliteAt(sqlite, FIRST_SHARED_LAYOUT);
  const database = new Database(join(sqlite, '.quark', 'quark.db'));
  for (const table of TABLES)
    for (const row of database.prepare(`SELECT * FROM ${table}`).all([]))
      await insert(schema, table, Object.entries(row as object));
  database.close();
  // What lies beside SQLite in files is in the database here.
  for (const { sha256 } of await schema.query('SELECT sha256 FROM blobs WHERE bytes IS NULL')) {
    const path = join(LAYOUT_1_STORE, 'blobs', String(sha256).slice(0, 2), String(sha256));
    await insert(schema, 'blob_parts', [
      ['sha256', sha256],
      ['part', 0],
      ['bytes', await readFile(path)],
    ]);
  }
  await migrateTo(version, run);
}

async function insert(
  schema: TestSchema,
  table: string,
  cells: readonly (readonly [column: string, value: unknown])[],
): Promise<void> {
  await schema.query(
    `INSERT INTO ${table} (${cells.map(([column]) => column).join(', ')}) OVERRIDING SYSTEM VALUE
     VALUES (${cells.map((_, i) => `$${i + 1}`).join(', ')})`,
    // The driver of SQLite gives bytes as an array buffer where there are none.
    cells.map(([, value]) => (value instanceof ArrayBuffer ? Buffer.from(value) : value)),
  );
}

/** Takes steps of the layout up to a version. */
async function migrateTo(
  version: number,
  run: (text: string, params: readonly unknown[]) => Promise<SqlRow[]> | SqlRow[],
): Promise<void> {
  for (;;) {
    const steps = migrateStep('The database', version);
    let step = steps.next();
    while (step.done !== true) {
      if ('calls' in step.value) throw new Error('Steps yield single statements.');
      step = steps.next(await run(step.value.text, step.value.params));
    }
    if (!step.value) return;
  }
}
