/** Deleting, archiving and restoring through an outbox: here where the run is here, else at the service. */
import { compareDeleted, type RunDeletion } from '../store/deletion.ts';
import type { Store } from '../store/store.ts';
import type { RemoteStore } from './remote-store.ts';
import type { SyncNotes } from './sync-notes.ts';

/** What the calls are made of. */
export type OutboxDeletionParts = {
  readonly local: Store;
  readonly remote: RemoteStore;
  readonly notes: SyncNotes;
  /** Tells the uploader that there is something to send. */
  readonly wake: () => void;
};

/** See the top of this file. */
export function outboxDeletion({ local, notes, remote, wake }: OutboxDeletionParts): RunDeletion {
  const isHere = async (runId: string): Promise<boolean> =>
    (await local.findRun(runId)) !== undefined;
  /** The store that has a run or its tombstone: the local one, if both do. */
  const sideOf = async (runId: string): Promise<Store> =>
    (await isHere(runId)) || (await local.findDeletedRun(runId)) !== undefined
      ? local
      : remote.open();
  const changed = <T>(value: T): T => {
    wake();
    return value;
  };
  return {
    deleteRun: async (runId, options) =>
      changed(await (await sideOf(runId)).deleteRun(runId, options)),
    archiveRun: async (runId) => changed(await (await sideOf(runId)).archiveRun(runId)),
    restoreRun: async (runId) => {
      const member = await notes.findMember(runId);
      if (member?.value.refused?.reason === 'deleted' && (await isHere(runId))) {
        // The copy here is there; it is the one at the service that was deleted.
        await (await remote.open()).restoreRun(runId);
        const value = { ...member.value, settled: null, refused: null };
        await notes.writeMember(runId, member, value);
      }
      return changed(await (await sideOf(runId)).restoreRun(runId));
    },
    findDeletedRun: async (runId) => {
      const here = await local.findDeletedRun(runId);
      if (here !== undefined || (await isHere(runId))) return here;
      return remote.tryTo((service) => service.findDeletedRun(runId));
    },
    listDeletedRuns: async () => {
      const here = await local.listDeletedRuns();
      const there = (await remote.tryTo((service) => service.listDeletedRuns())) ?? [];
      const known = new Set(here.map(({ id }) => id));
      for (const { id } of await local.listRuns()) known.add(id);
      return [...here, ...there.filter(({ id }) => !known.has(id))].sort(compareDeleted);
    },
    purgeDeletedRuns: (nowMs, force) => local.purgeDeletedRuns(nowMs, force),
  };
}
