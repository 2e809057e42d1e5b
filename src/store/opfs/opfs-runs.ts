/** Projects, runs, leases, notes and the feed of runs, in the first shard. */
import { SessionStoreError } from '../../base/errors.ts';
import { generationOf } from '../../records/shapes/run.ts';
import {
  agedLease,
  compareText,
  copyRun,
  projectIdTaken,
  revisedRun,
  runIdTaken,
  selectLapsed,
  selectLeases,
  selectRuns,
  compareRuns,
} from '../run-rules.ts';
import type { IndexFeed } from '../run-feed.ts';
import type { Store, StoreNotes } from '../store.ts';
import { type RootChange } from './opfs-root.ts';

import type { OpfsDeletion } from './opfs-deletion.ts';
import type { OpfsCore } from './opfs-core.ts';

/** See the top of this file. */
export class OpfsRuns {
  readonly #core: OpfsCore;
  readonly #deletion: OpfsDeletion;

  constructor(core: OpfsCore, deletion: OpfsDeletion) {
    this.#core = core;
    this.#deletion = deletion;
  }

  readonly ensureProject: Store['ensureProject'] = (project) =>
    this.#core.root.change(async () => {
      const { projects } = this.#core.root.state.tables;
      for (const known of projects.values()) if (known.name === project.name) return known;
      if (projects.has(project.id)) throw projectIdTaken(project.id);
      const stored = { id: project.id, name: project.name, createdAtMs: project.createdAtMs };
      await this.#core.write([['projects', stored.id, stored]]);
      return stored;
    }, true);

  readonly listProjects: Store['listProjects'] = () =>
    this.#core.root.read(() => {
      const { deletedProjects, tables } = this.#core.root.state;
      const there = new Set(Array.from(tables.runs.values(), ({ projectName }) => projectName));
      return [...tables.projects.values()]
        .filter(({ name }) => there.has(name) || !deletedProjects.has(name))
        .sort((a, b) => compareText(a.name, b.name));
    });

  readonly removeProject: NonNullable<Store['removeProject']> = (projectId) =>
    this.#core.root.change(async () => {
      const changes = this.#core.root.state.withoutProject(projectId);
      await this.#core.write(changes);
      return changes.length > 0;
    }, true);

  readonly createRun: Store['createRun'] = async (run) => {
    if (await this.#core.root.read(() => this.#core.root.state.tables.leaving.has(`run/${run.id}`)))
      await this.#deletion.removeRuns();
    return this.#core.root.change(async () => {
      const { state } = this.#core.root;
      // Bytes of a run of this id that was forgotten are not to come back with it.
      if (state.tables.leaving.has(`run/${run.id}`)) throw this.#stillOpen(run.id);
      this.#core.checkNotDeleted(run.id);
      if (state.tables.runs.has(run.id)) throw runIdTaken(run.id);
      const counted = state.counted(run);
      const stored = copyRun(counted.run, 1);
      const again = state.projectAgain(run);
      await this.#core.write([...again, ...counted.changes, ['runs', run.id, stored]]);
      return stored;
    }, true);
  };

  readonly findRun: Store['findRun'] = (runId) =>
    this.#core.root.read(() => this.#core.root.state.tables.runs.get(runId));

  readonly listRuns: Store['listRuns'] = (filter = {}) =>
    this.#core.root.read(() => selectRuns(this.#core.allRuns(), filter, this.#core.live()));

  readonly updateRun: Store['updateRun'] = async (run) => {
    const known = await this.findRun(run.id);
    const change = (): ReturnType<Store['updateRun']> =>
      this.#core.root.change(async () => {
        this.#core.checkNotDeleted(run.id);
        const stored = this.#core.requireStored(run.id);
        if (stored.revision !== run.revision) return { kind: 'conflict', run: stored };
        const counted = this.#core.root.state.counted(revisedRun(run, stored));
        await this.#core.write([...counted.changes, ['runs', run.id, counted.run]]);
        return { kind: 'updated', run: counted.run };
      }, true);
    if (known === undefined || generationOf(run) <= generationOf(known)) return change();
    return this.#core.fenced(run.id, change);
  };

  readonly renewLease: Store['renewLease'] = (runId, holder, ttlMs) =>
    this.#core.root.change(async () => {
      this.#core.checkNotDeleted(runId);
      const { nowMs } = this.#core;
      const aged = [...this.#core.root.state.tables.leases].flatMap(
        ([key, lease]): RootChange[] => {
          const next = agedLease(lease, nowMs);
          return next === lease ? [] : [['leases', key, next ?? null]];
        },
      );
      const lease = { runId, holder, expiresAtMs: nowMs + ttlMs };
      await this.#core.write([...aged, ['leases', `${runId}/${holder}`, { ...lease, ttlMs }]]);
      return lease;
    }, false);

  readonly releaseLease: Store['releaseLease'] = (runId, holder) =>
    this.#core.root.change(async () => {
      const key = `${runId}/${holder}`;
      if (this.#core.root.state.tables.leases.has(key))
        await this.#core.write([['leases', key, null]]);
    }, false);

  readonly listLeases: Store['listLeases'] = (runIds) =>
    this.#core.root.read(() =>
      selectLeases(this.#core.root.state.tables.leases.values(), this.#core.nowMs, runIds),
    );

  readonly lapsedLeases: NonNullable<Store['lapsedLeases']> = (runId) =>
    this.#core.root.read(() =>
      selectLapsed(this.#core.root.state.tables.leases.values(), this.#core.nowMs, runId),
    );

  readonly readNote: StoreNotes['read'] = (name) =>
    this.#core.root.read(() => this.#core.root.state.tables.notes.get(name));

  readonly writeNote: StoreNotes['write'] = (name, text, expected) =>
    this.#core.root.change(async () => {
      const known = this.#core.root.state.tables.notes.get(name) ?? null;
      if (expected !== undefined && known !== expected) return false;
      if (known !== text) await this.#core.write([['notes', name, text]]);
      return true;
    }, false);

  readonly listNotes: StoreNotes['list'] = (prefix) =>
    this.#core.root.read(() =>
      [...this.#core.root.state.tables.notes]
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, text]) => ({ name, text }))
        .sort((a, b) => compareText(a.name, b.name)),
    );

  readonly snapshot = async (runId?: string) => {
    const runs = await this.#core.root.read(() =>
      this.#core
        .allRuns()
        .filter(({ id }) => runId === undefined || id === runId)
        .map(({ id, revision, status }) => ({ id, status, revision })),
    );
    return { runs, streams: await this.#core.streams(runs.map(({ id }) => id)) };
  };

  readonly changesSince: IndexFeed['since'] = (known) =>
    this.#core.root.read(() => {
      const { runs } = this.#core.root.state.tables;
      const count = this.#core.root.order;
      const ids = known === undefined ? [] : this.#core.root.state.changedSince(known);
      return {
        count,
        total: runs.size,
        archived: this.#core.allRuns().filter(({ archivedAtMs }) => archivedAtMs !== undefined)
          .length,
        live: this.#core.live(),
        changed: ids?.map((id) => ({ id, run: runs.get(id) })),
      };
    });

  readonly runPage: IndexFeed['page'] = (after = '', limit) =>
    this.#core.root.read(() =>
      this.#core
        .allRuns()
        .filter(({ id }) => id > after)
        .sort((a, b) => compareText(a.id, b.id))
        .slice(0, limit),
    );

  readonly newestRuns: IndexFeed['newest'] = (limit, archived) =>
    this.#core.root.read(() =>
      this.#core
        .allRuns()
        .filter((run) => archived === undefined || archived === (run.archivedAtMs !== undefined))
        .sort(compareRuns)
        .slice(0, limit),
    );

  #stillOpen(runId: string): SessionStoreError {
    return new SessionStoreError(
      'busy',
      `Another tab has a file of the run ${runId} open that was removed from ${this.#core.parts.uri}. Nothing was changed. Try again.`,
      { details: { runId, uri: this.#core.parts.uri } },
    );
  }
}
