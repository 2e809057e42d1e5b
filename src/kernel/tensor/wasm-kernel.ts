/**
 * The kernels in SIMD WebAssembly. A tensor is copied in block by block: a block fits in the second-level cache, so the kernel
 * reads it from there, and the memory of an instance stays small whatever the size of the tensor.
 */
import { compileKernels, type KernelExports, type WideType } from './abi.ts';
import {
  checkHistogramOptions,
  checkPair,
  checkStatsOptions,
  checkTensor,
  checkUnitStatsOptions,
  rangeAround,
  uniformSettings,
  type HistogramSettings,
  type StatsSettings,
} from './checks.ts';
import { binCount, histogramFromCells, logShape, type PlacedSettings } from './histogram-bins.ts';
import type {
  Histogram,
  HistogramOptions,
  InPlaceDiagnostics,
  Kernel,
  PairData,
  TensorData,
  TensorPairStats,
  TensorStats,
  TensorStatsOptions,
  TensorType,
  TensorUnitStats,
  TensorUnitStatsOptions,
  ValueRange,
} from '../kernel.ts';
import {
  HISTOGRAM_EXTRA_CELLS,
  HISTOGRAM_LANES,
  HISTOGRAM_SLOTS,
  PAIR_SLOTS,
  SLOT_BYTES,
  STATS_MAX,
  STATS_MIN,
  STATS_SLOTS,
} from './layout.ts';
import { lentMemory } from './lent-memory.ts';
import { pairFromSlots, statsFromSlots } from './results.ts';
import { countSample } from './sampling.ts';
import { unitStatsFromTotals } from './unit-results.ts';
import {
  ceilFloat32,
  createInstance,
  floorFloat32,
  wideType,
  type Instance,
} from './wasm-instance.ts';
import type { Modules } from '../twins.ts';
import { addUpUnitsInWasm } from './wasm-units.ts';

const BLOCK_BYTES = 128 * 1024;
/** An instance whose memory has grown beyond this is dropped after the call that grew it, which gives the memory back. */
const RETAIN_BYTES = 4 * 1024 * 1024;
/** A table cell is a u32: cells are collected before this many elements have been counted. */
const COLLECT_ELEMENTS = 2 ** 31;
const CELL_BYTES = 4 * HISTOGRAM_LANES;

/** Values that are widened at a time. */
const WIDEN_LENGTH = 1024;
const NARROW_BYTES = { float16: 2, bfloat16: 2, uint8: 1, int32: 4 } as const;

/** What {@link loadWasmKernel} may be told; the defaults are right but for tests. */
export type WasmKernelOptions = {
  /** Bytes copied into WebAssembly memory at a time; a multiple of 16. */
  readonly blockBytes?: number;
  /** Memory above this is given back after a call. */
  readonly retainBytes?: number;
  /** Whether relaxed SIMD is used where the engine has it. */
  readonly relaxedSimd?: boolean;
};

/**
 * Compiles the WebAssembly kernel.
 *
 * @throws {WebAssembly.CompileError} where SIMD is missing or the page's policy forbids WebAssembly
 */
export async function loadWasmKernel(options: WasmKernelOptions = {}): Promise<WasmKernel> {
  return createWasmKernel(await compileKernels(options), options);
}

/** The kernel over modules that have been compiled, on this thread or on another. */
export function createWasmKernel(modules: Modules, options: WasmKernelOptions = {}): WasmKernel {
  return new WasmKernel(
    modules,
    options.blockBytes ?? BLOCK_BYTES,
    options.retainBytes ?? RETAIN_BYTES,
  );
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The WebAssembly kernel. Make one with {@link loadWasmKernel}. */
export class WasmKernel implements Kernel {
  readonly kind = 'wasm';
  /** What became of tensors in memory that a framework lends. */
  readonly inPlace: Mutable<InPlaceDiagnostics> = { callCount: 0, failure: null };
  readonly #modules: Modules;
  readonly #blockBytes: number;
  readonly #retainBytes: number;
  #instance: Instance;

  constructor(modules: Modules, blockBytes: number, retainBytes: number) {
    this.#modules = modules;
    this.#blockBytes = blockBytes;
    this.#retainBytes = retainBytes;
    this.#instance = createInstance(modules, blockBytes);
  }

  /** Bytes of WebAssembly memory held between calls. */
  get memoryBytes(): number {
    return this.#instance.arena.capacityBytes;
  }

  tensorStats(data: TensorData, options?: TensorStatsOptions): TensorStats {
    return this.uncheckedStats(data, checkTensor(data, options), checkStatsOptions(options));
  }

  uncheckedStats(data: TensorData, type: TensorType, settings: StatsSettings): TensorStats {
    return statsFromSlots(data.length, this.#stats(data, type, settings), settings);
  }

  histogram(data: TensorData, options?: HistogramOptions): Histogram {
    const type = checkTensor(data, options);
    return countSample(data, checkHistogramOptions(options), (sample, settings) =>
      this.#histogram(sample, type, settings),
    );
  }

  uncheckedHistogram(
    data: TensorData,
    type: TensorType,
    bins: number,
    range: ValueRange,
  ): Histogram {
    return this.#histogram(data, type, uniformSettings(bins, range));
  }

  tensorPairStats(first: PairData, second: PairData): TensorPairStats {
    const type = checkPair(first, second);
    const { arena, exports, block, state } =
      first.buffer === second.buffer ? this.#instanceFor(first) : this.#instance;
    const sums = new Float64Array(PAIR_SLOTS);
    const halfBytes = this.#blockBytes / 2;
    for (let at = 0; at < first.byteLength; at += halfBytes) {
      const sizeBytes = Math.min(halfBytes, first.byteLength - at);
      const here = arena.locate(block, first, at, sizeBytes);
      const there = arena.locate(block + halfBytes, second, at, sizeBytes);
      exports.pair[type](here, there, sizeBytes / first.BYTES_PER_ELEMENT, state);
      addTo(sums, arena.slots(state, PAIR_SLOTS));
    }
    return pairFromSlots(first.length, sums);
  }

  tensorUnitStats(data: TensorData, options: TensorUnitStatsOptions): TensorUnitStats {
    const type = checkTensor(data, options);
    const settings = checkUnitStatsOptions(data, options);
    return unitStatsFromTotals(
      data.length,
      addUpUnitsInWasm(this.#instance, data, type, settings),
      settings,
    );
  }

  #histogram(data: TensorData, type: TensorType, settings: HistogramSettings): Histogram {
    const placed: PlacedSettings =
      settings.scale === 'uniform'
        ? { ...settings, range: settings.range ?? this.#findRange(data, type) }
        : settings;
    const bins = binCount(placed);
    const { arena, exports } = this.#instance;
    const cellCount = bins + HISTOGRAM_EXTRA_CELLS;
    const cells = new Float64Array(cellCount);
    const beside = new Float64Array(HISTOGRAM_SLOTS);
    const mark = arena.mark();
    try {
      const table = arena.allocate(cellCount * CELL_BYTES);
      const out = arena.allocate(cellCount * SLOT_BYTES);
      const besideAt = arena.allocate(HISTOGRAM_SLOTS * SLOT_BYTES);
      const collect = (): void => {
        exports.histogramCollect(table, bins, out);
        addTo(cells, arena.slots(out, cellCount));
        addTo(beside, arena.slots(besideAt, HISTOGRAM_SLOTS));
        exports.histogramReset(table, bins, besideAt);
      };
      exports.histogramReset(table, bins, besideAt);
      let counted = 0;
      const count = this.#counter(type, placed, table, besideAt);
      this.#eachBlock(this.#instance, data, (_, length) => {
        if (counted + length > COLLECT_ELEMENTS) {
          collect();
          counted = 0;
        }
        counted += length;
        count(length);
      });
      collect();
    } finally {
      arena.release(mark);
      this.#giveBack();
    }
    return histogramFromCells(data.length, cells, beside, placed);
  }

  /** Counts so many values of the block. */
  #counter(
    type: TensorType,
    settings: PlacedSettings,
    table: number,
    beside: number,
  ): (length: number) => void {
    const { exports, block, arena } = this.#instance;
    const count = countOf(exports, wideType(type), settings, table, beside);
    if (type === 'float32' || type === 'float64') return (length) => count(block, length);
    const wide = arena.allocate(WIDEN_LENGTH * SLOT_BYTES);
    const widen = exports.widen[type];
    const elementBytes = NARROW_BYTES[type];
    return (length) => {
      for (let at = 0; at < length; at += WIDEN_LENGTH) {
        const part = Math.min(WIDEN_LENGTH, length - at);
        widen(block + at * elementBytes, part, wide);
        count(wide, part);
      }
    };
  }

  #findRange(data: TensorData, type: TensorType): { readonly min: number; readonly max: number } {
    const slots = this.#stats(data, type, { epsilon: 0, threshold: null });
    return rangeAround(slots[STATS_MIN] ?? Infinity, slots[STATS_MAX] ?? -Infinity);
  }

  /** The state after all of `data`. Valid until the next call. */
  #stats(data: TensorData, type: TensorType, settings: StatsSettings): Float64Array {
    const instance = this.#instanceFor(data);
    const { exports, state, arena } = instance;
    // float32 lanes compare with float32 bounds: rounded so that they decide as the float64 ones would.
    const isFloat32 = wideType(type) === 'float32' && type !== 'uint8';
    const limit = settings.threshold ?? Infinity;
    const epsilon = isFloat32 ? floorFloat32(settings.epsilon) : settings.epsilon;
    const threshold = isFloat32 ? ceilFloat32(limit) : limit;
    const accumulate = exports.stats[type];
    exports.statsReset(state);
    this.#eachBlock(instance, data, (address, count) =>
      accumulate(address, count, epsilon, threshold, state),
    );
    return arena.slots(state, STATS_SLOTS);
  }

  /** The instance that needs no copy of `data`, where there is one. */
  #instanceFor(data: TensorData): Instance {
    const own = this.#instance;
    const found = lentMemory(data.buffer)?.instanceFor(data, this.#modules, own) ?? own;
    if (typeof found === 'string') {
      this.inPlace.failure = found;
      return own;
    }
    if (found !== own) this.inPlace.callCount += 1;
    return found;
  }

  #eachBlock(
    { arena, block }: Instance,
    data: TensorData,
    work: (address: number, count: number) => void,
  ): void {
    const elementBytes = data.BYTES_PER_ELEMENT;
    for (let at = 0; at < data.byteLength; at += this.#blockBytes) {
      const sizeBytes = Math.min(this.#blockBytes, data.byteLength - at);
      work(arena.locate(block, data, at, sizeBytes), sizeBytes / elementBytes);
    }
  }

  #giveBack(): void {
    if (this.memoryBytes > this.#retainBytes)
      this.#instance = createInstance(this.#modules, this.#blockBytes);
  }
}

function countOf(
  exports: KernelExports,
  type: WideType,
  settings: PlacedSettings,
  table: number,
  beside: number,
): (at: number, length: number) => void {
  if (settings.scale === 'uniform') {
    const { bins, range } = settings;
    const run = exports.histogram[type];
    return (at, length) => run(at, length, range.min, range.max, bins, table, beside);
  }
  const { first, octaves, steps } = logShape(settings);
  const run = exports.histogramLog[type];
  return (at, length) => run(at, length, first, octaves, steps, table, beside);
}

function addTo(target: Float64Array, source: Float64Array): void {
  for (let i = 0; i < target.length; i++) target[i] = (target[i] ?? 0) + (source[i] ?? 0);
}
