/**
 * The way to the kernels for the rest of the code: small tensors are computed on the calling thread, larger ones are copied and go to
 * the workers, very large ones in chunks. The result depends on the data and the chunk size alone, not on where it was computed.
 */
import { checkOptionNames } from '../base/assert.ts';
import { ASYNC_DISPOSE } from '../base/dispose.ts';
import { invalidInput } from '../base/errors.ts';
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
  HISTOGRAM_ELEMENT_BYTES,
  isHistogram,
  isTensorPairStats,
  isTensorStats,
  PAIR_ELEMENT_BYTES,
  STATS_ELEMENT_BYTES,
  type Chunk,
  type RunChunks,
} from './chunks.ts';
import { checkKernelsConfig, type KernelsConfig, type KernelsSettings } from './config.ts';
import {
  borrowedRoom,
  CALL_OPTION_NAMES,
  Dispatcher,
  type KernelCallOptions,
  type KernelsDiagnostics,
} from './dispatch.ts';
import { executeCall, type KernelCall, type KernelResult, type TensorJob } from './host.ts';
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
import { loadKernel } from './load.ts';
import { mergeHistograms, mergeTensorPairStats, mergeTensorStats } from './results.ts';
import { TENSOR_WORKER } from './tensor-worker.ts';
import type { Loaded } from './twins.ts';

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
  readonly #dispatcher: Dispatcher<TensorJob, KernelResult>;

  /** @internal */
  constructor(settings: KernelsSettings, { kernel, wasmFailure, module }: Loaded<Kernel>) {
    this.inline = kernel;
    this.#settings = settings;
    this.#wasmFailure = wasmFailure;
    this.#dispatcher = new Dispatcher({
      settings,
      file: TENSOR_WORKER,
      module,
      runHere: ({ call, place }, buffer) => executeCall(kernel, call, { ...place, buffer }),
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
    this.#dispatcher.checkReady(options);
    const halfBytes = this.#settings.chunkBytes / 2;
    const seconds = this.#split(second, halfBytes);
    const parts = this.#split(first, halfBytes).map((part, i) => [part, seconds[i] ?? second]);
    const chunks = this.#dispatcher.staysHere(first.length * PAIR_ELEMENT_BYTES)
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
    return {
      kernel: this.inline.kind,
      wasmFailure: this.#wasmFailure,
      ...this.#dispatcher.state(),
    };
  }

  /** Ends the workers. Calls that are running or waiting fail with `kernel_failed`, and so do later ones. */
  async close(): Promise<void> {
    this.#dispatcher.close();
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
    this.#dispatcher.checkReady(options);
    const cost = op === 'tensorStats' ? STATS_ELEMENT_BYTES[type] : HISTOGRAM_ELEMENT_BYTES;
    if (this.#dispatcher.staysHere(data.length * cost)) return undefined;
    const parts = this.#split(data);
    if (this.#dispatcher.canBorrow(data.buffer, options)) {
      return parts.map(({ byteOffset, length, buffer }) => ({
        place: { type, byteOffset, length },
        room: borrowedRoom(buffer),
      }));
    }
    return this.#stage(
      parts.map((part) => [part]),
      type,
    );
  }

  /** A chunk of each group, its arrays one after the other; undefined when there is no room for the copies. */
  #stage(groups: readonly (readonly TensorData[])[], type: TensorType): Chunk[] | undefined {
    const sizes = groups.map((group) => group.reduce((sum, part) => sum + part.byteLength, 0));
    return this.#dispatcher.acquire(sizes)?.map((room, i) => {
      let at = 0;
      let length = 0;
      for (const part of groups[i] ?? []) {
        const bytes = new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
        new Uint8Array(room.buffer).set(bytes, at);
        at += part.byteLength;
        length += part.length;
      }
      return { place: { type, byteOffset: 0, length }, room };
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
    return this.#dispatcher.hold(
      chunks.map(({ room }) => room),
      signal,
      (run) =>
        work((call) => Promise.all(chunks.map(({ place, room }) => run(room, { call, place })))),
    );
  }
}

async function withRange(
  settings: HistogramSettings,
  findStats: () => Promise<TensorStats>,
): Promise<HistogramSettings> {
  if (settings.range !== undefined) return settings;
  const { min, max } = await findStats();
  return { ...settings, range: rangeAround(min, max) };
}
