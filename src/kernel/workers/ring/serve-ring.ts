/** The worker's side of a ring: does jobs until it is told to leave, without a turn of its event loop. */
import {
  JOB_OUT,
  JOB_OUT_LENGTH,
  RING_BELL,
  RING_CLAIMED,
  RING_COMING,
  RING_LEAVE,
  RING_PUBLISHED,
  RING_SERVING,
  RING_SIGNAL,
  RING_SLEEPING,
  RING_SLOTS,
  RING_USED_KIB,
  ringViews,
  SLOT_AT_WORKER,
  SLOT_DONE,
  SLOT_FAILED,
  SLOT_FREE,
  SLOT_READY,
  type RingViews,
} from './ring-memory.ts';

/** Does one job: reads its descriptor and its data in `buffer`, and writes the answer to `out`. */
export type RingAnswer = (job: Float64Array, buffer: ArrayBufferLike, out: Float64Array) => void;

/**
 * Longest time to wait awake for a job that is being copied: a worker that waits takes some 50 microseconds to be woken. Where all processors
 * are busy the worker may have taken that of the thread which copies, so that it must not take long (2 ms blocked the copy for 2 ms).
 */
const AWAKE_MS = 0.1;

/**
 * Bytes beyond those in use that a worker touches while it has nothing to do, so many at a time. The first write to a page of fresh memory
 * takes some microseconds, which made the copy of a first step take 10 ms.
 */
const AHEAD_BYTES = 8 << 20;
const AHEAD_STEP_BYTES = 1 << 18;
const PAGE_BYTES = 4096;

/**
 * Serves a ring until its training thread says that workers are to leave.
 *
 * @param worker its number, of which the ring has one
 * @param tell wakes the event loop of the training thread
 */
export function serveRing(
  buffer: SharedArrayBuffer,
  worker: number,
  answer: RingAnswer,
  tell: () => void,
): void {
  const views = ringViews(buffer);
  const { header } = views;
  Atomics.or(header, RING_SERVING, 1 << worker);
  const words = new Int32Array(buffer);
  let touchedTo = 0;
  /** Touches pages that will be needed; false when there are none. */
  const touchAhead = (): boolean => {
    const usedBytes = Atomics.load(header, RING_USED_KIB) * 1024;
    if (touchedTo >= Math.min(buffer.byteLength, usedBytes + AHEAD_BYTES)) return false;
    const end = Math.min(buffer.byteLength, touchedTo + AHEAD_STEP_BYTES);
    // Whatever is there stays.
    for (; touchedTo < end; touchedTo += PAGE_BYTES) Atomics.or(words, touchedTo >> 2, 0);
    return true;
  };
  try {
    while (Atomics.load(header, RING_LEAVE) === 0) {
      const seen = Atomics.load(header, RING_SIGNAL);
      const slot = claimJob(views, worker);
      if (slot !== undefined) {
        doJob(views, slot, worker, answer);
        if (Atomics.exchange(header, RING_BELL, 0) !== 0) tell();
      } else if (!awaitAwake(header) && !touchAhead()) {
        Atomics.add(header, RING_SLEEPING, 1);
        Atomics.wait(header, RING_SIGNAL, seen);
        Atomics.sub(header, RING_SLEEPING, 1);
      }
    }
  } finally {
    Atomics.and(header, RING_SERVING, ~(1 << worker));
  }
}

/** The next job that nobody has begun, which is this worker's from here on; undefined when there is none. */
export function claimJob({ header, states }: RingViews, worker: number): number | undefined {
  for (;;) {
    const next = Atomics.load(header, RING_CLAIMED);
    if (((Atomics.load(header, RING_PUBLISHED) - next) | 0) <= 0) return undefined;
    if (Atomics.compareExchange(header, RING_CLAIMED, next, (next + 1) | 0) !== next) continue;
    const slot = (next >>> 0) % RING_SLOTS;
    // The training thread may have taken it back.
    if (Atomics.compareExchange(states, slot, SLOT_READY, SLOT_AT_WORKER + worker) === SLOT_READY)
      return slot;
  }
}

function doJob(
  { buffer, states, jobs }: RingViews,
  slot: number,
  worker: number,
  answer: RingAnswer,
): void {
  const job = jobs[slot];
  const mine = SLOT_AT_WORKER + worker;
  let end = SLOT_FAILED;
  try {
    if (job !== undefined) {
      answer(job, buffer, new Float64Array(buffer, job[JOB_OUT] ?? 0, job[JOB_OUT_LENGTH] ?? 0));
      end = SLOT_DONE;
    }
  } catch {
    // Done again by the training thread, which learns what is wrong.
  }
  // It had become too late: nobody reads the answer, and the slot and its memory are free.
  if (Atomics.compareExchange(states, slot, mine, end) !== mine)
    Atomics.store(states, slot, SLOT_FREE);
}

/** Whether it is worth to check again instead of waiting. */
function awaitAwake(header: Int32Array): boolean {
  if (Atomics.load(header, RING_COMING) === 0) return false;
  const until = performance.now() + AWAKE_MS;
  do {
    for (let i = 0; i < 64; i++) {
      const isThere = Atomics.load(header, RING_PUBLISHED) !== Atomics.load(header, RING_CLAIMED);
      if (isThere || Atomics.load(header, RING_COMING) === 0) return true;
    }
  } while (performance.now() < until);
  return false;
}
