/** Deletion: tombstones in the first shard, and folders of runs that are removed. */
import { compareDeleted, isPurgeDue, notesOfRun, runPurged, tombstoneOf } from '../deletion.ts';
import { copyRun, isUnchanged, withArchived } from '../run-rules.ts';
import type { DeletedRun, Store, StoreNotes, StoredRun, StreamState } from '../store.ts';
import { opfsFileName, folderIn, removed } from './opfs-files.ts';
import { type RootChange } from './opfs-root.ts';

import type { OpfsCore } from './opfs-core.ts';
import { CLOSING_MS, waitToClose, runLock } from './opfs-core.ts';

/** See the top of this file. */
export class OpfsDeletion {
  readonly #core: OpfsCore;

  constructor(core: OpfsCore) {
    this.#core = core;
  }

  readonly deleteRun: Store['deleteRun'] = (runId, options) =>
    this.#core.fenced(runId, () =>
      this.#core.root.change(async () => {
        const { deleted, leases } = this.#core.root.state.tables;
        const known = deleted.get(runId);
        if (known !== undefined) return known.tombstone;
        const run = this.#core.requireStored(runId);
        const tombstone = tombstoneOf(run, this.#core.nowMs, options);
        await this.#core.write([
          ['deleted', runId, { tombstone, run }],
          ['runs', runId, null],
          ...leasesOf(leases.keys(), runId),
        ]);
        return tombstone;
      }, true),
    );

  readonly archiveRun: Store['archiveRun'] = (runId) =>
    this.#core.root.change(async () => {
      this.#core.checkNotDeleted(runId);
      const run = this.#core.requireStored(runId);
      return run.archivedAtMs === undefined ? this.#setArchived(run, this.#core.nowMs) : run;
    }, true);

  readonly restoreRun: Store['restoreRun'] = (runId) =>
    this.#core.fenced(runId, () =>
      this.#core.root.change(async () => {
        const deleted = this.#core.root.state.tables.deleted.get(runId);
        if (deleted === undefined) {
          const run = this.#core.requireStored(runId);
          return run.archivedAtMs === undefined ? run : this.#setArchived(run, undefined);
        }
        if (deleted.run === undefined) throw runPurged(runId);
        await this.#core.write([
          ['runs', runId, deleted.run],
          ['deleted', runId, null],
        ]);
        return deleted.run;
      }, true),
    );

  readonly findDeletedRun: Store['findDeletedRun'] = (runId) =>
    this.#core.root.read(() => this.#core.root.state.tables.deleted.get(runId)?.tombstone);

  readonly listDeletedRuns: Store['listDeletedRuns'] = () =>
    this.#core.root.read(() => this.#core.tombstones().sort(compareDeleted));

  readonly purgeDeletedRuns: Store['purgeDeletedRuns'] = async (nowMs, force = []) => {
    const atMs = nowMs ?? this.#core.nowMs;
    const due = await this.#core.root.read(() =>
      this.#core.tombstones().filter((one) => isPurgeDue(one, atMs, force)),
    );
    const purged: DeletedRun[] = [];
    for (const { id } of due) {
      const done = await this.#purge(id, atMs, force);
      if (done !== undefined) purged.push(done);
    }
    // What the runs were is not to stay in a file either.
    if (purged.length > 0) await this.#core.root.change(() => this.#core.root.rewrite(), true);
    await this.removeRuns();
    return purged.sort(compareDeleted);
  };

  readonly reclaimSpace: Store['reclaimSpace'] = async () => {
    await this.purgeDeletedRuns();
    await this.removeRuns();
  };

  readonly forgetRun: StoreNotes['forgetRun'] = (runId, expected) =>
    this.#core
      .fenced(runId, async () => {
        const { shard } = this.#core.run(runId);
        const isForgotten = await this.#core.root.change(async () => {
          const { deleted, leases, runs } = this.#core.root.state.tables;
          const run = runs.get(runId);
          const now = {
            runs: run === undefined ? [] : [run],
            streams: run === undefined ? [] : shard.state.streams(runId),
          };
          if (!isUnchanged(expected, now)) return false;
          // What a deleted run had is there until it is purged or restored.
          if (deleted.has(runId)) return true;
          if (run === undefined) return true;
          await this.#core.write([
            ['runs', runId, null],
            ['leaving', `run/${runId}`, true],
            ...leasesOf(leases.keys(), runId),
          ]);
          return true;
        }, true);
        return isForgotten;
      })
      .then(async (isForgotten) => {
        if (isForgotten) await this.removeRuns();
        return isForgotten;
      });

  readonly deletedStreams = async (): Promise<readonly StreamState[]> =>
    this.#core.streams(
      await this.#core.root.read(() => [...this.#core.root.state.tables.deleted.keys()]),
    );

  readonly deletedSegments: Store['listSegments'] = async (filter) => {
    if (!(await this.#core.isDeleted(filter.runId))) return [];
    const { shard } = this.#core.run(filter.runId);
    return shard.read(() => shard.state.list(filter));
  };

  readonly readDeletedSegments: Store['readSegments'] = (segments) =>
    this.#core.readSegments(segments, (runId) => this.#core.isDeleted(runId));

  async #setArchived(run: StoredRun, archivedAtMs: number | undefined): Promise<StoredRun> {
    const next = copyRun(withArchived(run, archivedAtMs), run.revision + 1);
    await this.#core.write([['runs', run.id, next]]);
    return next;
  }

  async #purge(
    runId: string,
    nowMs: number,
    force: readonly string[],
  ): Promise<DeletedRun | undefined> {
    return this.#core.root.change(async () => {
      const { state } = this.#core.root;
      const deleted = state.tables.deleted.get(runId);
      // It may have been restored meanwhile.
      if (deleted === undefined || !isPurgeDue(deleted.tombstone, nowMs, force)) return undefined;
      const tombstone = { ...deleted.tombstone, purgedAtMs: nowMs };
      const { names, prefixes } = notesOfRun(runId);
      const notes = [...state.tables.notes.keys()].filter(
        (name) => names.includes(name) || prefixes.some((prefix) => name.startsWith(prefix)),
      );
      const project =
        deleted.run === undefined ? [] : state.withoutProject(deleted.run.projectId, runId);
      await this.#core.write([
        ['deleted', runId, { tombstone }],
        ['leaving', `run/${runId}`, true],
        ...notes.map((name): RootChange => ['notes', name, null]),
        ...project,
      ]);
      return tombstone;
    }, true);
  }

  /** Removes the folders of runs that are no more, also those that an earlier call could not. */
  async removeRuns(): Promise<void> {
    await this.#core.removeLeaving('run/', (runId) => this.#removeRun(runId));
  }

  /** Removes the folder of a run; false where it is there again, or another thread does not close its file. */
  async #removeRun(runId: string): Promise<boolean> {
    const { shard } = this.#core.run(runId);
    return shard.change(async () => {
      if (await this.#core.isThere(runId)) return true;
      shard.forget();
      const runs = await folderIn(this.#core.parts.folder, 'runs', false);
      if (runs === undefined) return true;
      const untilMs = performance.now() + CLOSING_MS;
      while (!(await removed(runs, opfsFileName(runId)))) {
        if (performance.now() > untilMs) return false;
        this.#core.parts.askToClose(runLock(runId));
        await waitToClose();
      }
      return true;
    }, false);
  }
}

function leasesOf(keys: Iterable<string>, runId: string): readonly RootChange[] {
  return [...keys].flatMap((key): RootChange[] =>
    key.startsWith(`${runId}/`) ? [['leases', key, null]] : [],
  );
}
