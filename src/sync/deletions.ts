/**
 * Deletion on both sides. A run that is deleted here is deleted at the service, and restored there when it is restored here: the
 * tombstones of the local store say so, and the notes of the runs say what the service has been told. A run that was deleted at the
 * service is not sent any more; the copy here is retained or deleted, as `onDeletedRemotely` says.
 */
import type { Clock } from '../base/clock.ts';
import { isQuarkError, isStoreError } from '../base/errors.ts';
import { runDeleted, type DeleteRunOptions } from '../store/deletion.ts';
import type { OnDeletedRemotely } from '../store/persistence.ts';
import type { Store } from '../store/store.ts';
import type { SyncProblem } from '../store/sync-control.ts';
import { deletionEvent } from './deletion-event.ts';
import { problemOf, retryAfterMs } from './failures.ts';
import type { RunOfNotes, Member, ReadNote, SyncNotes } from './sync-notes.ts';

/** What {@link DeletionSync} is made of. */
export type DeletionSyncParts = {
  readonly local: Store;
  readonly notes: SyncNotes;
  readonly clock: Pick<Clock, 'now'>;
  /** Address of the service, for the event. */
  readonly remoteUri: string;
  readonly onDeletedRemotely: OnDeletedRemotely;
  /** How often the tombstones of the service are read, in milliseconds. */
  readonly compareEveryMs: number;
};

type Members = ReadonlyMap<string, ReadNote<Member>>;

/** See the top of this file. */
export class DeletionSync {
  readonly #parts: DeletionSyncParts;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: DeletionSyncParts) {
    this.#parts = parts;
  }

  /**
   * Tells the service what was deleted and restored here, and reads what was deleted there, where it is time for that. Returns
   * whether any run is another one to send now.
   *
   * @throws {SessionStoreError} when the service has to be told something and cannot be
   */
  async step(
    openRemote: () => Promise<Store>,
    snapshot: ReadonlyMap<string, RunOfNotes>,
  ): Promise<boolean> {
    const members = await this.#parts.notes.listMembers();
    let isChanged = false;
    for (const [runId, member] of members) {
      const isHere = snapshot.has(runId);
      const isTold = member.value.isDeletionTold === true;
      // What the service does not let this key do is not asked again by itself.
      if (isHere !== isTold || (member.value.refused !== null && !isHere)) continue;
      if (isHere) await this.#tellRestored(await openRemote(), runId, member);
      else if (!(await this.#tellDeleted(openRemote, runId, member))) continue;
      isChanged = true;
    }
    const { clock, compareEveryMs } = this.#parts;
    const nowMs = clock.now();
    if (isChanged || members.size === 0 || Math.abs(nowMs - this.#readAtMs) < compareEveryMs)
      return isChanged;
    // Where they cannot be read, rows are sent all the same, and they are read at the next interval.
    this.#readAtMs = nowMs;
    return this.#readTombstones(openRemote, members, snapshot);
  }

  /** The service says that a run was deleted there. Returns the problem that the status shows; null where the copy here goes, too. */
  async foundDeleted(runId: string, member: ReadNote<Member>): Promise<SyncProblem | null> {
    const { clock, local, notes, onDeletedRemotely, remoteUri } = this.#parts;
    const nowMs = clock.now();
    if (onDeletedRemotely === 'drop') {
      await local.deleteRun(runId, { by: 'service' });
      const value = { ...member.value, settled: null, refused: null, isDeletionTold: true };
      await notes.writeMember(runId, member, value);
      return null;
    }
    await local.appendSegments([deletionEvent(runId, notes.key, remoteUri, nowMs)]);
    const refused = problemOf(runDeleted(runId), nowMs);
    await notes.writeMember(runId, member, { ...member.value, refused });
    return refused;
  }

  /** Whether there was something to tell. */
  async #tellDeleted(
    openRemote: () => Promise<Store>,
    runId: string,
    member: ReadNote<Member>,
  ): Promise<boolean> {
    const { clock, local, notes } = this.#parts;
    const tombstone = await local.findDeletedRun(runId);
    if (tombstone === undefined) return false;
    const { by, purgeAtMs } = tombstone;
    const keepMs = Math.max(0, Math.round(purgeAtMs - clock.now()));
    const remote = await openRemote();
    try {
      await deleteThere(remote, runId, { keepMs, ...(by === undefined ? {} : { by }) });
    } catch (error) {
      // It was never sent.
      if (!isQuarkError(error, 'run_not_found')) await this.#refuse(runId, member, error);
      if (!isQuarkError(error, 'run_not_found')) return true;
    }
    const value = { ...member.value, settled: null, refused: null, isDeletionTold: true };
    await notes.writeMember(runId, member, value);
    return true;
  }

  async #tellRestored(remote: Store, runId: string, member: ReadNote<Member>): Promise<void> {
    const { notes } = this.#parts;
    try {
      if ((await remote.findDeletedRun(runId)) !== undefined) await remote.restoreRun(runId);
    } catch (error) {
      if (!isStoreError(error, 'deleted')) {
        await this.#refuse(runId, member, error);
        return;
      }
      await this.foundDeleted(runId, member);
      return;
    }
    const { isDeletionTold: _told, ...value } = member.value;
    await notes.writeMember(runId, member, { ...value, settled: null, refused: null });
  }

  /** Notes that the service does not do it, where that is for good. @throws what else went wrong */
  async #refuse(runId: string, member: ReadNote<Member>, error: unknown): Promise<void> {
    const isForGood =
      isQuarkError(error, 'unsupported') ||
      isQuarkError(error, 'invalid_input') ||
      isStoreError(error, 'read_only') ||
      (isStoreError(error, 'unauthorised') &&
        (error.details['status'] ?? error.details['httpStatus']) === 403);
    if (!isForGood) throw error;
    const refused = problemOf(error, this.#parts.clock.now());
    await this.#parts.notes.writeMember(runId, member, { ...member.value, refused });
  }

  async #readTombstones(
    openRemote: () => Promise<Store>,
    members: Members,
    snapshot: ReadonlyMap<string, RunOfNotes>,
  ): Promise<boolean> {
    let deleted: ReadonlySet<string>;
    try {
      const found = await (await openRemote()).listDeletedRuns();
      deleted = new Set(found.map(({ id }) => id));
    } catch (error) {
      // A service that is away, or that is older than deletion, deletes nothing now. One that asks for a pause gets it.
      if (!isQuarkError(error) || retryAfterMs(error) > 0) throw error;
      return false;
    }
    let isChanged = false;
    for (const [runId, member] of members) {
      const isNoted = member.value.refused?.reason === 'deleted';
      if (!snapshot.has(runId) || isNoted === deleted.has(runId)) continue;
      isChanged = true;
      if (isNoted) await this.#parts.notes.writeMember(runId, member, withoutRefusal(member));
      else await this.foundDeleted(runId, member);
    }
    return isChanged;
  }
}

/** Deletes the run at the service; with a key that leaves deleted runs restorable for longer, for that time. */
async function deleteThere(
  remote: Store,
  runId: string,
  options: DeleteRunOptions & { readonly keepMs: number },
): Promise<void> {
  try {
    await remote.deleteRun(runId, options);
  } catch (error) {
    const least = isStoreError(error, 'unauthorised') ? error.details['minUndoMs'] : undefined;
    if (typeof least !== 'number' || !(least > options.keepMs)) throw error;
    await remote.deleteRun(runId, { ...options, keepMs: least });
  }
}

function withoutRefusal({ value }: ReadNote<Member>): Member {
  return { ...value, settled: null, refused: null };
}
