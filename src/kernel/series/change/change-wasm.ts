/** The engine of the search for change points in WebAssembly. */
import type { Arena } from '../../arena.ts';
import { checkChangeOptions } from './change.ts';
import type { ChangeKernel } from './change.ts';
import { finiteChangePoints } from './change-js.ts';
import { sampleCentre } from './change-noise.ts';
import { scaleFor, searchChanges, traceBack } from './change-search.ts';
import type { ChangeEngine, ReadyPoints } from './change-search.ts';
import { copyIn } from '../module/module.ts';
import type { SeriesModule } from '../module/module.ts';
import { checkSeries } from '../module/values.ts';

type Numbers = (...args: number[]) => number;
type ChangeFunctions = {
  readonly changeScan: Numbers;
  readonly changeScale: (...args: number[]) => void;
  readonly changeCentre: (...args: number[]) => void;
  readonly changeGrid: Numbers;
  readonly changeItems: (...args: number[]) => void;
  readonly changeMean: Numbers;
  readonly changeMeanLong: Numbers;
  readonly changeLineItems: (...args: number[]) => void;
  readonly changeLines: (...args: number[]) => void;
};

const NAMES = [
  'changeScan',
  'changeScale',
  'changeCentre',
  'changeGrid',
  'changeItems',
  'changeMean',
  'changeMeanLong',
  'changeLineItems',
  'changeLines',
] as const;

const ITEM_BYTES = 24;
const PIECE_BYTES = 40;
const QUEUE_BYTES = 64;
const LINE_BYTES = 64;
/** Pieces of the cost function at one time: more than a series of 10,000 points can make, in 2.6 MB. */
const PIECES = 32_768;

/** Change points in WebAssembly. */
export function wasmChange(module: SeriesModule): ChangeKernel {
  return {
    changePoints: (values, options) => {
      const settings = checkChangeOptions(options);
      const given = checkSeries('values', values);
      return module.use<ChangeFunctions, ReturnType<typeof searchChanges>>(
        NAMES,
        (functions, arena) => searchChanges(readyPoints(functions, arena, given), settings),
      );
    },
  };
}

function readyPoints(functions: ChangeFunctions, arena: Arena, values: Float64Array): ReadyPoints {
  const beside = arena.allocate(16);
  const address = copyIn(arena, values);
  let count = functions.changeScan(address, values.length, beside);
  let origin: Uint32Array | undefined;
  if (count < values.length) {
    const kept = finiteChangePoints(values);
    arena.slots(address, kept.points.length).set(kept.points);
    origin = kept.origin;
    count = kept.points.length;
  }
  if (count === 0) {
    const engine = new WasmChangeEngine(functions, arena, address, 0, 0, 0);
    return { engine, scale: 1, centre: 0, low: 0, high: 0, origin };
  }
  const [largest = 0] = arena.slots(beside, 1);
  const scale = scaleFor(largest);
  functions.changeScale(address, count, scale);
  const centre = sampleCentre(arena.slots(address, count));
  functions.changeCentre(address, count, centre, beside);
  const [low = 0, high = 0] = arena.slots(beside, 2);
  const engine = new WasmChangeEngine(functions, arena, address, count, low, high);
  return { engine, scale, centre, low, high, origin };
}

class WasmChangeEngine implements ChangeEngine {
  readonly count: number;
  readonly #functions: ChangeFunctions;
  readonly #arena: Arena;
  readonly #points: number;
  readonly #low: number;
  readonly #high: number;

  constructor(
    functions: ChangeFunctions,
    arena: Arena,
    points: number,
    count: number,
    low: number,
    high: number,
  ) {
    this.#functions = functions;
    this.#arena = arena;
    this.#points = points;
    this.count = count;
    this.#low = low;
    this.#high = high;
  }

  points(): Float64Array {
    return this.#arena.slots(this.#points, this.count);
  }

  grid(block: number, limit: number, most: number): Uint32Array | undefined {
    return this.#within(() => {
      const starts = this.#arena.allocate(4 * most);
      const found = this.#functions.changeGrid(
        this.#points,
        this.count,
        block,
        limit,
        starts,
        most,
      );
      return found === 0 ? undefined : this.#words(starts, found).slice();
    });
  }

  items(starts: Uint32Array): Float64Array {
    return this.#within(() => {
      const items = this.#items('changeItems', starts);
      return this.#arena.slots(items, 3 * starts.length).slice();
    });
  }

  lineItems(starts: Uint32Array): Float64Array {
    return this.#within(() => {
      const items = this.#items('changeLineItems', starts);
      return this.#arena.slots(items, 3 * starts.length).slice();
    });
  }

  mean(starts: Uint32Array, goal: Parameters<ChangeEngine['mean']>[1]) {
    return this.#within(() => {
      const arena = this.#arena;
      const size = starts.length;
      const items = this.#items('changeItems', starts);
      const last = arena.allocate(4 * (size + 1));
      const levels = arena.allocate(8 * (size + 1));
      const capacity = Math.min(PIECES, 4 * size + 16);
      const room = arena.allocate(2 * capacity * PIECE_BYTES);
      const ends = [this.#low, this.#high, last, levels, room, capacity, goal.work] as const;
      const steps =
        goal.least > 1
          ? this.#functions.changeMeanLong(
              items,
              size,
              goal.penalty,
              goal.least,
              ...ends,
              arena.allocate(QUEUE_BYTES * (size + 1)),
            )
          : this.#functions.changeMean(items, size, goal.penalty, goal.bound, ...ends);
      return this.#trace(last, levels, size, steps);
    });
  }

  lines(starts: Uint32Array, goal: Parameters<ChangeEngine['lines']>[1]) {
    return this.#within(() => {
      const arena = this.#arena;
      const size = starts.length;
      const [at, items] = this.#runs('changeLineItems', starts);
      const last = arena.allocate(4 * (size + 1));
      const room = arena.allocate(LINE_BYTES * (size + 2));
      this.#functions.changeLines(
        this.count,
        at,
        size,
        items,
        goal.penalty,
        goal.least,
        last,
        room,
      );
      return this.#trace(last, undefined, size, 0);
    });
  }

  #trace(last: number, levels: number | undefined, size: number, steps: number) {
    return traceBack(
      this.#words(last, size + 1),
      levels === undefined ? undefined : this.#arena.slots(levels, size + 1),
      steps >= 0,
      Math.abs(steps),
    );
  }

  #items(name: 'changeItems' | 'changeLineItems', starts: Uint32Array): number {
    return this.#runs(name, starts)[1];
  }

  #runs(name: 'changeItems' | 'changeLineItems', starts: Uint32Array): [number, number] {
    const size = starts.length;
    const at = this.#arena.allocate(4 * size);
    const items = this.#arena.allocate(ITEM_BYTES * size);
    this.#words(at, size).set(starts);
    this.#functions[name](this.#points, this.count, at, size, items);
    return [at, items];
  }

  #words(address: number, length: number): Uint32Array {
    return new Uint32Array(this.#arena.bytes().buffer, address, length);
  }

  #within<T>(work: () => T): T {
    const mark = this.#arena.mark();
    try {
      return work();
    } finally {
      this.#arena.release(mark);
    }
  }
}
