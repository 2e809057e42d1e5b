/** One worker thread of a service, and the queue of time slices for it. */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import { SessionStoreError } from '../../base/errors.ts';
import { FairQueue } from '../limits/fair-queue.ts';
import { RETRY_MS } from '../limits/limits.ts';
import type { FromWorker, ToWorker } from '../jobs/job-messages.ts';

/** A message that starts a time slice of a job. */
export type Turn = {
  readonly id: number;
  readonly message: ToWorker;
  readonly transfer: readonly ArrayBuffer[];
};

/** A job as its worker sees it. */
export type WorkerTask = {
  readonly id: number;
  receive(message: FromWorker): void;
  fail(error: unknown): void;
};

/** A longer time slice terminates the worker. A slice waits for nothing, so all of it is processor time. */
const MAX_TURN_MS = 20_000;
const MEMORY_MB = 1_024;

/** Starts its thread with the first job, and again after the thread has died. */
export class ComputeWorker {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #tasks = new Map<number, { readonly task: WorkerTask; readonly user: string }>();
  readonly #queue = new FairQueue<Turn>();
  #thread: Promise<Worker> | undefined;
  /** The time slice that is running. */
  #current: { readonly id: number; readonly undo: () => void } | undefined;
  #hasAnswered = false;
  /** Whether a thread could not be started. */
  isUseless = false;

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** Number of users with jobs in this worker. */
  get userCount(): number {
    return new Set([...this.#tasks.values()].map(({ user }) => user)).size;
  }

  /** Number of jobs of a user in this worker. */
  countOf(user: string): number {
    let count = 0;
    for (const one of this.#tasks.values()) if (one.user === user) count += 1;
    return count;
  }

  open(task: WorkerTask, user: string): void {
    this.#tasks.set(task.id, { task, user });
    // An idle thread does not keep the process alive.
    void this.#thread?.then(
      (thread) => thread.ref(),
      () => undefined,
    );
  }

  /** Queues a time slice for a job of this user. */
  ask(turn: Turn, user: string): void {
    this.#queue.add(user, turn);
    this.#go();
  }

  /** Removes a job, and stops it if it was started. */
  leave(id: number, isStarted: boolean): void {
    if (!this.#tasks.delete(id)) return;
    this.#queue.drop((turn) => turn.id === id);
    const stop: ToWorker = { kind: 'stop', id };
    void this.#thread?.then(
      (thread) => {
        if (isStarted) thread.postMessage(stop);
        if (this.#tasks.size === 0) thread.unref();
      },
      () => undefined,
    );
  }

  /** Terminates the thread and fails its jobs with `error`. */
  async close(error: unknown): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    this.#current?.undo();
    this.#current = undefined;
    for (const { task } of this.#tasks.values()) task.fail(error);
    this.#tasks.clear();
    await (await thread?.catch(() => undefined))?.terminate();
  }

  #go(): void {
    if (this.#current !== undefined) return;
    const turn = this.#queue.take();
    if (turn === undefined) return;
    const { id } = turn;
    const undo = this.#clock.after(MAX_TURN_MS, () => {
      this.#tasks
        .get(id)
        ?.task.fail(
          new SessionStoreError(
            'too_large',
            `A part of this request took more than ${MAX_TURN_MS / 1_000} s of processor time. Split the request into smaller ones.`,
            { details: { rule: `at most ${MAX_TURN_MS} ms of processor time` } },
          ),
        );
      void this.close(died());
    });
    this.#current = { id, undo };
    this.#post(turn);
  }

  #post({ message, transfer }: Turn): void {
    void this.#started().then(
      (thread) => thread.postMessage(message, [...transfer]),
      () => this.#lose(undefined),
    );
  }

  #started(): Promise<Worker> {
    this.#thread ??= this.#spawn();
    return this.#thread;
  }

  async #spawn(): Promise<Worker> {
    const thread = new Worker(await workerFile(), {
      name: 'quark-service',
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    thread.on('message', (message: FromWorker) => this.#receive(message));
    thread.on('error', () => this.#lose(thread));
    thread.on('exit', () => this.#lose(thread));
    return thread;
  }

  #receive(message: FromWorker): void {
    this.#hasAnswered = true;
    const isTurn = message.kind !== 'room' && message.kind !== 'warned';
    if (isTurn && this.#current?.id === message.id) {
      this.#current.undo();
      this.#current = undefined;
    }
    this.#tasks.get(message.id)?.task.receive(message);
    this.#go();
  }

  /** The thread has died, out of memory or while starting. The next job starts another one. */
  #lose(thread: Worker | undefined): void {
    void this.#thread?.then(
      (current) => {
        if (current === thread) void this.close(died());
      },
      () => {
        void this.close(died());
      },
    );
    if (!this.#hasAnswered) this.isUseless = true;
  }
}

/** The error for jobs that shared a worker with the job that terminated it. */
function died(): SessionStoreError {
  return new SessionStoreError('busy', 'The work on this request was interrupted. Try again.', {
    details: { retryAfterMs: RETRY_MS },
  });
}

async function workerFile(): Promise<URL> {
  if (typeof __QUARK_SERVICE_WORKER_URL__ !== 'undefined') return __QUARK_SERVICE_WORKER_URL__;
  const { default: source } = await import('virtual:quark-inline-service-worker');
  return new URL(`data:text/javascript,${encodeURIComponent(source)}`);
}
