/**
 * Jobs of a service in workers, so that what one request costs stops nobody else. A user's jobs are in one worker, which
 * takes them and those of others in turns; a turn ends with each part of an answer and each look at the store.
 */
import { QuarkError, SessionStoreError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Compute, Job, JobHost, Task } from '../service/job.ts';
import { LOCAL_COMPUTE } from '../service/jobs.ts';
import { tooOften } from '../service/limits.ts';
import { ComputeTask, type TaskLimits } from './compute-task.ts';
import { ComputeWorker, type Turn } from './compute-worker.ts';

/** What a {@link ComputePool} is made of. */
export type ComputePoolParts = TaskLimits & {
  /** Workers at most. */
  readonly size: number;
  readonly clock: Pick<Clock, 'after'>;
};

/** Jobs of one user that are open at once: answers that are being sent count until they end. */
const JOBS_PER_USER = 64;
const RETRY_MS = 1_000;

/** The workers of a service; they start with the first job. */
export class ComputePool {
  readonly #parts: ComputePoolParts;
  readonly #workers: ComputeWorker[];
  #lastId = 0;
  #isClosed = false;

  constructor(parts: ComputePoolParts) {
    this.#parts = parts;
    this.#workers = Array.from({ length: parts.size }, () => new ComputeWorker(parts.clock));
  }

  /** Where jobs of a user are done. @param charge told of the processor time that they take, in milliseconds */
  of(user: string, charge: (busyMs: number) => void): Compute {
    return { start: (job, host) => this.#start(user, charge, job, host) };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#workers.map((worker) => worker.close(closed())));
  }

  #start(user: string, charge: (busyMs: number) => void, job: Job, host: JobHost): Task {
    if (this.#isClosed) throw closed();
    // Without workers, as in a build that lacks their file, all is done here.
    if (this.#workers.some(({ isUseless }) => isUseless)) return LOCAL_COMPUTE.start(job, host);
    const open = this.#workers.reduce((sum, worker) => sum + worker.countOf(user), 0);
    if (open >= JOBS_PER_USER)
      throw tooOften(`${JOBS_PER_USER} answers of this user are being worked out.`, RETRY_MS);
    if (host.signal?.aborted === true) throw new QuarkError('aborted', 'The client has left.');
    const worker = this.#workerOf(user);
    const id = ++this.#lastId;
    const turn = (message: Turn['message'], transfer: readonly ArrayBuffer[] = []): void =>
      worker.ask({ id, message, transfer }, user);
    const task = new ComputeTask({ id, job, host, charge, limits: this.#parts, turn, worker });
    worker.open(task, user);
    return task;
  }

  /** The one where this user has jobs; else the one with the fewest other users. */
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
