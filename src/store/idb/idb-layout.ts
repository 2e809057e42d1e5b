/** The layout of the IndexedDB store. Object stores are added by version; a version never changes its meaning. */
import type { DBSchema, IDBPDatabase, IDBPTransaction, StoreNames } from 'idb';
import type { StoredLease } from '../../records/shapes/lease.ts';
import type {
  BatchRange,
  DeletedRun,
  SegmentIdentity,
  SegmentManifest,
  StoredProject,
  StoredRun,
} from '../store.ts';

/** The version this code writes. */
export const IDB_LAYOUT_VERSION = 3;

/** `[run, table]` */
export type StreamKey = [runId: string, table: string];
/** `[run, table, writer]` */
export type WriterKey = [runId: string, table: string, writerId: string];
/** `[run, table, writer, batch]` */
export type SegmentKey = [runId: string, table: string, writerId: string, batchNumber: number];

/** What each object store holds. Manifests and bytes are apart, so that listing never reads bytes. */
export interface IdbLayout extends DBSchema {
  projects: { key: string; value: StoredProject; indexes: { byName: string } };
  runs: { key: string; value: StoredRun; indexes: { byStart: [startedAtMs: number, id: string] } };
  leases: { key: [runId: string, holder: string]; value: StoredLease };
  /** Next sequence number of each table of a run. */
  counters: { key: StreamKey; value: number };
  manifests: {
    key: SegmentKey;
    value: SegmentManifest;
    indexes: { bySequence: [runId: string, table: string, lastSequence: number] };
  };
  bytes: { key: SegmentKey; value: Uint8Array<ArrayBuffer> };
  /** Batches of a writer that live on inside merged segments. */
  merged: { key: WriterKey; value: readonly BatchRange[] };
  blobs: { key: string; value: Uint8Array<ArrayBuffer> };
  notes: { key: string; value: string };
  /** How often each table of a run was emptied; absent for never. */
  replacements: { key: StreamKey; value: number };
  /** When each blob was last put, in milliseconds since 1970; absent for those of before layout 3. */
  blobPuts: { key: string; value: number };
  /** Tombstones of deleted runs. Until it is purged, the rows of a deleted run lie where they lay. */
  deletedRuns: { key: string; value: IdbTombstone };
}

/** A tombstone, and the run until it is purged. */
export type IdbTombstone = DeletedRun & { readonly run?: StoredRun };

export type IdbDatabase = IDBPDatabase<IdbLayout>;
export type IdbStoreName = StoreNames<IdbLayout>;
export type IdbTransaction<M extends IDBTransactionMode> = IDBPTransaction<
  IdbLayout,
  IdbStoreName[],
  M
>;

/** What each version has added. */
const ADDED: readonly (readonly IdbStoreName[])[] = [
  ['projects', 'runs', 'leases', 'counters', 'manifests', 'bytes', 'merged', 'blobs'],
  ['notes', 'replacements'],
  ['blobPuts', 'deletedRuns'],
];

/** Brings a database from `oldVersion` to a newer layout, inside the transaction of the upgrade. */
export function upgradeIdb(
  database: IdbDatabase,
  oldVersion: number,
  version = IDB_LAYOUT_VERSION,
): void {
  if (oldVersion < 1) {
    database
      .createObjectStore('projects', { keyPath: 'id' })
      .createIndex('byName', 'name', { unique: true });
    database
      .createObjectStore('runs', { keyPath: 'id' })
      .createIndex('byStart', ['startedAtMs', 'id']);
    database.createObjectStore('leases', { keyPath: ['runId', 'holder'] });
    database.createObjectStore('counters');
    database
      .createObjectStore('manifests', { keyPath: ['runId', 'table', 'writerId', 'batchNumber'] })
      .createIndex('bySequence', ['runId', 'table', 'lastSequence']);
    database.createObjectStore('bytes');
    database.createObjectStore('merged');
    database.createObjectStore('blobs');
  }
  if (oldVersion < 2 && version >= 2) {
    database.createObjectStore('notes');
    database.createObjectStore('replacements');
  }
  if (oldVersion < 3 && version >= 3) {
    database.createObjectStore('blobPuts');
    database.createObjectStore('deletedRuns', { keyPath: 'id' });
  }
}

/** Whether a database has the layout of this version, and not that of another program under the same name. */
export function hasLayout(database: IdbDatabase, version = IDB_LAYOUT_VERSION): boolean {
  const names = ADDED.slice(0, version).flat();
  return names.every((name) => database.objectStoreNames.contains(name));
}

/** Names of notes are ASCII: this sorts after all of them. */
export const AFTER_NAMES = '\uffff';

/** The key of a segment. */
export function segmentKey(segment: SegmentIdentity): SegmentKey {
  return [segment.runId, segment.table, segment.writerId, segment.batchNumber];
}

/** Every key that begins with these parts: an array sorts after all numbers and texts. */
export function keysUnder(parts: readonly string[]): IDBKeyRange {
  return IDBKeyRange.bound([...parts], [...parts, []]);
}
