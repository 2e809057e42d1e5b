/**
 * `quark-sdk/store`: what the author of a store needs. A store implements {@link Store}, is opened by a factory that
 * {@link registerStorage} takes, and passes the conformance suite in `test/contract/store-contract.ts`.
 */
export { registerStorage, type OpenStorageOptions, type StorageFactory } from './store/registry.ts';
export type { Curve, CurveQuery, RunCurves } from './store/curves.ts';
export type { LossReport, RowSpill } from './store/row-spill.ts';
export type { HolderTag } from './sync/leadership.ts';
export type {
  BatchRange,
  DeletedRun,
  DeleteRunOptions,
  Lease,
  MergedSegment,
  NewSegment,
  RunFilter,
  RunGeneration,
  SegmentEncoding,
  SegmentFilter,
  SegmentIdentity,
  SegmentManifest,
  SegmentRead,
  SegmentReference,
  Store,
  StoredProject,
  StoredRun,
  StoreLocation,
  StoreNote,
  StoreNotes,
  StoreSurvey,
  StoredBatches,
  StoredLease,
  StoreIdentity,
  StreamState,
  TableBatches,
  UpdateResult,
} from './store/store.ts';
