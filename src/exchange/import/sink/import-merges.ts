/** Merges the segments of a run while it is imported: a file has no end that could be waited for, and what is packed takes a third of the space. */
import { createId } from '../../../base/ids.ts';
import { TABLES } from '../../../records/tables.ts';
import { compactTable } from '../../../segment/compact.ts';
import { loadPlatform } from '../../../session/platforms/platform.ts';
import { tolerate } from '../../../session/storing/housekeeping.ts';
import type { NewSegment, Store } from '../../../store/store.ts';

/** Rows that are merged at a time: enough of each metric for segments of its own, where there are up to 16; memory of 40 MB. */
const IMPORTED_ROWS = 1 << 18;
/** Tables with fewer rows stay as they are written: one segment, which a reader opens as fast. */
const MIN_ROWS = 1 << 14;

/** The merges of one imported run. */
export class ImportMerges {
  readonly #store: Store;
  readonly #runId: string;
  readonly #rows = new Map<string, { all: number; waiting: number }>();
  /** Where the next merge of each table begins. */
  readonly #positions = new Map<string, number>();
  #merging: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(store: Store, runId: string) {
    this.#store = store;
    this.#runId = runId;
  }

  /** Counts segments that were appended, and merges those of a table once they are a window, while more is read. */
  appended(segments: readonly NewSegment[]): void {
    for (const { manifest } of segments) {
      const rows = this.#rows.get(manifest.table) ?? { all: 0, waiting: 0 };
      this.#rows.set(manifest.table, rows);
      rows.all += manifest.rowCount;
      rows.waiting += manifest.rowCount;
    }
    this.#begin();
  }

  #begin(): void {
    if (this.#merging !== undefined || this.#failure !== undefined) return;
    for (const [table, rows] of this.#rows)
      if (rows.waiting >= IMPORTED_ROWS) {
        rows.waiting = 0;
        this.#merging = this.#merge(table, true)
          .catch((error: unknown) => {
            this.#failure = { error };
          })
          .finally(() => {
            this.#merging = undefined;
          });
        return;
      }
  }

  /** Waits for the merge that is under way. */
  async settle(): Promise<void> {
    await this.#merging;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Merges what is left, and gives space back. */
  async finish(): Promise<void> {
    await this.settle();
    const tables = [...this.#rows].filter(([, { all }]) => all >= MIN_ROWS);
    for (const [table] of tables) await this.#merge(table, false);
    if (tables.length > 0 && this.#isWorth) await tolerate(() => this.#store.reclaimSpace());
  }

  /** A service merges by itself; in memory it is the time that counts: pages show files that they read there. */
  get #isWorth(): boolean {
    return this.#store.notes !== undefined && !this.#store.uri.startsWith('memory:');
  }

  async #merge(name: string, isGrowing: boolean): Promise<void> {
    const table = TABLES.get(name);
    if (table === undefined || !this.#isWorth) return;
    const mergeId = createId('mrg', Date.now());
    const { mergeWindow: merge } = await loadPlatform();
    const limits = { rows: IMPORTED_ROWS, isGrowing, merge, positions: this.#positions };
    await tolerate(() => compactTable(this.#store, table, this.#runId, mergeId, limits));
  }
}
