/** The store in a PostgreSQL database: from an address to an open store, with its layout up to date. */
import { asGiven, numberWhere, readOptions, type OptionRule } from '../../../base/options.ts';
import { checkNotAborted } from '../../../base/assert.ts';
import { systemClock } from '../../../base/clock.ts';
import { SessionStoreError } from '../../../base/errors.ts';
import { openObjects, type ObjectOptions } from '../../objects/open-objects.ts';
import { s3OptionsFromEnvironment } from '../../objects/s3-config.ts';
import type { OpenStorageOptions } from '../../registry.ts';
import { createBlobParts } from '../sql-blob-parts.ts';
import {
  numberCell,
  placeholders,
  sql,
  textCell,
  type SqlDatabase,
  type SqlWork,
} from '../sql-database.ts';
import { migrateStep, SQL_LAYOUT_VERSION, SQL_TABLES } from '../sql-layout.ts';
import { createSqlStore, type SqlStoreParts, type StoreSpaces } from '../sql-store.ts';
import type { Store } from '../../store.ts';
import { PostgresDatabase } from './postgres.ts';
import { parseAddress, type Address } from './postgres-address.ts';
import { isCreatedTwice } from './postgres-errors.ts';
import { DEFAULT_POSTGRES_CONFIG, type PostgresConfig } from './postgres-config.ts';
import { PostgresPools } from './postgres-pools.ts';
import type { PostgresKind } from './postgres-words.ts';

/** Options of {@link openPostgresSpaces}. */
export type PostgresOptions = OpenStorageOptions &
  Partial<PostgresConfig> &
  ObjectOptions & {
    /** False: a database with an older layout is refused and left as it is. Default true: it is migrated. */
    readonly migrates?: boolean;
  };

const OLDEST_POSTGRES = 14;
/** The oldest with identity columns and `ALTER TABLE` as the layout uses them. */
const OLDEST_COCKROACH = 22;
/** A step of the layout may rewrite large tables. */
const MIGRATION_MS = 24 * 60 * 60 * 1000;
const MAX_CONNECTIONS = 1000;

/**
 * Opens the store in a PostgreSQL database: PostgreSQL 14 or later, CockroachDB 22 or later, YugabyteDB.
 * `postgresql://USER:PASSWORD@HOST:PORT/DATABASE` (`postgres:` is the same, `cockroach:` differs in the default port) with what
 * `pg` takes as options (`sslmode=verify-full`, `options=-c%20search_path%3DSCHEMA`, ...). Without a password `PGPASSWORD` and
 * `~/.pgpass` are asked. Tables are made in the first schema of the search path. With `QUARK_S3_ENDPOINT` and its siblings in the
 * environment, large blobs and large merged segments are stored in that object store.
 *
 * A pooler in front of the database (PgBouncer in transaction or session mode, with its defaults) is detected. Settings are then
 * made in each transaction, and named prepared statements are not used. `pooler=true` declares a pooler and saves its detection;
 * `pooler=false` declares that there is none. `prepare=false` turns named prepared statements off without a pooler too;
 * `prepare=true` uses them through a pooler that supports them (PgBouncer 1.21 and later with `max_prepared_statements`).
 *
 * Calls are retried for up to 15 s while the server restarts or transactions conflict (31 s behind PgBouncer). If the connection
 * is lost while a change is committed and the server does not come back in that time, the error (`unreachable`) has
 * `outcome: 'unknown'` in its details: that change may have been made. Every other failed call has changed nothing.
 *
 * @throws {QuarkError} `invalid_input` when the URI cannot be understood; no error and no `uri` shows the password
 * @throws {SessionStoreError} `unreachable`, `unauthorised`, `missing`, `version`, `corrupt`, `busy`, `full`, `failed`
 * @example
 * ```js not-run="needs a PostgreSQL server"
 * import { listRuns, TrainingSession } from 'quark-sdk';
 * import { openPostgresStorage } from 'quark-sdk/node';
 *
 * const store = await openPostgresStorage('postgresql://quark@localhost:5432/quark'); // PGPASSWORD has the password
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * console.log((await listRuns(store)).length);
 * await store.close();
 * ```
 */
export async function openPostgresStorage(
  uri: string,
  options: OpenStorageOptions = {},
): Promise<Store> {
  // A service may have put segments there that this store is asked for.
  const objects = s3OptionsFromEnvironment(process.env);
  return createSqlStore(await openParts(uri, { ...options, objects }));
}

/**
 * Opens a PostgreSQL database for many spaces, as {@link openPostgresStorage} does for one. What that opens is space ''.
 *
 * @throws {QuarkError} `invalid_input` for a URI that cannot be understood, an unknown option or one out of range
 * @throws {SessionStoreError} as `openPostgresStorage`
 */
export async function openPostgresSpaces(
  uri: string,
  options: PostgresOptions = {},
): Promise<StoreSpaces> {
  const own: Omit<PostgresOptions, 'userKey' | 'space' | 'timeoutMs'> = options;
  readOptions('options', own, {
    ...CONFIG_RULES,
    signal: asGiven,
    create: asGiven,
    migrates: asGiven,
    clock: asGiven,
    objects: asGiven,
    segmentFiles: asGiven,
  });
  const parts = await openParts(uri, options);
  return {
    uri: parts.uri,
    database: parts.database,
    segmentFiles: parts.segmentFiles,
    store: (space, storeOptions) =>
      createSqlStore({ ...parts, ...storeOptions, space, isShared: true }),
    close: () => parts.database.close(),
  };
}

async function openParts(uri: string, options: PostgresOptions): Promise<SqlStoreParts> {
  const address = parseAddress(uri);
  const config = checkConfig(options);
  checkNotAborted(options.signal);
  const withObjects = await openObjects(options);
  const pools = await PostgresPools.open(address, config);
  const database = new PostgresDatabase(address.name, pools);
  try {
    database.kind = await database.read(() => readKind(address.name));
    checkNotAborted(options.signal);
    const pooler = pools.isPooled ? 'yes' : address.pooler;
    await bringUpToDate(database, { ...address, pooler }, config, options);
    checkNotAborted(options.signal);
  } catch (error) {
    await database.close();
    throw error;
  }
  return withObjects<SqlStoreParts>({
    uri: address.shown,
    location: { storageDir: address.shown, storeRoot: address.shown, dbPath: address.shown },
    database,
    blobFiles: createBlobParts(database),
    clock: options.clock ?? systemClock,
  });
}

const whole = (min: number, max: number, fallback: number): OptionRule<unknown, number> =>
  numberWhere(
    (value) => Number.isInteger(value) && value >= min && value <= max,
    `a whole number from ${min} to ${max}`,
    fallback,
  );

const CONFIG_RULES = {
  maxConnections: whole(1, MAX_CONNECTIONS, DEFAULT_POSTGRES_CONFIG.maxConnections),
  connectTimeoutMs: whole(1, MIGRATION_MS, DEFAULT_POSTGRES_CONFIG.connectTimeoutMs),
  statementTimeoutMs: whole(1, MIGRATION_MS, DEFAULT_POSTGRES_CONFIG.statementTimeoutMs),
  retryTimeoutMs: whole(0, MIGRATION_MS, DEFAULT_POSTGRES_CONFIG.retryTimeoutMs),
};

function checkConfig(options: PostgresOptions): PostgresConfig {
  const { maxConnections, connectTimeoutMs, statementTimeoutMs, retryTimeoutMs } = options;
  const given = { maxConnections, connectTimeoutMs, statementTimeoutMs, retryTimeoutMs };
  return readOptions('options', given, CONFIG_RULES, '');
}

/** Which server answers, if it is one that will do. */
function* readKind(name: string): SqlWork<PostgresKind> {
  const [row] = yield sql('SELECT version()');
  const version = row === undefined ? '' : textCell(row, 0);
  const cockroach = /CockroachDB\D*(\d+)\./.exec(version);
  if (cockroach !== null) {
    if (Number(cockroach[1]) < OLDEST_COCKROACH)
      throw serverTooOld(name, version, `CockroachDB ${OLDEST_COCKROACH}`);
    return 'cockroachdb';
  }
  if (version.includes('-YB-')) return 'yugabytedb';
  const found = Number(/PostgreSQL (\d+)/.exec(version)?.[1] ?? 0);
  if (found < OLDEST_POSTGRES) throw serverTooOld(name, version, `PostgreSQL ${OLDEST_POSTGRES}`);
  return 'postgresql';
}

async function bringUpToDate(
  database: PostgresDatabase,
  address: Address,
  config: PostgresConfig,
  { create = true, migrates = true }: Pick<PostgresOptions, 'create' | 'migrates'>,
): Promise<void> {
  const state = await database.read(() => readLayout());
  if (state.version === SQL_LAYOUT_VERSION) return;
  if (state.version === 0 && !create) {
    throw new SessionStoreError(
      'missing',
      `There is no Quark store in ${address.name}. Name the database that a run was recorded into, or open it for writing once.`,
      { details: { database: address.name } },
    );
  }
  if (state.foreign.length > 0) {
    throw new SessionStoreError(
      'corrupt',
      `${address.name} has tables of another program under names that Quark uses: ${state.foreign.join(', ')}. Nothing was changed. Use a database or schema of its own.`,
      { details: { database: address.name, tables: state.foreign } },
    );
  }
  if (!migrates)
    throw new SessionStoreError(
      'version',
      `${address.name} has layout ${state.version}; this release has ${SQL_LAYOUT_VERSION}. Nothing was changed. Use the release that wrote it, or open it with this one, which migrates it.`,
      { details: { database: address.name, found: state.version, known: SQL_LAYOUT_VERSION } },
    );
  // A connection of its own, since a step may take longer than any other statement.
  const timeouts = new Map(address.timeouts).set('statement_timeout', MIGRATION_MS);
  const pools = await PostgresPools.open(
    { ...address, timeouts },
    { ...config, maxConnections: 1, statementTimeoutMs: MIGRATION_MS },
  );
  const migrating = new PostgresDatabase(address.name, pools);
  migrating.kind = database.kind;
  try {
    await makeLock(migrating);
    let isBehind = true;
    while (isBehind) {
      isBehind = await migrating.transaction(function* () {
        // One process at a time, on every server: not all have advisory locks.
        yield sql('SELECT id FROM quark_migration WHERE id = 1 FOR UPDATE');
        return yield* migrateStep(address.name);
      });
    }
  } finally {
    await migrating.close();
  }
}

/** Makes the row that every migration locks. Several processes may do so at once. */
async function makeLock(database: SqlDatabase): Promise<void> {
  const statements = [
    'CREATE TABLE IF NOT EXISTS quark_migration (id BIGINT PRIMARY KEY)',
    'CREATE TABLE IF NOT EXISTS quark_layout (version BIGINT NOT NULL)',
    'INSERT INTO quark_migration (id) VALUES (1) ON CONFLICT DO NOTHING',
  ];
  for (const statement of statements) {
    const run = (): Promise<void> =>
      database.transaction(function* () {
        yield sql(statement);
      });
    // PostgreSQL: "IF NOT EXISTS" looks before another process has committed the same table.
    await run().catch((error: unknown) => {
      const cause = error instanceof Error ? error.cause : undefined;
      if (!isCreatedTwice(cause)) throw error;
      return run();
    });
  }
}

function* readLayout(): SqlWork<{ readonly version: number; readonly foreign: readonly string[] }> {
  const names = ['quark_layout', ...SQL_TABLES];
  const rows = yield sql(
    `SELECT table_name FROM information_schema.tables
     WHERE table_schema = current_schema() AND table_name IN (${placeholders(names)})`,
    ...names,
  );
  const tables = rows.map((row) => textCell(row, 0));
  if (!tables.includes('quark_layout')) return { version: 0, foreign: tables };
  const [row] = yield sql('SELECT coalesce(max(version), 0) FROM quark_layout');
  return { version: row === undefined ? 0 : numberCell(row, 0), foreign: [] };
}

function serverTooOld(name: string, version: string, oldest: string): SessionStoreError {
  return new SessionStoreError(
    'version',
    `${name} runs on ${version.split(' on ')[0]}; Quark needs ${oldest} or later. Nothing was changed.`,
    { details: { database: name, found: version, needed: oldest } },
  );
}
