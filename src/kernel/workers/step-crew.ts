/** How the tensors of probed steps reach workers: in shared memory, or in a buffer that is transferred. Both ways offer the same. */

/** Hands over what probed steps ask, and takes the answers. */
export interface StepCrew {
  /** In shared memory, or in a buffer that moves to the worker and back. */
  readonly way: 'ring' | 'transfer';
  /** Messages that a step costs the training thread, its own and that of its answer. */
  readonly messages: number;
  /** Has a worker start, for steps to come. */
  prepare(): void;
  /** Begins a step; undefined where it is to be computed on the training thread. */
  open(): StepBatch | undefined;
  /** Tells the answers that have come. */
  poll(): void;
  /** Resolves once all of these have been told. */
  settle(jobs: readonly StepJob[]): Promise<void>;
}

/** What one probed step hands over. */
export interface StepBatch {
  /** Space for the data of a job, and for an answer of so many numbers; undefined when there is none. */
  space(sizeBytes: number, outLength: number): StepSpace | undefined;
  /** Ends the step: workers begin. */
  publish(): void;
}

/** Memory into which tensors are copied before it becomes a job. */
export interface StepSpace {
  /** Where it begins; a multiple of 16. */
  readonly byteOffset: number;
  /** Numbers that an answer can have. */
  readonly outLength: number;
  /** All of the memory that it is part of. */
  readonly numbers: Float64Array;
  /** Copies a tensor to `byteOffset`, a multiple of 8. */
  copy(data: ArrayBufferView & ArrayLike<number>, byteOffset: number): void;
  /** Gives it back. No job was made of it. */
  release(): void;
  /**
   * Makes a job of it. The answer is told by a later {@link StepCrew.poll}, and nobody waits for it. Undefined where it was done here
   * instead, because there are too many jobs or the kernels are closed.
   */
  offer(job: NewStepJob): StepJob | undefined;
}

/** What a job is about. */
export type NewStepJob = {
  /** Numbers of its answer. */
  readonly outLength: number;
  /** Writes the descriptor, from `JOB_CALL` on. */
  readonly describe: (numbers: Float64Array) => void;
  /** Gets the answer, which it has to copy. */
  readonly done: (out: Float64Array) => void;
  /** Gets why there is none. */
  readonly failed: (error: unknown) => void;
};

/** A job that was handed over. */
export interface StepJob {
  /** Whether its answer has been told, or will never be. */
  readonly isSettled: boolean;
  /** When it was handed over, in milliseconds of the clock. */
  readonly postedMs: number;
  /**
   * Does it here, unless a worker has finished it. What is away in a buffer cannot be done here: it is waited for, or fails.
   *
   * @param isLast the process is about to end: what cannot be done here fails now
   */
  takeOver(isLast: boolean): void;
  /** Gives it up: nothing is told of it. */
  drop(): void;
}

/** What no worker has found so long after it was handed over is done on the training thread, once somebody waits for it. */
export const LATE_MS = 1000;
