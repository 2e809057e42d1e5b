/**
 * A buffer of jobs that is transferred to a worker and back: states and descriptors first, then data and answers. Both sides read this
 * file.
 */
import { JOB_OUT, JOB_OUT_LENGTH, RING_JOB_NUMBERS } from './ring/ring-memory.ts';
import type { RingAnswer } from './ring/serve-ring.ts';

/** Jobs of a buffer. */
export const TRANSFER_JOBS = 64;
/** Where the data begins. */
export const TRANSFER_DATA_AT: number = TRANSFER_JOBS * (1 + RING_JOB_NUMBERS) * 8;

/** The state of a job whose answer is written. Any other: it is yet to be done. */
export const TRANSFER_DONE = 1;

const PAGE_BYTES = 4096;

/** The call that says how many jobs a buffer has. */
export type TransferCall = { readonly transferredJobs: number };

/** The states of the jobs of a buffer. */
export function transferStates(buffer: ArrayBufferLike): Float64Array {
  return new Float64Array(buffer, 0, TRANSFER_JOBS);
}

/** The numbers of a job. */
export function transferJob(buffer: ArrayBufferLike, job: number): Float64Array {
  const at = (TRANSFER_JOBS + job * RING_JOB_NUMBERS) * 8;
  return new Float64Array(buffer, at, RING_JOB_NUMBERS);
}

export function isTransferCall(call: unknown): call is TransferCall {
  return typeof call === 'object' && call !== null && 'transferredJobs' in call;
}

/**
 * Does the jobs of a buffer, as a worker does. Without jobs, touches its memory: the first write to a page of fresh memory takes some
 * microseconds, which the training thread is not to spend.
 */
export function answerTransferred(
  { transferredJobs }: TransferCall,
  buffer: ArrayBufferLike,
  answer: RingAnswer,
): void {
  if (transferredJobs === 0) {
    const bytes = new Uint8Array(buffer);
    for (let at = 0; at < bytes.length; at += PAGE_BYTES) bytes[at] = 0;
    return;
  }
  const states = transferStates(buffer);
  for (let i = 0; i < transferredJobs; i++) {
    try {
      const job = transferJob(buffer, i);
      answer(job, buffer, new Float64Array(buffer, job[JOB_OUT] ?? 0, job[JOB_OUT_LENGTH] ?? 0));
      states[i] = TRANSFER_DONE;
    } catch {
      // Done again by the training thread, which learns what is wrong.
    }
  }
}
