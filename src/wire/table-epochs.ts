/**
 * Epochs of tables: how often each was emptied, as one client knows it. Every change carries the epochs of its tables as fencing
 * tokens. The service stores the epoch with the table, so that any of its processes refuses a change that was delayed on its way
 * and arrives after the table was emptied.
 */
import { isStoreError } from '../base/errors.ts';
import type { TableEpoch, StreamState } from '../store/store.ts';

/** Runs to remember: asking for one again costs a request. */
const MAX_RUNS = 1_024;
/** Attempts while another client empties the table again and again. */
const MAX_ATTEMPTS = 4;

type Table = Pick<TableEpoch, 'runId' | 'table'>;

/** The epochs that a client knows. */
export class TableEpochs {
  readonly #ask: (runId: string) => Promise<readonly StreamState[] | undefined>;
  readonly #runs = new Map<string, Map<string, number>>();
  #isSupported = true;

  /** @param ask the tables of a run; undefined where the service is too old to have epochs */
  constructor(ask: (runId: string) => Promise<readonly StreamState[] | undefined>) {
    this.#ask = ask;
  }

  /** A run was just created: none of its tables was emptied yet. */
  created(runId: string): void {
    this.#remember(runId, []);
  }

  /** This client emptied a table whose epoch was `replaceCount`. */
  emptied({ runId, table, replaceCount }: TableEpoch): void {
    this.#runs.get(runId)?.set(table, replaceCount + 1);
  }

  /**
   * Makes a change with the epochs of its tables; again with new ones when the service refuses them as old.
   *
   * @param isEmptying whether the change empties the tables: when it fails, it is not known whether it did
   */
  async use<T>(
    tables: readonly Table[],
    change: (epochs: readonly TableEpoch[] | undefined) => Promise<T>,
    isEmptying = false,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const epochs = await this.#of(tables);
      try {
        return await change(epochs);
      } catch (error) {
        const isStale = isStoreError(error, 'busy') && 'replaceCount' in error.details;
        if (isStale || isEmptying) for (const { runId } of tables) this.#runs.delete(runId);
        if (!isStale || epochs === undefined || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  async #of(tables: readonly Table[]): Promise<readonly TableEpoch[] | undefined> {
    const epochs: TableEpoch[] = [];
    for (const { runId, table } of tables) {
      const known = this.#runs.get(runId) ?? (await this.#learn(runId));
      if (known === undefined) return undefined;
      epochs.push({ runId, table, replaceCount: known.get(table) ?? 0 });
    }
    return epochs;
  }

  async #learn(runId: string): Promise<Map<string, number> | undefined> {
    const streams = this.#isSupported ? await this.#ask(runId) : undefined;
    if (streams !== undefined) return this.#remember(runId, streams);
    this.#isSupported = false;
    return undefined;
  }

  #remember(runId: string, streams: readonly StreamState[]): Map<string, number> {
    const epochs = new Map(streams.map(({ replaceCount, table }) => [table, replaceCount]));
    if (this.#runs.size >= MAX_RUNS) this.#runs.clear();
    this.#runs.set(runId, epochs);
    return epochs;
  }
}
