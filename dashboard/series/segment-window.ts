/**
 * A store seen through a window: readers get the next so many rows of a table, not all that is there. What a page reads of a long run it
 * takes in turns, so that it answers to its user in between.
 */
import type { SegmentManifest, Store } from 'quark-sdk';

/** Rows after which a window ends at the next segment where it can. */
export const WINDOW_ROWS = 50_000;

/** A window on a store. */
export class SegmentWindow {
  /** The store, whose `listSegments` ends with the window. Everything else is that of the whole store. */
  readonly store: Store;
  readonly #ends = new Map<string, number>();

  constructor(store: Store, rows: number = WINDOW_ROWS) {
    const listSegments: Store['listSegments'] = async (filter) => {
      const all = await store.listSegments(filter);
      const count = windowEnd(all, rows);
      const shown = all.slice(0, count);
      const name = tableName(filter.runId, filter.table);
      if (count === all.length) this.#ends.delete(name);
      else this.#ends.set(name, Math.max(...shown.map(({ lastSequence }) => lastSequence)));
      return shown;
    };
    this.store = new Proxy(store, {
      get(target, name) {
        if (name === 'listSegments') return listSegments;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  /** Sequence number at which the last reading of a table ended with more to come; undefined when it came to the end. */
  endOf(runId: string, table: string): number | undefined {
    return this.#ends.get(tableName(runId, table));
  }
}

function tableName(runId: string, table: string): string {
  return `${runId} ${table}`;
}

/**
 * How many of these segments make a window: at least `rows` rows, and none of the rest with a row that belongs before their last. Merged
 * segments lie across each other and may have to be read together, however many they are.
 */
export function windowEnd(
  segments: readonly Pick<SegmentManifest, 'rowCount' | 'firstSequence' | 'lastSequence'>[],
  rows: number,
): number {
  let count = 0;
  let last = -1;
  for (const [at, segment] of segments.entries()) {
    // Segments come in the order of their first rows: what is true of the next one is true of all that follow.
    if (count >= rows && segment.firstSequence > last) return at;
    count += segment.rowCount;
    last = Math.max(last, segment.lastSequence);
  }
  return segments.length;
}
