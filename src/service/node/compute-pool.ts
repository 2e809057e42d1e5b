/**
 * A pool of worker threads for the jobs of a service, so that an expensive request does not block others. All jobs of one user
 * run in the same worker. A worker serves its users round robin, in time slices; a slice ends with each part of an answer and
 * each read from the store.
 */
import { QuarkError, SessionStoreError } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { Compute, Job, JobHost, Task } from '../jobs/job.ts';
import { LOCAL_COMPUTE } from '../jobs/jobs.ts';
import { RETRY_MS, tooOften } from '../limits/limits.ts';
import { ComputeTask, type TaskLimits } from './compute-task.ts';
import { ComputeWorker, type Turn } from './compute-worker.ts';

/** The parts of a {@link ComputePool}. */
export type ComputePoolParts = TaskLimits & {
  /** Largest number of workers. */
  readonly size: number;
  readonly clock: Pick<Clock, 'after'>;
};

/** Limit on open jobs of one user. A job is open until its answer is sent. */
const JOBS_PER_USER = 64;

/** The workers of a service. Threads start with the first job. */
export class ComputePool {
  readonly #parts: ComputePoolParts;
  readonly #workers: ComputeWorker[];
  #lastId = 0;
  #isClosed = false;

  constructor(parts: ComputePoolParts) {
    this.#parts = parts;
    this.#workers = Array.from({ length: parts.size }, () => new ComputeWorker(parts.clock));
  }

  /**
   * Runs jobs of one user.
   *
   * @param charge called with the processor time of each slice, in milliseconds
   * @param onStart called when a worker has taken a job: its request uses the calling thread no more than others now
   */
  of(user: string, charge: (busyMs: number) => void, onStart?: () => void): Compute {
    return {
      start: (job, host) => {
        const task = this.#start(user, charge, job, host);
        if (task instanceof ComputeTask) onStart?.();
        return task;
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#workers.map((worker) => worker.close(closed())));
  }

  #start(user: string, charge: (busyMs: number) => void, job: Job, host: JobHost): Task {
    if (this.#isClosed) throw closed();
    // Without worker threads, as in a build that lacks their file, jobs run on this thread.
    if (this.#workers.some(({ isUseless }) => isUseless)) return LOCAL_COMPUTE.start(job, host);
    const open = this.#workers.reduce((sum, worker) => sum + worker.countOf(user), 0);
    if (open >= JOBS_PER_USER)
      throw tooOften(`${JOBS_PER_USER} requests of this user are being computed. Try again later.`);
    if (host.signal?.aborted === true)
      throw new QuarkError('aborted', 'The client has disconnected.');
    const worker = this.#workerOf(user);
    const id = ++this.#lastId;
    const turn = (message: Turn['message'], transfer: readonly ArrayBuffer[] = []): void =>
      worker.ask({ id, message, transfer }, user);
    const task = new ComputeTask({ id, job, host, charge, limits: this.#parts, turn, worker });
    worker.open(task, user);
    return task;
  }

  /** The worker that has jobs of this user; otherwise the one with the fewest users. */
  #workerOf(user: string): ComputeWorker {
    const [first, ...rest] = this.#workers;
    if (first === undefined) throw new SessionStoreError('failed', 'There are no workers.');
    return rest.reduce((best, one) => {
      if (best.countOf(user) > 0) return best;
      if (one.countOf(user) > 0) return one;
      return one.userCount < best.userCount ? one : best;
    }, first);
  }
}

function closed(): SessionStoreError {
  return new SessionStoreError('closed', 'The service is shutting down.', {
    details: { retryAfterMs: RETRY_MS },
  });
}
