/** What a store that also sends its data elsewhere tells of that, and lets be asked of it. */
import type { NearQuota } from './quotas.ts';
import type { SegmentIdentity } from './store.ts';

/**
 * What an outbox is doing: nothing to send (`idle`), sending (`uploading`), the service is away and will be tried again
 * (`waiting`), the service refuses and somebody has to do something (`blocked`), or no service is configured (`off`).
 */
export type SyncState = 'off' | 'idle' | 'uploading' | 'waiting' | 'blocked';

/** What went wrong last. */
export type SyncProblem = {
  /** The reason of the store error (`unreachable`, `unauthorised`, ...), or the code of another one. */
  readonly reason: string;
  readonly message: string;
  /** UTC epoch milliseconds. */
  readonly atMs: number;
};

/** A segment that the service will never take as it is. It is stored in the local store, and what follows it is sent. */
export type RefusedSegment = SegmentIdentity & {
  readonly rowCount: number;
  readonly reason: string;
  readonly message: string;
};

/** Rows that a service had acknowledged, has lost, and that are not stored here any more. */
export type LostRows = { readonly runId: string; readonly table: string; readonly rows: number };

/** How far the records of a run, or of all runs of a store, are on their way to the service. */
export type SyncStatus = {
  readonly state: SyncState;
  /** Address of the service; null when none is configured. */
  readonly uri: string | null;
  /** Whether this store object does the sending; another tab or process may. */
  readonly isUploader: boolean;
  /** Runs that are not wholly on the service, be it only their status or tags. */
  readonly pendingRuns: number;
  /** What is stored here and not acknowledged by the service yet; refused segments are not counted. */
  readonly pendingSegments: number;
  readonly pendingRows: number;
  readonly pendingBytes: number;
  /** Rows that the service has acknowledged. */
  readonly acknowledgedRows: number;
  /** When it last did, in UTC epoch milliseconds; null for never. */
  readonly acknowledgedAtMs: number | null;
  readonly refusedSegments: readonly RefusedSegment[];
  /** What is missing for good: the service has lost it after its local copy was removed, or never was here. Usually nothing. */
  readonly lostRows: readonly LostRows[];
  readonly lastError: SyncProblem | null;
  /** Runs that were deleted at the service and have a copy here, which is not sent any more; absent where there are none. */
  readonly deletedRuns?: readonly string[];
  /**
   * Runs that are not sent any more for another reason: the service refuses them for good, or this key has no access to them
   * (`no_access`); absent where there are none. `quark sync --again` asks the service anew.
   */
  readonly refusedRuns?: readonly (SyncProblem & { readonly runId: string })[];
  /** Quotas of the service of which four fifths and more are used; absent where there are none. Only the sending process knows. */
  readonly nearQuotas?: readonly NearQuota[];
  /** When the next attempt is due, in UTC epoch milliseconds; null when none is planned. */
  readonly nextAttemptAtMs: number | null;
};

/** Options of waiting for the service. */
export type SyncedOptions = {
  /** Waits for this run only; for everything in the store unless given. */
  readonly runId?: string;
  /** Longest wait, in milliseconds; no bound unless given. */
  readonly timeoutMs?: number;
  /** Ends the wait early once the service is known to be away or to refuse. Default false. */
  readonly onlyWhileReachable?: boolean;
  readonly signal?: AbortSignal;
};

/** The sending side of a store. */
export interface StoreSync {
  /** How far it is, for one run or for all. Reads the local store only. */
  status(runId?: string): Promise<SyncStatus>;
  /**
   * Waits until everything that is there now has been acknowledged or set aside, and returns how it ended. It does not
   * throw because of the service: look at `pendingRuns` and `state`.
   * @throws {QuarkError} `aborted`
   */
  synced(options?: SyncedOptions): Promise<SyncStatus>;
  /**
   * Takes what became of a run at the service, before a session here takes the run over. While the service cannot be reached, it
   * changes nothing and resolves.
   */
  catchUp(runId: string): Promise<void>;
  /** Calls back for each segment of the run that the service refuses for good; returns the undo. */
  onRefused(runId: string, listener: (segment: RefusedSegment) => void): () => void;
}

/** The status where no service is configured. */
export const SYNC_OFF: SyncStatus = Object.freeze({
  state: 'off',
  uri: null,
  isUploader: false,
  pendingRuns: 0,
  pendingSegments: 0,
  pendingRows: 0,
  pendingBytes: 0,
  acknowledgedRows: 0,
  acknowledgedAtMs: null,
  refusedSegments: Object.freeze([]),
  lostRows: Object.freeze([]),
  lastError: null,
  nextAttemptAtMs: null,
});
