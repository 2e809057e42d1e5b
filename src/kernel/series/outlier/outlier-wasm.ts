/** Outliers of whole series in WebAssembly; those in a moving window are the same code in both twins. */
import type { TensorStats } from '../../kernel.ts';
import { STATS_SLOTS } from '../../tensor/layout.ts';
import { statsFromSlots } from '../../tensor/results.ts';
import type { Arena } from '../../arena.ts';
import { type SeriesModule, copyIn } from '../module/module.ts';
import { quantilesOf } from '../order/order.ts';
import {
  ORDER_FUNCTIONS,
  type OrderFunctions,
  WasmSelection,
  takeMad,
} from '../order/order-wasm.ts';
import {
  FENCE_PROBABILITIES,
  type OutlierKernel,
  type OutlierMethod,
  type Outliers,
  type Spread,
  checkOutlierOptions,
  meanDistance,
  outliersOfAll,
  quartileSpread,
  robustSpread,
  spreadOfMoments,
} from './outlier.ts';
import { outliersInWindow } from './outlier-window.ts';
import { checkSeries } from '../module/values.ts';

type OutlierFunctions = OrderFunctions & {
  readonly statsReset: (state: number) => void;
  readonly statsF64: (
    data: number,
    count: number,
    epsilon: number,
    threshold: number,
    state: number,
  ) => void;
  readonly valuesBeyond: (
    data: number,
    count: number,
    low: number,
    high: number,
    out: number,
  ) => number;
};

const FUNCTIONS = [...ORDER_FUNCTIONS, 'statsReset', 'statsF64', 'valuesBeyond'] as const;

/** Outliers in WebAssembly. */
export function wasmOutlier(module: SeriesModule): OutlierKernel {
  return {
    outliers(given, options) {
      const values = checkSeries('values', given);
      const settings = checkOutlierOptions(options);
      if (settings.window !== null) return outliersInWindow(values, settings, settings.window);
      return module.use<OutlierFunctions, Outliers>(FUNCTIONS, (functions, arena) => {
        const selection = new WasmSelection(functions, arena, values);
        let isChanged = settings.method === 'robust_z_score';
        return outliersOfAll(values, settings, {
          measure: () => {
            const found = measure(functions, arena, values, selection, settings.method);
            isChanged ||= selection.count < values.length;
            return found;
          },
          beyond: (lower, upper) => {
            if (isChanged) arena.slots(selection.address, values.length).set(values);
            return beyond(functions, arena, selection.address, values.length, lower, upper);
          },
        });
      });
    },
  };
}

/** What the values spread like. The selection may have lost those that are not finite, or hold distances, afterwards. */
function measure(
  functions: OutlierFunctions,
  arena: Arena,
  values: Float64Array,
  selection: WasmSelection,
  method: OutlierMethod,
): { readonly count: number; readonly spread: Spread } {
  switch (method) {
    case 'z_score': {
      let count = 0;
      const spread = spreadOfMoments(values, (data) => {
        const address = data === values ? selection.address : copyIn(arena, data);
        const stats = statsOf(functions, arena, address, data.length);
        count = stats.finiteCount;
        return stats;
      });
      return { count, spread };
    }
    case 'robust_z_score': {
      const { median, mad } = takeMad(selection, 1);
      const { count } = selection;
      return {
        count,
        spread: robustSpread(median, mad, () => meanDistance(values, median, count)),
      };
    }
    case 'iqr_fence': {
      const [low = 0, center = 0, high = 0] = quantilesOf(selection, FENCE_PROBABILITIES);
      return { count: selection.count, spread: quartileSpread(low, center, high) };
    }
  }
}

function statsOf(
  functions: OutlierFunctions,
  arena: Arena,
  address: number,
  count: number,
): TensorStats {
  const state = arena.allocate(STATS_SLOTS * 8);
  functions.statsReset(state);
  functions.statsF64(address, count, 0, Infinity, state);
  return statsFromSlots(count, arena.slots(state, STATS_SLOTS), { epsilon: 0, threshold: null });
}

function beyond(
  functions: OutlierFunctions,
  arena: Arena,
  address: number,
  count: number,
  lower: number,
  upper: number,
): Uint32Array<ArrayBuffer> {
  const out = arena.allocate(count * 4);
  const found = functions.valuesBeyond(address, count, lower, upper, out);
  return new Uint32Array(arena.bytes().buffer, out, found).slice();
}
