/** The records of the runs of a comparison: what they are called, how they are set, how they stand and what came of them. */
import { findRuns, openRun, type RunSummary, type Store } from 'quark-sdk';
import { runNames } from '../parts/run-name.ts';
import { nextTurn } from '../parts/turns.ts';

/** Most runs of a comparison. */
export const MAX_RUNS = 500;

/** Ids that are asked for at once: a condition has a longest text. */
const IDS_AT_ONCE = 40;
/** Runs whose errors are read. */
const MAX_ENDS = 48;
/** Characters of an error that are shown. */
const MAX_END_CHARS = 300;

/** Records that are read again and again. */
export class ComparedRuns {
  readonly #store: Store;
  readonly #runIds: readonly string[];
  #summaries: readonly RunSummary[] = [];
  #names: ReadonlyMap<string, string> = new Map();
  readonly #ends = new Map<string, string>();
  readonly #endsAskedAt = new Map<string, string>();

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
  /** What the last error of a run says that failed; undefined where there is none, or before it was read. */
  endOf(runId: string): string | undefined {
    return this.#ends.get(runId);
  }

  /** Reads the records. True where anything has changed. */
  async poll(): Promise<boolean> {
    const before = textOf(this.#summaries);
    const endCount = this.#ends.size;
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
    await this.#readEnds();
    return textOf(this.#summaries) !== before || this.#ends.size !== endCount;
  }

  async #readEnds(): Promise<void> {
    const failed = this.#summaries.filter(
      ({ effectiveStatus, run }) =>
        effectiveStatus === 'failed' && this.#endsAskedAt.get(run.id) !== run.updatedAt,
    );
    for (const { run } of failed.slice(0, MAX_ENDS)) {
      this.#endsAskedAt.set(run.id, run.updatedAt);
      try {
        const reader = await openRun(this.#store, run.id);
        const events = await reader.readEvents();
        const last = events.findLast(
          ({ severity }) => severity === 'error' || severity === 'critical',
        );
        const message = last?.payload['message'];
        if (typeof message === 'string') this.#ends.set(run.id, message.slice(0, MAX_END_CHARS));
      } catch {
        // The status says that it failed; why is said where it can be read.
      }
    }
  }
}

function textOf(summaries: readonly RunSummary[]): string {
  return summaries
    .map(({ effectiveStatus, run }) => `${run.id} ${run.updatedAt} ${effectiveStatus}`)
    .join('\n');
}
