/**
 * The layout of the SQL store, and its forward-only migrations. A layout number is never reused; a database with a
 * newer number than this code knows is refused and left as it is.
 *
 * Each step is a transaction of its own, with the number it leads to, so several processes may migrate at once: the one that
 * comes second finds the step done. Statements are those that SQLite, PostgreSQL 14, CockroachDB and YugabyteDB share.
 * YugabyteDB commits each change of the schema by itself, so every statement can be run again.
 */
import { SessionStoreError } from '../../base/errors.ts';
import { numberCell, sql, type SqlWork } from './sql-database.ts';

type Step = readonly string[];

const LAYOUT_TABLE = 'CREATE TABLE IF NOT EXISTS quark_layout (version BIGINT NOT NULL)';

// Tables that a space divides. Ids and names are unique within one; the space of a store of its own is ''.
const PROJECTS = `(
  space TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at_ms DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (space, id),
  UNIQUE (space, name))`;
const RUNS = `(
  space TEXT NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  project_id TEXT NOT NULL,
  project_name TEXT NOT NULL,
  status TEXT NOT NULL,
  started_at_ms DOUBLE PRECISION NOT NULL,
  tags TEXT NOT NULL,
  document TEXT NOT NULL,
  revision BIGINT NOT NULL,
  PRIMARY KEY (space, id))`;
const RUN_TAGS = `(
  space TEXT NOT NULL,
  run_id TEXT NOT NULL,
  tag TEXT NOT NULL,
  PRIMARY KEY (space, run_id, tag))`;
const LEASES = `(
  space TEXT NOT NULL,
  run_id TEXT NOT NULL,
  holder TEXT NOT NULL,
  expires_at_ms DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (space, run_id, holder))`;
// One line for each table of a run: the counter of its sequence numbers, and a short key for the rows below.
const STREAMS = `(
  stream_key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  space TEXT NOT NULL,
  run_id TEXT NOT NULL,
  table_name TEXT NOT NULL,
  next_sequence BIGINT NOT NULL,
  UNIQUE (space, run_id, table_name))`;

const INDEXES: Step = [
  'CREATE INDEX IF NOT EXISTS runs_by_start ON runs (space, started_at_ms, id)',
  'CREATE INDEX IF NOT EXISTS run_tags_by_tag ON run_tags (space, tag, run_id)',
  'CREATE INDEX IF NOT EXISTS leases_by_expiry ON leases (space, expires_at_ms)',
];

const BLOB_TABLES: Step = [
  // Who may see a blob: bytes are stored once for all spaces.
  `CREATE TABLE IF NOT EXISTS blob_spaces (
    space TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (space, sha256))`,
  // Large blobs in pieces, where they are stored in the database for want of files.
  `CREATE TABLE IF NOT EXISTS blob_parts (
    sha256 TEXT NOT NULL,
    part BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (sha256, part))`,
];

/** From nothing to layout 2. */
const FRESH: Step = [
  `CREATE TABLE IF NOT EXISTS projects ${PROJECTS}`,
  `CREATE TABLE IF NOT EXISTS runs ${RUNS}`,
  `CREATE TABLE IF NOT EXISTS run_tags ${RUN_TAGS}`,
  `CREATE TABLE IF NOT EXISTS leases ${LEASES}`,
  `CREATE TABLE IF NOT EXISTS streams ${STREAMS}`,
  // No index by sequence: background merging keeps the lines of a stream few, and each index costs an append 15 %.
  `CREATE TABLE IF NOT EXISTS segments (
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
  `CREATE TABLE IF NOT EXISTS segment_bytes (
    segment_key BIGINT PRIMARY KEY,
    bytes BYTEA NOT NULL)`,
  // Batches that live on inside merged segments, as ranges that neither touch nor overlap.
  `CREATE TABLE IF NOT EXISTS merged_batches (
    stream_key BIGINT NOT NULL,
    writer_id TEXT NOT NULL,
    batch_start BIGINT NOT NULL,
    batch_last BIGINT NOT NULL,
    PRIMARY KEY (stream_key, writer_id, batch_start))`,
  // A blob without bytes is stored outside this table.
  `CREATE TABLE IF NOT EXISTS blobs (
    sha256 TEXT PRIMARY KEY,
    size_bytes BIGINT NOT NULL,
    bytes BYTEA)`,
  ...BLOB_TABLES,
  ...INDEXES,
];
const FRESH_VERSION = 2;

/** From layout 1, which knew no spaces, to layout 2. There was layout 1 in SQLite only. */
const ADD_SPACES: Step = [
  ...divide('projects', PROJECTS, 'id, name, created_at_ms'),
  ...divide(
    'runs',
    RUNS,
    'id, project_id, project_name, status, started_at_ms, tags, document, revision',
  ),
  ...divide('run_tags', RUN_TAGS, 'run_id, tag'),
  ...divide('leases', LEASES, 'run_id, holder, expires_at_ms'),
  ...divide('streams', STREAMS, 'stream_key, run_id, table_name, next_sequence'),
  ...BLOB_TABLES,
  "INSERT INTO blob_spaces (space, sha256) SELECT '', sha256 FROM blobs",
  ...INDEXES,
];

/** What outboxes keep beside the data, and how often each table of a run was emptied. */
const ADD_NOTES: Step = [
  `CREATE TABLE IF NOT EXISTS notes (
    space TEXT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (space, name))`,
  `CREATE TABLE IF NOT EXISTS stream_replacements (
    stream_key BIGINT PRIMARY KEY,
    replace_count BIGINT NOT NULL)`,
];

/** Every step after {@link FRESH_VERSION}; step `i` leads to layout `FRESH_VERSION + 1 + i`. Never change one. */
const LATER: readonly Step[] = [
  // Who may use a service. A key is stored as its SHA-256 only.
  [
    `CREATE TABLE IF NOT EXISTS users (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      created_at_ms DOUBLE PRECISION NOT NULL)`,
    `CREATE TABLE IF NOT EXISTS user_keys (
      id TEXT PRIMARY KEY,
      user_id TEXT NOT NULL,
      hash TEXT NOT NULL,
      scope TEXT NOT NULL,
      label TEXT NOT NULL,
      created_at_ms DOUBLE PRECISION NOT NULL,
      expires_at_ms DOUBLE PRECISION,
      revoked_at_ms DOUBLE PRECISION)`,
    `CREATE TABLE IF NOT EXISTS project_shares (
      user_id TEXT NOT NULL,
      owner_id TEXT NOT NULL,
      space_name TEXT NOT NULL,
      project_name TEXT NOT NULL,
      access TEXT NOT NULL,
      created_at_ms DOUBLE PRECISION NOT NULL,
      PRIMARY KEY (user_id, owner_id, space_name, project_name))`,
  ],
  // Which transaction made the revision, for those whose end was not known.
  ['ALTER TABLE runs ADD COLUMN change_id TEXT'],
  [
    // Streams with small segments: see merge-queue.ts. Those of before are looked at once.
    `CREATE TABLE IF NOT EXISTS merge_queue (
      stream_key BIGINT PRIMARY KEY,
      due_at_ms DOUBLE PRECISION NOT NULL,
      claimed_by TEXT NOT NULL,
      claimed_until_ms DOUBLE PRECISION NOT NULL)`,
    'CREATE INDEX IF NOT EXISTS merge_queue_by_due ON merge_queue (due_at_ms)',
    `INSERT INTO merge_queue (stream_key, due_at_ms, claimed_by, claimed_until_ms)
     SELECT stream_key, 0, '', 0 FROM streams WHERE true ON CONFLICT (stream_key) DO NOTHING`,
    // What one process at a time does.
    `CREATE TABLE IF NOT EXISTS chores (
      name TEXT PRIMARY KEY,
      claimed_by TEXT NOT NULL,
      claimed_until_ms DOUBLE PRECISION NOT NULL,
      done_at_ms DOUBLE PRECISION NOT NULL)`,
    // Segments whose bytes are in an object store, and objects that no segment names: see object-files.ts.
    `CREATE TABLE IF NOT EXISTS segment_objects (
      segment_key BIGINT PRIMARY KEY,
      object_key TEXT NOT NULL UNIQUE)`,
    `CREATE TABLE IF NOT EXISTS loose_objects (
      object_key TEXT PRIMARY KEY,
      loose_since_ms DOUBLE PRECISION NOT NULL,
      is_condemned BIGINT NOT NULL)`,
    'CREATE INDEX IF NOT EXISTS loose_objects_by_time ON loose_objects (loose_since_ms)',
    // The name of this database among those that share a bucket.
    `CREATE TABLE IF NOT EXISTS database_names (
      slot BIGINT PRIMARY KEY,
      name TEXT NOT NULL)`,
  ],
  ADD_NOTES,
  // How long a claim lasts: an end further away than that was said under a clock that has jumped since.
  ['ALTER TABLE leases ADD COLUMN ttl_ms DOUBLE PRECISION'],
  // Which runs of a space were changed last. Those of before have not changed since.
  [
    'ALTER TABLE runs ADD COLUMN change_order BIGINT',
    'UPDATE runs SET change_order = 0 WHERE change_order IS NULL',
    'CREATE INDEX IF NOT EXISTS runs_by_change ON runs (space, change_order)',
  ],
  // Which database this is, since when it may have lost something, and the services that run on it: see store-identity.ts.
  [
    `CREATE TABLE IF NOT EXISTS store_identity (
      slot BIGINT PRIMARY KEY,
      id TEXT NOT NULL,
      epoch BIGINT NOT NULL,
      origin TEXT)`,
    `CREATE TABLE IF NOT EXISTS service_marks (
      id TEXT PRIMARY KEY,
      tag TEXT NOT NULL,
      renewed_at_ms DOUBLE PRECISION NOT NULL)`,
  ],
  // Which session's rows they are, and whether they arrived after another one had taken the run over. All of before are of the first.
  [
    'ALTER TABLE runs ADD COLUMN generation BIGINT',
    'ALTER TABLE segments ADD COLUMN generation BIGINT',
    'ALTER TABLE segments ADD COLUMN superseded BIGINT',
  ],
  // Who did what, and from where. Lines are only ever added: see audit-log.ts.
  [
    `CREATE TABLE IF NOT EXISTS audit_log (
      id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      act_id TEXT NOT NULL UNIQUE,
      at_ms DOUBLE PRECISION NOT NULL,
      key_id TEXT,
      user_id TEXT,
      user_name TEXT,
      action TEXT NOT NULL,
      target_kind TEXT NOT NULL,
      target_id TEXT NOT NULL,
      owner_id TEXT,
      space_name TEXT,
      remote_address TEXT,
      detail TEXT NOT NULL)`,
    'CREATE INDEX IF NOT EXISTS audit_log_by_owner ON audit_log (owner_id, id)',
    'CREATE INDEX IF NOT EXISTS audit_log_by_user ON audit_log (user_id, id)',
    'CREATE INDEX IF NOT EXISTS audit_log_by_target ON audit_log (target_id, id)',
  ],
  // Blobs that nothing names go: see sql-blob-sweep.ts. Blobs of before get their time from the first sweep.
  [
    `CREATE TABLE IF NOT EXISTS blob_puts (
      sha256 TEXT PRIMARY KEY,
      generation BIGINT NOT NULL,
      put_at_ms DOUBLE PRECISION)`,
    `INSERT INTO blob_puts (sha256, generation) SELECT sha256, 0 FROM blobs WHERE true
     ON CONFLICT (sha256) DO NOTHING`,
    `CREATE TABLE IF NOT EXISTS swept_blobs (
      sha256 TEXT NOT NULL,
      generation BIGINT NOT NULL,
      is_deleted BIGINT NOT NULL,
      PRIMARY KEY (sha256, generation))`,
    'ALTER TABLE blob_spaces ADD COLUMN put_at_ms DOUBLE PRECISION',
  ],
  // Bytes, segments and runs of each project, and their quotas: see sql-usage.ts. This step counts the existing rows.
  [
    `CREATE TABLE IF NOT EXISTS usage_counters (
      space TEXT NOT NULL,
      project_id TEXT NOT NULL,
      shard BIGINT NOT NULL,
      size_bytes BIGINT NOT NULL,
      segment_count BIGINT NOT NULL,
      run_count BIGINT NOT NULL,
      PRIMARY KEY (space, project_id, shard))`,
    `CREATE TABLE IF NOT EXISTS quotas (
      owner_id TEXT NOT NULL,
      space TEXT NOT NULL,
      project_id TEXT NOT NULL,
      max_bytes BIGINT,
      max_runs BIGINT,
      max_segments BIGINT,
      set_at_ms DOUBLE PRECISION NOT NULL,
      PRIMARY KEY (owner_id, space, project_id))`,
    'DELETE FROM usage_counters',
    `INSERT INTO usage_counters (space, project_id, shard, size_bytes, segment_count, run_count)
     SELECT runs.space, runs.project_id, 0, coalesce(sum(segments.size_bytes), 0), count(segments.segment_key), count(DISTINCT runs.id)
     FROM runs LEFT JOIN streams ON streams.space = runs.space AND streams.run_id = runs.id
     LEFT JOIN segments ON segments.stream_key = streams.stream_key
     GROUP BY runs.space, runs.project_id`,
    `INSERT INTO usage_counters (space, project_id, shard, size_bytes, segment_count, run_count)
     SELECT blob_spaces.space, '', 0, coalesce(sum(blobs.size_bytes), 0), 0, 0
     FROM blob_spaces JOIN blobs ON blobs.sha256 = blob_spaces.sha256
     GROUP BY blob_spaces.space`,
  ],
  // Archived runs, and tombstones of deleted ones: see sql-deletion.ts.
  [
    'ALTER TABLE runs ADD COLUMN archived_at_ms DOUBLE PRECISION',
    `CREATE TABLE IF NOT EXISTS deleted_runs (
      space TEXT NOT NULL,
      id TEXT COLLATE "C" NOT NULL,
      project_name TEXT NOT NULL,
      deleted_at_ms DOUBLE PRECISION NOT NULL,
      purge_at_ms DOUBLE PRECISION NOT NULL,
      purged_at_ms DOUBLE PRECISION,
      deleted_by TEXT,
      revision BIGINT NOT NULL,
      change_order BIGINT NOT NULL,
      run TEXT,
      PRIMARY KEY (space, id))`,
    'CREATE INDEX IF NOT EXISTS deleted_runs_by_change ON deleted_runs (space, change_order)',
    'CREATE INDEX IF NOT EXISTS deleted_runs_by_purge ON deleted_runs (purge_at_ms)',
  ],
  // Spaces that were removed, until their runs are purged: see sql-removals.ts.
  [
    `CREATE TABLE IF NOT EXISTS removed_spaces (
      space TEXT PRIMARY KEY,
      owner_id TEXT NOT NULL,
      removed_at_ms DOUBLE PRECISION NOT NULL)`,
  ],
  // Rows of the batches of a segment that were deleted.
  ['ALTER TABLE segments ADD COLUMN dropped_rows BIGINT'],
  // Segments whose rows were downsampled: to how many of each metric, and when.
  [
    'ALTER TABLE segments ADD COLUMN downsampled_to BIGINT',
    'ALTER TABLE segments ADD COLUMN downsampled_at_ms BIGINT',
  ],
  // How often each configuration of a project was run, and what runs are found by: see sql-config.ts and sql-facts.ts.
  [
    'ALTER TABLE runs ADD COLUMN config_hash TEXT',
    'ALTER TABLE runs ADD COLUMN config_revision BIGINT',
    'ALTER TABLE runs ADD COLUMN indexed_revision BIGINT',
    `CREATE TABLE IF NOT EXISTS config_revisions (
      space TEXT NOT NULL,
      project_id TEXT NOT NULL,
      config_hash TEXT NOT NULL,
      last_revision BIGINT NOT NULL,
      PRIMARY KEY (space, project_id, config_hash))`,
    `CREATE TABLE IF NOT EXISTS run_facts (
      space TEXT NOT NULL,
      run_id TEXT NOT NULL,
      fact BIGINT NOT NULL,
      path TEXT NOT NULL,
      kind BIGINT NOT NULL,
      number DOUBLE PRECISION,
      body TEXT,
      PRIMARY KEY (space, run_id, fact))`,
    'CREATE INDEX IF NOT EXISTS run_facts_by_path ON run_facts (space, path, number)',
  ],
  // The facts of a run lie together, and an index has all that most conditions ask for. Runs whose facts are behind have one of their own.
  [
    'DROP TABLE run_facts',
    'UPDATE runs SET indexed_revision = NULL WHERE indexed_revision IS NOT NULL',
    `CREATE TABLE run_facts (
      space TEXT NOT NULL,
      run_id TEXT NOT NULL,
      path TEXT NOT NULL,
      fact BIGINT NOT NULL,
      kind BIGINT NOT NULL,
      number DOUBLE PRECISION,
      body TEXT,
      PRIMARY KEY (space, run_id, path, fact)) /* WITHOUT ROWID */`,
    'CREATE INDEX run_facts_by_value ON run_facts (space, path, kind, number, run_id)',
    `CREATE INDEX runs_behind ON runs (space, id)
     WHERE indexed_revision IS NULL OR indexed_revision <> revision`,
  ],
  // Runs are found by words, host, health, alerts and the reason of their end as well: the first search writes their facts anew.
  ['UPDATE runs SET indexed_revision = NULL WHERE indexed_revision IS NOT NULL'],
  // Tables of runs are counted and begun without their documents, and walk texts in their order: see sql-order-walk.ts.
  [
    `CREATE INDEX IF NOT EXISTS runs_listed ON runs
     (space, archived_at_ms, started_at_ms, id, project_name, status)`,
    `CREATE INDEX IF NOT EXISTS run_facts_by_text ON run_facts
     (space, path, (substr(body, 1, 64)) COLLATE "C", run_id)
     WHERE kind = 1 AND path <> 'text'`,
    // Records that are no JSON have that as a fact: the next search writes those of runs whose record was cut off.
    "UPDATE runs SET indexed_revision = NULL WHERE document NOT LIKE '{%}'",
  ],
];

/** Every table of the layout. */
export const SQL_TABLES: readonly string[] = [FRESH, ...LATER].flatMap((step) =>
  step.flatMap((statement) => /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(statement)?.[1] ?? []),
);

/** The layout this code writes. */
export const SQL_LAYOUT_VERSION: number = FRESH_VERSION + LATER.length;

/**
 * Takes one step towards the current layout; false when there is none left. To be run in one transaction, again and
 * again, by one process at a time where the database does not see to that itself. Tests ask for an earlier `goal`.
 *
 * @throws {SessionStoreError} `version` when the database is newer than this code
 */
export function* migrateStep(name: string, goal = SQL_LAYOUT_VERSION): SqlWork<boolean> {
  yield sql(LAYOUT_TABLE);
  const [row] = yield sql('SELECT max(version) FROM quark_layout');
  const version = row === undefined || row[0] === null ? 0 : numberCell(row, 0);
  if (version > SQL_LAYOUT_VERSION) throw layoutTooNew(name, version);
  if (version >= goal) return false;
  const [step, next] = stepFrom(version);
  for (const statement of step) yield sql(statement);
  yield sql('DELETE FROM quark_layout');
  yield sql('INSERT INTO quark_layout (version) VALUES (?)', next);
  return true;
}

function stepFrom(version: number): readonly [step: Step, next: number] {
  if (version === 0) return [FRESH, FRESH_VERSION];
  if (version < FRESH_VERSION) return [ADD_SPACES, FRESH_VERSION];
  return [LATER[version - FRESH_VERSION] ?? [], version + 1];
}

/** Makes a table again with a space in its keys: SQLite cannot change a key in place. */
function divide(table: string, columns: string, stored: string): Step {
  return [
    `CREATE TABLE divided_${table} ${columns}`,
    `INSERT INTO divided_${table} (space, ${stored}) SELECT '', ${stored} FROM ${table}`,
    `DROP TABLE ${table}`,
    `ALTER TABLE divided_${table} RENAME TO ${table}`,
  ];
}

function layoutTooNew(name: string, version: number): SessionStoreError {
  return new SessionStoreError(
    'version',
    `${name} was written by a newer Quark (layout ${version}; this one knows up to ${SQL_LAYOUT_VERSION}). Nothing was changed. Update quark-sdk to open it.`,
    { details: { name, found: version, known: SQL_LAYOUT_VERSION } },
  );
}
