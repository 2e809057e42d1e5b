/** Merges the small segments of a run during the run and at its end. A failed merge loses nothing. */
import type { Clock } from '../../base/clock.ts';
import { isQuarkError, isStoreError } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import { loadPart } from '../../base/runtime.ts';
import type { MergeWindow } from '../../segment/compact.ts';
import { MERGED_ROWS, MERGED_SEGMENTS } from '../../segment/merged-rows.ts';
import type { SegmentManifest, Store } from '../../store/store.ts';

/**
 * The merges of one run: those of a table while it goes on, once it has {@link MERGED_SEGMENTS} or {@link MERGED_ROWS} more, so that readers
 * list few and the end of a long run has no more to merge than that of a short one.
 */
export class Housekeeping {
  readonly #store: Store;
  readonly #runId: string;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #mergeWindow: MergeWindow | undefined;
  /** Where the next merge of each table begins. */
  readonly #positions = new Map<string, number>();
  readonly #counts = new Map<string, { segments: number; rows: number }>();
  #merging: Promise<void> | undefined;
  #failure: unknown;

  constructor(
    store: Store,
    runId: string,
    clock: Pick<Clock, 'now'>,
    merge: MergeWindow | undefined,
  ) {
    this.#store = store;
    this.#runId = runId;
    this.#clock = clock;
    this.#mergeWindow = merge;
  }

  /** Counts segments that were appended to a table, and merges them once they or their rows are many. */
  appended(table: string, segments: readonly SegmentManifest[], mayMerge: boolean): void {
    const count = this.#counts.get(table) ?? { segments: 0, rows: 0 };
    this.#counts.set(table, count);
    count.segments += segments.length;
    for (const { rowCount } of segments) count.rows += rowCount;
    const isDue = count.segments >= MERGED_SEGMENTS || count.rows >= MERGED_ROWS;
    if (!isDue || this.#merging !== undefined || !mayMerge) return;
    this.#counts.delete(table);
    // When it fails, the segments are there as they were, and the next merge tries again.
    this.#merging = this.#merge(table, true)
      .catch((error: unknown) => {
        if (!isHarmless(error)) this.#failure = error;
      })
      .finally(() => {
        this.#merging = undefined;
      });
  }

  /** Waits for the merge that is under way. */
  async settle(): Promise<void> {
    await this.#merging;
  }

  /** Merges every table and gives space back. */
  async mergeAll(): Promise<void> {
    await tolerate(async () => {
      await this.#merge(undefined, false);
      await this.#store.reclaimSpace();
    });
  }

  /** Throws what a merge failed with that was not the store's. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Of all tables, unless one is named. */
  async #merge(table: string | undefined, isGrowing: boolean): Promise<void> {
    const { mergeTables } = await loadMerging();
    const writerId = (): string => createId('mrg', this.#clock.now());
    await mergeTables(this.#store, table, this.#runId, writerId, {
      isGrowing,
      isShared: true,
      merge: this.#mergeWindow,
      positions: this.#positions,
    });
  }
}

/** Loads what merges segments. */
export const loadMerging = () =>
  loadPart('Merging segments', async () => import('../../segment/merge-run.ts'));

/** Whether a merge failed in a way that loses nothing: the store refused it, or what merges could not be loaded. */
function isHarmless(error: unknown): boolean {
  return isStoreError(error) || isQuarkError(error, 'unsupported');
}

/**
 * Work after everything is stored: where the store refuses it, segments stay small and a lease lapses by itself, and
 * nothing is lost.
 */
export async function tolerate(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isHarmless(error)) throw error;
  }
}
