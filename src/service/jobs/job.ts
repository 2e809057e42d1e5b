/** Jobs of a service on stored or uploaded bytes, as plain data. `jobs.ts` runs them; {@link Compute} chooses the thread. */
import type { PositionFilter } from '../../read/filters.ts';
import type { KeyConditions } from '../../read/match-rows.ts';
import type { SketchNotes } from '../../read/curve-sketch.ts';
import type { CurveQuery, SparklineQuery } from '../../store/curves.ts';
import type {
  MergedSegment,
  NewSegment,
  SegmentManifest,
  SegmentSource,
} from '../../store/store.ts';

/** Which rows to answer with, and in which format. */
export type RowsQuery = {
  readonly table: string;
  readonly runId: string;
  readonly format: 'arrow' | 'jsonl';
  readonly position: PositionFilter;
  readonly conditions: KeyConditions;
  /** Only the last rows, at most this many. */
  readonly limit: number | undefined;
  /** Whether segments that cannot be read are left out; they end the answer otherwise. */
  readonly skipsDamage: boolean;
};

/** Work to do. Jobs are plain data. */
export type Job =
  | { readonly name: 'check'; readonly segments: readonly (NewSegment | MergedSegment)[] }
  | { readonly name: 'rows'; readonly query: RowsQuery }
  | {
      readonly name: 'curves';
      readonly query: CurveQuery;
      readonly listed: readonly SegmentManifest[];
    }
  | {
      readonly name: 'sparkline';
      readonly runId: string;
      readonly query: Omit<SparklineQuery, 'runIds'>;
      readonly listed: readonly SegmentManifest[];
    };

/** What a job reads and tells. */
export type JobHost = {
  readonly store: SegmentSource;
  readonly notes?: SketchNotes | undefined;
  /** Reserves memory, in bytes; a negative number releases it. */
  readonly takeRoom?: ((bytes: number) => void) | undefined;
  /** Called with failures that do not affect the answer. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
  /** Ends the job between two steps. */
  readonly signal?: AbortSignal | undefined;
};

/** The bytes of an answer, part by part. */
export type JobParts = AsyncGenerator<Uint8Array<ArrayBuffer>, undefined>;

/** A job under way. */
export type Task = {
  /** The next part of the answer. */
  readonly next: () => Promise<IteratorResult<Uint8Array<ArrayBuffer>, undefined>>;
  /** Ends the job, whatever is left of it. Closing twice is fine. */
  readonly close: () => void;
};

/**
 * Runs the jobs of a user.
 *
 * @param charge called with the processor time of each slice, in milliseconds
 * @param onStart called when another thread has taken a job
 */
export type ComputeOf = (
  userId: string,
  charge: (busyMs: number) => void,
  onStart: () => void,
) => Compute;

/** Runs jobs on some thread. */
export type Compute = {
  /** @throws {SessionStoreError} `busy` when there are too many jobs */
  readonly start: (job: Job, host: JobHost) => Task;
};
