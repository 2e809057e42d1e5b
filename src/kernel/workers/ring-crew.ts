/** A ring with the workers of a pool that serve it: makes both when there is a first job, and takes care of jobs whose worker is gone. */
import type { Clock } from '../../base/clock.ts';
import { RING_MOST_WORKERS } from './ring/ring-memory.ts';
import { Ring, type NewRingJob, type RingJob, type RingRoom } from './ring/ring.ts';
import type { RingAnswer } from './ring/serve-ring.ts';
import {
  LATE_MS,
  type StepBatch,
  type StepCrew,
  type StepJob,
  type StepSpace,
} from './step-crew.ts';
import { Waiters } from './ring/job-memory.ts';
import { closedError, type PoolRun, type PoolServe, type WorkerPool } from './pool.ts';

/** How calls and their results are written to a ring, as numbers. */
export type RingCodec<C, R> = {
  /** Numbers that the result of a call on data of so many bytes can have. */
  readonly outLength: (call: C) => number;
  /** Writes a call about data that begins at `byteOffset`. */
  readonly describe: (call: C, byteOffset: number, numbers: Float64Array) => void;
  /** Reads its result, and copies what it keeps. */
  readonly read: (call: C, out: Float64Array) => R;
  /** Does a call, as a worker does it. */
  readonly answer: RingAnswer;
};

/** What a {@link RingCrew} needs to know. */
export type RingCrewConfig<C, R> = {
  /** Most bytes of the ring. */
  readonly limitBytes: number;
  /** Most workers. */
  readonly workers: number;
  readonly codec: RingCodec<C, R>;
  readonly clock: Clock;
  readonly callTimeoutMs: number;
};

/** A worker that is at a job nobody waits for may go on for so long. */
const ABANDON_MS = 250;
/** Less than that is no ring. */
const LEAST_BYTES = 64 * 1024;

export class RingCrew<C, R> implements StepCrew, StepBatch {
  readonly way = 'ring';
  readonly messages = 1;
  readonly #config: RingCrewConfig<C, R>;
  readonly #pool: WorkerPool<C, R>;
  readonly #servers = new Map<number, PoolServe>();
  #limitBytes: number;
  #ring: Ring | undefined;
  #cancelTimeout: (() => void) | undefined;
  #isClosed = false;
  /** Jobs, and calls of {@link settle}, that somebody waits for. */
  #awaited = 0;
  /** Whether anything was handed over since the workers were last looked at. */
  #isUsed = false;
  readonly #waiters = new Waiters();

  constructor(config: RingCrewConfig<C, R>, pool: WorkerPool<C, R>) {
    this.#config = config;
    this.#pool = pool;
    this.#limitBytes = config.limitBytes;
  }

  /** What the ring is doing. */
  get counts(): {
    readonly queued: number;
    readonly running: number;
    readonly usedBytes: number;
    readonly warmBytes: number;
  } {
    const ring = this.#ring;
    return {
      queued: ring?.queuedCount ?? 0,
      running: ring?.runningCount ?? 0,
      usedBytes: ring?.usedBytes ?? 0,
      warmBytes: ring?.warmBytes ?? 0,
    };
  }

  /** Rooms for data of these sizes, each with room for a result of any of the calls; undefined when there is no room for all. */
  acquire(sizes: readonly number[], outLength: number): readonly RingRoom[] | undefined {
    const ring = this.#open();
    if (ring === undefined) return undefined;
    ring.announce();
    const rooms: RingRoom[] = [];
    for (const size of sizes) {
      const room = ring.acquire(size, outLength);
      if (room === undefined) {
        for (const taken of rooms) ring.release(taken);
        return undefined;
      }
      rooms.push(room);
    }
    return rooms;
  }

  /** Gives a room back, as soon as no worker is at it. */
  release(room: RingRoom): void {
    if (this.#ring?.buffer !== room.buffer) room.isReleased = true;
    else this.#ring.release(room);
  }

  /** Runs a call about the data of a room. */
  run(room: RingRoom, call: C): PoolRun<R> {
    const ring = this.#ring;
    let cancel: PoolRun<R>['cancel'] = () => undefined;
    const result = new Promise<R>((resolve, reject) => {
      // A message wakes the event loop for it.
      if (ring === undefined || room.buffer !== ring.buffer || this.#isClosed) {
        reject(closedError());
        return;
      }
      const job = this.#post(ring, room, call, { resolve, reject });
      if (job === undefined) return;
      cancel = (error) => {
        if (job.isSettled) return;
        this.#drop(ring, job);
        job.failed(error);
      };
    });
    return {
      result,
      done: Promise.resolve(room.buffer),
      cancel: (error) => cancel(error),
      takeBack: () => undefined,
    };
  }

  prepare(): void {
    this.open();
  }

  /** A worker serves the ring, or is about to: one is asked for where none does. All steps share the ring. */
  open(): StepBatch | undefined {
    const ring = this.#open();
    if (ring === undefined || this.#isClosed || !this.#pool.hasWorkers) return undefined;
    if (!ring.isServed) this.#serve(ring, 1);
    return this;
  }

  space(sizeBytes: number, outLength: number): StepSpace | undefined {
    const ring = this.#open();
    const room = this.#isClosed ? undefined : ring?.acquire(sizeBytes, outLength);
    if (ring === undefined || room === undefined) return undefined;
    return {
      byteOffset: room.byteOffset,
      outLength: room.outLength,
      numbers: ring.memory.numbers,
      copy: (data, byteOffset) => ring.memory.copy(data, byteOffset),
      release: () => this.release(room),
      offer: (job) => this.#offer(ring, { ...job, room }),
    };
  }

  /** Hands over a job about the contents of a room, which it gives back. */
  #offer(ring: Ring, job: NewRingJob): StepJob | undefined {
    const posted = this.#ring === ring && !this.#isClosed ? ring.post(job) : undefined;
    if (posted === undefined) this.#runHere(job.room, job);
    this.release(job.room);
    this.#isUsed = true;
    if (posted === undefined) return undefined;
    return {
      get isSettled() {
        return posted.isSettled;
      },
      postedMs: posted.postedMs,
      takeOver: () => this.#takeOver(posted),
      drop: () => this.#drop(ring, posted),
    };
  }

  /** Wakes a worker for what was offered. */
  publish(): void {
    this.#ring?.publish();
  }

  /** Tells the answers that have come. */
  poll(): void {
    this.#ring?.poll();
  }

  /** Does a job here that no worker has finished. */
  #takeOver(job: RingJob): void {
    const ring = this.#ring;
    if (ring === undefined || job.isSettled) return;
    ring.takeOver(job);
    const { clock, callTimeoutMs } = this.#config;
    this.#endLate(ring, job, callTimeoutMs - (clock.now() - job.postedMs), 'kill');
  }

  /** Resolves once all of these have been told; what takes too long is done here. */
  async settle(jobs: readonly StepJob[]): Promise<void> {
    const isOver = (): boolean => this.#isClosed || jobs.every(({ isSettled }) => isSettled);
    this.poll();
    if (isOver()) return;
    this.#expectAnswers(1);
    const { clock } = this.#config;
    const waitedMs = clock.now() - Math.max(...jobs.map(({ postedMs }) => postedMs));
    const cancel = clock.after(Math.max(0, LATE_MS - waitedMs), () => {
      for (const job of jobs) job.takeOver(false);
      this.#waiters.wake();
    });
    while (!isOver()) {
      this.#ring?.awaitMessage();
      // oxlint-disable-next-line no-await-in-loop -- one message tells of the first job that is done
      if (!isOver()) await this.#waiters.wait();
    }
    cancel();
    this.#expectAnswers(-1);
  }

  /** Whether anything was handed over since this was last asked. */
  takeUse(): boolean {
    const isUsed = this.#isUsed;
    this.#isUsed = false;
    return isUsed;
  }

  /** Sends the workers to what else there is to do. */
  sendAway(): void {
    this.#ring?.sendAway(true);
  }

  /** Lets the memory go. Only while nothing is under way. */
  trim(): void {
    if (this.#ring?.usedBytes === 0 && this.#ring.open.length === 0) this.#ring = undefined;
  }

  /** Fails what is under way. The pool ends the workers. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimeout?.();
    const ring = this.#ring;
    for (const job of ring?.open ?? []) {
      ring?.drop(job);
      job.failed(closedError());
    }
    this.#ring = undefined;
  }

  #open(): Ring | undefined {
    while (this.#ring === undefined && this.#limitBytes >= LEAST_BYTES) {
      try {
        this.#ring = new Ring({
          sizeBytes: this.#limitBytes,
          answerHere: this.#config.codec.answer,
          now: () => this.#config.clock.now(),
        });
      } catch {
        // A page may have no memory for so much.
        this.#limitBytes /= 2;
      }
    }
    return this.#ring;
  }

  #post(
    ring: Ring,
    room: RingRoom,
    call: C,
    { resolve, reject }: { resolve: (value: R) => void; reject: (error: unknown) => void },
  ): RingJob | undefined {
    const { codec } = this.#config;
    const job = {
      room,
      describe: (numbers: Float64Array) => codec.describe(call, room.byteOffset, numbers),
      done: (out: Float64Array) => {
        this.#expectAnswers(-1);
        resolve(codec.read(call, out));
      },
      failed: (error: unknown) => {
        this.#expectAnswers(-1);
        reject(error);
      },
    };
    this.#expectAnswers(1);
    const posted = ring.post(job);
    if (posted === undefined) {
      this.#runHere(room, job);
      return undefined;
    }
    ring.awaitMessage();
    ring.publish();
    this.#watchTime();
    this.#serve(ring, ring.open.length);
    return posted;
  }

  /** Where there are too many jobs. */
  #runHere(
    { buffer, outLength: most }: RingRoom,
    { describe, done, failed, outLength = most }: Omit<NewRingJob, 'room'>,
  ): void {
    const numbers = new Float64Array(32);
    const out = new Float64Array(outLength);
    try {
      describe(numbers);
      this.#config.codec.answer(numbers, buffer, out);
      done(out);
    } catch (error) {
      failed(error);
    }
  }

  /** Asks for as many workers as there is work for. */
  #serve(ring: Ring, wanted: number): void {
    const most = Math.min(this.#config.workers, RING_MOST_WORKERS, wanted);
    if (this.#servers.size >= most) return;
    ring.sendAway(false);
    for (let worker = 0; this.#servers.size < most; worker++) {
      if (this.#servers.has(worker)) continue;
      const server = this.#pool.serve(ring.buffer, worker, () => this.#hear());
      this.#servers.set(worker, server);
      void server.ended.then(() => this.#ended(ring, worker));
    }
  }

  #hear(): void {
    this.poll();
    if (this.#awaited > 0) this.#ring?.awaitMessage();
    this.#waiters.wake();
  }

  #ended(ring: Ring, worker: number): void {
    this.#servers.delete(worker);
    ring.lost(worker);
    if (this.#isClosed) return;
    ring.poll();
    // Nobody will ever come.
    if (!this.#pool.hasWorkers) for (const job of ring.open) ring.takeBack(job);
    const now = this.#ring;
    if (now !== undefined) this.#serve(now, now.open.length);
    this.#waiters.wake();
  }

  #drop(ring: Ring, job: RingJob): void {
    ring.drop(job);
    this.#endLate(ring, job, ABANDON_MS, 'abandon');
  }

  /** Ends the worker that is at a job which was taken from it, when it is at it for so much longer. */
  #endLate(ring: Ring, job: RingJob, ms: number, how: 'kill' | 'abandon'): void {
    const worker = job.lateWorker;
    const server = worker === undefined ? undefined : this.#servers.get(worker);
    if (server === undefined) return;
    this.#config.clock.after(Math.max(ABANDON_MS, ms), () => {
      if (ring.isLate(job)) server[how]();
    });
  }

  /** What workers do not finish in time is done here, and they are ended. */
  #watchTime(): void {
    if (this.#cancelTimeout !== undefined) return;
    const { clock, callTimeoutMs } = this.#config;
    this.#cancelTimeout = clock.after(callTimeoutMs, () => {
      this.#cancelTimeout = undefined;
      const ring = this.#ring;
      if (ring === undefined) return;
      ring.poll();
      for (const job of ring.open) {
        const worker = ring.workerOf(job);
        if (worker !== undefined && clock.now() - job.postedMs >= callTimeoutMs)
          this.#servers.get(worker)?.kill();
      }
      if (ring.open.length > 0) this.#watchTime();
    });
  }

  /** Counts what somebody waits for: while there is any, workers keep a process alive. */
  #expectAnswers(change: 1 | -1): void {
    this.#awaited += change;
    if (this.#awaited === 0) {
      this.#cancelTimeout?.();
      this.#cancelTimeout = undefined;
    }
    this.#pool.setRingBusy(this.#awaited > 0);
  }
}
