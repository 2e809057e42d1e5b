/** A job in a worker thread, as the waiting request sees it. */
import { QuarkError, SessionStoreError } from '../../base/errors.ts';
import type { SegmentFilter, SegmentReference } from '../../store/store.ts';
import type { Job, JobHost, Task } from '../jobs/job.ts';
import {
  ownBytes,
  receiveError,
  type FromWorker,
  type HostMethod,
  type ToWorker,
} from '../jobs/job-messages.ts';
import type { ComputeWorker, WorkerTask } from './compute-worker.ts';

/** Limits of one job. */
export type TaskLimits = {
  /** Processor time of one job, in milliseconds. */
  readonly processorMsPerRequest: number;
};

/** The parts of a {@link ComputeTask}. */
export type ComputeTaskParts = {
  readonly id: number;
  readonly job: Job;
  readonly host: JobHost;
  readonly limits: TaskLimits;
  readonly worker: Pick<ComputeWorker, 'leave'>;
  /** Queues a time slice for the job. */
  readonly turn: (message: ToWorker, transfer?: readonly ArrayBuffer[]) => void;
  readonly charge: (busyMs: number) => void;
};

type Result = IteratorResult<Uint8Array<ArrayBuffer>, undefined>;

/** The job ends when its client disconnects. */
export class ComputeTask implements Task, WorkerTask {
  readonly id: number;
  readonly #parts: ComputeTaskParts;
  readonly #errors = new Map<number, unknown>();
  #waiting: { resolve: (result: Result) => void; reject: (error: unknown) => void } | undefined;
  #isStarted = false;
  #end: { readonly error?: unknown } | undefined;
  #busyMs = 0;

  constructor(parts: ComputeTaskParts) {
    this.id = parts.id;
    this.#parts = parts;
    parts.host.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  next(): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) {
        if ('error' in this.#end) reject(this.#end.error);
        else resolve({ done: true, value: undefined });
        return;
      }
      this.#waiting = { resolve, reject };
      const { id, turn } = this.#parts;
      if (this.#isStarted) turn({ kind: 'next', id });
      else this.#start();
    });
  }

  close(): void {
    this.#finish({});
  }

  fail(error: unknown): void {
    this.#finish({ error });
  }

  receive(message: FromWorker): void {
    if ('busyMs' in message) this.#count(message.busyMs);
    if (this.#end !== undefined) return;
    switch (message.kind) {
      case 'part': {
        const waiting = this.#waiting;
        this.#waiting = undefined;
        waiting?.resolve({ done: false, value: message.bytes });
        return;
      }
      case 'done':
        this.#finish({});
        return;
      case 'failed':
        this.fail(receiveError(message.error, this.#errors));
        return;
      case 'call':
        void this.#answer(message.call, message.method, message.given);
        return;
      case 'room':
        try {
          this.#parts.host.takeRoom?.(message.bytes);
        } catch (error) {
          this.fail(error);
        }
        return;
      case 'warned':
        this.#parts.host.onFailure?.(receiveError(message.error, this.#errors));
    }
  }

  readonly #onAbort = (): void =>
    this.fail(new QuarkError('aborted', 'The client has disconnected.'));

  #start(): void {
    this.#isStarted = true;
    const { id, host, job, turn } = this.#parts;
    const hasNotes = host.notes !== undefined;
    if (job.name !== 'check') {
      turn({ kind: 'start', id, job, hasNotes });
      return;
    }
    // The bytes are views of the upload. They are copied once, and the copy is transferred to the worker.
    const segments = job.segments.map((segment) => ({ ...segment, bytes: segment.bytes.slice() }));
    turn(
      { kind: 'start', id, hasNotes, job: { name: 'check', segments } },
      segments.map(({ bytes }) => bytes.buffer),
    );
  }

  #count(busyMs: number): void {
    const { charge, limits } = this.#parts;
    this.#busyMs += busyMs;
    charge(busyMs);
    if (this.#busyMs <= limits.processorMsPerRequest) return;
    const rule = `at most ${limits.processorMsPerRequest} ms of processor time`;
    this.fail(
      new SessionStoreError(
        'too_large',
        `A request may take ${rule}. Split the request into smaller ones.`,
        {
          details: { field: 'request', value: Math.round(this.#busyMs), rule },
        },
      ),
    );
  }

  async #answer(call: number, method: HostMethod, given: readonly unknown[]): Promise<void> {
    const { id, turn } = this.#parts;
    try {
      const value = await this.#call(method, given);
      if (this.#end === undefined) turn({ kind: 'reply', id, call, value, isFailed: false });
    } catch (error) {
      this.#errors.set(call, error);
      if (this.#end === undefined) turn({ kind: 'reply', id, call, isFailed: true });
    }
  }

  /** The arguments have the types that `job-host.ts` sends. */
  async #call(method: HostMethod, given: readonly unknown[]): Promise<unknown> {
    const { store, notes } = this.#parts.host;
    const [first, second, third] = given;
    switch (method) {
      case 'listSegments':
        return store.listSegments(first as SegmentFilter);
      case 'readSegments': {
        const reads = await store.readSegments(first as readonly SegmentReference[]);
        // Transferring a view would transfer its whole buffer.
        return reads.map((read) =>
          read.kind === 'bytes' ? { ...read, bytes: ownBytes(read.bytes) } : read,
        );
      }
      case 'readNote':
        return notes?.read(String(first));
      case 'writeNote':
        return notes?.write(
          String(first),
          second as string | null,
          third as string | null | undefined,
        );
    }
  }

  #finish(end: { readonly error?: unknown }): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    const { host, id, worker } = this.#parts;
    host.signal?.removeEventListener('abort', this.#onAbort);
    worker.leave(id, this.#isStarted);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if ('error' in end) waiting?.reject(end.error);
    else waiting?.resolve({ done: true, value: undefined });
  }
}
