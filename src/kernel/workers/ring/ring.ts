/**
 * The training thread's side of a ring. Data is copied into rooms of one warm memory; a job about a room is handed over by a few writes
 * and, where a worker waits, one wake-up. Answers are found by {@link Ring.poll}, without a turn of the event loop. A job that no worker
 * has begun can be taken back, and one whose worker is late or dead is done here again: nothing is lost, and nothing is told twice.
 */
import { aligned, JobMemory } from './job-memory.ts';
import {
  JOB_OUT,
  JOB_OUT_LENGTH,
  RING_BELL,
  RING_COMING,
  RING_DATA_AT,
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
  SLOT_TAKEN,
  type RingViews,
} from './ring-memory.ts';
import type { RingAnswer } from './serve-ring.ts';

/** Memory of a ring that belongs to one caller until it is released. */
export type RingRoom = {
  /** The memory of the whole ring. */
  readonly buffer: SharedArrayBuffer;
  /** Where the data of the room begins; a multiple of 16. */
  readonly byteOffset: number;
  /** Where answers of jobs about it go. */
  readonly outOffset: number;
  readonly outLength: number;
  /** Where the room ends. */
  readonly end: number;
  /** Jobs whose worker may yet read or write it. */
  jobs: number;
  isReleased: boolean;
};

/** A job that was handed over. */
export type RingJob = {
  readonly slot: number;
  readonly room: RingRoom;
  /** Numbers of its answer. */
  readonly outLength: number;
  /** When it was handed over, in milliseconds of the ring's clock. */
  readonly postedMs: number;
  /** Gets the answer, which it has to copy. */
  readonly done: (out: Float64Array) => void;
  /** Gets what the job threw when it was done on this thread. */
  readonly failed: (error: unknown) => void;
  /** Whether its answer has been told, or will never be. */
  isSettled: boolean;
  /** The worker that is at it though it was taken over. */
  lateWorker: number | undefined;
};

/** What a job is about. */
export type NewRingJob = Pick<RingJob, 'room' | 'done' | 'failed'> & {
  /** Numbers of its answer; default: all that its room has space for. */
  readonly outLength?: number;
  /** Writes the descriptor, from `JOB_CALL` on. */
  readonly describe: (numbers: Float64Array) => void;
};

/** What a {@link Ring} is made of. */
export type RingConfig = {
  /** Bytes for data and answers. Only what is used becomes memory of the machine. */
  readonly sizeBytes: number;
  /** Does a job on this thread. */
  readonly answerHere: RingAnswer;
  readonly now: () => number;
};

export class Ring {
  readonly #views: RingViews;
  /** All of the memory, that of rooms included. */
  readonly memory: JobMemory;
  readonly #config: RingConfig;
  readonly #endOfData: number;
  /** In the order in which their memory was given out. */
  readonly #rooms: RingRoom[] = [];
  /** Jobs that are not settled, oldest first. */
  #jobs: RingJob[] = [];
  /** Jobs that were taken over, until their workers are finished or known to be dead. */
  #late: RingJob[] = [];
  #top: number = RING_DATA_AT;
  #usedBytes = 0;
  #touchedTo: number = RING_DATA_AT;

  /** @throws {RangeError} where there is no memory for it */
  constructor(config: RingConfig) {
    this.#config = config;
    this.#endOfData = RING_DATA_AT + aligned(config.sizeBytes);
    this.#views = ringViews(new SharedArrayBuffer(this.#endOfData));
    this.memory = new JobMemory(this.buffer);
  }

  get buffer(): SharedArrayBuffer {
    return this.#views.buffer;
  }

  /** Bytes of the rooms that are not free. */
  get usedBytes(): number {
    this.#sweep();
    return this.#usedBytes;
  }

  /** Bytes that have been used and are not in use. */
  get warmBytes(): number {
    return Math.max(0, this.#touchedTo - RING_DATA_AT - this.#usedBytes);
  }

  /** The jobs that are not settled, oldest first. */
  get open(): readonly RingJob[] {
    return this.#jobs;
  }

  /** Jobs that no worker has begun. */
  get queuedCount(): number {
    return this.#jobs.filter(({ slot }) => this.#state(slot) === SLOT_READY).length;
  }

  /** Jobs that workers are at. */
  get runningCount(): number {
    return this.#jobs.filter(({ slot }) => this.#state(slot) >= SLOT_AT_WORKER).length;
  }

  /** Whether a worker serves it now. */
  get isServed(): boolean {
    return Atomics.load(this.#views.header, RING_SERVING) !== 0;
  }

  /** A room for so many bytes, and for answers of so many float64; undefined when there is none. */
  acquire(sizeBytes: number, outLength: number): RingRoom | undefined {
    this.#sweep();
    const length = aligned(sizeBytes) + aligned(outLength * 8);
    const byteOffset = this.#findRoom(length);
    if (byteOffset === undefined) return undefined;
    const room: RingRoom = {
      buffer: this.buffer,
      byteOffset,
      outOffset: byteOffset + aligned(sizeBytes),
      outLength,
      end: byteOffset + length,
      jobs: 0,
      isReleased: false,
    };
    this.#rooms.push(room);
    this.#top = room.end;
    if (room.end > this.#touchedTo) {
      this.#touchedTo = room.end;
      Atomics.store(this.#views.header, RING_USED_KIB, room.end >> 10);
    }
    this.#usedBytes += length;
    return room;
  }

  /** Gives a room back. Its memory is free once no worker can be at it any more. */
  release(room: RingRoom): void {
    room.isReleased = true;
    this.#reclaim();
  }

  /** Wakes a worker that waits, so that it is there when a job has been copied. */
  announce(): void {
    Atomics.store(this.#views.header, RING_COMING, 1);
    this.#signal();
  }

  /** Hands a job over; it is begun after {@link publish} at the latest. Undefined when there are too many. */
  post({
    room,
    describe,
    done,
    failed,
    outLength = room.outLength,
  }: NewRingJob): RingJob | undefined {
    const { header, states, jobs } = this.#views;
    this.#sweep();
    const next = Atomics.load(header, RING_PUBLISHED);
    const slot = (next >>> 0) % RING_SLOTS;
    const numbers = jobs[slot];
    if (numbers === undefined || this.#state(slot) !== SLOT_FREE) return undefined;
    describe(numbers);
    numbers[JOB_OUT] = room.outOffset;
    numbers[JOB_OUT_LENGTH] = outLength;
    room.jobs += 1;
    const postedMs = this.#config.now();
    const job = {
      slot,
      room,
      outLength,
      done,
      failed,
      postedMs,
      isSettled: false,
      lateWorker: undefined,
    };
    this.#jobs.push(job);
    Atomics.store(states, slot, SLOT_READY);
    Atomics.store(header, RING_PUBLISHED, (next + 1) | 0);
    return job;
  }

  /** Tells workers of the jobs that were posted. */
  publish(): void {
    Atomics.store(this.#views.header, RING_COMING, 0);
    this.#signal();
  }

  /** Asks for a message once a job is done. What is done already is told at once, and needs none. */
  awaitMessage(): void {
    Atomics.store(this.#views.header, RING_BELL, 1);
    this.poll();
  }

  /** Tells the answers that have come. */
  poll(): void {
    if (this.#jobs.length === 0) return;
    for (const job of this.#jobs) {
      const state = job.isSettled ? SLOT_FREE : this.#state(job.slot);
      if (state === SLOT_DONE) {
        const { outOffset } = job.room;
        this.#settle(job, () => job.done(new Float64Array(this.buffer, outOffset, job.outLength)));
        this.#free(job);
      } else if (state === SLOT_FAILED) {
        this.#doHere(job);
        this.#free(job);
      }
    }
    this.#forget();
  }

  /** Does a job here that no worker has begun; false when one has. */
  takeBack(job: RingJob): boolean {
    if (job.isSettled || !this.#take(job, SLOT_READY)) return false;
    this.#doHere(job);
    this.#free(job);
    this.#forget();
    return true;
  }

  /** Does a job here that no worker has finished. What a worker finds later is told to nobody. */
  takeOver(job: RingJob): void {
    this.poll();
    this.#withdraw(job, () => this.#doHere(job));
  }

  /** Settles a job without an answer: nobody waits for it any more. */
  drop(job: RingJob): void {
    this.#withdraw(job, () => this.#settle(job, () => undefined));
  }

  /** The worker that is at a job; undefined when none is. */
  workerOf(job: RingJob): number | undefined {
    if (job.isSettled) return job.lateWorker;
    const state = this.#state(job.slot);
    return state >= SLOT_AT_WORKER ? state - SLOT_AT_WORKER : undefined;
  }

  /** Whether a worker has not finished a job that was taken from it. */
  isLate(job: RingJob): boolean {
    this.#sweep();
    return this.#late.includes(job);
  }

  /** Says that a worker is gone: what it was at is done here, and what was taken from it is free. */
  lost(worker: number): void {
    Atomics.and(this.#views.header, RING_SERVING, ~(1 << worker));
    for (const job of this.#jobs) {
      if (this.workerOf(job) !== worker) continue;
      this.#doHere(job);
      this.#free(job);
    }
    for (const job of this.#late) {
      if (job.lateWorker === worker && this.#state(job.slot) === SLOT_TAKEN)
        Atomics.store(this.#views.states, job.slot, SLOT_FREE);
    }
    this.#forget();
    this.#sweep();
  }

  /** Has workers return to their event loops, or lets them stay. */
  sendAway(isAway: boolean): void {
    Atomics.store(this.#views.header, RING_LEAVE, isAway ? 1 : 0);
    if (isAway) this.#signal();
  }

  #state(slot: number): number {
    return Atomics.load(this.#views.states, slot);
  }

  #signal(): void {
    const { header } = this.#views;
    Atomics.add(header, RING_SIGNAL, 1);
    if (Atomics.load(header, RING_SLEEPING) > 0) Atomics.notify(header, RING_SIGNAL);
  }

  #take({ slot }: RingJob, from: number): boolean {
    return Atomics.compareExchange(this.#views.states, slot, from, SLOT_TAKEN) === from;
  }

  /** Takes a job from wherever it is, and settles it. */
  #withdraw(job: RingJob, settle: () => void): void {
    for (;;) {
      if (job.isSettled) return;
      const state = this.#state(job.slot);
      if (!this.#take(job, state)) continue;
      settle();
      if (state >= SLOT_AT_WORKER) {
        // Its slot and its memory stay the worker's until it is finished, or known to be dead.
        job.lateWorker = state - SLOT_AT_WORKER;
        this.#late.push(job);
      } else this.#free(job);
      this.#forget();
    }
  }

  /** On memory of its own: a worker may yet write to the room's. */
  #doHere(job: RingJob): void {
    const out = new Float64Array(job.outLength);
    const numbers = this.#views.jobs[job.slot];
    try {
      if (numbers !== undefined) this.#config.answerHere(numbers, this.buffer, out);
    } catch (error) {
      this.#settle(job, () => job.failed(error));
      return;
    }
    this.#settle(job, () => job.done(out));
  }

  #settle(job: RingJob, tell: () => void): void {
    if (job.isSettled) return;
    job.isSettled = true;
    tell();
  }

  #free(job: RingJob): void {
    Atomics.store(this.#views.states, job.slot, SLOT_FREE);
    job.room.jobs -= 1;
  }

  #forget(): void {
    this.#jobs = this.#jobs.filter(({ isSettled }) => !isSettled);
    this.#reclaim();
  }

  /** Takes back what late workers have left. */
  #sweep(): void {
    if (this.#late.length === 0) return;
    this.#late = this.#late.filter((job) => {
      if (this.#state(job.slot) !== SLOT_FREE) return true;
      job.room.jobs -= 1;
      return false;
    });
    this.#reclaim();
  }

  #reclaim(): void {
    for (let room = this.#rooms[0]; room !== undefined; room = this.#rooms[0]) {
      if (!room.isReleased || room.jobs > 0) break;
      this.#rooms.shift();
      this.#usedBytes -= room.end - room.byteOffset;
    }
  }

  #findRoom(length: number): number | undefined {
    const first = this.#rooms[0]?.byteOffset;
    const fits = (at: number, end: number): boolean => at + length <= end;
    // From the start again whenever it is empty: that memory is warm.
    if (first === undefined) return fits(RING_DATA_AT, this.#endOfData) ? RING_DATA_AT : undefined;
    if (this.#top <= first) return fits(this.#top, first) ? this.#top : undefined;
    // And as soon as there is as much of it as is in use, so that a ring that is never empty does not walk through all its memory.
    if (fits(RING_DATA_AT + this.#usedBytes, first)) return RING_DATA_AT;
    if (fits(this.#top, this.#endOfData)) return this.#top;
    return fits(RING_DATA_AT, first) ? RING_DATA_AT : undefined;
  }
}
