/**
 * Decides when what was acknowledged is compared with the service: everything at each start and whenever the service has another
 * database or epoch, and at an interval runs that go on and those that this key may not see; at most 100 runs a request.
 */
import type { Clock } from '../base/clock.ts';
import { isQuarkError } from '../base/errors.ts';
import type { StoreIdentity, Store } from '../store/store.ts';
import { compareSent, type RunLoss } from './compare-sent.ts';
import { isNoAccess, retryAfterMs } from './failures.ts';
import type { LossNotes } from './loss-notes.ts';
import { NotesTaken, type RunOfNotes, type SyncNotes } from './sync-notes.ts';

/** Runs that are asked about at once. */
const RUNS_AT_ONCE = 100;
/** After a question that was not answered. */
const RETRY_MS = 5_000;

/** What the watch is made of. */
export type SentWatchParts = {
  readonly local: Store;
  readonly notes: SyncNotes;
  readonly losses: LossNotes;
  readonly clock: Pick<Clock, 'now'>;
  /** Names the service. */
  readonly remoteUri: string;
  /** How often runs that go on, and those that this key may not see, are compared, in milliseconds. */
  readonly compareEveryMs: number;
  /** Told what the service has lost. */
  readonly onLoss: (losses: readonly RunLoss[]) => void;
};

/** See the top of this file. */
export class SentWatch {
  readonly #parts: SentWatchParts;
  /** Runs that are to be compared. */
  readonly #queue = new Set<string>();
  /** Whether all runs were put there; what the service was then is noted once the queue is empty. */
  #isAll = false;
  #identity: StoreIdentity | undefined;
  /** Runs that were compared since the start. */
  readonly #compared = new Set<string>();
  #hasBegun = false;
  #nextMs = 0;
  #retryMs = 0;

  constructor(parts: SentWatchParts) {
    this.#parts = parts;
  }

  /** Everything is compared again, as at a start. */
  restart(): void {
    this.#hasBegun = false;
    this.#compared.clear();
    this.#retryMs = 0;
  }

  /** Whether not everything has been compared since the start, and the service has not failed to answer. */
  get isComparing(): boolean {
    return this.#retryMs === 0 && (!this.#hasBegun || this.#queue.size > 0);
  }

  /**
   * Compares everything now, also where another client sends. What is missing is noted as not sent, which the sending client finds.
   *
   * @throws {SessionStoreError} when the service cannot be asked
   */
  async compareAll(open: () => Promise<Store>, only?: readonly string[]): Promise<void> {
    const { clock, local, losses, notes, onLoss, remoteUri } = this.#parts;
    const remote = await open();
    const runIds = only ?? [
      ...new Set([...(await losses.listSent()), ...(await losses.listSeen())]),
    ];
    for (let at = 0; at < runIds.length; at += RUNS_AT_ONCE) {
      const some = runIds.slice(at, at + RUNS_AT_ONCE);
      const found = await compareSent(
        { local, notes, losses, remoteUri, nowMs: clock.now() },
        remote,
        some,
      );
      if (found.length > 0) onLoss(found);
    }
  }

  /** A run may not be as it was: it is compared at the next opportunity. */
  suspect(runId: string): void {
    this.#queue.add(runId);
  }

  /** Everything of a run was acknowledged: what the service has of it is noted the first time. */
  arrived(runId: string): void {
    if (!this.#compared.has(runId)) this.#queue.add(runId);
  }

  /**
   * Compares some runs, if it is time to. Returns whether there are more.
   *
   * @param opened the service, where it is open already
   * @throws {NotesTaken} when somebody else sends
   * @throws {SessionStoreError} when the service asks for a pause
   */
  async step(
    opened: Store | undefined,
    open: () => Promise<Store>,
    runs: ReadonlyMap<string, RunOfNotes>,
  ): Promise<boolean> {
    const { clock, compareEveryMs } = this.#parts;
    const nowMs = clock.now();
    // A clock that was turned back delays nothing for longer than the pause.
    if (nowMs < this.#retryMs && this.#retryMs - nowMs <= RETRY_MS) return false;
    try {
      await this.#begin(opened);
      const isDue = nowMs >= this.#nextMs || this.#nextMs - nowMs > compareEveryMs;
      if (isDue) {
        this.#nextMs = nowMs + compareEveryMs;
        await this.#addRunning(runs);
        await this.#addHidden(runs);
      }
      const hasMore = await this.#compare(open);
      this.#retryMs = 0;
      return hasMore;
    } catch (error) {
      if (error instanceof NotesTaken) throw error;
      // A service that is too old to be asked is trusted, as it was before.
      if (isQuarkError(error, 'unsupported')) this.#queue.clear();
      this.#retryMs = nowMs + RETRY_MS;
      // A service that asks for a pause gets it. After the pause, rows come first.
      if (retryAfterMs(error) > 0) throw error;
      return false;
    }
  }

  /** At the start, and when the service is not the one that everything was compared with. */
  async #begin(opened: Store | undefined): Promise<void> {
    const { losses } = this.#parts;
    const now = await opened?.identity?.();
    const isOther = now !== undefined && !isSame(now, this.#identity);
    if (this.#hasBegun && !isOther) return;
    const isCompared = this.#hasBegun && isSame(now, await losses.readIdentity());
    if (!isCompared) {
      for (const runId of await losses.listSent()) this.#queue.add(runId);
      for (const runId of await losses.listSeen()) this.#queue.add(runId);
      this.#isAll = true;
    }
    this.#hasBegun = true;
    this.#identity = now;
  }

  async #addRunning(runs: ReadonlyMap<string, RunOfNotes>): Promise<void> {
    const sent = new Set(await this.#parts.losses.listSent());
    for (const [runId, { status }] of runs)
      if (status === 'running' && sent.has(runId)) this.#queue.add(runId);
  }

  /** Runs that this key might not see: one that is shared again is found, ended or not. */
  async #addHidden(runs: ReadonlyMap<string, RunOfNotes>): Promise<void> {
    for (const [runId, { value }] of await this.#parts.notes.listMembers())
      if (isNoAccess(value.refused) && runs.has(runId)) this.#queue.add(runId);
  }

  async #compare(open: () => Promise<Store>): Promise<boolean> {
    const { clock, local, losses, notes, onLoss, remoteUri } = this.#parts;
    const runIds = [...this.#queue].slice(0, RUNS_AT_ONCE);
    if (runIds.length === 0) {
      await this.#noteIdentity();
      return false;
    }
    const remote = await open();
    this.#identity ??= await remote.identity?.();
    const found = await compareSent(
      { local, notes, losses, remoteUri, nowMs: clock.now() },
      remote,
      runIds,
    );
    for (const runId of runIds) {
      this.#queue.delete(runId);
      this.#compared.add(runId);
    }
    if (found.length > 0) onLoss(found);
    if (this.#queue.size > 0) return true;
    await this.#noteIdentity();
    return false;
  }

  /** Everything was compared with this database. */
  async #noteIdentity(): Promise<void> {
    if (!this.#isAll || this.#identity === undefined) return;
    await this.#parts.losses.writeIdentity(this.#identity);
    this.#isAll = false;
  }
}

function isSame(a: StoreIdentity | undefined, b: StoreIdentity | undefined): boolean {
  return a?.id === b?.id && a?.epoch === b?.epoch;
}
