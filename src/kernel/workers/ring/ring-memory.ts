/**
 * The memory that a training thread and its workers share: a header, the states of the jobs, their descriptors, and the bytes that they
 * are about. Both sides read this file. The training thread alone writes descriptors and data and gives memory back; a state passes from
 * one side to the other by compare-and-exchange, so that a job is done by one of them, and once.
 */

/** Changes whenever there is something new for workers: they wait on it. */
export const RING_SIGNAL = 0;
/** Jobs handed over so far. */
export const RING_PUBLISHED = 1;
/** Jobs that workers have looked at so far. */
export const RING_CLAIMED = 2;
/** Not 0: workers are to return to their event loops. */
export const RING_LEAVE = 3;
/** Not 0: somebody waits for an answer, so the next job that is done is to be told of by a message. */
export const RING_BELL = 4;
/** Not 0: a job is being copied, and a worker that wakes up is to wait for it awake. */
export const RING_COMING = 5;
/** A bit for each worker that serves the ring. */
export const RING_SERVING = 6;
/** Workers that wait. */
export const RING_SLEEPING = 7;
/** KiB from the start that have been used so far: workers that have nothing to do touch what comes next. */
export const RING_USED_KIB = 8;
const HEADER_WORDS = 16;

/** Jobs at a time. */
export const RING_SLOTS = 1024;
/** Numbers of a descriptor. */
export const RING_JOB_NUMBERS = 24;
/** Where the answer goes, in bytes from the start of the memory, and how many float64 it has; the others are the caller's. */
export const JOB_OUT = 0;
export const JOB_OUT_LENGTH = 1;
export const JOB_CALL = 2;

/** A slot that holds no job. */
export const SLOT_FREE = 0;
/** A job that nobody has begun. */
export const SLOT_READY = 1;
/** A job whose answer is written. */
export const SLOT_DONE = 2;
/** A job that a worker could not do. */
export const SLOT_FAILED = 3;
/** A job that the training thread took: back from the queue, or from a worker that is late, which frees the slot when it gets there. */
export const SLOT_TAKEN = 4;
/** This, plus the number of the worker that is at it. */
export const SLOT_AT_WORKER = 16;

/** Workers that a ring has room for. */
export const RING_MOST_WORKERS = 30;

const STATES_AT = HEADER_WORDS * 4;
const JOBS_AT = STATES_AT + RING_SLOTS * 4;
/** Where the data begins. */
export const RING_DATA_AT: number = JOBS_AT + RING_SLOTS * RING_JOB_NUMBERS * 8;

/** What a worker says when it has done a job that somebody waits for. */
export const RING_MESSAGE = 'quark-ring';

/** Views of the memory of a ring. */
export type RingViews = {
  readonly buffer: SharedArrayBuffer;
  readonly header: Int32Array;
  readonly states: Int32Array;
  /** The numbers of every slot, each a view of its own: to make one takes as long as to fill it. */
  readonly jobs: readonly Float64Array[];
};

/** The views of a memory that the training thread made. */
export function ringViews(buffer: SharedArrayBuffer): RingViews {
  return {
    buffer,
    header: new Int32Array(buffer, 0, HEADER_WORDS),
    states: new Int32Array(buffer, STATES_AT, RING_SLOTS),
    jobs: Array.from(
      { length: RING_SLOTS },
      (_, slot) =>
        new Float64Array(buffer, JOBS_AT + slot * RING_JOB_NUMBERS * 8, RING_JOB_NUMBERS),
    ),
  };
}
