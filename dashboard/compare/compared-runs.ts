/** The records of the runs of a comparison: what they are called, how they are set, how they stand and what came of them. */
import { findRuns, type RunSummary, type Store } from 'quark-sdk';
import { runNames } from '../parts/run-name.ts';
import { nextTurn } from '../parts/turns.ts';

/** Most runs of a comparison. */
export const MAX_RUNS = 500;

/** Ids that are asked for at once: a condition has a longest text. */
const IDS_AT_ONCE = 40;

/** Records that are read again and again. */
export class ComparedRuns {
  readonly #store: Store;
  readonly #runIds: readonly string[];
  #summaries: readonly RunSummary[] = [];
  #names: ReadonlyMap<string, string> = new Map();

  /** @param runIds the first {@link MAX_RUNS} of these */
  constructor(store: Store, runIds: readonly string[]) {
    this.#store = store;
    this.#runIds = [...new Set(runIds)].slice(0, MAX_RUNS);
  }

  /** The runs that are there, in the order asked for. */
  get summaries(): readonly RunSummary[] {
    return this.#summaries;
  }
  /** Ids of the runs that are asked for. */
  get runIds(): readonly string[] {
    return this.#runIds;
  }
  /** Whether any run goes on. */
  get isLive(): boolean {
    return this.#summaries.some((summary) => summary.isLive);
  }
  /** What a run is called beside the others. */
  nameOf(runId: string): string {
    return this.#names.get(runId) ?? runId;
  }

  /** Reads the records. True where anything has changed. */
  async poll(): Promise<boolean> {
    const before = textOf(this.#summaries);
    const found = new Map<string, RunSummary>();
    for (let at = 0; at < this.#runIds.length; at += IDS_AT_ONCE) {
      const ids = this.#runIds.slice(at, at + IDS_AT_ONCE);
      const query = { id: { in: ids } };
      for (const summary of await findRuns(this.#store, query, { archived: 'any' }))
        found.set(summary.run.id, summary);
      await nextTurn();
    }
    this.#summaries = this.#runIds.flatMap((runId) => found.get(runId) ?? []);
    this.#names = runNames(this.#summaries.map(({ run }) => run));
    return textOf(this.#summaries) !== before;
  }
}

function textOf(summaries: readonly RunSummary[]): string {
  return summaries
    .map(({ effectiveStatus, run }) => `${run.id} ${run.updatedAt} ${effectiveStatus}`)
    .join('\n');
}
