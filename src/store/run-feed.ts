/** What an index of the runs of a store in memory is made from, and follows. */
import type { StoredRun } from './store.ts';

/** What changed since an index was brought up to date, and how many runs there are, at one moment. */
export type IndexFeedState = {
  /** How many changes there were so far. */
  readonly count: number;
  /** Runs, archived ones included. */
  readonly total: number;
  /** Archived runs; undefined where nobody has counted them. */
  readonly archived: number | undefined;
  /** Runs that sessions are at work on. */
  readonly live: ReadonlySet<string>;
  /** The runs that changed, as they are; undefined where nobody remembers which. */
  readonly changed:
    | readonly { readonly id: string; readonly run: StoredRun | undefined }[]
    | undefined;
};

/** See the top of this file. A store that answers no questions about many runs itself may have one. */
export interface IndexFeed {
  /** @param count of changes that are known; undefined for now */
  since(count: number | undefined): Promise<IndexFeedState>;
  /** Runs in the order of their ids. */
  page(after: string | undefined, limit: number): Promise<readonly StoredRun[]>;
  /** The newest runs; of those that are archived, of the others, or of all. */
  newest(limit: number, archived: boolean | undefined): Promise<readonly StoredRun[]>;
  /** Remembers how many runs are archived, if nothing has changed since. */
  countedArchived(count: number, archived: number): Promise<void>;
}
