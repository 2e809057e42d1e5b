/** What a service works out of stored or uploaded bytes, as data: see `jobs.ts` for how, and {@link Compute} for where. */
import type { PositionFilter } from '../read/filters.ts';
import type { KeyConditions } from '../read/keyed-records.ts';
import type { SketchNotes } from '../read/curve-sketch.ts';
import type { CurveQuery } from '../store/curves.ts';
import type { MergedSegment, NewSegment, SegmentManifest, SegmentSource } from '../store/store.ts';

/** Which rows to give out, and how. */
export type RowsQuery = {
  readonly table: string;
  readonly runId: string;
  readonly format: 'arrow' | 'jsonl';
  readonly position: PositionFilter;
  readonly conditions: KeyConditions;
  /** The last rows only, at most so many. */
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
    };

/** What a job reads and tells. */
export type JobHost = {
  readonly store: SegmentSource;
  readonly notes?: SketchNotes | undefined;
  /** Told of memory before it is held, and below zero when it is given back. */
  readonly takeRoom?: ((bytes: number) => void) | undefined;
  /** Told of failures that the answer does not suffer from. */
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

/** Where jobs are done. */
export type Compute = {
  /** @throws {SessionStoreError} `busy` when there are too many jobs */
  readonly start: (job: Job, host: JobHost) => Task;
};
