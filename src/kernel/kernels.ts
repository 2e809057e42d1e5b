/**
 * The way to the kernels for the rest of the code: small tensors are computed on the calling thread, larger ones are copied and go to
 * the workers, very large ones in chunks. The result depends on the data and the chunk size alone, not on where it was computed.
 */
import { checkNotAborted, checkOptionNames } from '../base/assert.ts';
import { systemClock } from '../base/clock.ts';
import { ASYNC_DISPOSE } from '../base/dispose.ts';
import { invalidInput, QuarkError } from '../base/errors.ts';
import {
  checkHistogramOptions,
  checkPair,
  checkStatsOptions,
  checkTensor,
  rangeAround,
  statedType,
  type HistogramSettings,
} from './checks.ts';
import {
  createChunk,
  HISTOGRAM_ELEMENT_BYTES,
  isHistogram,
  isShared,
  isTensorPairStats,
  isTensorStats,
  PAIR_ELEMENT_BYTES,
  STATS_ELEMENT_BYTES,
  type Chunk,
  type RunChunks,
} from './chunks.ts';
import { checkKernelsConfig, type KernelsConfig, type KernelsSettings } from './config.ts';
import { executeCall, type KernelCall, type KernelResult } from './host.ts';
import type {
  Histogram,
  HistogramOptions,
  Kernel,
  PairData,
  TensorData,
  TensorPairStats,
  TensorStats,
  TensorStatsOptions,
  TensorType,
} from './kernel.ts';
import { loadKernel, type LoadedKernel } from './load.ts';
import { WorkerPool, type PoolRun } from './pool.ts';
import { mergeHistograms, mergeTensorPairStats, mergeTensorStats } from './results.ts';
import { SignalFanout } from './signals.ts';
import { workerWays, type WorkerWayName } from './spawn.ts';
import { Staging } from './staging.ts';

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

/** What the kernels are made of and doing, for bug reports and tests. */
export type KernelsDiagnostics = {
  /** Implementation on the calling thread. */
  readonly kernel: Kernel['kind'];
  /** Why it is not WebAssembly, or null. */
  readonly wasmFailure: string | null;
  /** How workers are made; `pending` before the first is needed, `none` when everything runs on the calling thread. */
  readonly workerMode: WorkerWayName;
  /** What stood in the way of each way that was tried. */
  readonly workerFailures: readonly string[];
  /** Whether tensors reach the workers in shared memory. */
  readonly isMemoryShared: boolean;
  readonly workerCount: number;
  readonly queuedCount: number;
  readonly runningCount: number;
  /** Workers that died since the start. */
  readonly diedWorkerCount: number;
  /** Bytes of tensor copies on their way. */
  readonly pendingBytes: number;
  /** Bytes of buffers kept for the next copies. */
  readonly keptBytes: number;
  /** Calls that were large enough for a worker and ran on the calling thread, because `maxPendingBytes` had been reached. */
  readonly overflowCallCount: number;
};

const CALL_OPTION_NAMES = ['signal', 'borrow'] as const;

/**
 * Loads the kernels. Workers start with the first call that needs one.
 *
 * @throws {QuarkError} `invalid_input`
 */
export async function createKernels(config: KernelsConfig = {}): Promise<Kernels> {
  const settings = checkKernelsConfig(config);
  return new Kernels(settings, await loadKernel(settings.kernel));
}

/** The kernels, with their worker pool. Make them with {@link createKernels}; close them when they are no longer needed. */
export class Kernels implements AsyncDisposable {
  /** The kernel of the calling thread, for those who want an answer at once. */
  readonly inline: Kernel;
  readonly #settings: KernelsSettings;
  readonly #wasmFailure: string | null;
  readonly #staging: Staging;
  readonly #pool: WorkerPool;
  readonly #signals = new SignalFanout();
  #overflowCallCount = 0;
  #isClosed = false;

  /** @internal */
  constructor(settings: KernelsSettings, loaded: LoadedKernel) {
    const { kernel } = loaded;
    this.inline = kernel;
    this.#settings = settings;
    this.#wasmFailure = loaded.wasmFailure;
    const staging = new Staging({
      isShared: settings.sharedMemory,
      limitBytes: settings.maxPendingBytes,
    });
    this.#staging = staging;
    this.#pool = new WorkerPool({
      size: settings.workers,
      ways: workerWays(settings.workerMode, settings.spawn),
      runHere: (call, view) => executeCall(kernel, call, view),
      clock: settings.clock ?? systemClock,
      startTimeoutMs: settings.startTimeoutMs,
      callTimeoutMs: settings.callTimeoutMs,
      idleMs: settings.idleMs,
      onIdle: () => staging.trim(),
    });
  }

  /**
   * Statistics of a tensor. The data is copied before this returns and is never changed or transferred.
   *
   * @throws {QuarkError} `invalid_input`, `aborted`, or `kernel_failed` when the worker died or the kernels are closed
   */
  async tensorStats(
    data: TensorData,
    options: TensorStatsOptions & KernelCallOptions = {},
  ): Promise<TensorStats> {
    const type = checkTensor(data, options);
    const settings = checkStatsOptions(options, CALL_OPTION_NAMES);
    const chunks = this.#admit(data, type, 'tensorStats', options);
    if (chunks === undefined) return this.#statsHere(data, settings);
    return this.#withChunks(chunks, options.signal, (run) => this.#statsThere(run, settings));
  }

  /**
   * Histogram of a tensor. The data is copied before this returns and is never changed or transferred.
   *
   * @throws {QuarkError} `invalid_input`, `aborted`, or `kernel_failed` when the worker died or the kernels are closed
   */
  async histogram(
    data: TensorData,
    options: HistogramOptions & KernelCallOptions = {},
  ): Promise<Histogram> {
    const type = checkTensor(data, options);
    const settings = checkHistogramOptions(options, CALL_OPTION_NAMES);
    const chunks = this.#admit(data, type, 'histogram', options);
    if (chunks === undefined) return this.#histogramHere(data, settings);
    return this.#withChunks(chunks, options.signal, async (run) => {
      // One chunk finds its own range; several need one that spans them all.
      const call =
        chunks.length === 1
          ? settings
          : withRange(settings, () => this.#statsThere(run, statedType(settings)));
      const parts = await run({ op: 'histogram', options: await call });
      return mergeHistograms(parts.filter(isHistogram));
    });
  }

  /**
   * Norms of two tensors and of their difference, and the cosine between them, in one pass. The data is copied before this returns
   * and is never changed or transferred.
   *
   * @param second of the type and length of `first`
   * @throws {QuarkError} `invalid_input`, `aborted`, or `kernel_failed` when the worker died or the kernels are closed
   */
  async tensorPairStats(
    first: PairData,
    second: PairData,
    options: Pick<KernelCallOptions, 'signal'> = {},
  ): Promise<TensorPairStats> {
    const type = checkPair(first, second);
    if (typeof options !== 'object' || options === null)
      throw invalidInput('options', options, 'an object');
    checkOptionNames('options', options, ['signal']);
    this.#checkReady(options);
    const halfBytes = this.#settings.chunkBytes / 2;
    const seconds = this.#split(second, halfBytes);
    const parts = this.#split(first, halfBytes).map((part, i) => [part, seconds[i] ?? second]);
    const chunks = this.#staysHere(first.length * PAIR_ELEMENT_BYTES)
      ? undefined
      : this.#stage(parts, type);
    if (chunks === undefined) return this.inline.tensorPairStats(first, second);
    return this.#withChunks(chunks, options.signal, async (run) => {
      const found = await run({ op: 'tensorPairStats' });
      return mergeTensorPairStats(found.filter(isTensorPairStats));
    });
  }

  /** What the kernels are made of and doing. */
  diagnostics(): KernelsDiagnostics {
    const pool = this.#pool.state();
    return {
      kernel: this.inline.kind,
      wasmFailure: this.#wasmFailure,
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

  /** Ends the workers. Calls that are running or waiting fail with `kernel_failed`, and so do later ones. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#pool.close();
    this.#staging.trim();
  }

  /** Same as {@link Kernels.close}. */
  async [ASYNC_DISPOSE](): Promise<void> {
    await this.close();
  }

  /** The copies of the data's chunks; undefined when it is to be computed here. */
  #admit(
    data: TensorData,
    type: TensorType,
    op: KernelCall['op'],
    options: KernelCallOptions,
  ): Chunk[] | undefined {
    this.#checkReady(options);
    const cost = op === 'tensorStats' ? STATS_ELEMENT_BYTES[type] : HISTOGRAM_ELEMENT_BYTES;
    if (this.#staysHere(data.length * cost)) return undefined;
    const parts = this.#split(data);
    if (options.borrow === true && this.#settings.sharedMemory && isShared(data.buffer)) {
      return parts.map(({ byteOffset, length, buffer }) =>
        createChunk({ type, byteOffset, length }, buffer, 0),
      );
    }
    return this.#stage(
      parts.map((part) => [part]),
      type,
    );
  }

  #checkReady(options: KernelCallOptions): void {
    if (this.#isClosed) {
      throw new QuarkError(
        'kernel_failed',
        'The kernels are closed. Make new ones with createKernels().',
        { details: { reason: 'closed' } },
      );
    }
    checkCallOptions(options);
    checkNotAborted(options.signal);
  }

  #staysHere(cost: number): boolean {
    return cost <= this.#settings.inlineBytes || !this.#pool.hasWorkers;
  }

  /** A chunk of each group, its arrays one after the other; undefined when there is no room for the copies. */
  #stage(groups: readonly (readonly TensorData[])[], type: TensorType): Chunk[] | undefined {
    const sizes = groups.map((group) => group.reduce((sum, part) => sum + part.byteLength, 0));
    const needed = sizes.reduce((sum, size) => sum + this.#staging.capacityOf(size), 0);
    if (!this.#staging.hasRoom(needed)) {
      this.#overflowCallCount += 1;
      return undefined;
    }
    return groups.map((group, i) => {
      const buffer = this.#staging.acquire(sizes[i] ?? 0);
      let at = 0;
      let length = 0;
      for (const part of group) {
        const bytes = new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
        new Uint8Array(buffer).set(bytes, at);
        at += part.byteLength;
        length += part.length;
      }
      return createChunk({ type, byteOffset: 0, length }, buffer, buffer.byteLength);
    });
  }

  #split(data: TensorData, chunkBytes: number = this.#settings.chunkBytes): TensorData[] {
    const chunkLength = chunkBytes / data.BYTES_PER_ELEMENT;
    const parts: TensorData[] = [];
    for (let at = 0; at === 0 || at < data.length; at += chunkLength)
      parts.push(data.subarray(at, at + chunkLength));
    return parts;
  }

  #statsHere(data: TensorData, options: TensorStatsOptions): TensorStats {
    if (data.byteLength <= this.#settings.chunkBytes) return this.inline.tensorStats(data, options);
    return mergeTensorStats(
      this.#split(data).map((part) => this.inline.tensorStats(part, options)),
    );
  }

  #histogramHere(data: TensorData, settings: HistogramSettings): Histogram {
    const parts = this.#split(data);
    if (parts.length === 1) return this.inline.histogram(data, settings);
    const { min, max } = settings.range ?? this.#statsHere(data, statedType(settings));
    const range = settings.range ?? rangeAround(min, max);
    return mergeHistograms(
      parts.map((part) => this.inline.histogram(part, { ...settings, range })),
    );
  }

  async #statsThere(run: RunChunks, options: TensorStatsOptions): Promise<TensorStats> {
    const parts = await run({ op: 'tensorStats', options });
    return mergeTensorStats(parts.filter(isTensorStats));
  }

  async #withChunks<T>(
    chunks: readonly Chunk[],
    signal: AbortSignal | undefined,
    work: (run: RunChunks) => Promise<T>,
  ): Promise<T> {
    const running = new Set<PoolRun>();
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
      return await work((call) =>
        Promise.all(chunks.map((chunk) => this.#runChunk(chunk, call, running))),
      );
    } catch (error) {
      // The chunks that are left cannot save the call any more.
      cancel(error);
      throw error;
    } finally {
      forget?.();
      for (const chunk of chunks) void this.#giveBack(chunk);
    }
  }

  async #runChunk(chunk: Chunk, call: KernelCall, running: Set<PoolRun>): Promise<KernelResult> {
    const { place, buffer } = chunk;
    if (buffer === undefined)
      throw new QuarkError(
        'kernel_failed',
        'The memory of a kernel call was lost with its worker.',
      );
    const run = this.#pool.run(call, { ...place, buffer });
    running.add(run);
    chunk.done = run.done.then((returned) => {
      chunk.buffer = returned;
    });
    try {
      const value = await run.result;
      await chunk.done;
      return value;
    } finally {
      running.delete(run);
    }
  }

  async #giveBack(chunk: Chunk): Promise<void> {
    await chunk.done;
    if (chunk.capacity > 0) this.#staging.release(chunk.capacity, chunk.buffer);
    if (this.#isClosed) this.#staging.trim();
  }
}

function checkCallOptions({ signal, borrow }: KernelCallOptions): void {
  if (signal !== undefined && (typeof signal !== 'object' || !('addEventListener' in signal))) {
    throw invalidInput('signal', signal, 'an AbortSignal');
  }
  if (borrow !== undefined && typeof borrow !== 'boolean')
    throw invalidInput('borrow', borrow, 'true or false');
}

async function withRange(
  settings: HistogramSettings,
  findStats: () => Promise<TensorStats>,
): Promise<HistogramSettings> {
  if (settings.range !== undefined) return settings;
  const { min, max } = await findStats();
  return { ...settings, range: rangeAround(min, max) };
}
