/**
 * How often the tables of a service were emptied, as one client saw it. It says so with every change, and a change that was
 * held back on its way and arrives after the table was emptied is refused by the service: by whichever of its processes
 * it meets, since the number is kept with the table.
 */
import { isStoreError } from '../base/errors.ts';
import type { SeenTable, StreamState } from '../store/store.ts';

/** Runs to remember: asking for one again costs a request. */
const MAX_RUNS = 1_024;
/** Somebody else empties the table again and again. */
const MAX_ATTEMPTS = 4;

/** See the top of this file. */
export class SeenTables {
  readonly #ask: (runId: string) => Promise<readonly StreamState[] | undefined>;
  readonly #runs = new Map<string, Map<string, number>>();
  #isSupported = true;

  /** @param ask the tables of a run; undefined where the service is too old to say */
  constructor(ask: (runId: string) => Promise<readonly StreamState[] | undefined>) {
    this.#ask = ask;
  }

  /** A run that was just made: none of its tables was emptied yet. */
  noteNew(runId: string): void {
    this.#keep(runId, []);
  }

  /** A table was emptied by us. */
  noteReplaced({ runId, table, replaceCount }: SeenTable): void {
    this.#runs.get(runId)?.set(table, replaceCount + 1);
  }

  /**
   * Does work with what is known of these tables; again with what is so when that has changed.
   *
   * @param isEmptying whether the work empties them: when it fails it is not known whether it did
   */
  async use<T>(
    tables: readonly Pick<SeenTable, 'runId' | 'table'>[],
    work: (seen: readonly SeenTable[] | undefined) => Promise<T>,
    isEmptying = false,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const seen = await this.#of(tables);
      try {
        return await work(seen);
      } catch (error) {
        const isStale = isStoreError(error, 'busy') && 'replaceCount' in error.details;
        if (isStale || isEmptying) for (const { runId } of tables) this.#runs.delete(runId);
        if (!isStale || seen === undefined || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  async #of(
    tables: readonly Pick<SeenTable, 'runId' | 'table'>[],
  ): Promise<readonly SeenTable[] | undefined> {
    const seen: SeenTable[] = [];
    for (const { runId, table } of tables) {
      let counts = this.#runs.get(runId);
      if (counts === undefined) {
        if (!this.#isSupported) return undefined;
        const streams = await this.#ask(runId);
        if (streams === undefined) {
          this.#isSupported = false;
          return undefined;
        }
        counts = this.#keep(runId, streams);
      }
      seen.push({ runId, table, replaceCount: counts.get(table) ?? 0 });
    }
    return seen;
  }

  #keep(runId: string, streams: readonly StreamState[]): Map<string, number> {
    const counts = new Map(streams.map(({ replaceCount, table }) => [table, replaceCount]));
    if (this.#runs.size >= MAX_RUNS) this.#runs.clear();
    this.#runs.set(runId, counts);
    return counts;
  }
}
