/** Order statistics by selection in WebAssembly. */
import type { Arena } from '../../arena.ts';
import { type SeriesModule, copyIn } from '../module/module.ts';
import {
  type MedianAbsoluteDeviation,
  type OrderKernel,
  QUARTILES,
  type Selection,
  checkMadOptions,
  checkProbabilities,
  checkQuantileOptions,
  distanceUnit,
  quantileOfSelection,
  quantilesOf,
  interquartileRange,
} from './order.ts';
import { type SeriesValues, checkSeries } from '../module/values.ts';

/** Names of {@link OrderFunctions}. */
export const ORDER_FUNCTIONS = [
  'finiteValues',
  'orderDeviations',
  'orderPlan',
  'orderSelect',
] as const;

/** The exports of assembly/series/order.ts. */
export type OrderFunctions = {
  readonly finiteValues: (data: number, count: number, target: number) => number;
  readonly orderDeviations: (data: number, count: number, center: number, unit: number) => void;
  readonly orderPlan: (
    data: number,
    count: number,
    ranks: number,
    rankCount: number,
    out: number,
    tasks: number,
  ) => number;
  readonly orderSelect: (data: number, count: number, first: number, second: number) => void;
};

const TASK_BYTES = 24;

/** A selection from values in WebAssembly memory, of which it drops those that are not finite when it comes upon one. */
export class WasmSelection implements Selection {
  /** Where the values are. */
  readonly address: number;
  readonly #functions: OrderFunctions;
  readonly #arena: Arena;
  #count: number;

  /** Copies the values in. */
  constructor(functions: OrderFunctions, arena: Arena, values: Float64Array) {
    this.#functions = functions;
    this.#arena = arena;
    this.address = copyIn(arena, values);
    this.#count = values.length;
  }

  /** How many values there are: the finite ones, after a selection. */
  get count(): number {
    return this.#count;
  }

  select(ranks: Int32Array): Float64Array | undefined {
    const arena = this.#arena;
    const functions = this.#functions;
    const mark = arena.mark();
    try {
      const list = arena.allocate(ranks.byteLength);
      const out = arena.allocate(ranks.length * 8);
      const tasks = arena.allocate(ranks.length * TASK_BYTES);
      new Int32Array(arena.bytes().buffer, list, ranks.length).set(ranks);
      const found = functions.orderPlan(this.address, this.#count, list, ranks.length, out, tasks);
      if (found < 0) {
        this.#count = functions.finiteValues(this.address, this.#count, this.address);
        return undefined;
      }
      const first = arena.allocate(found * 8);
      const second = arena.allocate(found * 8);
      functions.orderSelect(this.address, this.#count, first, second);
      return arena.slots(out, ranks.length).slice();
    } finally {
      arena.release(mark);
    }
  }

  /** Puts the distances from `center` in the place of the values; both are taken times `unit`. */
  turnIntoDistances(center: number, unit: number): void {
    this.#functions.orderDeviations(this.address, this.#count, center * unit, unit);
  }
}

/** The median absolute deviation of a selection, whose values it replaces by their distances. */
export function takeMad(selection: WasmSelection, scale: number): MedianAbsoluteDeviation {
  const [low, median, high] = quantilesOf(selection, [0, 0.5, 1]);
  if (low === undefined || median === undefined || high === undefined || selection.count === 0)
    return { median: Number.NaN, mad: Number.NaN, scale };
  const unit = distanceUnit(low, high);
  selection.turnIntoDistances(median, unit);
  return { median, mad: (quantileOfSelection(selection, 0.5) / unit) * scale, scale };
}

/** Order statistics by selection in WebAssembly. */
export function wasmOrder(module: SeriesModule): OrderKernel {
  const use = <T>(values: SeriesValues, work: (selection: WasmSelection) => T): T => {
    const data = checkSeries('values', values);
    return module.use<OrderFunctions, T>(ORDER_FUNCTIONS, (functions, arena) =>
      work(new WasmSelection(functions, arena, data)),
    );
  };
  return {
    quantiles(values, probabilities, options) {
      const wanted = checkProbabilities(probabilities);
      const method = checkQuantileOptions(options);
      return use(values, (selection) => quantilesOf(selection, wanted, method));
    },
    median: (values) => use(values, (selection) => quantileOfSelection(selection, 0.5)),
    medianAbsoluteDeviation(values, options) {
      const scale = checkMadOptions(options);
      return use(values, (selection) => takeMad(selection, scale));
    },
    interquartileRange: (values) =>
      use(values, (selection) => interquartileRange(quantilesOf(selection, QUARTILES))),
  };
}
