/**
 * The runs of a store in memory, by their facts, so that a question about many runs reads the records of those that changed. Records are
 * read and taken apart a few hundred at a time, so that a page can draw in between.
 */
import { Mutex } from '../../base/mutex.ts';
import { nextTask } from '../../base/next-task.ts';
import type { FactsByPath } from '../../records/shapes/run-condition.ts';
import type { TableAnswer, TableQuestion } from '../../records/run-question.ts';
import { knownFactsOf, runFactsOf } from '../run-facts.ts';
import type { IndexFeed, IndexFeedState } from '../run-feed.ts';
import type { StoredRun } from '../store.ts';
import { answerOf, type FoundRunHead } from './answers.ts';

const RUNS_AT_ONCE = 200;
/** A tab that runs an earlier Quark tells of no change: so often all revisions are compared. */
const COMPARE_EVERY_MS = 300_000;

const indexes = new WeakMap<IndexFeed, RunIndex>();

/** The index of what a feed tells of: one of each feed. */
export function runIndexOf(feed: IndexFeed): RunIndex {
  let index = indexes.get(feed);
  if (index === undefined) {
    index = new RunIndex(feed);
    indexes.set(feed, index);
  }
  return index;
}

/** See the top of this file. */
export class RunIndex {
  readonly #feed: IndexFeed;
  readonly #order = new Mutex();
  readonly #runs = new Map<string, FoundRunHead & { readonly revision: number }>();
  readonly #facts = new Map<string, FactsByPath>();
  /** How many changes are in; undefined before all runs were read. */
  #count: number | undefined;
  #comparedAtMs = Number.NEGATIVE_INFINITY;

  constructor(feed: IndexFeed) {
    this.#feed = feed;
  }

  async ask(question: TableQuestion): Promise<TableAnswer> {
    if (this.#count === undefined) {
      const first = await this.#newest(question);
      if (first !== undefined) {
        // The next question finds all runs read. What fails here fails then.
        this.#order.run(() => this.#follow()).catch(() => undefined);
        return first;
      }
    }
    const { live } = await this.#order.run(() => this.#follow());
    const factsOf = ({ id }: FoundRunHead): FactsByPath => this.#facts.get(id) ?? new Map();
    return answerOf(this.#runs.values(), question, live, factsOf);
  }

  /** The newest rows of all runs, read by themselves: a page shows them before all runs are read. Undefined for another question. */
  async #newest(question: TableQuestion): Promise<TableAnswer | undefined> {
    if (!isNewest(question)) return undefined;
    const { archived, limit } = question;
    const { archived: known, live, total } = await this.#feed.since(undefined);
    const counted = archived === undefined ? 0 : known;
    if (counted === undefined) return undefined;
    // One more than there is room for: whether there is a next page.
    const found = await this.#feed.newest(limit + 1, archived);
    const answer = answerOf(found, question, live, knownFactsOf);
    if (answer.kind !== 'rows') return undefined;
    return { ...answer, total: archived === true ? counted : total - counted };
  }

  async #follow(): Promise<IndexFeedState> {
    const isOld = performance.now() - this.#comparedAtMs > COMPARE_EVERY_MS;
    if (isOld || this.#count === undefined) await this.#compareAll();
    for (;;) {
      const state = await this.#feed.since(this.#count);
      if (state.changed !== undefined) {
        for (const { id, run } of state.changed) this.#set(id, run);
        this.#count = state.count;
        return state;
      }
      await this.#compareAll();
    }
  }

  /** Reads all runs, and takes those apart that have another revision. What changes meanwhile is read again after it. */
  async #compareAll(): Promise<void> {
    const { count } = await this.#feed.since(undefined);
    const gone = new Set(this.#runs.keys());
    let after: string | undefined;
    for (;;) {
      const runs = await this.#feed.page(after, RUNS_AT_ONCE);
      for (const run of runs) {
        gone.delete(run.id);
        if (this.#runs.get(run.id)?.revision !== run.revision) this.#set(run.id, run);
      }
      if (runs.length < RUNS_AT_ONCE) break;
      after = runs.at(-1)?.id;
      await nextTask();
    }
    for (const id of gone) this.#set(id, undefined);
    this.#count = count;
    this.#comparedAtMs = performance.now();
    const archived = [...this.#runs.values()].filter((run) => run.archivedAtMs !== undefined);
    await this.#feed.countedArchived(count, archived.length);
  }

  #set(id: string, run: StoredRun | undefined): void {
    if (run === undefined) {
      this.#runs.delete(id);
      this.#facts.delete(id);
      return;
    }
    // Documents are several times as large as what is asked about.
    const { document: _document, ...head } = run;
    this.#runs.set(id, head);
    this.#facts.set(id, runFactsOf(run));
  }
}

type Newest = Extract<TableQuestion, { readonly kind: 'rows' }>;

function isNewest(question: TableQuestion): question is Newest {
  if (question.kind !== 'rows' || question.offset > 0 || question.after !== '') return false;
  const { orderBy, projectName, where } = question;
  const [first] = orderBy;
  return (
    where === undefined &&
    projectName === undefined &&
    orderBy.length === 1 &&
    first?.path === 'startedAt' &&
    first.isDescending
  );
}
