/** The service as an outbox sees it: opened when it is first needed, opened again when it was lost, left alone for a moment when it does not answer. */
import type { Clock } from '../base/clock.ts';
import { isQuarkError, isStoreError, QuarkError } from '../base/errors.ts';
import type { DocumentCalls } from '../store/documents.ts';
import type { Store } from '../store/store.ts';
import type { SyncProblem } from '../store/sync-control.ts';
import { isAhead } from './delayed-runs.ts';
import { kindOfFailure, problemOf, retryAfterMs } from './failures.ts';
import { notesOf } from './sync-notes.ts';

/** How long listings do without a service that did not answer. */
const LEAVE_ALONE_MS = 5_000;

/** See the top of this file. */
export class RemoteStore {
  readonly #open: () => Promise<Store>;
  readonly #clock: Clock;
  #store: Promise<Store> | undefined;
  #opened: Store | undefined;
  #isClosed = false;
  #awayUntilMs = 0;
  #awayMs = 0;
  #problem: SyncProblem | null = null;

  constructor(open: () => Promise<Store>, clock: Clock) {
    this.#open = open;
    this.#clock = clock;
  }

  /** Why the service could not be read when it was last asked to; null after a success. */
  get problem(): SyncProblem | null {
    return this.#problem;
  }

  /** The service, where it is open. */
  get opened(): Store | undefined {
    return this.#opened;
  }

  /** @throws {SessionStoreError} as opening does */
  open(): Promise<Store> {
    if (this.#store !== undefined) return this.#store;
    const opening = this.#open();
    this.#store = opening;
    opening.then(
      (store) => {
        // It came through after everything was closed.
        if (this.#isClosed) void store.close();
        if (this.#store === opening) this.#opened = store;
      },
      () => {
        if (this.#store === opening) this.#store = undefined;
      },
    );
    return opening;
  }

  /** Asks the service; undefined when it cannot be asked or does not answer, which is remembered for the status. */
  async tryTo<T>(work: (remote: Store) => Promise<T>): Promise<T | undefined> {
    if (this.#isClosed || isAhead(this.#clock, this.#awayUntilMs, this.#awayMs)) return undefined;
    try {
      const result = await work(await this.open());
      this.#problem = null;
      return result;
    } catch (error) {
      if (!isQuarkError(error)) throw error;
      const kind = kindOfFailure(error);
      const nowMs = this.#clock.now();
      this.#problem = problemOf(error, nowMs);
      // Others may be answered where this one was not: only a service that is away, or wants nobody, is left alone.
      if (kind === 'user' || isStoreError(error, 'unreachable')) {
        this.#awayMs = Math.max(LEAVE_ALONE_MS, retryAfterMs(error));
        this.#awayUntilMs = nowMs + this.#awayMs;
      }
      if (isStoreError(error, 'closed') && !this.#isClosed) {
        this.#store = undefined;
        this.#opened = undefined;
      }
      return undefined;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opening = this.#store;
    if (opening === undefined) return;
    // One that does not open by now is closed when it does.
    const store = await Promise.race([opening.catch(() => undefined), Promise.resolve(undefined)]);
    await store?.close();
  }
}

/**
 * Documents of projects through an outbox: they are those of the service, where others see and change them. They need the service to
 * be there, which a recording does not.
 */
export function outboxDocuments(local: Store, remote: RemoteStore): DocumentCalls {
  const there = async (): Promise<DocumentCalls> => {
    const { deleteDocument, findDocument, listDocuments, putDocument, uri } = await remote.open();
    if (putDocument && findDocument && listDocuments && deleteDocument)
      return { deleteDocument, findDocument, listDocuments, putDocument };
    throw new QuarkError('unsupported', `The store ${uri} has no documents.`, { details: { uri } });
  };
  return {
    putDocument: async (name, document, expected) => {
      // The first run of the project may not have been sent yet.
      const project = (await local.listProjects()).find((one) => one.name === name);
      if (project !== undefined) await (await remote.open()).ensureProject(project);
      return (await there()).putDocument(name, document, expected);
    },
    findDocument: async (...address) => (await there()).findDocument(...address),
    listDocuments: async (...asked) => (await there()).listDocuments(...asked),
    deleteDocument: async (...address) => (await there()).deleteDocument(...address),
  };
}

/** Runs that are here. What was deleted here is not there for anybody here, whatever the service has been told. */
export async function knownRuns(local: Store): Promise<ReadonlySet<string>> {
  return new Set([
    ...(await notesOf(local).survey()).runs.map(({ id }) => id),
    ...(await local.listDeletedRuns()).map(({ id }) => id),
  ]);
}

/** Questions about many runs are answered here, and by the service for runs that are only there. */
export function outboxQuestions(local: Store, remote: RemoteStore): NonNullable<Store['askRuns']> {
  return async (question) => {
    // Loaded here: a page that records asks nothing of the kind.
    const { askBoth } = await import('../store/find/ask-both.ts');
    const known = (): Promise<ReadonlySet<string>> => knownRuns(local);
    return askBoth({ here: local, known, tryThere: (work) => remote.tryTo(work) }, question);
  };
}
