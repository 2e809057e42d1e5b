/**
 * A store that records here and sends to a service. A write has succeeded when the local store has it; an uploader sends
 * it on, whenever it can. Reads come from the local store, and from the service for runs that are not here.
 */
import { batchName } from '../store/batch-ranges.ts';
import { atMost } from '../base/at-most.ts';
import type { Clock } from '../base/clock.ts';
import { isQuarkError, isStoreError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { runDeleted } from '../store/deletion.ts';
import { DEFAULT_COMPARE_MS, type OnDeletedRemotely } from '../store/persistence.ts';
import { DeletionSync } from './deletions.ts';

import { outboxDeletion } from './outbox-deletion.ts';
import { generationOf } from '../records/shapes/run.ts';
import { compareText, selectLeases, selectRuns } from '../store/run-rules.ts';
import type { DocumentCalls } from '../store/documents.ts';
import type { RowSpill } from '../store/row-spill.ts';
import type {
  Lease,
  LocalStore,
  ServedStore,
  Store,
  StoredRun,
  StoreLocation,
  StoreNotes,
} from '../store/store.ts';
import type { StoreSync } from '../store/sync-control.ts';
import { sentTest } from '../store/unsent.ts';
import { listAdopted, readAdopted } from './adopted-runs.ts';
import { openPulse, type LeaderPulse } from './leader-pulse.ts';
import { LossNotes } from './loss-notes.ts';
import { SentWatch } from './sent-watch.ts';
import { countSending, lead, type HolderTag, type LocksLike } from './leadership.ts';
import { knownRuns, outboxDocuments, outboxQuestions, RemoteStore } from './remote-store.ts';
import { RunMirror } from './run-mirror.ts';
import { openOther } from './same-store.ts';
import { RefusalListeners, StatusReader } from './status-reader.ts';
import { notesOf, SyncNotes } from './sync-notes.ts';
import { Uploader } from './uploader.ts';
import { WakeUp } from './wake-up.ts';

/** What an outbox is made of. */
export type OutboxParts = {
  readonly local: Store;
  /** Whether closing the outbox closes the local store. */
  readonly ownsLocal: boolean;
  /** Opens the service; called when it is first needed, and again after it failed. */
  readonly openRemote: () => Promise<Store>;
  /** Address of the service, and the name of the space there: they name the notes. */
  readonly remoteUri: string;
  readonly space: string;
  readonly clock: Clock;
  /** From 0 to 1, for the jitter of retries. */
  readonly random?: () => number;
  readonly locks?: LocksLike | undefined;
  readonly holderTag?: HolderTag;
  /** False: nothing is sent by this store; somebody else does. */
  readonly uploads?: boolean;
  /** See {@link PersistenceOptions.onDeletedRemotely}. Default `keep`. */
  readonly onDeletedRemotely?: OnDeletedRemotely;
  /** How often what was acknowledged of runs that go on is compared with the service, in milliseconds. Default: a minute. */
  readonly compareEveryMs?: number;
  /** Housekeeping once an ended run has arrived. */
  readonly onSettled?: ((runId: string, store: OutboxStore) => Promise<boolean>) | undefined;
};

/** How long closing waits for a request that is under way. */
const CLOSE_WAIT_MS = 2_000;

/** See the top of this file. */
export class OutboxStore implements Store {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly isWritable = true;
  readonly notes: StoreNotes;
  readonly sync: StoreSync;
  readonly appendSegmentsNow?: LocalStore['appendSegmentsNow'];
  readonly updateRunNow?: LocalStore['updateRunNow'];
  readonly putBlobNow?: LocalStore['putBlobNow'];
  readonly spill?: RowSpill;
  readonly askRuns: NonNullable<Store['askRuns']>;
  readonly deleteRun: Store['deleteRun'];
  readonly archiveRun: Store['archiveRun'];
  readonly restoreRun: Store['restoreRun'];
  readonly findDeletedRun: Store['findDeletedRun'];
  readonly listDeletedRuns: Store['listDeletedRuns'];
  readonly purgeDeletedRuns: Store['purgeDeletedRuns'];
  readonly #parts: OutboxParts;
  readonly #local: Store;
  readonly #remote: RemoteStore;
  readonly #syncNotes: SyncNotes;
  readonly #mirror: RunMirror;
  readonly #uploader: Uploader;
  readonly #watch: SentWatch;
  readonly #pulse: LeaderPulse | undefined;
  readonly #wakeUp: WakeUp;
  readonly #closing = new AbortController();
  readonly #leading: Promise<void>;
  /** Runs made here by this object: the service has nothing of them that is not here. */
  readonly #ownRuns = new Set<string>();
  /** Holders whose first claim was made known. */
  readonly #claimed = new Set<string>();
  readonly #background = new Set<Promise<unknown>>();

  constructor(parts: OutboxParts) {
    const { clock, local, remoteUri, space } = parts;
    this.#parts = parts;
    this.#local = local;
    this.uri = local.uri;
    this.location = local.location;
    this.notes = notesOf(local);
    this.#syncNotes = new SyncNotes(this.notes, remoteUri, space);
    this.#remote = new RemoteStore(() => openOther(local, parts.openRemote, clock), clock);
    this.#mirror = new RunMirror(
      local,
      this.#syncNotes,
      () => this.#uploader.noteProgress(),
      (runId) => this.#ownRuns.delete(runId),
    );
    const refusals = new RefusalListeners();
    // Without locks there are leases, which run out.
    this.#pulse = parts.locks && openPulse(`${local.uri} ${this.#syncNotes.key}`, clock);
    const losses = new LossNotes(this.notes, this.#syncNotes.key);
    const { compareEveryMs = DEFAULT_COMPARE_MS, onDeletedRemotely = 'keep' } = parts;
    const watched = { local, notes: this.#syncNotes, losses, clock, compareEveryMs, remoteUri };
    this.#watch = new SentWatch({ ...watched, onLoss: () => this.#uploader.forgetBlobs() });
    this.#uploader = new Uploader({
      local,
      deletions: new DeletionSync({ ...watched, onDeletedRemotely }),
      watch: this.#watch,
      losses,
      openedRemote: () => this.#remote.opened,
      remoteUri,
      openRemote: () => this.#remote.open(),
      notes: this.#syncNotes,
      mirror: this.#mirror,
      clock,
      random: parts.random ?? Math.random,
      onRefused: (segment) => refusals.tell(segment),
      onSettled:
        parts.onSettled === undefined
          ? undefined
          : async (runId) => (await parts.onSettled?.(runId, this)) ?? true,
    });
    this.sync = new StatusReader({
      local,
      losses,
      watch: this.#watch,
      isLeaderSilent: () => this.#pulse?.isSilent === true,
      notes: this.#syncNotes,
      uploader: this.#uploader,
      refusals,
      remote: this.#remote,
      remoteUri,
      closing: this.#closing.signal,
      catchUp: async (runId) => {
        await this.#remote.tryTo((remote) => this.#catchUp(remote, runId));
      },
    });
    const deletion = outboxDeletion({
      local,
      remote: this.#remote,
      notes: this.#syncNotes,
      wake: () => this.#wakeUp.wake(),
    });
    this.askRuns = outboxQuestions(local, this.#remote);
    const documents = outboxDocuments(local, this.#remote);
    this.putDocument = documents.putDocument;
    this.findDocument = documents.findDocument;
    this.listDocuments = documents.listDocuments;
    this.deleteDocument = documents.deleteDocument;
    this.deleteRun = deletion.deleteRun;
    this.archiveRun = deletion.archiveRun;
    this.restoreRun = deletion.restoreRun;
    this.findDeletedRun = deletion.findDeletedRun;
    this.listDeletedRuns = deletion.listDeletedRuns;
    this.purgeDeletedRuns = deletion.purgeDeletedRuns;
    if (local.spill !== undefined) this.spill = local.spill;
    if (local.putBlobNow !== undefined) this.putBlobNow = local.putBlobNow.bind(local);
    // What changed is sent by the next process that has the store open.
    if (local.updateRunNow !== undefined) this.updateRunNow = local.updateRunNow.bind(local);
    const appendNow = local.appendSegmentsNow?.bind(local);
    if (appendNow !== undefined)
      this.appendSegmentsNow = (segments, live) => {
        const placed = appendNow(segments, live);
        this.#wakeUp.wake();
        return placed;
      };
    this.#wakeUp = new WakeUp(`${local.uri} ${this.#syncNotes.key}`, () => this.#uploader.wake());
    this.#leading = parts.uploads === false ? Promise.resolve() : this.#lead();
    if (parts.uploads !== false) countSending(local.uri, { uri: remoteUri, space }, 1);
  }

  /** The store that records are stored in first. */
  get local(): Store {
    return this.#local;
  }

  /** What is remembered of the uploads. */
  get syncNotes(): SyncNotes {
    return this.#syncNotes;
  }

  /** Aborted when the outbox is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** The service's store. @throws {SessionStoreError} as opening it does */
  openRemote(): Promise<Store> {
    return this.#remote.open();
  }

  /**
   * Compares what was acknowledged with what the service has, and notes as not sent what is missing there. It is done at each start of
   * sending in any case: this is for programs that wait for the outcome.
   *
   * @param runIds these runs; all unless given
   * @throws {SessionStoreError} when the service cannot be asked
   */
  async compareSent(runIds?: readonly string[]): Promise<void> {
    await this.#watch.compareAll(() => this.#remote.open(), runIds);
  }

  /** Tries now, whatever pause was planned: the network is back, the page goes away. */
  urge(): void {
    this.#uploader.urge();
    this.#wakeUp.wake();
  }

  readonly ensureProject: Store['ensureProject'] = (project) => this.#local.ensureProject(project);

  readonly listProjects: Store['listProjects'] = async () => {
    const here = await this.#local.listProjects();
    const there = (await this.#remote.tryTo((remote) => remote.listProjects())) ?? [];
    const names = new Set(here.map(({ name }) => name));
    return [...here, ...there.filter(({ name }) => !names.has(name))].sort((a, b) =>
      compareText(a.name, b.name),
    );
  };

  readonly createRun: Store['createRun'] = async (run) => {
    // A run that the store refuses leaves a note that means nothing; one without a note would never be sent.
    if ((await this.#local.findRun(run.id)) === undefined)
      await this.#syncNotes.addMember(run.id, false);
    const created = await this.#local.createRun(run);
    this.#ownRuns.add(run.id);
    this.#wakeUp.wake();
    return created;
  };

  readonly findRun: Store['findRun'] = async (runId) => {
    const here = await this.#local.findRun(runId);
    if (here !== undefined || (await this.#isDeletedHere(runId))) return here;
    return (await this.#remote.open()).findRun(runId);
  };

  readonly listRuns: Store['listRuns'] = async (filter = {}) => {
    const { limit, offset = 0, ...conditions } = filter;
    const first = limit === undefined ? conditions : { ...conditions, limit: limit + offset };
    const here = await this.#local.listRuns(first);
    const there = (await this.#remote.tryTo((remote) => remote.listRuns(first))) ?? [];
    if (there.length === 0) return limit === 0 ? [] : here.slice(offset);
    const known = await knownRuns(this.#local);
    return selectRuns([...here, ...there.filter(({ id }) => !known.has(id))], {
      offset,
      ...(limit === undefined ? {} : { limit }),
    });
  };

  readonly updateRun: Store['updateRun'] = async (run) => {
    const here = await this.#local.findRun(run.id);
    if (here === undefined) {
      if (await this.#isDeletedHere(run.id)) throw runDeleted(run.id);
      const remote = await this.#remote.open();
      return remote.updateRun(run);
    }
    const isResumed =
      generationOf(run) > generationOf(here) ||
      (run.status === 'running' && here.status !== 'running');
    if (isResumed && here.revision === run.revision)
      await this.#remote.tryTo((remote) => this.#mirror.claim(remote, run));
    const result = await this.#local.updateRun(run);
    this.#wakeUp.wake();
    return result;
  };

  readonly renewLease: Store['renewLease'] = async (runId, holder, ttlMs) => {
    const lease = await this.#local.renewLease(runId, holder, ttlMs);
    const claim = `${runId} ${holder}`;
    const isFirst = !this.#claimed.has(claim);
    this.#claimed.add(claim);
    // A session that continues a run here wants it there, also one that was begun without a service.
    if (isFirst && (await this.#local.findRun(runId)) !== undefined)
      await this.#syncNotes.addMember(runId, false);
    const catchesUp = isFirst && !this.#ownRuns.has(runId);
    // The claim comes first: of two who go on at once, each sees the other's.
    const renewal = this.#remote
      .tryTo((remote) => remote.renewLease(runId, holder, ttlMs))
      .then(() =>
        catchesUp ? this.#remote.tryTo((remote) => this.#catchUp(remote, runId)) : undefined,
      );
    // A session that continues a run has to know what became of it elsewhere; later renewals are for others to see.
    if (catchesUp) await renewal;
    else this.#keepBusy(renewal);
    return lease;
  };

  readonly releaseLease: Store['releaseLease'] = async (runId, holder) => {
    this.#claimed.delete(`${runId} ${holder}`);
    await this.#local.releaseLease(runId, holder);
    this.#keepBusy(this.#remote.tryTo((remote) => remote.releaseLease(runId, holder)));
  };

  readonly listLeases: Store['listLeases'] = async (runIds) => {
    const here = await this.#local.listLeases(runIds);
    if (runIds?.every((runId) => this.#ownRuns.has(runId)) === true) return here;
    const there = (await this.#remote.tryTo((remote) => remote.listLeases(runIds))) ?? [];
    const all = new Map<string, Lease>();
    for (const lease of [...there, ...here]) all.set(`${lease.runId} ${lease.holder}`, lease);
    return selectLeases(all.values(), Number.NEGATIVE_INFINITY);
  };

  /** Those of both sides: a run may be live on another machine, and the service's clock be wrong. */
  readonly lapsedLeases: ServedStore['lapsedLeases'] = async (runId) => {
    const here = (await this.#local.lapsedLeases?.(runId)) ?? [];
    if (this.#ownRuns.has(runId)) return here;
    const there = await this.#remote.tryTo(async (remote) => remote.lapsedLeases?.(runId));
    const own = new Set(here.map(({ holder }) => holder));
    return [...here, ...(there ?? []).filter(({ holder }) => !own.has(holder))];
  };

  readonly appendSegments: Store['appendSegments'] = async (segments, _seen, live) => {
    const placed = await this.#withRuns(() =>
      this.#local.appendSegments(segments, undefined, live),
    ).catch((error: unknown) => {
      // Another tab sends, and has learnt that a session elsewhere has taken the run over.
      if (isStoreError(error, 'fenced')) this.#ownRuns.delete(String(error.details['runId']));
      throw error;
    });
    this.#wakeUp.wake();
    return placed;
  };

  readonly listSegments: Store['listSegments'] = async (filter) => {
    if (this.#ownRuns.has(filter.runId)) {
      const found = await this.#local.listSegments(filter);
      if (found.length > 0) return found;
    }
    if (await this.#isDeletedHere(filter.runId)) return [];
    if (await this.#syncNotes.isPartial(filter.runId)) {
      const sent = await this.#syncNotes.readSent(filter.runId, filter.table);
      const base = await this.#syncNotes.readBase(filter.runId);
      return listAdopted(this.#local, this.#remote, filter, sent.value, base?.superseded);
    }
    if ((await this.#local.findRun(filter.runId)) !== undefined)
      return this.#local.listSegments(filter);
    return (await this.#remote.open()).listSegments(filter);
  };

  readonly readSegments: Store['readSegments'] = async (segments) =>
    readAdopted(this.#local, this.#remote, segments, (runId) => this.#isWholeHere(runId));

  readonly replaceSegments: Store['replaceSegments'] = async (runId, table, remove, add) => {
    const isSent = await sentTest(this.notes, runId, table);
    if (isSent !== undefined && remove.length > 0) {
      const names = new Set(remove.map(batchName));
      const live = await this.#local.listSegments({ runId, table });
      const leaving = live.filter((one) => names.has(batchName(one)));
      // The service knows what it has by its identity: what it has not must keep its own.
      if (!leaving.every(isSent)) return false;
    }
    return this.#local.replaceSegments(runId, table, remove, add);
  };

  readonly replaceTable: Store['replaceTable'] = async (runId, table, add) => {
    const placed = await this.#withRuns(() => this.#local.replaceTable(runId, table, add));
    this.#wakeUp.wake();
    return placed;
  };

  readonly putBlob: Store['putBlob'] = (sha256, bytes) => this.#local.putBlob(sha256, bytes);

  readonly getBlob: Store['getBlob'] = async (sha256) => {
    const here = await this.#local.getBlob(sha256);
    if (here !== undefined) return here;
    return (await this.#remote.open()).getBlob(sha256);
  };

  readonly putDocument: DocumentCalls['putDocument'];
  readonly findDocument: DocumentCalls['findDocument'];
  readonly listDocuments: DocumentCalls['listDocuments'];
  readonly deleteDocument: DocumentCalls['deleteDocument'];

  readonly reclaimSpace: Store['reclaimSpace'] = () => this.#local.reclaimSpace();

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    const { local, remoteUri, space, uploads } = this.#parts;
    if (uploads !== false) countSending(local.uri, { uri: remoteUri, space }, -1);
    const ending = Promise.allSettled([this.#leading, ...this.#background]);
    await atMost(CLOSE_WAIT_MS, ending);
    // Ends a request that is still under way: it is sent again by the next uploader.
    await atMost(CLOSE_WAIT_MS, this.#remote.close());
    await atMost(CLOSE_WAIT_MS, ending);
    this.#wakeUp.close();
    this.#pulse?.close();
    if (this.#parts.ownsLocal) await this.#local.close();
  }

  async #lead(): Promise<void> {
    const { clock, holderTag = { tag: null, isGone: () => false }, local, locks } = this.#parts;
    await lead(
      {
        notes: this.notes,
        name: this.#syncNotes.key,
        holder: createId('snd', clock.now()),
        holderTag,
        clock,
        pulse: this.#pulse,
        // A lock reaches as far as the origin, as an IndexedDB database does; its name must tell databases apart.
        locks:
          locks === undefined
            ? undefined
            : {
                request: (name, options, callback) =>
                  locks.request(`${name} ${local.uri}`, options, callback),
              },
      },
      this.#closing.signal,
      (lost) => this.#uploader.run(lost),
    );
  }

  /** Before somebody here goes on with a run: takes it over from the service, or what changed there. */
  async #catchUp(remote: Store, runId: string): Promise<void> {
    if ((await this.#local.findRun(runId)) !== undefined) {
      await this.#mirror.pull(remote, runId);
      return;
    }
    const found = await remote.findRun(runId);
    if (found !== undefined) await this.#adopt(found, runId);
  }

  async #adopt(found: StoredRun, runId: string): Promise<void> {
    await this.#mirror.adopt(found, runId);
    // What the service has of it is noted, so that it is known what is missing if that is ever lost.
    this.#watch.suspect(runId);
  }

  /** Does work that needs a run to be here; a run that only the service has is taken over first. */
  async #withRuns<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isQuarkError(error, 'run_not_found')) throw error;
      const runId = String(error.details['runId']);
      const found = await (await this.#remote.open()).findRun(runId);
      if (found === undefined) throw error;
      await this.#adopt(found, runId);
      return work();
    }
  }

  async #isDeletedHere(runId: string): Promise<boolean> {
    return (await this.#local.findDeletedRun(runId)) !== undefined;
  }

  async #isWholeHere(runId: string): Promise<boolean> {
    if ((await this.#local.findRun(runId)) === undefined) return false;
    return !(await this.#syncNotes.isPartial(runId));
  }

  /** Work nobody waits for; closing does, for a moment. */
  #keepBusy(work: Promise<unknown>): void {
    const settled = work.catch(() => undefined);
    this.#background.add(settled);
    void settled.finally(() => this.#background.delete(settled));
  }
}
