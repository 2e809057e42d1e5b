/** How far the uploads are, told from the local store and its notes, whichever tab sends. */
import { asGiven, asGivenOr, numberWhere, readOptions } from '../base/options.ts';
import { checkNotAborted } from '../base/assert.ts';
import { fingerprintOf } from '../store/run-rules.ts';
import type { Store } from '../store/store.ts';
import type {
  LostRows,
  RefusedSegment,
  StoreSync,
  SyncedOptions,
  SyncProblem,
  SyncStatus,
} from '../store/sync-control.ts';
import type { LossNotes } from './loss-notes.ts';
import type { RemoteStore } from './remote-store.ts';
import type { SentWatch } from './sent-watch.ts';
import { pendingOf } from './send-run.ts';
import type { PublishedState, SyncNotes } from './sync-notes.ts';
import { snapshotByRun } from './sync-notes.ts';
import type { Uploader } from './uploader.ts';

/** What a status is read from. */
export type StatusParts = {
  readonly local: Store;
  readonly notes: SyncNotes;
  readonly losses: LossNotes;
  /** Whether the tab that sends does not answer. */
  readonly isLeaderSilent: () => boolean;
  readonly watch: Pick<SentWatch, 'isComparing'>;
  readonly uploader: Uploader;
  readonly refusals: RefusalListeners;
  readonly remote: RemoteStore;
  readonly remoteUri: string;
  readonly closing: AbortSignal;
  /** See {@link StoreSync.catchUp}. */
  readonly catchUp: (runId: string) => Promise<void>;
};

/** How often one who waits looks at what another tab or process sends. */
const LOOK_EVERY_MS = 200;

const NEVER: PublishedState = {
  state: 'idle',
  lastError: null,
  nextAttemptAtMs: null,
  acknowledgedAtMs: null,
};

/** Who wants to know of segments that the service refuses. */
export class RefusalListeners {
  readonly #listeners = new Set<readonly [string, (segment: RefusedSegment) => void]>();

  add(runId: string, listener: (segment: RefusedSegment) => void): () => void {
    const entry = [runId, listener] as const;
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  tell(segment: RefusedSegment): void {
    for (const [runId, listener] of this.#listeners) if (runId === segment.runId) listener(segment);
  }
}

/** See the top of this file. */
export class StatusReader implements StoreSync {
  readonly #parts: StatusParts;

  constructor(parts: StatusParts) {
    this.#parts = parts;
  }

  catchUp(runId: string): Promise<void> {
    return this.#parts.catchUp(runId);
  }

  async status(runId?: string): Promise<SyncStatus> {
    const { local, notes, remote, remoteUri, uploader } = this.#parts;
    const sums = { segments: 0, rows: 0, bytes: 0, runs: 0, acknowledged: 0 };
    const refusedSegments: RefusedSegment[] = [];
    const deletedRuns: string[] = [];
    const refusedRuns: (SyncProblem & { readonly runId: string })[] = [];
    const problems: (SyncProblem | null)[] = [];
    const survey = snapshotByRun((await local.notes?.survey(runId)) ?? { runs: [], streams: [] });
    const member = runId === undefined ? undefined : await notes.findMember(runId);
    const members =
      runId === undefined
        ? await notes.listMembers()
        : new Map(member === undefined ? [] : [[runId, member]]);
    for (const [id, { value }] of members) {
      const found = survey.get(id);
      if (found === undefined) {
        const isDeleted = (await local.findDeletedRun(id)) !== undefined;
        if (isDeleted && value.isDeletionTold !== true) problems.push(value.refused);
        if (isDeleted && value.isDeletionTold !== true && value.refused === null) sums.runs++;
        continue;
      }
      problems.push(value.refused);
      if (value.refused?.reason === 'deleted') deletedRuns.push(id);
      else if (value.refused !== null) refusedRuns.push({ runId: id, ...value.refused });
      const isSettled = value.settled === fingerprintOf(found.revision, found.streams);
      if (!isSettled && value.refused === null) sums.runs++;
      for (const stream of found.streams) {
        const sent = await notes.readSent(id, stream.table);
        sums.acknowledged += sent.value.rows;
        refusedSegments.push(...sent.value.refused);
        if (isSettled) continue;
        for (const segment of await pendingOf(local, stream, sent.value)) {
          sums.segments++;
          sums.rows += segment.rowCount;
          sums.bytes += segment.sizeBytes;
        }
      }
    }
    const published = uploader.isLeading
      ? uploader.state
      : ((await notes.readPublished().catch(() => undefined)) ?? NEVER);
    const { acknowledgedAtMs } = published;
    const nearQuotas = (await remote.opened?.nearQuotas?.().catch(() => [])) ?? [];
    if ((remote.problem?.atMs ?? 0) > (acknowledgedAtMs ?? 0)) problems.push(remote.problem);
    return {
      state: stateOf(published, sums.runs > 0, this.#parts.isLeaderSilent()),
      uri: remoteUri,
      isUploader: uploader.isLeading,
      pendingRuns: sums.runs,
      pendingSegments: sums.segments,
      pendingRows: sums.rows,
      pendingBytes: sums.bytes,
      acknowledgedRows: sums.acknowledged,
      acknowledgedAtMs,
      refusedSegments,
      lostRows: await this.#lostRows(runId),
      lastError: latestOf([published.lastError, ...problems]),
      nextAttemptAtMs: published.nextAttemptAtMs,
      ...(deletedRuns.length === 0 ? {} : { deletedRuns }),
      ...(refusedRuns.length === 0 ? {} : { refusedRuns }),
      ...(nearQuotas.length === 0 ? {} : { nearQuotas }),
    };
  }

  async #lostRows(runId: string | undefined): Promise<readonly LostRows[]> {
    const { losses } = this.#parts;
    const found: LostRows[] = [];
    for (const id of await losses.listMissing()) {
      if (runId !== undefined && id !== runId) continue;
      for (const [table, rows] of Object.entries(await losses.readMissing(id)))
        found.push({ runId: id, table, rows });
    }
    return found;
  }

  async synced(options: SyncedOptions = {}): Promise<SyncStatus> {
    const { onlyWhileReachable, runId, signal, timeoutMs } = readOptions(
      'options',
      options,
      {
        runId: asGiven,
        timeoutMs: numberWhere((ms) => ms >= 0, 'a number of milliseconds, 0 or more', Infinity),
        onlyWhileReachable: asGivenOr(false),
        signal: asGiven,
      },
      '',
    );
    checkNotAborted(signal);
    const { closing, uploader, watch } = this.#parts;
    const endMs = performance.now() + timeoutMs;
    // A service that is known to be away is not asked again because somebody waits a little.
    if (!onlyWhileReachable || uploader.state.state === 'idle') uploader.urge();
    for (;;) {
      const status = await this.status(runId);
      const isAway = status.state === 'waiting' || status.state === 'blocked';
      const leftMs = endMs - performance.now();
      // Until it was compared, nobody knows whether the service has what it had acknowledged.
      const isDone = status.pendingRuns === 0 && !(uploader.isLeading && watch.isComparing);
      if (isDone || closing.aborted || leftMs <= 0) return status;
      if (onlyWhileReachable && isAway) return status;
      await this.#nextChange(Math.min(leftMs, LOOK_EVERY_MS), signal);
      checkNotAborted(signal);
    }
  }

  onRefused(runId: string, listener: (segment: RefusedSegment) => void): () => void {
    return this.#parts.refusals.add(runId, listener);
  }

  /** Real time and not the clock's: those who wait are people and processes. */
  #nextChange(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        undo();
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, delayMs);
      const undo = this.#parts.uploader.onChange(done);
      signal?.addEventListener('abort', done, { once: true });
    });
  }
}

function stateOf(
  { state }: PublishedState,
  isPending: boolean,
  isSilent: boolean,
): Exclude<SyncStatus['state'], 'off'> {
  // What a frozen tab said when it could is not so any more; another one takes over soon.
  if (isSilent && isPending && state !== 'blocked') return 'waiting';
  if (state === 'waiting' || state === 'blocked') return isPending ? state : 'idle';
  return isPending ? 'uploading' : 'idle';
}

function latestOf(problems: readonly (SyncProblem | null)[]): SyncProblem | null {
  return problems.reduce<SyncProblem | null>(
    (latest, one) => (one !== null && (latest === null || one.atMs > latest.atMs) ? one : latest),
    null,
  );
}
