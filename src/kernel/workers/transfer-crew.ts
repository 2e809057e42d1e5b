/**
 * Hands probed steps to workers where memory cannot be shared: a step is put together in one buffer, which is transferred, and which the
 * worker sends back with the answers written into it. A buffer is used again and again; a fresh one visits a worker first, which touches
 * its memory. An answer needs a turn of the event loop, so nothing is handed over in a loop that gives none.
 */
import type { Clock } from '../../base/clock.ts';
import { QuarkError } from '../../base/errors.ts';
import { nextTask } from '../../base/next-task.ts';
import { aligned, JobMemory, Waiters } from './ring/job-memory.ts';
import { closedError, type PoolRun, type WorkerPool } from './pool.ts';
import { JOB_OUT, JOB_OUT_LENGTH } from './ring/ring-memory.ts';
import type { RingAnswer } from './ring/serve-ring.ts';
import {
  LATE_MS,
  type NewStepJob,
  type StepBatch,
  type StepCrew,
  type StepJob,
  type StepSpace,
} from './step-crew.ts';
import {
  TRANSFER_DATA_AT,
  TRANSFER_DONE,
  TRANSFER_JOBS,
  transferJob,
  transferStates,
} from './transferred.ts';

/** What a {@link TransferCrew} needs to know. */
export type TransferCrewConfig = {
  /** Most bytes of all buffers. */
  readonly limitBytes: number;
  /** Does a job on this thread. */
  readonly answerHere: RingAnswer;
  readonly clock: Clock;
  readonly callTimeoutMs: number;
};

/** What it needs of a pool. */
export type TransferPool = Pick<WorkerPool<never, unknown>, 'hasWorkers' | 'runJobs'>;

/** Buffers, those that are under way included. */
const MOST_BUFFERS = 3;
/** Bytes of the first ones, which double until a step has room: two chunks of a step, and what lies before them. */
const FIRST_BYTES = 9 << 18;
/** Less than that is no buffer. */
const LEAST_BYTES = 64 * 1024;
/** Steps that may be handed over without a turn of the event loop: two instruments may probe one step. */
const STEPS_A_TURN = 2;
/** After that a step that is away is given up, and its worker replaced. */
const LOST_MS = 5000;
/** By that a timer may be ahead of the clock. */
const TIMER_MS = 20;
/** So often a step that is away is asked for without a turn of the event loop, until it is given up. */
const MOST_ASKED = 16;

export class TransferCrew implements StepCrew {
  readonly way = 'transfer';
  readonly messages = 2;
  readonly #config: TransferCrewConfig;
  readonly #pool: TransferPool;
  readonly #free: ArrayBuffer[] = [];
  /** What is away or has come back and has not been told, oldest first. */
  #batches: TransferBatch[] = [];
  readonly #waiters = new Waiters();
  #limitBytes: number;
  #sizeBytes: number;
  /** Buffers that there are, wherever. */
  #buffers = 0;
  #usedBytes = 0;
  #publishedSinceTurn = 0;
  #lostCount = 0;
  #isUnfit = false;
  #isClosed = false;

  constructor(config: TransferCrewConfig, pool: TransferPool) {
    this.#config = config;
    this.#pool = pool;
    this.#limitBytes = Math.floor(config.limitBytes / MOST_BUFFERS);
    this.#sizeBytes = Math.min(FIRST_BYTES, this.#limitBytes);
  }

  /** Bytes that are in use, and that wait for the next step; and how many steps were lost. */
  get counts(): {
    readonly usedBytes: number;
    readonly warmBytes: number;
    readonly lost: number;
  } {
    const warmBytes = this.#free.reduce((sum, { byteLength }) => sum + byteLength, 0);
    return { usedBytes: this.#usedBytes, warmBytes, lost: this.#lostCount };
  }

  prepare(): void {
    if (this.#isOpen && this.#free.length === 0) this.#warm();
  }

  open(): StepBatch | undefined {
    if (!this.#isOpen || this.#publishedSinceTurn >= STEPS_A_TURN) return undefined;
    const buffer = this.#free.pop();
    if (buffer === undefined) {
      this.#warm();
      return undefined;
    }
    this.#usedBytes += buffer.byteLength;
    const { answerHere, clock } = this.#config;
    return new TransferBatch(buffer, {
      answerHere,
      now: () => clock.now(),
      isClosed: () => this.#isClosed,
      wants: (sizeBytes) => this.#wants(sizeBytes),
      publish: (batch) => this.#publish(batch),
      takeOver: (batch, isLast) => this.#takeOver(batch, isLast),
      over: (batch) => this.#over(batch),
    });
  }

  poll(): void {
    if (this.#batches.length === 0) return;
    for (const batch of this.#batches) batch.tell();
  }

  async settle(jobs: readonly StepJob[]): Promise<void> {
    const isOver = (): boolean => this.#isClosed || jobs.every(({ isSettled }) => isSettled);
    this.poll();
    if (isOver()) return;
    const { clock } = this.#config;
    const ask = (): void => {
      for (const job of jobs) job.takeOver(false);
      this.#waiters.wake();
    };
    const waitedMs = clock.now() - Math.max(...jobs.map(({ postedMs }) => postedMs));
    // In the queue of a pool without a worker it can be done here; what is away is given up in the end.
    const cancels = [LATE_MS, this.#lostMs + TIMER_MS].map((ms) =>
      clock.after(Math.max(0, ms - waitedMs), ask),
    );
    while (!isOver()) {
      // oxlint-disable-next-line no-await-in-loop -- one message tells of the first step that is done
      await this.#waiters.wait();
      this.poll();
    }
    for (const cancel of cancels) cancel();
  }

  /** Lets the memory go that waits. */
  trim(): void {
    this.#buffers -= this.#free.length;
    this.#free.length = 0;
  }

  /** Fails what is under way. The pool ends the workers. */
  close(): void {
    this.#isClosed = true;
    for (const batch of this.#batches) batch.fail(closedError());
    this.#batches = [];
    this.trim();
    this.#waiters.wake();
  }

  get #isOpen(): boolean {
    const isLarge = this.#sizeBytes >= LEAST_BYTES;
    return isLarge && !this.#isClosed && !this.#isUnfit && this.#pool.hasWorkers;
  }

  get #lostMs(): number {
    return Math.min(LOST_MS, this.#config.callTimeoutMs);
  }

  /** Sends a fresh buffer to a worker, which starts if there is none. */
  #warm(): void {
    if (this.#buffers >= MOST_BUFFERS) return;
    let buffer: ArrayBuffer;
    try {
      buffer = new ArrayBuffer(this.#sizeBytes);
    } catch {
      // A page may have no memory for so much.
      this.#limitBytes = this.#sizeBytes / 2;
      this.#sizeBytes = this.#limitBytes;
      return;
    }
    this.#buffers += 1;
    const run = this.#pool.runJobs(0, buffer);
    this.#watch(run);
    void run.done.then((returned) => this.#keep(returned));
  }

  /** A worker that knows no jobs is of no use. */
  #watch({ result }: PoolRun<unknown>, onError?: (error: unknown) => void): void {
    result.catch((error: unknown) => {
      onError?.(error);
      if (error instanceof QuarkError && error.code === 'unsupported') this.#isUnfit = true;
    });
  }

  /** Takes a buffer that nobody uses any more; undefined when it was lost. */
  #keep(buffer: ArrayBufferLike | undefined): void {
    const isUseful =
      buffer instanceof ArrayBuffer && buffer.byteLength >= this.#sizeBytes && this.#isOpen;
    if (isUseful) this.#free.push(buffer);
    else this.#buffers -= 1;
  }

  /** A step had no room: later ones get larger buffers. */
  #wants(sizeBytes: number): void {
    while (this.#sizeBytes < sizeBytes && this.#sizeBytes < this.#limitBytes)
      this.#sizeBytes = Math.min(this.#limitBytes, 2 * this.#sizeBytes);
    const tooSmall = this.#free.filter(({ byteLength }) => byteLength < this.#sizeBytes);
    if (tooSmall.length > 0) this.trim();
  }

  #publish(batch: TransferBatch): void {
    this.#publishedSinceTurn += 1;
    void nextTask().then(() => {
      this.#publishedSinceTurn = 0;
      batch.hasTurned = true;
    });
    this.#batches.push(batch);
    const run = batch.send((jobs, buffer) => this.#pool.runJobs(jobs, buffer));
    let reason: unknown;
    this.#watch(run, (error) => (reason = error));
    void run.done.then((returned) => {
      if (returned instanceof ArrayBuffer) batch.comesBack(returned);
      else {
        this.#lose(batch, reason);
        batch.end();
      }
      this.#waiters.wake();
    });
  }

  #takeOver(batch: TransferBatch, isLast: boolean): void {
    batch.tell();
    if (batch.isTold || batch.takeBack()) return;
    const agedMs = this.#config.clock.now() - batch.postedMs;
    const isLate = agedMs >= this.#lostMs;
    const isStarved = !batch.hasTurned && ++batch.asked >= MOST_ASKED;
    if (!isLast && !isLate && !isStarved) return;
    const reason = isLate ? `no answer within ${this.#lostMs} ms` : 'the event loop had no turn';
    const error = lostError(reason);
    this.#lose(batch, error);
    if (isLate) batch.cancel(error);
    this.#waiters.wake();
  }

  #lose(batch: TransferBatch, error: unknown): void {
    if (batch.isTold) return;
    this.#lostCount += 1;
    batch.fail(error ?? lostError('its worker is gone'));
  }

  /** Its buffer is needed no more. */
  #over(batch: TransferBatch): void {
    this.#batches = this.#batches.filter((one) => one !== batch);
    this.#usedBytes -= batch.sizeBytes;
    this.#keep(batch.buffer);
  }
}

/** What a batch needs of its crew. */
type Crew = {
  readonly answerHere: RingAnswer;
  readonly now: () => number;
  readonly isClosed: () => boolean;
  readonly wants: (sizeBytes: number) => void;
  readonly publish: (batch: TransferBatch) => void;
  readonly takeOver: (batch: TransferBatch, isLast: boolean) => void;
  readonly over: (batch: TransferBatch) => void;
};

/** One step in its buffer. */
class TransferBatch implements StepBatch {
  readonly sizeBytes: number;
  /** When it was sent. */
  postedMs = 0;
  /** Whether the event loop has had a turn since. */
  hasTurned = false;
  /** How often it was asked for until then. */
  asked = 0;
  readonly #crew: Crew;
  readonly #jobs: TransferJob[] = [];
  /** Undefined while it is away. */
  #buffer: ArrayBuffer | undefined;
  readonly #memory: JobMemory;
  #top: number = TRANSFER_DATA_AT;
  #run: PoolRun<unknown> | undefined;
  #isPublished = false;
  #isOver = false;

  constructor(buffer: ArrayBuffer, crew: Crew) {
    this.#crew = crew;
    this.#buffer = buffer;
    this.sizeBytes = buffer.byteLength;
    this.#memory = new JobMemory(buffer);
  }

  get buffer(): ArrayBuffer | undefined {
    return this.#buffer;
  }

  /** Whether every job has been told. */
  get isTold(): boolean {
    return this.#jobs.every(({ isSettled }) => isSettled);
  }

  space(sizeBytes: number, outLength: number): StepSpace | undefined {
    const byteOffset = this.#top;
    const outOffset = byteOffset + aligned(sizeBytes);
    const end = outOffset + aligned(outLength * 8);
    if (end > this.sizeBytes) this.#crew.wants(end);
    if (end > this.sizeBytes || this.#jobs.length >= TRANSFER_JOBS) return undefined;
    this.#top = end;
    return {
      byteOffset,
      outLength,
      numbers: this.#memory.numbers,
      copy: (data, at) => this.#memory.copy(data, at),
      release: () => {
        if (this.#top === end) this.#top = byteOffset;
      },
      offer: (job) => this.#offer(job, outOffset),
    };
  }

  publish(): void {
    this.#isPublished = true;
    if (this.#jobs.length === 0 || this.isTold) this.end();
    else if (this.#crew.isClosed()) this.tell();
    else this.#crew.publish(this);
  }

  /** Hands the buffer over. */
  send(run: (jobs: number, buffer: ArrayBuffer) => PoolRun<unknown>): PoolRun<unknown> {
    const buffer = this.#buffer ?? new ArrayBuffer(0);
    transferStates(buffer).fill(0, 0, this.#jobs.length);
    this.postedMs = this.#crew.now();
    this.#buffer = undefined;
    this.#run = run(this.#jobs.length, buffer);
    return this.#run;
  }

  /** The buffer is back. Its answers are told by {@link tell}. */
  comesBack(buffer: ArrayBuffer): void {
    if (this.#isOver) return;
    this.#buffer = buffer;
    // Nobody waits for it any more.
    if (this.isTold) this.end();
  }

  /** Tells the answers, if they are here. */
  tell(): void {
    const buffer = this.#buffer;
    if (buffer === undefined || !this.#isPublished || this.#isOver) return;
    const states = transferStates(buffer);
    this.#jobs.forEach((job, i) => {
      if (job.isSettled) return;
      const numbers = transferJob(buffer, i);
      if (states[i] === TRANSFER_DONE)
        job.tell(new Float64Array(buffer, numbers[JOB_OUT] ?? 0, numbers[JOB_OUT_LENGTH] ?? 0));
      else this.#doHere(job, numbers, buffer);
    });
    this.end();
  }

  /** Does here what no worker has begun; false where one has. */
  takeBack(): boolean {
    const buffer = this.#run?.takeBack();
    if (!(buffer instanceof ArrayBuffer)) return false;
    this.#buffer = buffer;
    this.tell();
    return true;
  }

  takeOver(isLast: boolean): void {
    this.#crew.takeOver(this, isLast);
  }

  /** Gives the buffer back, if it is here. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#crew.over(this);
  }

  /** Gives up what is away, and its worker. */
  cancel(error: unknown): void {
    this.#run?.cancel(error);
  }

  /** Every job that has not been told fails. */
  fail(error: unknown): void {
    for (const job of this.#jobs) job.fail(error);
  }

  /** A job was given up. */
  dropped(): void {
    if (this.isTold && this.#isPublished && this.#buffer !== undefined) this.end();
  }

  #offer(job: NewStepJob, outOffset: number): StepJob | undefined {
    const buffer = this.#buffer;
    if (buffer === undefined || this.#isPublished) return undefined;
    const numbers = transferJob(buffer, this.#jobs.length);
    job.describe(numbers);
    numbers[JOB_OUT] = outOffset;
    numbers[JOB_OUT_LENGTH] = job.outLength;
    const offered = new TransferJob(this, job, this.#crew.now());
    this.#jobs.push(offered);
    return offered;
  }

  #doHere(job: TransferJob, numbers: Float64Array, buffer: ArrayBuffer): void {
    const out = new Float64Array(numbers[JOB_OUT_LENGTH] ?? 0);
    try {
      this.#crew.answerHere(numbers, buffer, out);
    } catch (error) {
      job.fail(error);
      return;
    }
    job.tell(out);
  }
}

class TransferJob implements StepJob {
  readonly postedMs: number;
  isSettled = false;
  readonly #batch: TransferBatch;
  readonly #job: NewStepJob;

  constructor(batch: TransferBatch, job: NewStepJob, postedMs: number) {
    this.#batch = batch;
    this.#job = job;
    this.postedMs = postedMs;
  }

  tell(out: Float64Array): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#job.done(out);
  }

  fail(error: unknown): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#job.failed(error);
  }

  takeOver(isLast: boolean): void {
    if (!this.isSettled) this.#batch.takeOver(isLast);
  }

  drop(): void {
    this.isSettled = true;
    this.#batch.dropped();
  }
}

function lostError(reason: string): QuarkError {
  const message = `A probed step was lost on its way to a worker: ${reason}. It is left out.`;
  return new QuarkError('kernel_failed', message, { details: { reason } });
}
