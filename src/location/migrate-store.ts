/** Brings stored segments to the current schema. Readers do not need it: they migrate in memory. */
import { checkStore } from '../store/whole-store.ts';
import { optional, readOptions } from '../base/options.ts';
import { segmentName } from '../records/shapes/manifest.ts';
import { checkInstant } from '../base/assert.ts';
import { isQuarkError, SchemaMigrationError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { eventTable } from '../records/event.ts';
import { TABLES } from '../records/tables.ts';
import type { TableDefinition } from '../schema/table.ts';
import { CURRENT_SCHEMA_VERSION, schemaVersionOf } from '../schema/version.ts';
import { batchOfRows } from '../segment/batch-ops.ts';
import { encodeBatch, SEQUENCE_COLUMN } from '../segment/encode.ts';
import { groupSegments } from '../segment/group-segments.ts';
import { checkNames } from '../segment/check-names.ts';
import { createSegment, describeSegment } from '../segment/manifest.ts';
import { describeDamage, openSegment, type OpenedSegment } from '../segment/open-segment.ts';
import { openStorage } from './open-storage.ts';
import type { MergedSegment, SegmentManifest, Store } from '../store/store.ts';

/** Options of {@link migrateStore}. */
export type MigrateStoreOptions = {
  /** The instant the migration is dated with. Default: now. */
  readonly generatedAt?: string | number | Date | undefined;
};

/** What is rewritten at a time. */
const GROUP = { segments: 64, bytes: 64 << 20 };

/**
 * Rewrites every segment that an older Quark wrote in the current form, and records a `schema_migrated` event in each
 * run concerned. Identities and sequence numbers stay. Everything is read and checked before the first change; a store
 * that is current already is left alone.
 *
 * @param storage an open store, or a directory or URI
 * @returns the current schema version
 * @throws {SchemaMigrationError} when a segment is damaged, from a newer Quark, or holds a name outside of the grammar (`details` has
 *   `field`, `value` and `rule`); nothing is changed then
 * @example
 * ```js
 * import { migrateStore, TrainingSession } from 'quark-sdk';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, () => {});
 * const version = await migrateStore('quark-runs');
 * console.log(`every segment has the form of schema ${version}`);
 * ```
 */
export async function migrateStore(
  storage: string | Store,
  options: MigrateStoreOptions = {},
): Promise<number> {
  const { generatedAt: atMs = Date.now() } = readOptions('options', options, {
    generatedAt: optional(checkInstant),
  });
  if (typeof storage !== 'string') checkStore(storage, 'storage');
  const store = typeof storage === 'string' ? await openStorage(storage) : storage;
  try {
    const outdated = await findOutdated(store);
    for (const { manifests, table } of outdated) {
      for (const group of groupSegments(manifests, GROUP))
        for (const opened of await openAll(store, table, group)) rewrite(table, opened);
    }
    for (const item of outdated) await migrateTable(store, item, atMs);
    return CURRENT_SCHEMA_VERSION;
  } finally {
    if (typeof storage === 'string') await store.close();
  }
}

type Outdated = {
  readonly runId: string;
  readonly table: TableDefinition;
  readonly manifests: readonly SegmentManifest[];
};

async function findOutdated(store: Store): Promise<Outdated[]> {
  const outdated: Outdated[] = [];
  for (const { id: runId } of await store.listRuns()) {
    for (const table of TABLES.values()) {
      const manifests = await store.listSegments({ runId, table: table.table });
      const newer = manifests.find((manifest) => manifest.schemaVersion > CURRENT_SCHEMA_VERSION);
      if (newer !== undefined) {
        throw new SchemaMigrationError(
          `Run ${runId} has ${table.table} of schema version ${newer.schemaVersion}; this Quark knows versions up to ${CURRENT_SCHEMA_VERSION}. Update quark-sdk.`,
          { details: { runId, table: table.table, version: newer.schemaVersion } },
        );
      }
      const current = schemaVersionOf(table.table);
      const older = manifests.filter((manifest) => manifest.schemaVersion < current);
      if (older.length > 0) outdated.push({ runId, table, manifests: older });
    }
  }
  return outdated;
}

async function migrateTable(
  store: Store,
  { runId, table, manifests }: Outdated,
  atMs: number,
): Promise<void> {
  for (const group of groupSegments(manifests, GROUP)) {
    const opened = await openAll(store, table, group);
    const isDone = await store.replaceSegments(
      runId,
      table.table,
      group,
      opened.map((segment) => rewrite(table, segment)),
    );
    if (!isDone) {
      throw new SchemaMigrationError(
        `The ${table.table} of run ${runId} were changed by somebody else meanwhile. Run the migration again.`,
        {
          details: { runId, table: table.table },
        },
      );
    }
  }
  const event = eventTable.create({
    runId,
    sequence: null,
    timestamp: new Date(atMs).toISOString(),
    eventType: 'schema_migrated',
    severity: 'info',
    step: null,
    epoch: null,
    status: null,
    payload: {
      table: table.table,
      segments: manifests.length,
      schema_version: schemaVersionOf(table.table),
    },
  });
  const identity = {
    runId,
    table: eventTable.table,
    writerId: createId('mig', atMs),
    batchNumber: 0,
  };
  await store.appendSegments([
    createSegment(eventTable, identity, batchOfRows(eventTable, [event])),
  ]);
}

async function openAll(
  store: Store,
  table: TableDefinition,
  manifests: readonly SegmentManifest[],
): Promise<OpenedSegment[]> {
  const reads = await store.readSegments(manifests);
  return Promise.all(
    manifests.map(async (manifest, i) => {
      const result = await openSegment(table, manifest, reads[i] ?? { kind: 'gone' });
      if (result.kind === 'opened') {
        checkMigratedNames(table, result.segment);
        return result.segment;
      }
      const reason =
        result.kind === 'damaged'
          ? describeDamage(result.report)
          : 'A segment was merged while the store was migrated.';
      throw new SchemaMigrationError(
        `${reason} The store was not changed. Restore it from a copy, or read what is left with openRun().`,
        {
          details: {
            runId: manifest.runId,
            table: manifest.table,
            writerId: manifest.writerId,
            batchNumber: manifest.batchNumber,
          },
        },
      );
    }),
  );
}

/** What is rewritten is held against the grammar of names as anything that comes in. */
function checkMigratedNames(table: TableDefinition, { batch, manifest }: OpenedSegment): void {
  try {
    checkNames(table, batch);
  } catch (error) {
    if (!isQuarkError(error, 'invalid_input')) throw error;
    throw new SchemaMigrationError(
      `Segment ${segmentName(manifest)}: ${error.message} The store was not changed; readers take the run as it is.`,
      { details: { ...error.details, segment: segmentName(manifest) }, cause: error },
    );
  }
}

function rewrite(
  table: TableDefinition,
  { manifest, batch, sequences }: OpenedSegment,
): MergedSegment {
  const isContiguous = sequences.every(
    (sequence, row) => sequence === manifest.firstSequence + row,
  );
  const columns = new Map(batch.columns);
  if (isContiguous) columns.delete(SEQUENCE_COLUMN);
  else columns.set(SEQUENCE_COLUMN, { kind: 'number', values: sequences });
  const rows = { rowCount: batch.rowCount, columns };
  const bytes = encodeBatch(table, rows);
  const { manifest: next } = describeSegment({
    table,
    identity: manifest,
    batch: rows,
    bytes,
    sources: manifest.sources,
  });
  const { firstSequence, lastSequence } = manifest;
  return { manifest: { ...next, firstSequence, lastSequence }, bytes };
}
