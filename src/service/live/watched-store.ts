/** A store that counts what it acknowledges and how it fails, and refuses what is beyond the limits of the service. */
import { isQuarkError } from '../../base/errors.ts';
import type {
  MergedSegment,
  NewSegment,
  RunChanges,
  RunFilter,
  SegmentFilter,
  SegmentReference,
  SeenTable,
  Store,
  StoredProject,
  StoredRun,
  StoreLocation,
  StreamState,
} from '../../store/store.ts';
import { rangeOfBlob, sizeOfBlob } from '../../store/blob-ranges.ts';
import {
  checkNameLength,
  checkRunNames,
  checkUpload,
  type ServiceLimits,
} from '../limits/limits.ts';
import type { ServiceMetrics } from '../log/metrics.ts';

/** The store, watched. Closing it does not close the store below. */
export function watchStore(store: Store, metrics: ServiceMetrics, limits: ServiceLimits): Store {
  return new WatchedStore(store, metrics, limits);
}

class WatchedStore implements Store {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly isWritable: boolean;
  readonly #store: Store;
  readonly #metrics: ServiceMetrics;
  readonly #limits: ServiceLimits;

  constructor(store: Store, metrics: ServiceMetrics, limits: ServiceLimits) {
    this.uri = store.uri;
    this.location = store.location;
    this.isWritable = store.isWritable;
    this.#store = store;
    this.#metrics = metrics;
    this.#limits = limits;
  }

  ensureProject(project: StoredProject): ReturnType<Store['ensureProject']> {
    return this.#watch(() => {
      if (typeof project.name === 'string')
        checkNameLength('project.name', project.name, this.#limits);
      return this.#store.ensureProject(project);
    });
  }

  listProjects(): ReturnType<Store['listProjects']> {
    return this.#watch(() => this.#store.listProjects());
  }

  createRun(run: Omit<StoredRun, 'revision'>): ReturnType<Store['createRun']> {
    return this.#watch(() => {
      checkRunNames(run, this.#limits);
      return this.#store.createRun(run);
    });
  }

  findRun(runId: string): ReturnType<Store['findRun']> {
    return this.#watch(() => this.#store.findRun(runId));
  }

  listRuns(filter?: RunFilter): ReturnType<Store['listRuns']> {
    return this.#watch(() => this.#store.listRuns(filter));
  }

  updateRun(run: StoredRun): ReturnType<Store['updateRun']> {
    return this.#watch(() => {
      checkRunNames(run, this.#limits);
      return this.#store.updateRun(run);
    });
  }

  renewLease(runId: string, holder: string, ttlMs: number): ReturnType<Store['renewLease']> {
    return this.#watch(() => this.#store.renewLease(runId, holder, ttlMs));
  }

  releaseLease(runId: string, holder: string): Promise<void> {
    return this.#watch(() => this.#store.releaseLease(runId, holder));
  }

  listLeases(runIds?: readonly string[]): ReturnType<Store['listLeases']> {
    return this.#watch(() => this.#store.listLeases(runIds));
  }

  appendSegments(
    segments: readonly NewSegment[],
    seen?: readonly SeenTable[],
  ): ReturnType<Store['appendSegments']> {
    return this.#watch(async () => {
      checkUpload(segments, this.#limits);
      return this.#counted(segments, await this.#store.appendSegments(segments, seen));
    });
  }

  listSegments(filter: SegmentFilter): ReturnType<Store['listSegments']> {
    return this.#watch(() => this.#store.listSegments(filter));
  }

  readSegments(segments: readonly SegmentReference[]): ReturnType<Store['readSegments']> {
    return this.#watch(() => this.#store.readSegments(segments));
  }

  segmentSizes(segments: readonly SegmentReference[]): Promise<readonly number[]> {
    return this.#watch(async () => (await this.#store.segmentSizes?.(segments)) ?? []);
  }

  replaceSegments(
    runId: string,
    table: string,
    remove: readonly SegmentReference[],
    add: readonly MergedSegment[],
  ): Promise<boolean> {
    return this.#watch(() => {
      checkUpload(add, this.#limits);
      return this.#store.replaceSegments(runId, table, remove, add);
    });
  }

  replaceTable(
    runId: string,
    table: string,
    add: readonly NewSegment[],
    seenCount?: number,
  ): ReturnType<Store['replaceTable']> {
    return this.#watch(async () => {
      checkUpload(add, this.#limits);
      return this.#counted(add, await this.#store.replaceTable(runId, table, add, seenCount));
    });
  }

  listStreams(runId: string): Promise<readonly StreamState[]> {
    return this.#watch(async () => (await this.#store.listStreams?.(runId)) ?? []);
  }

  listRunChanges(after?: number): Promise<RunChanges> {
    return this.#watch(
      async () => (await this.#store.listRunChanges?.(after)) ?? { runs: [], lastOrder: 0 },
    );
  }

  putBlob(sha256: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#watch(() => this.#store.putBlob(sha256, bytes));
  }

  getBlob(sha256: string): ReturnType<Store['getBlob']> {
    return this.#watch(() => this.#store.getBlob(sha256));
  }

  blobSize(sha256: string): Promise<number | undefined> {
    return this.#watch(() => sizeOfBlob(this.#store, sha256));
  }

  getBlobRange(sha256: string, start: number, end: number): ReturnType<Store['getBlob']> {
    return this.#watch(() => rangeOfBlob(this.#store, sha256, start, end));
  }

  reclaimSpace(): Promise<void> {
    return this.#watch(() => this.#store.reclaimSpace());
  }

  async close(): Promise<void> {
    // The database below serves everybody else.
  }

  #counted<T>(segments: readonly NewSegment[], kept: T): T {
    let rows = 0;
    let bytes = 0;
    for (const { manifest } of segments) {
      rows += manifest.rowCount;
      bytes += manifest.sizeBytes;
    }
    this.#metrics.appended(segments.length, rows, bytes);
    return kept;
  }

  async #watch<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      // What a caller got wrong is no failure of the store.
      if (!isQuarkError(error)) this.#metrics.storeFailed('unexpected');
      else if (error.code === 'store_failed') {
        const reason = String(error.details['reason']);
        if (reason !== 'rejected' && reason !== 'too_large') this.#metrics.storeFailed(reason);
      }
      throw error;
    }
  }
}
