/** The curve kernels in SIMD WebAssembly. Smoothing and medians go through its memory in blocks, so they need little of it. */
import type { Arena } from '../../arena.ts';
import { tame } from './curve-exact.ts';
import { createCurveKernel } from './curve-js.ts';
import { SMOOTH_STATE_BYTES } from './curve-layout.ts';
import type { MovingMedian } from './curve-median.ts';
import type { Slopes } from './curve-slope-js.ts';
import type { WithSlopes } from './curve-slope.ts';
import type { Smoother } from './curve-smooth.ts';
import type { CurveKernel } from './curve.ts';
import { copyIn, type SeriesFunctions, type SeriesModule } from '../module/module.ts';

/** Values of a block: they stay in the cache from the copy in to the copy out. */
const BLOCK = 16_384;
/** A block of a moving median repeats the sorting of a window at its ends; this many windows keep that below an eighth. */
const WINDOWS_A_PIECE = 8;

interface SmoothFunctions extends SeriesFunctions {
  curveSmoothStart(state: number, decay: number, isSteady: number, isFilled: number): void;
  curveSmooth(values: number, count: number, state: number): number;
}

interface MedianFunctions extends SeriesFunctions {
  curveMedianBytes(window: number): number;
  curveMedian(
    values: number,
    count: number,
    first: number,
    outCount: number,
    before: number,
    after: number,
    out: number,
    scratch: number,
  ): void;
}

interface SlopeFunctions extends SeriesFunctions {
  curveResiduals(
    x: number,
    y: number,
    count: number,
    slope: number,
    order: number,
    records: number,
  ): void;
  curveSortResiduals(
    a: number,
    b: number,
    count: number,
    isSwapped: number,
    ranks: number,
    rankCount: number,
    found: number,
  ): number;
  curveEqualPairs(records: number, count: number): number;
  curveKeepOrder(records: number, count: number, order: number): void;
}

/** The curve kernels over the series module. */
export function wasmCurve(module: SeriesModule): CurveKernel {
  const smooth: Smoother = (values, { decay, adjust, fillGaps }) =>
    module.use<SmoothFunctions, Float64Array<ArrayBuffer> | null>(
      ['curveSmooth', 'curveSmoothStart'],
      (functions, arena) => {
        const results = new Float64Array(values.length);
        const state = arena.allocate(SMOOTH_STATE_BYTES);
        const block = arena.allocate(8 * Math.min(BLOCK, values.length));
        functions.curveSmoothStart(state, decay, adjust ? 0 : 1, fillGaps ? 1 : 0);
        for (let from = 0; from < values.length; from += BLOCK) {
          const part = values.subarray(from, from + BLOCK);
          const room = arena.slots(block, part.length);
          room.set(part);
          if (functions.curveSmooth(block, part.length, state) === 0) return null;
          results.set(room, from);
        }
        return results;
      },
    );

  const movingMedian: MovingMedian = (values, before, after) =>
    module.use<MedianFunctions, Float64Array<ArrayBuffer>>(
      ['curveMedian', 'curveMedianBytes'],
      (functions, arena) => {
        const window = before + after + 1;
        const length = Math.min(values.length, Math.max(BLOCK, WINDOWS_A_PIECE * window));
        const results = new Float64Array(values.length);
        const scratch = arena.allocate(functions.curveMedianBytes(window));
        const block = arena.allocate(8 * Math.min(values.length, length + window));
        const out = arena.allocate(8 * length);
        for (let from = 0; from < values.length; from += length) {
          const begin = Math.max(0, from - before);
          const count = Math.min(length, values.length - from);
          const part = values.subarray(begin, from + count + after);
          arena.slots(block, part.length).set(part);
          functions.curveMedian(
            block,
            part.length,
            from - begin,
            count,
            before,
            after,
            out,
            scratch,
          );
          results.set(arena.slots(out, count), from);
        }
        return results;
      },
    );

  const withSlopes: WithSlopes = <T>(
    x: Float64Array,
    y: Float64Array,
    work: (slopes: Slopes) => T,
  ): T =>
    module.use<SlopeFunctions, T>(
      ['curveResiduals', 'curveSortResiduals', 'curveEqualPairs', 'curveKeepOrder'],
      (functions, arena) => work(new WasmSlopes(functions, arena, x, y)),
    );

  return createCurveKernel({ smooth, movingMedian, withSlopes });
}

/** As JsSlopes, in the memory of the module. */
class WasmSlopes implements Slopes {
  readonly pointCount: number;
  readonly #functions: SlopeFunctions;
  readonly #arena: Arena;
  readonly #x: number;
  readonly #y: number;
  readonly #low: number;
  readonly #isSwapped: number;
  #hasLow = false;
  /** Slopes up to the lower end, and up to the one that was counted last. */
  #upToLow = 0;
  #upToLast = 0;
  #records: number;
  #room: number;

  constructor(functions: SlopeFunctions, arena: Arena, x: Float64Array, y: Float64Array) {
    this.#functions = functions;
    this.#arena = arena;
    this.pointCount = x.length;
    this.#x = copyIn(arena, x);
    this.#y = copyIn(arena, y);
    this.#low = arena.allocate(4 * x.length);
    this.#isSwapped = arena.allocate(4);
    this.#records = arena.allocate(16 * x.length);
    this.#room = arena.allocate(16 * x.length);
  }

  count(slope: number): { readonly below: number; readonly equal: number } {
    // From the order of the lower end, in which few pairs have to change when the slope is not far above it.
    return this.#sorted(slope, new Float64Array(0), (inverted) => {
      const below = this.#upToLow + inverted;
      const equal = this.#functions.curveEqualPairs(this.#records, this.pointCount);
      this.#upToLast = below + equal;
      return { below, equal };
    });
  }

  keepLow(): void {
    this.#functions.curveKeepOrder(this.#records, this.pointCount, this.#low);
    this.#hasLow = true;
    this.#upToLow = this.#upToLast;
  }

  resetLow(): void {
    this.#hasLow = false;
    this.#upToLow = 0;
  }

  between(high: number, ranks: Float64Array): Float64Array {
    return this.#sorted(high, ranks, (_, found) => found);
  }

  #sorted<T>(
    slope: number,
    ranks: Float64Array,
    work: (inverted: number, found: Float64Array) => T,
  ): T {
    const { pointCount: count } = this;
    const tamed = tame(slope);
    const mark = this.#arena.mark();
    try {
      let y = this.#y;
      if (tamed.factor !== 1) {
        const less = this.#arena.slots(this.#y, count).map((value) => value * tamed.factor);
        y = copyIn(this.#arena, less);
      }
      const ranksAt = copyIn(this.#arena, ranks);
      const foundAt = this.#arena.allocate(ranks.byteLength);
      const order = this.#hasLow ? this.#low : 0;
      this.#functions.curveResiduals(this.#x, y, count, tamed.slope, order, this.#records);
      const inverted = this.#functions.curveSortResiduals(
        this.#records,
        this.#room,
        count,
        this.#isSwapped,
        ranksAt,
        ranks.length,
        foundAt,
      );
      if (this.#arena.bytes()[this.#isSwapped] === 1)
        [this.#records, this.#room] = [this.#room, this.#records];
      const found = this.#arena.slots(foundAt, ranks.length).map((value) => value / tamed.factor);
      return work(inverted, found);
    } finally {
      this.#arena.release(mark);
    }
  }
}
