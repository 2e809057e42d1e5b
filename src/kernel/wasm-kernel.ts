/**
 * The kernels in SIMD WebAssembly. A tensor is copied in piece by piece: a piece fits in the second-level cache, so the kernel
 * reads it from there, and the memory of an instance stays small whatever the size of the tensor.
 */
import { compileKernels, instantiateKernels, type KernelExports } from './abi.ts';
import { Arena } from './arena.ts';
import {
  checkHistogramOptions,
  checkPair,
  checkStatsOptions,
  checkTensor,
  rangeAround,
  type StatsSettings,
} from './checks.ts';
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
import { histogramFromCells, pairFromSlots, statsFromSlots } from './results.ts';

const PIECE_BYTES = 128 * 1024;
const LIMIT_BYTES = 64 * 1024 * 1024;
/** An instance whose memory has grown beyond this is dropped after the call that grew it, which gives the memory back. */
const RETAIN_BYTES = 4 * 1024 * 1024;
/** A table cell is a u32: cells are collected before this many elements have been counted. */
const COLLECT_ELEMENTS = 2 ** 31;
const CELL_BYTES = 4 * HISTOGRAM_LANES;

/** What {@link loadWasmKernel} may be told; the defaults are right but for tests. */
export type WasmKernelOptions = {
  /** Bytes copied into WebAssembly memory at a time; a multiple of 16. */
  readonly pieceBytes?: number;
  /** Memory above this is given back after a call. */
  readonly retainBytes?: number;
};

/**
 * Compiles the WebAssembly kernel.
 *
 * @throws {WebAssembly.CompileError} where SIMD is missing or the page's policy forbids WebAssembly
 */
export async function loadWasmKernel(options: WasmKernelOptions = {}): Promise<WasmKernel> {
  return createWasmKernel(await compileKernels(), options);
}

/** The kernel over a module that has been compiled, on this thread or on another. */
export function createWasmKernel(
  module: WebAssembly.Module,
  options: WasmKernelOptions = {},
): WasmKernel {
  return new WasmKernel(
    module,
    options.pieceBytes ?? PIECE_BYTES,
    options.retainBytes ?? RETAIN_BYTES,
  );
}

/** The WebAssembly kernel. Make one with {@link loadWasmKernel}. */
export class WasmKernel implements Kernel {
  readonly kind = 'wasm';
  readonly #module: WebAssembly.Module;
  readonly #pieceBytes: number;
  readonly #retainBytes: number;
  #instance: Instance;

  constructor(module: WebAssembly.Module, pieceBytes: number, retainBytes: number) {
    this.#module = module;
    this.#pieceBytes = pieceBytes;
    this.#retainBytes = retainBytes;
    this.#instance = createInstance(module, pieceBytes);
  }

  /** Bytes of WebAssembly memory held between calls. */
  get memoryBytes(): number {
    return this.#instance.arena.capacityBytes;
  }

  tensorStats(data: TensorData, options?: TensorStatsOptions): TensorStats {
    const type = checkTensor(data, options);
    const settings = checkStatsOptions(options);
    return statsFromSlots(data.length, this.#stats(data, type, settings), settings);
  }

  histogram(data: TensorData, options?: HistogramOptions): Histogram {
    const type = checkTensor(data, options);
    const settings = checkHistogramOptions(options);
    const range = settings.range ?? this.#findRange(data, type);
    const { bins } = settings;
    const { arena, exports, piece } = this.#instance;
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
      this.#eachPiece(data, (count) => {
        if (counted + count > COLLECT_ELEMENTS) {
          collect();
          counted = 0;
        }
        counted += count;
        exports.histogram[type](piece, count, range.min, range.max, bins, table, besideAt);
      });
      collect();
    } finally {
      arena.release(mark);
      this.#giveBack();
    }
    return histogramFromCells(data.length, cells, beside, settings, range);
  }

  tensorPairStats(first: PairData, second: PairData): TensorPairStats {
    const type = checkPair(first, second);
    const { arena, exports, piece, state } = this.#instance;
    const sums = new Float64Array(PAIR_SLOTS);
    const halfBytes = this.#pieceBytes / 2;
    const there = piece + halfBytes;
    for (let at = 0; at < first.byteLength; at += halfBytes) {
      const sizeBytes = Math.min(halfBytes, first.byteLength - at);
      const bytes = arena.bytes();
      bytes.set(new Uint8Array(first.buffer, first.byteOffset + at, sizeBytes), piece);
      bytes.set(new Uint8Array(second.buffer, second.byteOffset + at, sizeBytes), there);
      exports.pair[type](piece, there, sizeBytes / first.BYTES_PER_ELEMENT, state);
      addTo(sums, arena.slots(state, PAIR_SLOTS));
    }
    return pairFromSlots(first.length, sums);
  }

  #findRange(data: TensorData, type: TensorType): { readonly min: number; readonly max: number } {
    const slots = this.#stats(data, type, { epsilon: 0, threshold: null });
    return rangeAround(slots[STATS_MIN] ?? Infinity, slots[STATS_MAX] ?? -Infinity);
  }

  /** The state after all of `data`. Valid until the next call. */
  #stats(data: TensorData, type: TensorType, settings: StatsSettings): Float64Array {
    const { exports, piece, state, arena } = this.#instance;
    // float32 lanes compare with float32 bounds: rounded so that they decide as the float64 ones would.
    const isFloat32 = type === 'float32' || type === 'float16' || type === 'bfloat16';
    const limit = settings.threshold ?? Infinity;
    const epsilon = isFloat32 ? floorFloat32(settings.epsilon) : settings.epsilon;
    const threshold = isFloat32 ? ceilFloat32(limit) : limit;
    const accumulate = exports.stats[type];
    exports.statsReset(state);
    this.#eachPiece(data, (count) => accumulate(piece, count, epsilon, threshold, state));
    return arena.slots(state, STATS_SLOTS);
  }

  #eachPiece(data: TensorData, work: (count: number) => void): void {
    const { arena, piece } = this.#instance;
    const elementBytes = data.BYTES_PER_ELEMENT;
    for (let at = 0; at < data.byteLength; at += this.#pieceBytes) {
      const sizeBytes = Math.min(this.#pieceBytes, data.byteLength - at);
      arena.bytes().set(new Uint8Array(data.buffer, data.byteOffset + at, sizeBytes), piece);
      work(sizeBytes / elementBytes);
    }
  }

  #giveBack(): void {
    if (this.memoryBytes > this.#retainBytes)
      this.#instance = createInstance(this.#module, this.#pieceBytes);
  }
}

type Instance = {
  readonly exports: KernelExports;
  readonly arena: Arena;
  readonly state: number;
  readonly piece: number;
};

function createInstance(module: WebAssembly.Module, pieceBytes: number): Instance {
  const exports = instantiateKernels(module);
  const arena = new Arena(exports.memory, exports.heapBase(), LIMIT_BYTES);
  const state = arena.allocate(STATS_SLOTS * SLOT_BYTES);
  return { exports, arena, state, piece: arena.allocate(pieceBytes) };
}

function addTo(target: Float64Array, source: Float64Array): void {
  for (let i = 0; i < target.length; i++) target[i] = (target[i] ?? 0) + (source[i] ?? 0);
}

const float32 = new Float32Array(1);
const bits = new Int32Array(float32.buffer);

/** The largest float32 not above `value`, which is 0 or more. */
function floorFloat32(value: number): number {
  float32[0] = value;
  if ((float32[0] ?? 0) > value) bits[0] = (bits[0] ?? 0) - 1;
  return float32[0] ?? 0;
}

/** The smallest float32 not below `value`, which is 0 or more. */
function ceilFloat32(value: number): number {
  float32[0] = value;
  if ((float32[0] ?? 0) < value) bits[0] = (bits[0] ?? 0) + 1;
  return float32[0] ?? 0;
}
