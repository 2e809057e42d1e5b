/**
 * What every facade over the workers shares: the calls' options, the memory their data waits in, their abort, and the end of it all.
 */
import { checkNotAborted } from '../../base/assert.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { invalidInput, QuarkError } from '../../base/errors.ts';
import type { KernelsSettings } from './config.ts';
import { HandOverCosts, LEAST_TIMED_COST, type HandOverDiagnostics } from './hand-over-costs.ts';
import type { InPlaceDiagnostics, Kernel } from '../kernel.ts';
import { closedError, WorkerPool, type PoolRun } from './pool.ts';
import { RingCrew, type RingCodec } from './ring-crew.ts';
import type { RingRoom } from './ring/ring.ts';
import { SignalFanout } from './signals.ts';
import { workerWays, type WorkerFile, type WorkerWayName } from './spawn.ts';
import { Staging } from './staging.ts';
import type { StepCrew } from './step-crew.ts';
import type { TransferCrew, TransferCrewConfig, TransferPool } from './transfer-crew.ts';
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
  /** How data is handed to workers, and what that and computing on the spot cost on this machine. */
  readonly handOver: HandOverDiagnostics;
  /** How tensors in the memory of a framework are read on the calling thread; left out where that is plain JavaScript. */
  readonly inPlace?: InPlaceDiagnostics;
};

/** The memory that the data of a call waits in. */
export type Room = {
  /** Of the staging buffer; 0 for borrowed memory and that of a ring. */
  readonly capacity: number;
  /** Undefined once it was lost with a worker. */
  buffer: ArrayBufferLike | undefined;
  /** Where its data begins in the buffer. */
  readonly byteOffset: number;
  /** Where it is part of a ring. */
  readonly ringRoom?: RingRoom;
  /** Bytes of its data. */
  readonly sizeBytes?: number;
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
  /** How calls are written to a ring; left out for workers that serve none. */
  readonly codec?: RingCodec<C, R>;
  /** Computes the statistics of float32 on this thread, to be timed; left out where `inlineBytes` is not to be measured. */
  readonly compute?: (data: Float32Array) => unknown;
};

/** Of calls that are not measured. */
const DEFAULT_INLINE_BYTES = 256 * 1024;

/** Copies the data of calls, sends them to workers, and takes the copies back. */
export class Dispatcher<C, R> {
  readonly #settings: DispatcherConfig<C, R>['settings'];
  readonly #staging: Staging;
  readonly #pool: WorkerPool<C, R>;
  readonly #crew: RingCrew<C, R> | undefined;
  /** Takes probed steps where there is no ring, once there are any. */
  #transfers: TransferCrew | undefined;
  readonly #codec: RingCodec<C, R> | undefined;
  readonly #costs: HandOverCosts | undefined;
  readonly #signals = new SignalFanout();
  #overflowCallCount = 0;
  #isClosed = false;

  /** When memory for the call under way was asked for, while its data is being handed over. */
  #beganMs: number | undefined;

  constructor({ settings, file, modules, runHere, codec, compute }: DispatcherConfig<C, R>) {
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
      onIdle: () => {
        staging.trim();
        this.#crew?.trim();
        this.#transfers?.trim();
      },
      onCrowded: () => this.#crew?.sendAway(),
      takeRingUse: () => this.#crew?.takeUse() ?? false,
    });
    const { sharedMemory } = settings;
    if (this.#pool.hasWorkers) this.#codec = codec;
    if (this.#codec !== undefined && sharedMemory) {
      const { workers } = settings;
      const config = { ...this.#crewSettings(), workers, codec: this.#codec };
      this.#crew = new RingCrew(config, this.#pool);
    }
    if (compute !== undefined && settings.inlineBytes === null && this.#pool.hasWorkers)
      this.#costs = new HandOverCosts({ compute, isShared: sharedMemory });
  }

  /** @throws {QuarkError} `invalid_input`, `aborted`, or `kernel_failed` when the kernels are closed */
  checkReady(options: KernelCallOptions): void {
    if (this.#isClosed) throw closedError();
    checkCallOptions(options);
    checkNotAborted(options.signal);
  }

  /** Whether a call about so many bytes that takes as long as statistics of `cost` bytes of float32 is to be computed on the calling thread. */
  staysHere(cost: number, sizeBytes: number): boolean {
    if (!this.#pool.hasWorkers) return true;
    const { inlineBytes } = this.#settings;
    return inlineBytes === null && this.#costs !== undefined
      ? this.#costs.staysHere(cost, sizeBytes)
      : cost <= (inlineBytes ?? DEFAULT_INLINE_BYTES);
  }

  /**
   * How probed steps reach workers, and what is known of the cost; undefined where they do not.
   *
   * @param transfer makes what takes them where there is no ring: those who probe nothing need not load it
   */
  steps(transfer: (config: TransferCrewConfig, pool: TransferPool) => TransferCrew):
    | {
        readonly crew: StepCrew;
        readonly costs: HandOverCosts | undefined;
        readonly fromCost: number;
      }
    | undefined {
    const codec = this.#codec;
    if (this.#crew === undefined && codec !== undefined && !this.#isClosed) {
      const config = { ...this.#crewSettings(), answerHere: codec.answer };
      this.#transfers ??= transfer(config, this.#pool);
    }
    const crew = this.#crew ?? this.#transfers;
    if (crew === undefined) return undefined;
    const fromCost = this.#settings.inlineBytes ?? DEFAULT_INLINE_BYTES;
    return { crew, costs: this.#costs, fromCost };
  }

  /** Computes a call on the calling thread; from how long that takes follows where later ones are computed. */
  runHere<T>(cost: number, work: () => T): T {
    if (this.#costs === undefined || cost < LEAST_TIMED_COST) return work();
    const began = performance.now();
    const result = work();
    this.#costs.computed(cost, performance.now() - began);
    return result;
  }

  /** Whether these bytes can be handed to a worker as they are. */
  canBorrow(buffer: ArrayBufferLike, options: KernelCallOptions): boolean {
    return options.borrow === true && this.#settings.sharedMemory && isShared(buffer);
  }

  /**
   * A room for each size, with its buffer; undefined when there is no memory for all of them.
   *
   * @param outLength numbers that a result can have
   */
  acquire(
    sizes: readonly number[],
    outLength = 0,
  ): (Room & { readonly buffer: ArrayBufferLike })[] | undefined {
    this.#beganMs = performance.now();
    if (this.#crew !== undefined) return this.#acquireInRing(this.#crew, sizes, outLength);
    const needed = sizes.reduce((sum, size) => sum + this.#staging.capacityOf(size), 0);
    if (!this.#staging.hasRoom(needed)) {
      this.#overflowCallCount += 1;
      return undefined;
    }
    return sizes.map((size) => {
      const buffer = this.#staging.acquire(size);
      return {
        capacity: buffer.byteLength,
        buffer,
        byteOffset: 0,
        sizeBytes: size,
        done: Promise.resolve(),
      };
    });
  }

  #acquireInRing(
    crew: RingCrew<C, R>,
    sizes: readonly number[],
    outLength: number,
  ): (Room & { readonly buffer: ArrayBufferLike })[] | undefined {
    const rooms = crew.acquire(sizes, outLength);
    if (rooms === undefined) this.#overflowCallCount += 1;
    return rooms?.map((ringRoom, i) => {
      const { buffer, byteOffset } = ringRoom;
      const sizeBytes = sizes[i] ?? 0;
      return { capacity: 0, buffer, byteOffset, ringRoom, sizeBytes, done: Promise.resolve() };
    });
  }

  /** Takes back a room in which nothing was run. */
  release(room: Room): void {
    if (room.ringRoom !== undefined) this.#crew?.release(room.ringRoom);
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
      const result = work((room, call) => this.#run(room, call, running));
      this.#countHandOver(rooms);
      return await result;
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
    const ring = this.#crew?.counts;
    const transfers = this.#transfers?.counts;
    const usedBytes = (ring?.usedBytes ?? 0) + (transfers?.usedBytes ?? 0);
    const warmBytes = (ring?.warmBytes ?? 0) + (transfers?.warmBytes ?? 0);
    return {
      workerMode: pool.way,
      workerFailures: pool.failures,
      isMemoryShared: this.#settings.sharedMemory,
      workerCount: pool.workerCount,
      queuedCount: pool.queuedCount + (ring?.queued ?? 0),
      runningCount: pool.runningCount + (ring?.running ?? 0),
      diedWorkerCount: pool.diedCount,
      pendingBytes: this.#staging.usedBytes + usedBytes,
      keptBytes: this.#staging.freeBytes + warmBytes,
      overflowCallCount: this.#overflowCallCount,
      handOver: this.#handOver(),
    };
  }

  /** Ends the workers. Calls that are running or waiting fail. */
  close(): void {
    this.#isClosed = true;
    this.#crew?.close();
    this.#transfers?.close();
    this.#pool.close();
    this.#staging.trim();
  }

  #handOver(): HandOverDiagnostics {
    const { inlineBytes } = this.#settings;
    const known = {
      way: !this.#pool.hasWorkers ? 'none' : this.#crew === undefined ? 'message' : 'ring',
      stepWay: this.#stepWay(),
      lostStepCount: this.#transfers?.counts.lost ?? 0,
    } as const;
    if (this.#costs !== undefined) return { ...known, ...this.#costs.diagnostics() };
    return {
      ...known,
      copyBytesPerMs: 0,
      kernelBytesPerMs: 0,
      fromBytes: this.#pool.hasWorkers ? (inlineBytes ?? DEFAULT_INLINE_BYTES) : null,
      calibrationMs: 0,
    };
  }

  #stepWay(): HandOverDiagnostics['stepWay'] {
    if (this.#codec === undefined || !this.#pool.hasWorkers) return 'none';
    return this.#crew === undefined ? 'transfer' : 'ring';
  }

  #crewSettings(): {
    readonly limitBytes: number;
    readonly clock: Clock;
    readonly callTimeoutMs: number;
  } {
    const { maxPendingBytes, clock = systemClock, callTimeoutMs } = this.#settings;
    return { limitBytes: maxPendingBytes, clock, callTimeoutMs };
  }

  #countHandOver(rooms: readonly Room[]): void {
    const began = this.#beganMs;
    this.#beganMs = undefined;
    if (began === undefined || this.#costs === undefined) return;
    const sizeBytes = rooms.reduce((sum, { sizeBytes: size }) => sum + (size ?? 0), 0);
    this.#costs.handedOver(sizeBytes, performance.now() - began);
  }

  async #run(room: Room, call: C, running: Set<PoolRun<R>>): Promise<R> {
    if (room.buffer === undefined)
      throw new QuarkError(
        'kernel_failed',
        'The memory of a kernel call was lost with its worker.',
      );
    const run =
      room.ringRoom === undefined || this.#crew === undefined
        ? this.#pool.run(call, room.buffer)
        : this.#crew.run(room.ringRoom, call);
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
    this.release(room);
    if (this.#isClosed) this.#staging.trim();
  }
}

/** A room of memory that belongs to the caller. */
export function borrowedRoom(buffer: ArrayBufferLike): Room {
  return { capacity: 0, buffer, byteOffset: 0, done: Promise.resolve() };
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
