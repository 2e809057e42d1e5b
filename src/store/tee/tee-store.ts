/**
 * A store that is two: what is written goes to the first, then to the second; what is read comes from the first. The first gives sequence
 * numbers and decides each compare-and-set; runs of the second follow.
 *
 * A write that the second refuses rejects, though the first has it. Sessions repeat it until both have it: segments have identities, blobs
 * their hashes, and a run that the second lacks or has otherwise is copied to it before the next write. The two merge and sweep each for
 * themselves.
 */
import { invalidInput, isQuarkError, isStoreError, SessionStoreError } from '../../base/errors.ts';
import { wrapStore } from '../front.ts';
import type { OpenStorageOptions } from '../registry.ts';
import type { Store, StoredRun } from '../store.ts';

/** Attempts while others change the same run. */
const MAX_ATTEMPTS = 16;

/**
 * Opens `tee:FIRST|SECOND`. A "|" in a location is written "%7C".
 *
 * @param open opens each of the two
 * @throws {QuarkError} `invalid_input` unless there are two locations
 */
export async function openTeeStorage(
  uri: string,
  options: OpenStorageOptions,
  open: (uri: string, options: OpenStorageOptions) => Promise<Store>,
): Promise<Store> {
  const parts = uri.slice(uri.indexOf(':') + 1).split('|');
  const [first = '', second = ''] = parts.map((part) => part.replace(/%7C/gi, '|'));
  if (parts.length !== 2 || first === '' || second === '')
    throw invalidInput('storage', uri, 'tee:FIRST|SECOND, with two locations');
  const opened = await open(first, options);
  try {
    return teeStore(opened, await open(second, options));
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** One store of two, which it closes. */
export function teeStore(first: Store, second: Store): Store {
  const runs = new FollowingRuns(first, second);
  const { appendSegmentsNow: firstNow } = first;
  const { appendSegmentsNow: secondNow } = second;
  const uri = `tee:${[first.uri, second.uri].map((one) => one.replaceAll('|', '%7C')).join('|')}`;
  const both = async <T>(work: (store: Store) => Promise<T>): Promise<T> => {
    const result = await work(first);
    await work(second);
    return result;
  };
  const running = new RunningCalls();
  return wrapStore(first, (_name, _args, call) => call(), {
    uri,
    isWritable: first.isWritable && second.isWritable,
    ...running.count(projectsAndRuns(first, second, runs, both)),
    ...running.count(segmentsAndBlobs(first, second, runs, both)),
    ...(firstNow === undefined || secondNow === undefined
      ? { appendSegmentsNow: undefined as never, putBlobNow: undefined as never }
      : {
          appendSegmentsNow: (segments, live) => {
            const stored = first.appendSegmentsNow?.(segments, live) ?? [];
            second.appendSegmentsNow?.(segments);
            return stored;
          },
          putBlobNow: (sha256, bytes) => {
            first.putBlobNow?.(sha256, bytes);
            second.putBlobNow?.(sha256, bytes);
          },
        }),
    // The second has revisions of its own.
    updateRunNow: undefined as never,
    // Rows that a page leaves are those of one database.
    spill: undefined as never,
    // They would do it in the first alone.
    deleteTable: undefined as never,
    deleteArtifact: undefined as never,
    deleteProject: undefined as never,
    reclaimSpace: () => both((store) => store.reclaimSpace()),
    close: async () => {
      // One that the first has done is done in the second, too.
      await running.settle();
      await Promise.all([first.close(), second.close()]);
    },
  });
}

/** Calls under way. */
class RunningCalls {
  readonly #running = new Set<Promise<unknown>>();

  /** The same calls, counted. */
  count(calls: Partial<Store>): Partial<Store> {
    const counted = Object.entries(calls).map(([name, call]) => [
      name,
      (...args: unknown[]): Promise<unknown> => {
        const work: Promise<unknown> = Reflect.apply(
          call as () => Promise<unknown>,
          undefined,
          args,
        );
        this.#running.add(work);
        const end = (): unknown => this.#running.delete(work);
        work.then(end, end);
        return work;
      },
    ]);
    return Object.fromEntries(counted) as Partial<Store>;
  }

  async settle(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}

type Both = <T>(work: (store: Store) => Promise<T>) => Promise<T>;

function projectsAndRuns(
  first: Store,
  second: Store,
  runs: FollowingRuns,
  both: Both,
): Partial<Store> {
  return {
    ensureProject: async (project) => {
      const found = await first.ensureProject(project);
      await second.ensureProject(found);
      return found;
    },
    createRun: (run) => runs.create(run),
    updateRun: async (run) => {
      const result = await first.updateRun(run);
      await runs.follow(run.id);
      return result;
    },
    deleteRun: async (runId, options) => {
      await runs.follow(runId);
      const result = await first.deleteRun(runId, options);
      await second.deleteRun(runId, options).catch(unlessGone);
      return result;
    },
    archiveRun: (runId) => both((store) => store.archiveRun(runId)),
    restoreRun: (runId) => both((store) => store.restoreRun(runId)),
    purgeDeletedRuns: (nowMs, force) => both((store) => store.purgeDeletedRuns(nowMs, force)),
    ...(first.removeProject === undefined
      ? {}
      : {
          removeProject: async (projectId) => {
            const isRemoved = (await first.removeProject?.(projectId)) ?? false;
            await second.removeProject?.(projectId);
            return isRemoved;
          },
        }),
    renewLease: (runId, holder, ttlMs) => both((store) => store.renewLease(runId, holder, ttlMs)),
    releaseLease: (runId, holder) => both((store) => store.releaseLease(runId, holder)),
  };
}

function segmentsAndBlobs(
  first: Store,
  second: Store,
  runs: FollowingRuns,
  both: Both,
): Partial<Store> {
  return {
    appendSegments: async (segments, seen, live) => {
      const stored = await first.appendSegments(segments, seen, live);
      const runIds = new Set(segments.map(({ manifest }) => manifest.runId));
      await runs.followMissing(runIds);
      // What meets a deletion is in the first before it, and may be too late for the second.
      await second.appendSegments(segments).catch(unlessGone);
      return stored;
    },
    replaceTable: async (runId, table, add, seenCount) => {
      const stored = await first.replaceTable(runId, table, add, seenCount);
      await runs.followMissing([runId]);
      await second.replaceTable(runId, table, add);
      return stored;
    },
    replaceSegments: async (runId, table, remove, add) => {
      if (!(await first.replaceSegments(runId, table, remove, add))) return false;
      const loses = add.some(({ manifest }) => manifest.droppedRows !== undefined);
      const isSame = await second
        .replaceSegments(runId, table, remove, add)
        .catch((error: unknown) => {
          // Batches of these segments lie in others there.
          if (isQuarkError(error, 'invalid_input')) return false;
          throw error;
        });
      if (!isSame && loses)
        throw new SessionStoreError(
          'rejected',
          `The rows of ${table} that run ${runId} is to lose are gone from ${first.uri}, and stay in ${second.uri}, where they lie in other segments. Delete them there as well.`,
          { details: { runId, table } },
        );
      return true;
    },
    putBlob: (sha256, bytes) => both((store) => store.putBlob(sha256, bytes)),
  };
}

/** Runs of the second store, which are what they are in the first. */
class FollowingRuns {
  readonly #first: Store;
  readonly #second: Store;
  /** Runs that were made here, and that the second lacks. */
  readonly #half = new Set<string>();
  /** Runs that the second has. */
  readonly #there = new Set<string>();

  constructor(first: Store, second: Store) {
    this.#first = first;
    this.#second = second;
  }

  async create(run: Omit<StoredRun, 'revision'>): Promise<StoredRun> {
    let created: StoredRun | undefined;
    try {
      created = await this.#first.createRun(run);
    } catch (error) {
      // An attempt before this one may have ended between the two.
      created = this.#half.has(run.id) ? await this.#first.findRun(run.id) : undefined;
      if (created === undefined) throw error;
    }
    this.#half.add(run.id);
    await this.follow(run.id);
    this.#half.delete(run.id);
    return created;
  }

  /** Copies those that the second may lack. */
  async followMissing(runIds: Iterable<string>): Promise<void> {
    for (const runId of runIds) if (!this.#there.has(runId)) await this.follow(runId);
  }

  /** Makes the run of the second that of the first. */
  async follow(runId: string): Promise<void> {
    this.#there.delete(runId);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
      if (await this.#copy(runId)) {
        this.#there.add(runId);
        return;
      }
    throw new SessionStoreError(
      'busy',
      `Run ${runId} was changed again and again in ${this.#second.uri}.`,
      { details: { runId } },
    );
  }

  /** False when somebody else has changed it meanwhile. */
  async #copy(runId: string): Promise<boolean> {
    // The second is read before the first: what the first has then is not older than what the second had.
    const there = await this.#second.findRun(runId);
    const here = await this.#first.findRun(runId);
    if (here === undefined) return true;
    const { archivedAtMs: _here, revision: _revision, ...run } = here;
    if (there === undefined) {
      const projects = await this.#second.listProjects();
      const project = projects.find(({ name }) => name === here.projectName);
      try {
        await this.#second.createRun({ ...run, projectId: project?.id ?? here.projectId });
        return true;
      } catch (error) {
        if (isStoreError(error, 'rejected')) return false;
        throw error;
      }
    }
    const { archivedAtMs: _there, revision, ...old } = there;
    if (JSON.stringify({ ...run, projectId: old.projectId }) === JSON.stringify(old)) return true;
    const next = { ...run, projectId: old.projectId, revision };
    return (await this.#second.updateRun(next)).kind === 'updated';
  }
}

function unlessGone(error: unknown): void {
  if (!isQuarkError(error, 'run_not_found') && !isStoreError(error, 'deleted')) throw error;
}
