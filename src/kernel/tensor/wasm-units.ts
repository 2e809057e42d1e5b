/**
 * Statistics of units in WebAssembly. The running ones of at most {@link UNIT_TILE} units are kept at a time, so the memory of an
 * instance stays small whatever the number of units; each value is copied in once.
 */
import type { UnitSettings } from './checks.ts';
import type { TensorData, TensorType } from '../kernel.ts';
import {
  UNIT_INACTIVE_BYTES,
  UNIT_LARGEST_BYTES,
  UNIT_NON_FINITE_BYTES,
  UNIT_STATE_BYTES,
  UNIT_TILE,
} from './layout.ts';
import { createUnitTotals, type UnitTotals } from './unit-results.ts';
import { floorFloat32, wideType, type Instance } from './wasm-instance.ts';

/** Rows of fewer units are taken several at a time, as rows of this many or more. */
const FEW_UNITS = 64;
/** A sum of the state takes in so many rows of eight, or runs, before it is added to the total: that bounds its rounding. */
const COLLECT_SUMS = 4096;
const WIDE_BYTES = { float32: 4, float64: 8 } as const;

/** The totals of each unit of `data`. */
export function addUpUnitsInWasm(
  instance: Instance,
  data: TensorData,
  type: TensorType,
  settings: UnitSettings,
): UnitTotals {
  const { arena } = instance;
  const mark = arena.mark();
  try {
    const reader = new UnitReader(instance, data, type, settings);
    if (settings.innerSize === 1) reader.readRows();
    else reader.readRuns();
    return reader.totals;
  } finally {
    arena.release(mark);
  }
}

class UnitReader {
  readonly totals: UnitTotals;
  readonly #instance: Instance;
  readonly #data: TensorData;
  readonly #type: TensorType;
  readonly #settings: UnitSettings;
  readonly #epsilon: number;
  readonly #state: number;
  readonly #wide: number;
  /** Values in a block. */
  readonly #blockLength: number;

  constructor(instance: Instance, data: TensorData, type: TensorType, settings: UnitSettings) {
    const { arena, blockBytes, block } = instance;
    this.totals = createUnitTotals(settings.units);
    this.#instance = instance;
    this.#data = data;
    this.#type = type;
    this.#settings = settings;
    const wide = wideType(type);
    this.#epsilon = wide === 'float32' ? floorFloat32(settings.epsilon) : settings.epsilon;
    this.#blockLength = blockBytes / WIDE_BYTES[wide];
    this.#state = arena.allocate(UNIT_STATE_BYTES);
    // The slack is that of the block.
    this.#wide = type === wide ? block : arena.allocate(blockBytes + 32);
    this.#clear();
  }

  /** Tensors whose unit axis is the last. */
  readRows(): void {
    const { units } = this.#settings;
    const { length } = this.#data;
    const width = units * Math.ceil(FEW_UNITS / units);
    const rows = Math.floor(length / width);
    const tile = Math.min(width, UNIT_TILE, this.#blockLength);
    for (let from = 0; from < width; from += tile)
      this.#readTile(from, Math.min(tile, width - from), width, rows);
    const rest = length - rows * width;
    if (rest > 0) {
      this.#load(rows * width, rest, 0);
      this.#rows(1, rest);
      this.#collect(0, rest, false);
    }
  }

  /** Units `from` to `from + tile` of all rows. */
  #readTile(from: number, tile: number, width: number, rows: number): void {
    const depth = Math.floor(this.#blockLength / tile);
    let isFirst = width === this.#settings.units;
    let sums = 0;
    for (let row = 0; row < rows; row += depth) {
      const count = Math.min(depth, rows - row);
      if (tile === width) this.#load(row * width, count * width, 0);
      else {
        for (let i = 0; i < count; i++) this.#load((row + i) * width + from, tile, i * tile);
      }
      this.#rows(count, tile);
      sums += Math.ceil(count / 8);
      if (sums < COLLECT_SUMS) continue;
      this.#collect(from, tile, isFirst);
      isFirst = false;
      sums = 0;
    }
    this.#collect(from, tile, isFirst);
  }

  /** Tensors whose units have runs of elements. */
  readRuns(): void {
    const { units, innerSize } = this.#settings;
    const outer = this.#data.length / (units * innerSize);
    const most = Math.floor(this.#blockLength / innerSize);
    for (let from = 0; from < units; from += UNIT_TILE) {
      const tile = Math.min(UNIT_TILE, units - from);
      let isFirst = true;
      let sums = 0;
      for (let i = 0; i < outer; i++) {
        const start = (i * units + from) * innerSize;
        if (most > 0) this.#readWhole(start, tile, most);
        else this.#readParts(start, tile);
        sums += Math.ceil(innerSize / this.#blockLength);
        if (sums < COLLECT_SUMS) continue;
        this.#collect(from, tile, isFirst);
        isFirst = false;
        sums = 0;
      }
      this.#collect(from, tile, isFirst);
    }
  }

  /** One run of each unit, `most` of which fit in a block. */
  #readWhole(start: number, tile: number, most: number): void {
    const { innerSize } = this.#settings;
    for (let unit = 0; unit < tile; unit += most) {
      const count = Math.min(most, tile - unit);
      this.#load(start + unit * innerSize, count * innerSize, 0);
      this.#runs(unit, count, innerSize);
    }
  }

  /** The same where a run has to be cut. */
  #readParts(start: number, tile: number): void {
    const { innerSize } = this.#settings;
    for (let unit = 0; unit < tile; unit++) {
      for (let at = 0; at < innerSize; at += this.#blockLength) {
        const length = Math.min(this.#blockLength, innerSize - at);
        this.#load(start + unit * innerSize + at, length, 0);
        this.#runs(unit, 1, length);
      }
    }
  }

  /** Copies `length` elements to index `at` of the block, widened where the kernels want that. */
  #load(start: number, length: number, at: number): void {
    const { arena, exports, block } = this.#instance;
    const { BYTES_PER_ELEMENT: size, buffer, byteOffset } = this.#data;
    const type = this.#type;
    const isWide = type === 'float32' || type === 'float64';
    const to = isWide ? block + at * size : block;
    arena.bytes().set(new Uint8Array(buffer, byteOffset + start * size, length * size), to);
    if (!isWide) exports.widen[type](block, length, this.#wide + at * WIDE_BYTES[wideType(type)]);
  }

  #rows(rows: number, units: number): void {
    const run = this.#instance.exports.unitRows[wideType(this.#type)];
    run(this.#wide, rows, units, this.#epsilon, this.#state);
  }

  #runs(unit: number, units: number, length: number): void {
    const run = this.#instance.exports.unitRuns[wideType(this.#type)];
    run(this.#wide, unit, units, length, this.#epsilon, this.#state);
  }

  /**
   * Adds `count` units of the state, the first of which is unit `from`, to the totals, and empties the state.
   *
   * @param isFirst whether these units have no totals yet: then copying does
   */
  #collect(from: number, count: number, isFirst: boolean): void {
    const state = this.#state;
    const { buffer } = this.#instance.arena.bytes();
    const sums = new Float64Array(buffer, state, count);
    const largestAt = state + UNIT_LARGEST_BYTES;
    const largest =
      wideType(this.#type) === 'float32'
        ? new Float32Array(buffer, largestAt, count)
        : new Float64Array(buffer, largestAt, count);
    const nonFinite = new Uint32Array(buffer, state + UNIT_NON_FINITE_BYTES, count);
    const inactive = new Uint32Array(buffer, state + UNIT_INACTIVE_BYTES, count);
    const { totals } = this;
    const { units } = this.#settings;
    if (isFirst) {
      totals.sums.set(sums, from);
      totals.maxMagnitudes.set(largest, from);
      totals.nonFiniteCounts.set(nonFinite, from);
      totals.inactiveCounts.set(inactive, from);
      this.#clear();
      return;
    }
    for (let i = 0, unit = from % units; i < count; i++, unit = unit + 1 === units ? 0 : unit + 1) {
      totals.sums[unit] = (totals.sums[unit] ?? 0) + (sums[i] ?? 0);
      totals.maxMagnitudes[unit] = Math.max(totals.maxMagnitudes[unit] ?? 0, largest[i] ?? 0);
      totals.nonFiniteCounts[unit] = (totals.nonFiniteCounts[unit] ?? 0) + (nonFinite[i] ?? 0);
      totals.inactiveCounts[unit] = (totals.inactiveCounts[unit] ?? 0) + (inactive[i] ?? 0);
    }
    this.#clear();
  }

  #clear(): void {
    this.#instance.arena.bytes().fill(0, this.#state, this.#state + UNIT_STATE_BYTES);
  }
}
