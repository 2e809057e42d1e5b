/**
 * The way to the kernels for the rest of the code: small tensors are computed on the calling thread, larger ones are copied and go to
 * the workers, very large ones in chunks. The result depends on the data and the chunk size alone, not on where it was computed.
 */
import { checkOptionNames } from '../../base/assert.ts';
import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { invalidInput } from '../../base/errors.ts';
import {
  checkHistogramOptions,
  checkPair,
  checkStatsOptions,
  checkTensor,
  checkUnitStatsOptions,
  rangeAround,
  statedType,
  type HistogramSettings,
} from './checks.ts';
import {
  HISTOGRAM_ELEMENT_BYTES,
  isHistogram,
  isTensorPairStats,
  isTensorStats,
  isTensorUnitStats,
  PAIR_ELEMENT_BYTES,
  STATS_ELEMENT_BYTES,
  UNIT_ELEMENT_BYTES,
  type Chunk,
  type RunChunks,
} from './chunks.ts';
import { checkKernelsConfig, type KernelsConfig, type KernelsSettings } from '../workers/config.ts';
import {
  borrowedRoom,
  CALL_OPTION_NAMES,
  Dispatcher,
  type KernelCallOptions,
  type KernelsDiagnostics,
} from '../workers/dispatch.ts';
import { executeCall, type KernelCall, type KernelResult, type TensorJob } from './calls.ts';
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
  TensorUnitStats,
  TensorUnitStatsOptions,
} from '../kernel.ts';
import { inSpan, KERNEL_START } from '../../base/profiling.ts';
import { mergeHistograms } from './histogram-bins.ts';
import { loadKernel } from './load.ts';
import { mergeTensorPairStats, mergeTensorStats } from './results.ts';
import { outLengthOf, tensorRingCodec } from './ring-codec.ts';
import { sampleTensor } from './sampling.ts';
import { TENSOR_WORKER } from './tensor-worker.ts';
import type { Loaded } from '../twins.ts';
import { mergeTensorUnitStats } from './unit-results.ts';
import { WasmKernel } from './wasm-kernel.ts';

/**
 * Loads the kernels over tensors: statistics, histograms, dead units. Workers start with the first call that needs one.
 *
 * @param config default {@link DEFAULT_KERNELS_CONFIG}
 *
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { createKernels } from 'quark-sdk/kernels';
 *
 * const kernels = await createKernels();
 * const { mean, max, nanCount } = await kernels.tensorStats(new Float32Array([1, 2, 3, Number.NaN]));
 * console.log(mean, max, nanCount); // 2 3 1
 * const { kind } = kernels.inline; // wasm where the machine has SIMD, else js
 * console.log(kind, kernels.inline.histogram(new Float32Array([0, 0.2, 0.9]), { bins: 2, range: { min: 0, max: 1 } }).counts);
 * await kernels.close();
 * ```
 */
export async function createKernels(config: KernelsConfig = {}): Promise<Kernels> {
  const settings = checkKernelsConfig(config);
  return inSpan(KERNEL_START, async () => new Kernels(settings, await loadKernel(settings)));
}

/** The kernels, with their worker pool. Make them with {@link createKernels}; close them when they are no longer needed. */
export class Kernels implements AsyncDisposable {
  /** The kernel of the calling thread, for those who want an answer at once. */
  readonly inline: Kernel;
  readonly #settings: KernelsSettings;
  readonly #loaded: Loaded<Kernel>;
  readonly #dispatcher: Dispatcher<TensorJob, KernelResult>;

  /** @internal */
  constructor(settings: KernelsSettings, loaded: Loaded<Kernel>) {
    const { kernel, modules } = loaded;
    this.inline = kernel;
    this.#settings = settings;
    this.#loaded = loaded;
    this.#dispatcher = new Dispatcher({
      settings,
      file: TENSOR_WORKER,
      modules,
      runHere: ({ call, view }, buffer) => executeCall(kernel, call, { ...view, buffer }),
      codec: tensorRingCodec(kernel),
      compute: (data) => kernel.tensorStats(data),
    });
  }

  /** The way to the workers for what probes ask. @internal */
  steps(
    ...make: Parameters<Dispatcher<TensorJob, KernelResult>['steps']>
  ): ReturnType<Dispatcher<TensorJob, KernelResult>['steps']> {
    return this.#dispatcher.steps(...make);
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
    const call = { op: 'tensorStats', options: settings } as const;
    const cost = data.length * STATS_ELEMENT_BYTES[type];
    const chunks = this.#admit(this.#split(data), type, cost, call, options);
    if (chunks === undefined)
      return this.#dispatcher.runHere(cost, () => this.#statsHere(data, settings));
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
    const { maxHistogramValues, ...settings } = checkHistogramOptions(options, CALL_OPTION_NAMES);
    // Sampled before anything is copied, and before chunks are cut, so that the sample depends on the tensor alone.
    const sample = sampleTensor(data, maxHistogramValues);
    const found = await this.#histogramOf(sample, type, settings, options);
    return { ...found, elementCount: data.length };
  }

  /**
   * Statistics of each unit of a tensor, its length a multiple of `units * innerSize`. The data is copied before this returns and is
   * never changed or transferred. Chunks are whole rows, `units * innerSize` elements each, whatever their size.
   *
   * @throws {QuarkError} `invalid_input`, `aborted`, or `kernel_failed` when the worker died or the kernels are closed
   */
  async tensorUnitStats(
    data: TensorData,
    options: TensorUnitStatsOptions & KernelCallOptions,
  ): Promise<TensorUnitStats> {
    const type = checkTensor(data, options);
    const settings = checkUnitStatsOptions(data, options, CALL_OPTION_NAMES);
    const parts = this.#split(data, settings.units * settings.innerSize);
    const call = { op: 'tensorUnitStats', options: settings } as const;
    const cost = data.length * UNIT_ELEMENT_BYTES;
    const chunks = this.#admit(parts, type, cost, call, options);
    if (chunks === undefined)
      return this.#dispatcher.runHere(cost, () =>
        mergeTensorUnitStats(parts.map((part) => this.inline.tensorUnitStats(part, settings))),
      );
    return this.#withChunks(chunks, options.signal, async (run) => {
      const found = await run(call);
      return mergeTensorUnitStats(found.filter(isTensorUnitStats));
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
    const chunkLength = this.#settings.chunkBytes / 2 / first.BYTES_PER_ELEMENT;
    const parts: (readonly [PairData, PairData])[] = [];
    for (let at = 0; at === 0 || at < first.length; at += chunkLength) {
      const end = at + chunkLength;
      parts.push([first.subarray(at, end), second.subarray(at, end)]);
    }
    const call = { op: 'tensorPairStats' } as const;
    const cost = first.length * PAIR_ELEMENT_BYTES;
    const chunks = this.#dispatcher.staysHere(cost, first.byteLength * 2)
      ? undefined
      : this.#stage(parts, type, call);
    if (chunks === undefined)
      return this.#dispatcher.runHere(cost, () =>
        mergeTensorPairStats(parts.map(([a, b]) => this.inline.tensorPairStats(a, b))),
      );
    return this.#withChunks(chunks, options.signal, async (run) => {
      const found = await run(call);
      return mergeTensorPairStats(found.filter(isTensorPairStats));
    });
  }

  /** What the kernels are made of and doing. */
  diagnostics(): KernelsDiagnostics {
    const { inline } = this;
    return {
      kernel: inline.kind,
      ...(inline instanceof WasmKernel ? { inPlace: { ...inline.inPlace } } : {}),
      simd: this.#loaded.simd,
      wasmFailure: this.#loaded.wasmFailure,
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

  /** The copies of a tensor's parts; undefined when it is to be computed here. */
  #admit(
    parts: readonly TensorData[],
    type: TensorType,
    cost: number,
    call: KernelCall,
    options: KernelCallOptions,
  ): Chunk[] | undefined {
    this.#dispatcher.checkReady(options);
    const sizeBytes = parts.reduce((sum, part) => sum + part.byteLength, 0);
    if (this.#dispatcher.staysHere(cost, sizeBytes)) return undefined;
    if (parts.every((part) => this.#dispatcher.canBorrow(part.buffer, options))) {
      return parts.map(({ byteOffset, length, buffer }) => ({
        view: { type, byteOffset, length },
        room: borrowedRoom(buffer),
      }));
    }
    const groups = parts.map((part) => [part]);
    return this.#stage(groups, type, call);
  }

  /** A chunk of each group, its arrays one after the other; undefined when there is no room for the copies. */
  #stage(
    groups: readonly (readonly TensorData[])[],
    type: TensorType,
    call: KernelCall,
  ): Chunk[] | undefined {
    const sizes = groups.map((group) => group.reduce((sum, part) => sum + part.byteLength, 0));
    return this.#dispatcher.acquire(sizes, outLengthOf(call))?.map((room, i) => {
      const group = groups[i] ?? [];
      const length = group.reduce((sum, part) => sum + part.length, 0);
      const fill = (): void => {
        const to = new Uint8Array(room.buffer);
        let at = room.byteOffset;
        for (const part of group) {
          to.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
          at += part.byteLength;
        }
      };
      return { view: { type, byteOffset: room.byteOffset, length }, room, fill };
    });
  }

  /** Parts of at most so many bytes, of whole rows of so many elements; one row when it is larger. */
  #split(data: TensorData, rowLength = 1): TensorData[] {
    const { chunkBytes } = this.#settings;
    const rows = Math.max(1, Math.floor(chunkBytes / data.BYTES_PER_ELEMENT / rowLength));
    const chunkLength = rows * rowLength;
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

  async #histogramOf(
    data: TensorData,
    type: TensorType,
    settings: HistogramSettings,
    options: KernelCallOptions,
  ): Promise<Histogram> {
    const whole = { op: 'histogram', options: settings } as const;
    const cost = data.length * HISTOGRAM_ELEMENT_BYTES;
    const chunks = this.#admit(this.#split(data), type, cost, whole, options);
    if (chunks === undefined)
      return this.#dispatcher.runHere(cost, () => this.#histogramHere(data, settings));
    return this.#withChunks(chunks, options.signal, async (run) => {
      // One chunk finds its own range; several need one that spans them all.
      const call =
        chunks.length === 1 || hasRange(settings)
          ? settings
          : withRange(settings, await this.#statsThere(run, statedType(settings)));
      const parts = await run({ op: 'histogram', options: call });
      return mergeHistograms(parts.filter(isHistogram));
    });
  }

  #histogramHere(data: TensorData, settings: HistogramSettings): Histogram {
    const parts = this.#split(data);
    if (parts.length === 1) return this.inline.histogram(data, settings);
    const call = hasRange(settings)
      ? settings
      : withRange(settings, this.#statsHere(data, statedType(settings)));
    return mergeHistograms(parts.map((part) => this.inline.histogram(part, call)));
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
        work((call) =>
          Promise.all(
            chunks.map((chunk) => {
              const { view, room } = chunk;
              chunk.fill?.();
              chunk.fill = undefined;
              return run(room, { call, view });
            }),
          ),
        ),
    );
  }
}

function hasRange(settings: HistogramSettings): boolean {
  return settings.scale !== 'uniform' || settings.range !== undefined;
}

function withRange(settings: HistogramSettings, { min, max }: TensorStats): HistogramSettings {
  return settings.scale === 'uniform' ? { ...settings, range: rangeAround(min, max) } : settings;
}
