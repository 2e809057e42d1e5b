/**
 * A store that lets through what one user may see and change in one space, and nothing else. In a space of the user's
 * own that is everything their key allows; in a space of somebody else's it is the projects that are shared, and all
 * else looks as if it were not there.
 *
 * What is shared is decided for each run by the project it belongs to at that moment. Between that look and the write
 * that follows, an owner may move the run to another project: the write then counts as having come before. Changes of
 * the run itself have no such gap, because they compare the revision that was looked at.
 *
 * One thing cannot be hidden from somebody who may write into a space: that an id they choose for a new run is taken
 * there. The answer about batches says it, too, so that a client whose share has ended does not think that rows were lost. Blobs are open to a guest as far as the shared projects name them: see `guest-blobs.ts`.
 */
import { storeOf, type StoreDriver } from '../../store/front.ts';
import { RunNotFoundError, SessionStoreError } from '../../base/errors.ts';
import { deleteProject } from '../../read/project-deletion.ts';
import { deleteArtifact, deleteTable } from '../../read/row-deletion.ts';
import { silenceAlerts, unsilenceAlerts } from '../../read/silences.ts';
import type { DocumentCalls } from '../../store/documents.ts';
import type { DocumentUser } from '../../workspace/document-notes.ts';
import { documentCallsOf } from '../../workspace/documents.ts';
import { rangeOfBlob, sizeOfBlob } from '../../store/blob-rules.ts';
import { checkTableQuestion } from '../../records/run-question.ts';
import {
  conditionText,
  MAX_CONDITION_CHARS,
  type RunCondition,
} from '../../records/shapes/run-condition.ts';
import { answerFromRuns, askRunsOf } from '../../store/find/ask-runs.ts';
import { whereOf } from '../../store/run-facts.ts';
import { compareRuns, runIdTaken, storeClosed } from '../../store/run-rules.ts';
import type {
  SegmentRead,
  Store,
  StoredProject,
  StoredRun,
  StoreLocation,
  BlobRanges,
  ServedStore,
} from '../../store/store.ts';
import { GuestBlobs, type GuestBlobParts } from './guest-blobs.ts';
import type { RunAccess } from '../../wire/access-messages.ts';

/** What a guarded store is made of. */
export type GuardParts = {
  /** The whole space. It is not closed with the guarded store. */
  readonly store: Store;
  /** What the user calls the space: stands in messages in the place of where the store really is. */
  readonly name: string;
  /** What the user's key allows. */
  readonly access: RunAccess;
  /** Whether runs may be deleted, archived and restored; never in a space of somebody else's. Default: where all may be written. */
  readonly mayDelete?: boolean;
  /** The projects that are open, by name; undefined: all of them, because the space is the user's own. */
  readonly projects?: ReadonlyMap<string, RunAccess> | undefined;
  /** Whose private documents are in sight. Default: those of the person at this machine. */
  readonly user?: DocumentUser | undefined;
  /** How it is found out which blobs a guest may read. */
  readonly blobs?: Pick<GuestBlobParts, 'index' | 'notes' | 'userId'> | undefined;
};

/** The store as one user may use it. */
export function guardStore(parts: GuardParts): Store {
  return storeOf(new GuardedStore(parts));
}

/** Names every method: one that it does not know is not open to guests. */
class GuardedStore implements StoreDriver {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly isWritable: boolean;
  readonly #store: Store;
  readonly #projects: ReadonlyMap<string, RunAccess> | undefined;
  /** Undefined where the space is the user's own. */
  readonly #blobs: GuestBlobs | undefined;
  readonly #mayDelete: boolean;
  readonly #user: DocumentUser | undefined;
  #isClosed = false;

  constructor({ store, name, access, mayDelete, projects, blobs, user }: GuardParts) {
    this.#store = store;
    this.#user = user;
    this.#projects = projects;
    this.#blobs = projects && new GuestBlobs({ ...blobs, store, projects: [...projects.keys()] });
    this.uri = name;
    // Where the store lies on the server's disk is nobody's business.
    this.location = { storageDir: name, storeRoot: name, dbPath: name };
    this.isWritable =
      access === 'write' && (projects === undefined || [...projects.values()].includes('write'));
    this.#mayDelete = projects === undefined && (mayDelete ?? this.isWritable);
  }

  readonly ensureProject: Store['ensureProject'] = async (project) => {
    if (this.#projects === undefined) return this.#store.ensureProject(project);
    // Here projects are found, never made: a new one would be the owner's, and closed to the user who made it.
    const found = await this.#findProject(project.name);
    this.#checkWrite(project.name);
    if (found === undefined) throw notShared(project.name, this.uri);
    return found;
  };

  readonly listProjects: Store['listProjects'] = async () =>
    (await this.#store.listProjects()).filter(({ name }) => this.#maySee(name));

  readonly createRun: Store['createRun'] = async (run) => {
    await this.#checkProject(run);
    try {
      return await this.#store.createRun(run);
    } catch (error) {
      // Said in our own words: nothing of the run that has the id.
      if (error instanceof SessionStoreError && error.reason === 'rejected')
        throw runIdTaken(run.id);
      throw error;
    }
  };

  readonly findRun: Store['findRun'] = async (runId) => {
    const run = await this.#store.findRun(runId);
    return run !== undefined && this.#maySee(run.projectName) ? run : undefined;
  };

  readonly listRuns: Store['listRuns'] = async (filter = {}) => {
    const projects = this.#projects;
    if (projects === undefined) return this.#store.listRuns(filter);
    const { projectName, offset = 0, limit, ...rest } = filter;
    if (projectName !== undefined)
      return this.#maySee(projectName) ? this.#store.listRuns(filter) : [];
    const end = limit === undefined ? undefined : offset + limit;
    const found: StoredRun[] = [];
    for (const name of projects.keys()) {
      found.push(
        ...(await this.#store.listRuns({
          ...rest,
          projectName: name,
          ...(end === undefined ? {} : { limit: end }),
        })),
      );
    }
    return found.sort(compareRuns).slice(offset, end);
  };

  readonly askRuns: NonNullable<Store['askRuns']> = async (question) => {
    checkTableQuestion(question);
    const projects = this.#projects;
    const isOpen = projects === undefined || question.projectName !== undefined;
    if (isOpen && (question.projectName === undefined || this.#maySee(question.projectName)))
      return askRunsOf(this.#store, question);
    // What is shared is a condition more; names that are too long for one are compared here.
    const names = isOpen ? [] : [...(projects?.keys() ?? [])];
    const shared: RunCondition = { kind: 'in', path: 'project', values: names };
    const given = whereOf(question);
    const where = conditionText(
      given === undefined ? shared : { kind: 'and', of: [given, shared] },
    );
    if (where.length > MAX_CONDITION_CHARS) return answerFromRuns(this, question);
    return askRunsOf(this.#store, { ...question, where });
  };

  readonly updateRun: Store['updateRun'] = async (run) => {
    if (this.#projects === undefined) return this.#store.updateRun(run);
    const stored = await this.#requireRun(run.id);
    this.#checkWrite(stored.projectName);
    if (stored.revision !== run.revision) return { kind: 'conflict', run: stored };
    if (run.projectName !== stored.projectName || run.projectId !== stored.projectId)
      throw new SessionStoreError(
        'unauthorised',
        'Only its owner may move a run to another project.',
        { details: { runId: run.id, httpStatus: 403 } },
      );
    const result = await this.#store.updateRun(run);
    // The client that changed it first may have moved it out of sight.
    if (!this.#maySee(result.run.projectName)) throw this.#notFound(run.id);
    return result;
  };

  // What is shared is its owner's to delete: the front asks `checkWritable` before these.
  readonly deleteRun: Store['deleteRun'] = (runId, options) =>
    this.#store.deleteRun(runId, options);

  readonly archiveRun: Store['archiveRun'] = (runId) => this.#store.archiveRun(runId);

  readonly restoreRun: Store['restoreRun'] = (runId) => this.#store.restoreRun(runId);

  readonly deleteProject: NonNullable<Store['deleteProject']> = (name, options) =>
    deleteProject(this.#store, name, options);

  readonly deleteTable: NonNullable<Store['deleteTable']> = (runId, table) =>
    deleteTable(this.#store, runId, table);

  readonly deleteArtifact: NonNullable<Store['deleteArtifact']> = (runId, idOrKey) =>
    deleteArtifact(this.#store, runId, idOrKey);

  readonly putDocument: DocumentCalls['putDocument'] = async (project, document, expected) => {
    this.#checkWrite(project);
    return this.#documents.putDocument(project, document, expected);
  };

  readonly findDocument: DocumentCalls['findDocument'] = async (project, ...document) =>
    this.#maySee(project) ? this.#documents.findDocument(project, ...document) : undefined;

  readonly listDocuments: DocumentCalls['listDocuments'] = async (project, kind) =>
    this.#maySee(project) ? this.#documents.listDocuments(project, kind) : [];

  readonly deleteDocument: DocumentCalls['deleteDocument'] = async (project, ...document) => {
    this.#checkWrite(project);
    return this.#documents.deleteDocument(project, ...document);
  };

  get #documents(): DocumentCalls {
    return documentCallsOf(this.#store, this.#user);
  }

  readonly silenceAlerts: NonNullable<Store['silenceAlerts']> = async (runId, silence) => {
    if (this.#projects !== undefined) await this.#requireWritable(runId);
    return (await silenceAlerts({ runId, store: this.#store }, silence)).atMs;
  };

  readonly unsilenceAlerts: NonNullable<Store['unsilenceAlerts']> = async (runId, alerts) => {
    if (this.#projects !== undefined) await this.#requireWritable(runId);
    return unsilenceAlerts({ runId, store: this.#store }, alerts);
  };

  readonly findDeletedRun: Store['findDeletedRun'] = async (runId) => {
    const found = await this.#store.findDeletedRun(runId);
    return found !== undefined && this.#maySee(found.projectName) ? found : undefined;
  };

  readonly listDeletedRuns: Store['listDeletedRuns'] = async () =>
    (await this.#store.listDeletedRuns()).filter(({ projectName }) => this.#maySee(projectName));

  readonly purgeDeletedRuns: Store['purgeDeletedRuns'] = (nowMs, force) =>
    this.#store.purgeDeletedRuns(nowMs, force);

  readonly renewLease: Store['renewLease'] = async (runId, holder, ttlMs) => {
    if (this.#projects !== undefined) await this.#requireWritable(runId);
    return this.#store.renewLease(runId, holder, ttlMs);
  };

  readonly releaseLease: Store['releaseLease'] = async (runId, holder) => {
    // A claim on what is not there is given back by giving back nothing, here as in any store.
    if (this.#projects !== undefined) {
      const run = await this.findRun(runId);
      if (run === undefined) return;
      this.#checkWrite(run.projectName);
    }
    await this.#store.releaseLease(runId, holder);
  };

  readonly listLeases: Store['listLeases'] = async (runIds) => {
    const leases = await this.#store.listLeases(runIds);
    if (this.#projects === undefined) return leases;
    const visible = await this.#visibleRuns(leases.map(({ runId }) => runId));
    return leases.filter(({ runId }) => visible.has(runId));
  };

  readonly lapsedLeases: ServedStore['lapsedLeases'] = async (runId) =>
    (await this.#isVisible(runId)) ? ((await this.#store.lapsedLeases?.(runId)) ?? []) : [];

  readonly appendSegments: Store['appendSegments'] = async (segments, seen, live) => {
    if (this.#projects !== undefined)
      for (const runId of new Set(segments.map(({ manifest }) => manifest.runId)))
        await this.#requireWritable(runId);
    await this.#blobs?.checkNamed(segments);
    return this.#store.appendSegments(segments, seen, live);
  };

  readonly listSegments: Store['listSegments'] = async (filter) =>
    (await this.#isVisible(filter.runId)) ? this.#store.listSegments(filter) : [];

  readonly readSegments: Store['readSegments'] = async (segments) => {
    const visible = await this.#visibleRuns(segments.map(({ runId }) => runId));
    const seen = segments.filter(({ runId }) => visible.has(runId));
    const reads = seen.length === 0 ? [] : await this.#store.readSegments(seen);
    let next = 0;
    return segments.map(({ runId }): SegmentRead => {
      const read = visible.has(runId) ? reads[next++] : undefined;
      return read ?? { kind: 'gone' };
    });
  };

  readonly segmentSizes: ServedStore['segmentSizes'] = async (segments) => {
    const visible = await this.#visibleRuns(segments.map(({ runId }) => runId));
    const seen = segments.filter(({ runId }) => visible.has(runId));
    const sizes = seen.length === 0 ? [] : ((await this.#store.segmentSizes?.(seen)) ?? []);
    let next = 0;
    return segments.map(({ runId }) => (visible.has(runId) ? (sizes[next++] ?? 0) : 0));
  };

  readonly replaceSegments: Store['replaceSegments'] = async (runId, table, remove, add) => {
    // Every reference and every added segment is of this run and table: the front has checked it.
    if (this.#projects !== undefined) await this.#requireWritable(runId);
    await this.#blobs?.checkNamed(add);
    return this.#store.replaceSegments(runId, table, remove, add);
  };

  readonly replaceTable: Store['replaceTable'] = async (runId, table, add, seenCount) => {
    if (this.#projects !== undefined) await this.#requireWritable(runId);
    await this.#blobs?.checkNamed(add);
    return this.#store.replaceTable(runId, table, add, seenCount);
  };

  readonly listStreams: ServedStore['listStreams'] = async (runId) =>
    (await this.#isVisible(runId)) ? ((await this.#store.listStreams?.(runId)) ?? []) : [];

  readonly listRunChanges: ServedStore['listRunChanges'] = async (after) => {
    const found = await this.#store.listRunChanges?.(after);
    const { runs, lastOrder } = found ?? { runs: [], lastOrder: 0 };
    return { runs: runs.filter(({ projectName }) => this.#maySee(projectName)), lastOrder };
  };

  readonly listBatches: ServedStore['listBatches'] = async (runIds) => {
    const visible = await this.#visibleRuns(runIds);
    const found = (await this.#store.listBatches?.([...visible])) ?? { runs: [], tables: [] };
    // A client that has sent them learns that it may not see them any longer, and does not take them for lost.
    const hidden: string[] = [];
    for (const runId of new Set(runIds))
      if (!visible.has(runId) && (await this.#isTaken(runId))) hidden.push(runId);
    return hidden.length === 0 ? found : { ...found, hidden };
  };

  readonly identity: ServedStore['identity'] = async () => this.#store.identity?.();

  readonly isDurable: ServedStore['isDurable'] = async () =>
    (await this.#store.isDurable?.()) === true;

  readonly putBlob: Store['putBlob'] = async (sha256, bytes) => {
    await this.#store.putBlob(sha256, bytes);
    await this.#blobs?.sent(sha256);
  };

  readonly getBlob: Store['getBlob'] = async (sha256) =>
    (await this.#openForBlob(sha256))?.getBlob(sha256);

  readonly blobSize: BlobRanges['blobSize'] = async (sha256) => {
    const store = await this.#openForBlob(sha256);
    return store && sizeOfBlob(store, sha256);
  };

  readonly getBlobRange: BlobRanges['getBlobRange'] = async (sha256, start, end) => {
    const store = await this.#openForBlob(sha256);
    return store && rangeOfBlob(store, sha256, start, end);
  };

  /** The store, where this blob may be read: whole, in part, or its size alone. */
  async #openForBlob(sha256: string): Promise<Store | undefined> {
    return this.#blobs === undefined || (await this.#blobs.mayRead(sha256))
      ? this.#store
      : undefined;
  }

  /** The database is everybody's: the service gives space back by itself, when it suits all. */
  readonly reclaimSpace: Store['reclaimSpace'] = async () => {
    this.checkWritable();
  };

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  checkOpen(): void {
    if (this.#isClosed) throw storeClosed(this.uri);
  }

  checkWritable(removes = false): void {
    if (removes ? this.#mayDelete : this.isWritable) return;
    const [needed, refused] = removes ? ['delete', 'delete in'] : ['write', 'change'];
    const message = `You may read ${this.uri}, and not ${refused} it.`;
    throw new SessionStoreError('unauthorised', message, {
      details: { space: this.uri, needed, httpStatus: 403 },
    });
  }

  #maySee(project: string): boolean {
    return this.#projects === undefined || this.#projects.has(project);
  }

  /** For what is in sight already: says that it may be read only. */
  #checkWrite(project: string): void {
    if (this.#projects === undefined || this.#projects.get(project) === 'write') return;
    if (!this.#projects.has(project)) throw notShared(project, this.uri);
    throw new SessionStoreError(
      'unauthorised',
      `The project "${project}" of ${this.uri} is shared with you for reading.`,
      { details: { space: this.uri, project, needed: 'write', httpStatus: 403 } },
    );
  }

  /** A run may only be put into the project that it names, by name and by id. */
  async #checkProject(run: Omit<StoredRun, 'revision'>): Promise<void> {
    if (this.#projects === undefined) return;
    this.#checkWrite(run.projectName);
    const project = await this.#findProject(run.projectName);
    if (project?.id !== run.projectId) throw notShared(run.projectName, this.uri);
  }

  async #findProject(name: string): Promise<StoredProject | undefined> {
    return (await this.#store.listProjects()).find(
      (project) => project.name === name && this.#maySee(name),
    );
  }

  async #isTaken(runId: string): Promise<boolean> {
    const run = await this.#store.findRun(runId);
    return run !== undefined || (await this.#store.findDeletedRun(runId)) !== undefined;
  }

  async #isVisible(runId: string): Promise<boolean> {
    if (this.#projects === undefined) return true;
    const run = await this.#store.findRun(runId);
    return run !== undefined && this.#maySee(run.projectName);
  }

  async #visibleRuns(runIds: readonly string[]): Promise<ReadonlySet<string>> {
    const distinct = new Set(runIds);
    if (this.#projects === undefined) return distinct;
    for (const runId of distinct) if (!(await this.#isVisible(runId))) distinct.delete(runId);
    return distinct;
  }

  async #requireRun(runId: string): Promise<StoredRun> {
    const run = await this.#store.findRun(runId);
    if (run === undefined || !this.#maySee(run.projectName)) throw this.#notFound(runId);
    return run;
  }

  async #requireWritable(runId: string): Promise<void> {
    this.#checkWrite((await this.#requireRun(runId)).projectName);
  }

  #notFound(runId: string): RunNotFoundError {
    return new RunNotFoundError(runId, this.uri);
  }
}

function notShared(project: string, space: string): SessionStoreError {
  return new SessionStoreError(
    'unauthorised',
    `No project "${project}" of ${space} is shared with you for writing.`,
    { details: { space, project, httpStatus: 403 } },
  );
}
