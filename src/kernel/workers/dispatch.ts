/**
 * What every facade over the workers shares: the calls' options, the memory their data waits in, their abort, and the end of it all.
 */
import { checkNotAborted } from '../../base/assert.ts';
import { systemClock } from '../../base/clock.ts';
import { invalidInput, QuarkError } from '../../base/errors.ts';
import type { KernelsSettings } from './config.ts';
import type { Kernel } from '../kernel.ts';
import { closedError, WorkerPool, type PoolRun } from './pool.ts';
import { SignalFanout } from './signals.ts';
import { workerWays, type WorkerFile, type WorkerWayName } from './spawn.ts';
import { Staging } from './staging.ts';
import type { Modules, SimdLevel } from '../twins.ts';
import type { Execute } from './worker-host.ts';

/** Options of every call. */
export type KernelCallOptions = {
  /** Ends the wait: the call rejects with code `aborted`. */
  readonly signal?: AbortSignal;
  /**
   * For data over a SharedArrayBuffer: hands the memory itself to the worker instead of a copy. It must stay unchanged until the
   * promise settles. Default false; without effect on other data.
   */
  readonly borrow?: boolean;
};

/** Names of {@link KernelCallOptions}. */
export const CALL_OPTION_NAMES = ['signal', 'borrow'] as const;

/** What the kernels are made of and doing, for bug reports and tests. */
export type KernelsDiagnostics = {
  /** Implementation on the calling thread. */
  readonly kernel: Kernel['kind'];
  /** The instructions it uses: none of SIMD, those of fixed results, or the relaxed ones too. */
  readonly simd: SimdLevel;
  /** Why it is not WebAssembly, or null. */
  readonly wasmFailure: string | null;
  /** How workers are made; `pending` before the first is needed, `none` when everything runs on the calling thread. */
  readonly workerMode: WorkerWayName;
  /** What stood in the way of each way that was tried, and why workers run plain JavaScript where they do. */
  readonly workerFailures: readonly string[];
  /** Whether data reaches the workers in shared memory. */
  readonly isMemoryShared: boolean;
  readonly workerCount: number;
  readonly queuedCount: number;
  readonly runningCount: number;
  /** Workers that died since the start. */
  readonly diedWorkerCount: number;
  /** Bytes of copies on their way. */
  readonly pendingBytes: number;
  /** Bytes of buffers kept for the next copies. */
  readonly keptBytes: number;
  /** Calls that were large enough for a worker and ran on the calling thread, because `maxPendingBytes` had been reached. */
  readonly overflowCallCount: number;
};

/** The memory that the data of a call waits in. */
export type Room = {
  /** Of the staging buffer; 0 for borrowed memory. */
  readonly capacity: number;
  /** Undefined once it was lost with a worker. */
  buffer: ArrayBufferLike | undefined;
  /** Settles when the pool has no more use for the buffer. */
  done: Promise<unknown>;
};

/** Runs one call on the contents of a room. */
export type RunIn<C, R> = (room: Room, call: C) => Promise<R>;

/** What a {@link Dispatcher} needs to know. */
export type DispatcherConfig<C, R> = {
  readonly settings: Omit<KernelsSettings, 'chunkBytes' | 'relaxedSimd'>;
  readonly file: WorkerFile;
  readonly modules: () => Promise<Modules>;
  readonly runHere: Execute<C, R>;
};

/** Copies the data of calls, sends them to workers, and takes the copies back. */
export class Dispatcher<C, R> {
  readonly #settings: DispatcherConfig<C, R>['settings'];
  readonly #staging: Staging;
  readonly #pool: WorkerPool<C, R>;
  readonly #signals = new SignalFanout();
  #overflowCallCount = 0;
  #isClosed = false;

  constructor({ settings, file, modules, runHere }: DispatcherConfig<C, R>) {
    this.#settings = settings;
    const staging = new Staging({
      isShared: settings.sharedMemory,
      limitBytes: settings.maxPendingBytes,
    });
    this.#staging = staging;
    this.#pool = new WorkerPool({
      size: settings.workers,
      ways: workerWays(file, settings.workerMode, settings.spawn),
      modules,
      runHere,
      clock: settings.clock ?? systemClock,
      startTimeoutMs: settings.startTimeoutMs,
      callTimeoutMs: settings.callTimeoutMs,
      idleMs: settings.idleMs,
      onIdle: () => staging.trim(),
    });
  }

  /** @throws {QuarkError} `invalid_input`, `aborted`, or `kernel_failed` when the kernels are closed */
  checkReady(options: KernelCallOptions): void {
    if (this.#isClosed) throw closedError();
    checkCallOptions(options);
    checkNotAborted(options.signal);
  }

  /** Whether a call that takes as long as statistics of so many bytes of float32 is to be computed on the calling thread. */
  staysHere(cost: number): boolean {
    return cost <= this.#settings.inlineBytes || !this.#pool.hasWorkers;
  }

  /** Whether these bytes can be handed to a worker as they are. */
  canBorrow(buffer: ArrayBufferLike, options: KernelCallOptions): boolean {
    return options.borrow === true && this.#settings.sharedMemory && isShared(buffer);
  }

  /** A room for each size, with its buffer; undefined when there is no memory for all of them. */
  acquire(sizes: readonly number[]): (Room & { readonly buffer: ArrayBufferLike })[] | undefined {
    const needed = sizes.reduce((sum, size) => sum + this.#staging.capacityOf(size), 0);
    if (!this.#staging.hasRoom(needed)) {
      this.#overflowCallCount += 1;
      return undefined;
    }
    return sizes.map((size) => {
      const buffer = this.#staging.acquire(size);
      return { capacity: buffer.byteLength, buffer, done: Promise.resolve() };
    });
  }

  /** Takes back a room in which nothing was run. */
  release(room: Room): void {
    if (room.capacity > 0) this.#staging.release(room.capacity, room.buffer);
  }

  /** Does `work` with calls on `rooms`, which are given back afterwards. When one fails, or `signal` says so, the others are taken back. */
  async hold<T>(
    rooms: readonly Room[],
    signal: AbortSignal | undefined,
    work: (run: RunIn<C, R>) => Promise<T>,
  ): Promise<T> {
    const running = new Set<PoolRun<R>>();
    const cancel = (error: unknown): void => {
      for (const run of running) run.cancel(error);
    };
    const forget =
      signal === undefined
        ? undefined
        : this.#signals.add(signal, (reason) => {
            cancel(new QuarkError('aborted', 'The kernel call was aborted.', { cause: reason }));
          });
    try {
      return await work((room, call) => this.#run(room, call, running));
    } catch (error) {
      // The calls that are left cannot save the whole any more.
      cancel(error);
      throw error;
    } finally {
      forget?.();
      for (const room of rooms) void this.#giveBack(room);
    }
  }

  /** What it is doing. */
  state(): Omit<KernelsDiagnostics, 'kernel' | 'simd' | 'wasmFailure'> {
    const pool = this.#pool.state();
    return {
      workerMode: pool.way,
      workerFailures: pool.failures,
      isMemoryShared: this.#settings.sharedMemory,
      workerCount: pool.workerCount,
      queuedCount: pool.queuedCount,
      runningCount: pool.runningCount,
      diedWorkerCount: pool.diedCount,
      pendingBytes: this.#staging.usedBytes,
      keptBytes: this.#staging.freeBytes,
      overflowCallCount: this.#overflowCallCount,
    };
  }

  /** Ends the workers. Calls that are running or waiting fail. */
  close(): void {
    this.#isClosed = true;
    this.#pool.close();
    this.#staging.trim();
  }

  async #run(room: Room, call: C, running: Set<PoolRun<R>>): Promise<R> {
    if (room.buffer === undefined)
      throw new QuarkError(
        'kernel_failed',
        'The memory of a kernel call was lost with its worker.',
      );
    const run = this.#pool.run(call, room.buffer);
    running.add(run);
    room.done = run.done.then((returned) => {
      room.buffer = returned;
    });
    try {
      const value = await run.result;
      await room.done;
      return value;
    } finally {
      running.delete(run);
    }
  }

  async #giveBack(room: Room): Promise<void> {
    await room.done;
    if (room.capacity > 0) this.#staging.release(room.capacity, room.buffer);
    if (this.#isClosed) this.#staging.trim();
  }
}

/** A room of memory that belongs to the caller. */
export function borrowedRoom(buffer: ArrayBufferLike): Room {
  return { capacity: 0, buffer, done: Promise.resolve() };
}

function checkCallOptions({ signal, borrow }: KernelCallOptions): void {
  if (signal !== undefined && (typeof signal !== 'object' || !('addEventListener' in signal))) {
    throw invalidInput('signal', signal, 'an AbortSignal');
  }
  if (borrow !== undefined && typeof borrow !== 'boolean')
    throw invalidInput('borrow', borrow, 'true or false');
}

function isShared(buffer: ArrayBufferLike): boolean {
  return typeof SharedArrayBuffer === 'function' && buffer instanceof SharedArrayBuffer;
}
