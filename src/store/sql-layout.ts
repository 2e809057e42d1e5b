/**
 * The layout of the SQL store, and its forward-only migrations. A layout number is never reused; a database with a
 * newer number than this code knows is refused and left as it is.
 */
import { SessionStoreError } from '../base/errors.ts';
import { numberCell, sql, type SqlWork } from './sql-database.ts';

/** Every step from an empty database to the current layout; step `i` leads to layout `i + 1`. */
const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE projects (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      created_at_ms DOUBLE PRECISION NOT NULL)`,
    `CREATE TABLE runs (
      id TEXT COLLATE "C" PRIMARY KEY,
      project_id TEXT NOT NULL,
      project_name TEXT NOT NULL,
      status TEXT NOT NULL,
      started_at_ms DOUBLE PRECISION NOT NULL,
      tags TEXT NOT NULL,
      document TEXT NOT NULL,
      revision BIGINT NOT NULL)`,
    `CREATE INDEX runs_by_start ON runs (started_at_ms, id)`,
    `CREATE TABLE run_tags (
      run_id TEXT NOT NULL,
      tag TEXT NOT NULL,
      PRIMARY KEY (run_id, tag))`,
    `CREATE TABLE leases (
      run_id TEXT NOT NULL,
      holder TEXT NOT NULL,
      expires_at_ms DOUBLE PRECISION NOT NULL,
      PRIMARY KEY (run_id, holder))`,
    // One line for each table of a run: the counter of its sequence numbers, and a short key for the rows below.
    `CREATE TABLE streams (
      stream_key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      run_id TEXT NOT NULL,
      table_name TEXT NOT NULL,
      next_sequence BIGINT NOT NULL,
      UNIQUE (run_id, table_name))`,
    // No index by sequence: background merging keeps the lines of a stream few, and each index costs an append 15 %.
    `CREATE TABLE segments (
      segment_key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      stream_key BIGINT NOT NULL,
      writer_id TEXT NOT NULL,
      batch_number BIGINT NOT NULL,
      row_count BIGINT NOT NULL,
      first_sequence BIGINT NOT NULL,
      last_sequence BIGINT NOT NULL,
      step_min BIGINT,
      step_max BIGINT,
      epoch_min BIGINT,
      epoch_max BIGINT,
      time_min_ms DOUBLE PRECISION,
      time_max_ms DOUBLE PRECISION,
      keys TEXT,
      schema_version BIGINT NOT NULL,
      encoding BIGINT NOT NULL,
      size_bytes BIGINT NOT NULL,
      checksum BIGINT NOT NULL,
      sources TEXT,
      UNIQUE (stream_key, writer_id, batch_number))`,
    // Apart from their manifests, so that listing never reads a page of bytes.
    `CREATE TABLE segment_bytes (
      segment_key BIGINT PRIMARY KEY,
      bytes BYTEA NOT NULL)`,
    // Batches that live on inside merged segments, as ranges that neither touch nor overlap.
    `CREATE TABLE merged_batches (
      stream_key BIGINT NOT NULL,
      writer_id TEXT NOT NULL,
      batch_start BIGINT NOT NULL,
      batch_last BIGINT NOT NULL,
      PRIMARY KEY (stream_key, writer_id, batch_start))`,
    // A blob without bytes is a file.
    `CREATE TABLE blobs (
      sha256 TEXT PRIMARY KEY,
      size_bytes BIGINT NOT NULL,
      bytes BYTEA)`,
  ],
];

/** The layout this code writes. */
export const SQL_LAYOUT_VERSION: number = MIGRATIONS.length;

/** Brings the database to the current layout. To be run in one transaction. */
export function* migrateLayout(name: string): SqlWork<void> {
  yield sql('CREATE TABLE IF NOT EXISTS quark_layout (version BIGINT NOT NULL)');
  const [row] = yield sql('SELECT version FROM quark_layout');
  const version = row === undefined ? 0 : numberCell(row, 0);
  if (version > SQL_LAYOUT_VERSION) throw layoutTooNew(name, version);
  if (version === SQL_LAYOUT_VERSION) return;
  for (const step of MIGRATIONS.slice(version)) for (const statement of step) yield sql(statement);
  yield sql('DELETE FROM quark_layout');
  yield sql('INSERT INTO quark_layout (version) VALUES (?)', SQL_LAYOUT_VERSION);
}

function layoutTooNew(name: string, version: number): SessionStoreError {
  return new SessionStoreError(
    'version',
    `${name} was written by a newer Quark (layout ${version}; this one knows up to ${SQL_LAYOUT_VERSION}). Nothing was changed. Update quark-sdk to open it.`,
    { details: { name, found: version, known: SQL_LAYOUT_VERSION } },
  );
}
