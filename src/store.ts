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
export {
  type BlobRanges,
  type ConnectedStore,
  type LocalStore,
  type RunQuestions,
  type ServedStore,
} from './store/store.ts';
export { type BlobSweeps } from './store/blob-sweep.ts';
export { type DocumentCalls } from './store/documents.ts';
export { type ProjectRemoval } from './store/deletion.ts';
export {
  type BlobDrop,
  type BlobPage,
  type DeletedRunSource,
  type LooseSum,
  type StoredBlob,
} from './store/blob-sweep.ts';
export { type NewSilence, type SilencedAlerts } from './records/shapes/silence.ts';
export { type IndexFeed } from './store/run-feed.ts';
export { type TableAnswer, type TableQuestion } from './records/run-question.ts';
export { type LapsedLease } from './records/shapes/lease.ts';
export { type RunChanges } from './store/store.ts';
export { type NearQuota } from './store/quotas.ts';
export { type IndexFeedState } from './store/run-feed.ts';
