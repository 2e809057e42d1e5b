/**
 * The uploader: goes round over the runs that are to be sent, one request each, until nothing is left; waits; goes round
 * again. It keeps no queue: what is to be sent is what the local store has and the notes do not say was acknowledged.
 */
import type { Clock } from '../base/clock.ts';
import { isStoreError, messageOf, SessionStoreError } from '../base/errors.ts';
import { nextTask } from '../base/next-task.ts';
import { trustedStore } from '../store/front.ts';
import { fingerprintOf } from '../store/run-rules.ts';
import type { Store } from '../store/store.ts';
import type { RefusedSegment } from '../store/sync-control.ts';
import type { DeletionSync } from './deletions.ts';
import { DelayedRuns, isAhead } from './delayed-runs.ts';
import {
  Backoff,
  isAboutAll,
  isMissed,
  kindOfFailure,
  noAccess,
  problemOf,
  retryAfterMs,
} from './failures.ts';
import { pause } from './leadership.ts';
import { RequestSize } from './send-run.ts';
import type { RunMirror } from './run-mirror.ts';
import { lossEvent, type LossNotes } from './loss-notes.ts';
import { SentBlobs } from './send-blobs.ts';
import type { SentWatch } from './sent-watch.ts';
import { sendSome, type SendContext } from './send-run.ts';
import { snapshotByRun, type RunOfNotes } from './sync-notes.ts';
import {
  NotesTaken,
  type ReadNote,
  type Member,
  type PublishedState,
  type SyncNotes,
} from './sync-notes.ts';

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 60_000;
/** How often a service is asked again that wants another key or another version. */
const BLOCKED_RETRY_MS = 60_000;
/** How often it is looked for what other tabs and processes have written. */
const LOOK_EVERY_MS = 1_000;
/** Writes that follow each other closely travel together. */
const GATHER_MS = 100;
const KEEP_HOUSE_EVERY_MS = 5_000;
/** So many requests in a row that do not get through, each for another run, and the service counts as away. */
const MISSES_IN_A_ROW = 3;
/** Looking takes at most a fiftieth of the time. */
const LOOK_SHARE = 50;

/** What an uploader is made of. */
export type UploaderParts = {
  readonly local: Store;
  readonly openRemote: () => Promise<Store>;
  readonly notes: SyncNotes;
  readonly mirror: RunMirror;
  readonly deletions: DeletionSync;
  readonly watch: SentWatch;
  readonly losses: LossNotes;
  /** The service, where it is open. */
  readonly openedRemote: () => Store | undefined;
  /** Names the service in events. */
  readonly remoteUri: string;
  readonly clock: Clock;
  /** From 0 to 1, for the jitter. */
  readonly random: () => number;
  readonly onRefused: (segment: RefusedSegment) => void;
  /**
   * Called when a run has ended and all of it was acknowledged: the time for housekeeping. Called again after a while
   * when it returns false.
   */
  readonly onSettled?: ((runId: string) => Promise<boolean>) | undefined;
};

/** See the top of this file. */
export class Uploader {
  readonly #parts: UploaderParts;
  readonly #sentBlobs: SentBlobs;
  readonly #backoff: Backoff;
  readonly #requestSize = new RequestSize();
  readonly #listeners = new Set<() => void>();
  #state: PublishedState = {
    state: 'idle',
    lastError: null,
    nextAttemptAtMs: null,
    acknowledgedAtMs: null,
  };
  #isLeading = false;
  #wake: () => void = () => undefined;
  #isAwake = false;
  #urge: () => void = () => undefined;
  #isUrgent = false;
  /** Counts what was brought to the service for good. */
  #progress = 0;
  /** How long the last look at the local store took. */
  #lookMs = 0;
  /** The run that was last tried: after a failure it is the turn of the next. */
  #lastTried = '';
  /** Ended runs that have arrived, and when to keep house for them. */
  readonly #settled = new Map<string, number>();
  readonly #delayed: DelayedRuns;

  constructor(parts: UploaderParts) {
    this.#parts = parts;
    this.#sentBlobs = new SentBlobs(parts.clock);
    const newBackoff = (): Backoff => new Backoff(FIRST_RETRY_MS, LAST_RETRY_MS, parts.random);
    this.#backoff = newBackoff();
    this.#delayed = new DelayedRuns(parts.clock, newBackoff);
  }

  get isLeading(): boolean {
    return this.#isLeading;
  }

  get state(): PublishedState {
    return this.#state;
  }

  /** Something was written: look now, unless the service asked for a pause. */
  wake(): void {
    this.#isAwake = true;
    this.#wake();
  }

  /** The network is back, or somebody asks for it: look now, whatever was planned. */
  urge(): void {
    this.#backoff.reset();
    this.#delayed.clear();
    this.#isUrgent = true;
    this.#urge();
    this.wake();
  }

  /** The service may have lost blobs that it had acknowledged. */
  forgetBlobs(): void {
    this.#sentBlobs.clear();
  }

  /** Something got through that need not be asked again. */
  noteProgress(): void {
    this.#progress += 1;
    this.#backoff.reset();
  }

  /** Calls back when the state has changed or something was acknowledged; returns the undo. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Works until the signal is aborted, or somebody else has taken over. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isLeading = true;
    const published = await this.#parts.notes.readPublished().catch(() => undefined);
    this.#state = {
      ...this.#state,
      acknowledgedAtMs: published?.acknowledgedAtMs ?? this.#state.acknowledgedAtMs,
    };
    // Somebody else may have sent meanwhile, or the process was away for long.
    this.#parts.watch.restart();
    try {
      await this.#findSettled();
      while (!signal.aborted) {
        this.#isAwake = false;
        let hasMore = false;
        try {
          hasMore = await this.#round(signal);
          if (!hasMore) await this.#becomeIdle();
        } catch (error) {
          if (signal.aborted) return;
          // Somebody else sends. What was sent twice is stored once.
          if (error instanceof NotesTaken) return;
          await this.#afterFailure(error, signal);
          continue;
        }
        // Between two requests the page or the training goes on.
        await nextTask();
        if (!hasMore) await this.#keepHouse(signal);
        if (!hasMore) await this.#rest(signal);
      }
    } finally {
      this.#isLeading = false;
      this.#changed();
    }
  }

  /** Runs that arrived before: the time for their housekeeping may have come since. */
  async #findSettled(): Promise<void> {
    if (this.#parts.onSettled === undefined) return;
    const members = await this.#parts.notes.listMembers().catch(() => undefined);
    for (const [runId, { value }] of members ?? [])
      if (value.settled !== null) this.#settled.set(runId, 0);
  }

  async #keepHouse(signal: AbortSignal): Promise<void> {
    const { clock, onSettled } = this.#parts;
    for (const [runId, dueMs] of this.#settled) {
      if (signal.aborted || isAhead(clock, dueMs, KEEP_HOUSE_EVERY_MS)) continue;
      // It may be that a session still holds the run, or the service cannot be read: it is tried again.
      const isDone = (await onSettled?.(runId).catch(() => false)) ?? true;
      if (isDone) this.#settled.delete(runId);
      else this.#settled.set(runId, clock.now() + KEEP_HOUSE_EVERY_MS);
    }
  }

  /** One request for each run that has something to send. Returns whether there may be more. */
  async #round(signal: AbortSignal): Promise<boolean> {
    const { deletions, notes, local, openedRemote, watch } = this.#parts;
    const startMs = performance.now();
    const survey = snapshotByRun((await local.notes?.survey()) ?? { runs: [], streams: [] });
    // A run that was deleted there is none that the service has lost.
    if (await deletions.step(() => this.#openOnce(), survey)) return !signal.aborted;
    // Before anything is sent: what is missing before it comes first.
    const isBehind = await watch.step(openedRemote(), () => this.#openOnce(), survey);
    if (isBehind || signal.aborted) return !signal.aborted;
    const members = await notes.listMembers();
    this.#lookMs = performance.now() - startMs;
    const atStart = this.#progress;
    const missed = new Map<string, unknown>();
    let missesInARow = 0;
    let hasMore = false;
    for (const [runId, member] of inTurn(members, this.#lastTried)) {
      if (signal.aborted) return false;
      const found = survey.get(runId);
      if (found === undefined || member.value.refused !== null) continue;
      const print = fingerprintOf(found.revision, found.streams);
      if (member.value.settled === print) continue;
      if (this.#delayed.isWaiting(runId)) continue;
      // After a failure it is uploading again once something was acknowledged.
      if (this.#state.state === 'idle')
        await this.#become({ ...this.#state, state: 'uploading', nextAttemptAtMs: null });
      const before = this.#progress;
      this.#lastTried = runId;
      try {
        if (await this.#sendRun(runId, found, member, print, signal)) hasMore = true;
        this.#delayed.delete(runId);
        missesInARow = 0;
      } catch (error) {
        const hasProgress = this.#progress !== before;
        // It got on a little: its pauses begin anew.
        if (hasProgress) this.#delayed.delete(runId);
        if (isMissed(error)) {
          missed.set(runId, error);
          missesInARow = hasProgress ? 1 : missesInARow + 1;
          if (missesInARow >= MISSES_IN_A_ROW) break;
          continue;
        }
        if (error instanceof NotesTaken || isAboutAll(error) || members.size === 1) throw error;
        await this.#delay(runId, error);
      }
    }
    for (const [runId, error] of missed) {
      if (this.#progress === atStart) throw error;
      // Others get through: it may be this one that does not.
      await this.#delay(runId, error);
    }
    return hasMore;
  }

  /** The others go on: what a service cannot do for one run it may do for them. */
  async #delay(runId: string, error: unknown): Promise<void> {
    this.#delayed.add(runId, error);
    await this.#become({ ...this.#state, lastError: problemOf(error, this.#parts.clock.now()) });
  }

  async #becomeIdle(): Promise<void> {
    if (this.#delayed.size === 0) {
      this.#backoff.reset();
      await this.#become({ state: 'idle', lastError: null, nextAttemptAtMs: null });
      return;
    }
    const nextAttemptAtMs = this.#delayed.nextDueMs;
    await this.#become({ ...this.#state, state: 'waiting', nextAttemptAtMs });
  }

  /** Returns whether more of the run is to be sent. */
  async #sendRun(
    runId: string,
    found: RunOfNotes,
    member: ReadNote<Member>,
    print: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { local, mirror, notes } = this.#parts;
    try {
      const remote = await this.#openOnce();
      const base = await notes.readBase(runId);
      const isKnown = base !== undefined && base.isForgotten !== true;
      // A run that goes on is first said to go on; one that has ended is said to have when its records are there.
      if (!isKnown || found.status === 'running') await mirror.push(remote, runId);
      const context: SendContext = {
        local,
        // What the local store has was checked when it was recorded.
        remote: trustedStore(remote),
        notes,
        sentBlobs: this.#sentBlobs,
        checkActive: () => {
          if (signal.aborted) throw new NotesTaken();
        },
        requestSize: this.#requestSize,
        onProgress: () => this.noteProgress(),
        onAcknowledged: () => this.#acknowledged(),
        onTakenOver: (taken) => mirror.pull(remote, taken),
        onRefused: this.#parts.onRefused,
        onSuspect: (id) => this.#parts.watch.suspect(id),
      };
      if (await sendSome(context, found.streams)) return true;
      await mirror.push(remote, runId);
      if (await this.#recordLoss(runId)) return true;
    } catch (error) {
      const kind = kindOfFailure(error);
      if (kind === 'forgotten' && (await this.#isHidden(runId))) {
        // Not even by sending it anew: its id is taken there.
        const refused = noAccess(runId, this.#parts.remoteUri, this.#parts.clock.now());
        await notes.writeMember(runId, member, { ...member.value, refused });
        await this.#become({ ...this.#state, lastError: refused });
        return false;
      }
      if (kind === 'forgotten') await this.#startOver(runId);
      if (kind === 'deleted') {
        const lastError = await this.#parts.deletions.foundDeleted(runId, member);
        await this.#become({ ...this.#state, lastError });
        return false;
      }
      if (kind !== 'permanent') throw error;
      // The run itself is refused: the others go on.
      const refused = problemOf(error, this.#parts.clock.now());
      await notes.writeMember(runId, member, { ...member.value, refused });
      await this.#become({ ...this.#state, lastError: refused });
      return false;
    }
    await notes.writeMember(runId, member, { ...member.value, settled: print });
    this.#parts.watch.arrived(runId);
    this.#acknowledged();
    if (found.status !== 'running') this.#settled.set(runId, 0);
    // The push may have changed the run here: the next round sees the same, or more to do.
    return true;
  }

  /** Whether the service has the run and does not show it to this key any more. */
  async #isHidden(runId: string): Promise<boolean> {
    const remote = await this.#parts.openRemote();
    return (await remote.listBatches?.([runId]))?.hidden?.includes(runId) === true;
  }

  /** All of it is there again: says in the run what the service had lost. Returns whether there was anything to say. */
  async #recordLoss(runId: string): Promise<boolean> {
    const { clock, local, losses, remoteUri } = this.#parts;
    const loss = await losses.readLoss(runId);
    if (loss === undefined) return false;
    await local.appendSegments([lossEvent(runId, loss, remoteUri, clock.now())]);
    await losses.writeLoss(runId, null);
    return true;
  }

  /** Nothing is refused for good while it is not even known to be a service. */
  async #openOnce(): Promise<Store> {
    try {
      return await this.#parts.openRemote();
    } catch (error) {
      if (kindOfFailure(error) !== 'permanent') throw error;
      throw new SessionStoreError('unknown_scheme', messageOf(error), { cause: error });
    }
  }

  /**
   * The service does not know a run that it knew: it was emptied, or it is another one under the same address. Others that
   * it has lost are sent again as well.
   */
  async #startOver(runId: string): Promise<void> {
    const { mirror, notes, openRemote } = this.#parts;
    this.#sentBlobs.clear();
    mirror.forget();
    await notes.forgetSent(runId);
    const remote = await openRemote();
    for (const [other, { value }] of await notes.listMembers())
      if (value.settled !== null && (await remote.findRun(other)) === undefined)
        await notes.forgetSent(other);
  }

  #acknowledged(): void {
    this.noteProgress();
    const acknowledgedAtMs = this.#parts.clock.now();
    this.#state = { state: 'uploading', lastError: null, nextAttemptAtMs: null, acknowledgedAtMs };
    this.#changed();
  }

  async #afterFailure(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const nowMs = clock.now();
    const isBlocked = kindOfFailure(error) === 'user';
    const delayMs = isBlocked
      ? BLOCKED_RETRY_MS * (0.5 + this.#parts.random())
      : this.#backoff.next(nowMs, retryAfterMs(error));
    await this.#become({
      ...this.#state,
      state: isBlocked ? 'blocked' : 'waiting',
      lastError: problemOf(error, nowMs),
      nextAttemptAtMs: nowMs + delayMs,
    });
    const urged = new AbortController();
    this.#urge = () => urged.abort();
    await pause(clock, delayMs, AbortSignal.any([signal, urged.signal]));
    this.#urge = () => undefined;
  }

  /** Until something is written here, a delayed run is due, or it is time to look what others have written. */
  async #rest(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const woken = new AbortController();
    const urged = new AbortController();
    this.#wake = () => woken.abort();
    this.#urge = () => urged.abort();
    if (!this.#isAwake) {
      const lookMs = Math.max(LOOK_EVERY_MS, this.#lookMs * LOOK_SHARE);
      const delayMs = Math.min(lookMs, this.#delayed.untilDueMs);
      await pause(clock, delayMs, AbortSignal.any([signal, woken.signal]));
    }
    if (this.#isAwake && !this.#isUrgent)
      await pause(clock, GATHER_MS, AbortSignal.any([signal, urged.signal]));
    this.#isUrgent = false;
    this.#wake = () => undefined;
    this.#urge = () => undefined;
  }

  async #become(next: Omit<PublishedState, 'acknowledgedAtMs'>): Promise<void> {
    const before = this.#state;
    this.#state = { ...next, acknowledgedAtMs: before.acknowledgedAtMs };
    const isSame =
      before.state === next.state &&
      before.lastError === next.lastError &&
      before.nextAttemptAtMs === next.nextAttemptAtMs;
    if (isSame) return;
    this.#changed();
    try {
      await this.#parts.notes.publish(this.#state);
    } catch (error) {
      // The others see an older state; that is all.
      if (!isStoreError(error)) throw error;
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Runs in their order, from the one behind `last` on. */
function inTurn<T>(
  members: ReadonlyMap<string, T>,
  last: string,
): readonly (readonly [string, T])[] {
  const all = [...members];
  const first = all.findIndex(([runId]) => runId > last);
  return first < 1 ? all : [...all.slice(first), ...all.slice(0, first)];
}
