/**
 * What changes in one space, as those see it who see the same of it. One poll of the store serves all of them, as long
 * as there are any; a write through this process makes it come at once.
 */
import { LATEST_CHANGES } from '../../store/limits.ts';
import type { Clock } from '../../base/clock.ts';
import { type RunChange, type Store, type StoredRun } from '../../store/store.ts';
import { encodeCursor, type SeenRun } from './feed-cursor.ts';
import { FeedListener, type FeedEvent } from './feed-listener.ts';

/** What a client listens to. */
export type FeedSubscription = {
  readonly store: Store;
  /** None: the list of runs. */
  readonly runIds: readonly string[];
  readonly tables: readonly string[];
  /** What the client has seen already. */
  readonly seen: ReadonlyMap<string, SeenRun>;
};

/** What a write has changed. */
export type FeedChange = { readonly runId: string; readonly table?: string };

/** Changes before the last one that the poll of a list reads again: some become visible late. */
const LATE_CHANGES = LATEST_CHANGES / 2;
/** Writes within this time make one poll. */
const GATHER_MS = 20;
const KEEP_ALIVE_MS = 15_000;
/** Runs that one poll reads: a bound on the work that many streams about different runs cause. The rest follow in the next polls. */
const RUNS_PER_POLL = 128;

const LIST_EVENT: FeedEvent = { subject: 'list', name: 'list', data: {} };

type State = { revision: number; readonly tables: Map<string, number> };

type ListedRun = Pick<RunChange, 'id' | 'status' | 'revision' | 'isDeleted'>;

type Client = {
  readonly listener: FeedListener;
  readonly subscription: FeedSubscription;
  readonly seen: Map<string, State>;
  /** A client of the list that has not been told to read it. */
  isNew: boolean;
};

/** The listeners of one view of one space. */
export class FeedChannel {
  readonly #clock: Clock;
  readonly #pollMs: number;
  readonly #onIdle: () => void;
  readonly #onFailure: (error: unknown) => void;
  readonly #clients = new Set<Client>();
  /** Revision of each of the runs changed last, as of the last poll. */
  #listed = new Map<string, number>();
  /** The greatest order of a change, as of the last poll; undefined before the first. */
  #lastOrder: number | undefined;
  #isPolling = false;
  /** What was written since the last poll began; undefined: the next poll reads everything. */
  #changed: Map<string, FeedChange> | undefined = new Map();
  #undoPoll: (() => void) | undefined;
  /** Whether somebody waits for the next poll. */
  #isAsked = false;
  #undoAlive: (() => void) | undefined;
  /** The run with which the next poll begins, where there are more than one poll reads. */
  #turn = 0;

  constructor(parts: {
    readonly clock: Clock;
    readonly pollMs: number;
    readonly onIdle: () => void;
    readonly onFailure: (error: unknown) => void;
  }) {
    this.#clock = parts.clock;
    this.#pollMs = parts.pollMs;
    this.#onIdle = parts.onIdle;
    this.#onFailure = parts.onFailure;
  }

  /** Lets a client listen from what it has seen. */
  open(subscription: FeedSubscription): FeedListener {
    const seen = new Map<string, State>();
    for (const runId of subscription.runIds) {
      const known = subscription.seen.get(runId);
      const tables = new Map<string, number>();
      for (const table of subscription.tables) tables.set(table, known?.tables.get(table) ?? 0);
      seen.set(runId, { revision: known?.revision ?? 0, tables });
    }
    const isList = subscription.runIds.length === 0;
    const listener = new FeedListener(
      () => (isList ? undefined : encodeCursor(seen)),
      () => this.#leave(client),
    );
    const client: Client = { listener, subscription, seen, isNew: isList };
    this.#clients.add(client);
    this.#changed = undefined;
    this.#soon();
    this.#undoAlive ??= this.#clock.after(KEEP_ALIVE_MS, () => this.#keepAlive());
    return listener;
  }

  /** Something was written through this process. */
  notify(change: FeedChange): void {
    const { runId, table } = change;
    if (![...this.#clients].some((client) => concerns(client, change))) return;
    this.#changed?.set(`${runId}/${table ?? ''}`, change);
    this.#soon();
  }

  /** Ends all streams. */
  end(): void {
    for (const { listener } of this.#clients) listener.end();
  }

  #leave(client: Client): void {
    this.#clients.delete(client);
    if (this.#clients.size > 0) return;
    this.#undoPoll?.();
    this.#undoPoll = undefined;
    this.#undoAlive?.();
    this.#undoAlive = undefined;
    this.#onIdle();
  }

  #soon(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    if (!this.#isPolling) this.#schedule(GATHER_MS);
  }

  #schedule(delayMs: number): void {
    this.#undoPoll?.();
    this.#undoPoll = this.#clock.after(delayMs, () => {
      // A poll that no write caused reads everything: other processes write, too.
      if (!this.#isAsked) this.#changed = undefined;
      void this.#poll();
    });
  }

  async #poll(): Promise<void> {
    const changed = this.#changed;
    this.#changed = new Map();
    this.#isAsked = false;
    this.#isPolling = true;
    try {
      // The newest client's store: those of the others may be closed before it.
      const store = [...this.#clients].at(-1)?.subscription.store;
      if (store !== undefined) await this.#readChanges(store, changed);
    } catch (error) {
      // The store may be away for a while; the next poll reads everything.
      this.#changed = undefined;
      this.#isAsked = false;
      this.#onFailure(error);
    } finally {
      this.#isPolling = false;
      if (this.#clients.size > 0) this.#schedule(this.#isAsked ? GATHER_MS : this.#pollMs);
    }
  }

  async #readChanges(
    store: Store,
    changed: ReadonlyMap<string, FeedChange> | undefined,
  ): Promise<void> {
    const wanted = new Map<string, Map<string, number>>();
    let isListWanted = false;
    for (const { seen, subscription } of this.#clients) {
      if (subscription.runIds.length === 0) isListWanted = true;
      for (const [runId, state] of seen) {
        const tables = wanted.get(runId) ?? new Map<string, number>();
        wanted.set(runId, tables);
        for (const [table, next] of state.tables)
          tables.set(table, Math.min(next, tables.get(table) ?? Number.POSITIVE_INFINITY));
      }
    }
    const told = changed === undefined ? undefined : [...changed.values()];
    for (const [runId, tables] of told === undefined ? this.#inTurn(wanted) : wanted) {
      const isAsked = (table?: string): boolean =>
        told === undefined ||
        told.some(
          (one) =>
            one.runId === runId &&
            (table === undefined || one.table === undefined || one.table === table),
        );
      if (!isAsked()) continue;
      const run = await store.findRun(runId);
      const found = new Map<string, number>();
      const asked = [...tables].filter(([table]) => isAsked(table));
      if (run !== undefined && asked.length > 1 && store.listStreams !== undefined) {
        // All of them in one query.
        for (const { nextSequence, table } of await store.listStreams(runId))
          if (tables.has(table)) found.set(table, nextSequence);
      } else if (run !== undefined)
        for (const [table, sequenceMin] of asked) {
          const segments = await store.listSegments({ runId, table, sequenceMin });
          found.set(
            table,
            segments.reduce((next, { lastSequence }) => Math.max(next, lastSequence + 1), 0),
          );
        }
      for (const client of this.#clients) client.listener.push(newsOf(client, runId, run, found));
    }
    if (isListWanted) await this.#readList(store, told);
  }

  /** As many runs as one poll reads, those that were not read for longest first. */
  #inTurn<T>(wanted: ReadonlyMap<string, T>): readonly (readonly [string, T])[] {
    const all = [...wanted];
    if (all.length <= RUNS_PER_POLL) return all;
    const from = this.#turn % all.length;
    this.#turn = (from + RUNS_PER_POLL) % all.length;
    return [...all.slice(from), ...all.slice(0, from)].slice(0, RUNS_PER_POLL);
  }

  async #readList(store: Store, told: readonly FeedChange[] | undefined): Promise<void> {
    const runs: ListedRun[] = [];
    const before = this.#lastOrder;
    if (told === undefined) {
      const after = before === undefined ? undefined : Math.max(0, before - LATE_CHANGES);
      const changes = await store.listRunChanges?.(after);
      runs.push(...(changes?.runs ?? []));
      this.#lastOrder = Math.max(changes?.lastOrder ?? 0, before ?? 0);
    } else
      for (const runId of new Set(
        told.filter(({ table }) => table === undefined).map((one) => one.runId),
      )) {
        const run = await store.findRun(runId);
        if (run !== undefined) runs.push(run);
        // Only of a run that this view has seen: others are nobody's business here.
        else if (this.#listed.has(runId))
          runs.push({ id: runId, status: 'deleted', revision: 0, isDeleted: true });
      }
    const news = runs.filter(
      (run) => before !== undefined && this.#listed.get(run.id) !== seenAs(run),
    );
    // What is not among the last to change any more is new again when it changes.
    if (told === undefined) this.#listed = new Map();
    for (const run of runs) this.#listed.set(run.id, seenAs(run));
    for (const client of this.#clients) {
      const { listener, subscription } = client;
      if (subscription.runIds.length > 0) continue;
      // A client that reads the list after this poll misses nothing: later changes are told.
      listener.push(client.isNew ? [LIST_EVENT] : news.map(listEvent));
      client.isNew = false;
    }
  }

  #keepAlive(): void {
    for (const { listener } of this.#clients) listener.keepAlive();
    this.#undoAlive =
      this.#clients.size === 0
        ? undefined
        : this.#clock.after(KEEP_ALIVE_MS, () => this.#keepAlive());
  }
}

function concerns({ subscription }: Client, { runId, table }: FeedChange): boolean {
  if (subscription.runIds.length === 0) return table === undefined;
  return (
    subscription.runIds.includes(runId) &&
    (table === undefined || subscription.tables.includes(table))
  );
}

/** What is new to this client; it is taken for told. */
function newsOf(
  { seen }: Client,
  runId: string,
  run: StoredRun | undefined,
  found: ReadonlyMap<string, number>,
): FeedEvent[] {
  const state = seen.get(runId);
  if (state === undefined) return [];
  if (run === undefined) {
    if (state.revision === 0) return [];
    state.revision = 0;
    return [goneEvent(runId)];
  }
  const events: FeedEvent[] = [];
  if (state.revision !== run.revision) {
    state.revision = run.revision;
    events.push(runEvent(run));
  }
  for (const [table, next] of found) {
    const known = state.tables.get(table);
    if (known === undefined || next <= known) continue;
    state.tables.set(table, next);
    events.push({
      subject: `segments/${runId}/${table}`,
      name: 'segments',
      data: { run_id: runId, table, last_sequence: next - 1 },
    });
  }
  return events;
}

/** What is remembered of a run of the list: its revision, or that it was deleted. */
function seenAs({ isDeleted, revision }: ListedRun): number {
  return isDeleted === true ? -1 : revision;
}

function listEvent(run: ListedRun): FeedEvent {
  return run.isDeleted === true ? goneEvent(run.id) : runEvent(run);
}

function goneEvent(runId: string): FeedEvent {
  return { subject: `run/${runId}`, name: 'gone', data: { run_id: runId } };
}

function runEvent({
  id,
  status,
  revision,
}: Pick<StoredRun, 'id' | 'status' | 'revision'>): FeedEvent {
  return { subject: `run/${id}`, name: 'run', data: { run_id: id, status, revision } };
}
