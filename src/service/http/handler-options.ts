/** What the handler is told: once by its options, and with each request by its scope. */
import type { Clock } from '../../base/clock.ts';
import { asGiven, asGivenOr, flag, orDefault, positive, readOptions } from '../../base/options.ts';
import type {
  MergedSegment,
  NewSegment,
  Store,
  StoredProject,
  StoredRun,
  StoreNotes,
} from '../../store/store.ts';
import type { Compute } from '../jobs/job.ts';
import {
  ANSWER_TARGET_BYTES,
  FEED_POLL_MS,
  MAX_BLOB_UPLOAD_BYTES,
  MAX_UNPACKED_BYTES,
  MAX_UPLOAD_BYTES,
} from '../../wire/protocol.ts';
import type { RouteGroup } from '../../wire/route-parts.ts';

/** What a request is about: found out by the caller of the handler, from the key and the space that the request names. */
export type StoreScope = {
  /**
   * All that the caller may see and change. It stays the caller's to close, after the answer. A store with `isWritable`
   * false is read only, whatever the handler could do.
   */
  readonly store: Store;
  /** Aborted when the client has disconnected: no more calls are made to the store for it. */
  readonly signal?: AbortSignal | undefined;
  /** The store for work that outlives the request: polls for live updates, sketches of curves. Default: `store`. */
  readonly lastingStore?: Store;
  /**
   * Who shares a poll of the store for live updates: listeners of an equal `view` of an equal `space`. Writes into a
   * space wake all its views. Unless given, the `store` object stands for both, and a listener's store is kept in use
   * until its stream ends.
   */
  readonly feed?: { readonly space: string; readonly view: string };
  /** Notes of the space that `store` is a view of: sketches of curves are stored there, for every user. None are unless given. */
  readonly notes?: StoreNotes | undefined;
  /**
   * Asked when the body of a request has arrived, before anything is read or written for it: rejects where its sender has
   * lost the right to that since the request began. Nothing is asked unless given.
   */
  readonly confirm?: (() => Promise<void>) | undefined;
  /** What to throw for a change where the store cannot be written to; an error with reason `read_only` unless given. */
  readonly writeRefusal?: Error | undefined;
  /** Whether runs may be deleted, archived and restored. Default: whether the store can be written to. */
  readonly mayDelete?: boolean;
  /** Whether the bytes of deleted runs may be removed before their time. Default: `mayDelete`. */
  readonly mayPurge?: boolean;
  /**
   * For how long the caller leaves what is deleted restorable, at least, in milliseconds; where it is more than 0, rows of runs are
   * not the caller's to remove. Default: 0.
   */
  readonly minUndoMs?: number;
  /** Who asks, for the tombstones of what they delete. */
  readonly actor?: string;
  /** What to throw for such a request where it may not be; an error with reason `read_only` unless given. */
  readonly deleteRefusal?: Error | undefined;
  /** What to throw where bytes may not be removed before their time; `deleteRefusal` unless given. */
  readonly purgeRefusal?: Error | undefined;
  /**
   * Reserves memory for bodies and answers, in bytes; a negative number releases some. The rest is released when the answer ends.
   * Throws when the budget is exhausted or the client has disconnected. Default: no limit.
   */
  readonly takeRoom?: (bytes: number) => void;
  /** Called with the number of bytes that are about to be unpacked; throws when the user exceeds a limit. Default: no limit. */
  readonly takeUnpacked?: (bytes: number) => void;
  /** Where segment checks, rows and curves are computed. Default: the calling thread. */
  readonly compute?: Compute | undefined;
};

/** The store for work that outlives the request. */
export function lastingStoreOf({ lastingStore, store }: StoreScope): Store {
  return lastingStore ?? store;
}

/**
 * What is checked beyond what every store checks, before anything of a request is written. Each throws for what is not
 * to be stored. A service with many users has to check content, because readers trust manifests.
 */
export type ContentChecks = {
  /** Segments on their way in, and merged ones, which have sequence numbers. */
  readonly segment?: (segment: NewSegment | MergedSegment) => void | Promise<void>;
  readonly run?: (run: Omit<StoredRun, 'revision'>) => void;
  readonly project?: (project: StoredProject) => void;
};

/** Options of {@link createStoreHandler}. */
export type StoreHandlerOptions = {
  /** Whether requests may change stores; they may not unless this is true. */
  readonly writable?: boolean;
  /** None unless given; a service takes `CONTENT_CHECKS`. */
  readonly checks?: ContentChecks;
  /** Most bytes of one upload of segments, unpacked; 66 MiB unless given. */
  readonly maxUploadBytes?: number;
  /** Largest number of unpacked bytes of the segments of one upload. Default: 512 MiB. */
  readonly maxUnpackedBytes?: number;
  /** Most bytes of a blob; 64 MiB unless given. */
  readonly maxBlobBytes?: number;
  /** Closes an answer with segments once it holds this many bytes; 16 MiB unless given. */
  readonly answerTargetBytes?: number;
  /** Interval at which a store is polled for live updates while a client listens, in milliseconds. Default: 1,000. */
  readonly feedPollMs?: number;
  /** Groups of routes that the description of the API has; only those about stores unless given. */
  readonly describedGroups?: readonly RouteGroup[];
  /** Times the polls for live updates. Default: the clock of the machine. */
  readonly clock?: Clock;
  /** Told of what the answer does not say: an error of the server's own. */
  readonly onFailure?: (error: unknown, request?: Request) => void;
};

/** {@link StoreHandlerOptions} with the defaults filled in. */
export type HandlerSettings = ReturnType<typeof settingsOf>;

/** @throws {QuarkError} `invalid_input` naming the option */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- derives from the rules
export function settingsOf(options: StoreHandlerOptions) {
  return readOptions(
    'options',
    options,
    {
      writable: orDefault(flag(), false),
      checks: orDefault<ContentChecks, ContentChecks, ContentChecks>(asGiven, {}),
      maxUploadBytes: orDefault(positive(), MAX_UPLOAD_BYTES),
      maxUnpackedBytes: orDefault(positive(), MAX_UNPACKED_BYTES),
      maxBlobBytes: orDefault(positive(), MAX_BLOB_UPLOAD_BYTES),
      answerTargetBytes: orDefault(positive(), ANSWER_TARGET_BYTES),
      feedPollMs: orDefault(positive(), FEED_POLL_MS),
      describedGroups: asGivenOr<readonly RouteGroup[]>(['store']),
      clock: asGiven,
      onFailure: asGiven,
    },
    '',
  );
}
