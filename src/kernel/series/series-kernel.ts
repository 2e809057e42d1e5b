/** All kernels over series, put together from their families. */
import type { DrawKernel } from './draw/draw.ts';
import { jsDraw } from './draw/draw-js.ts';
import { wasmDraw } from './draw/draw-wasm.ts';
import { jsCurve } from './curve/curve-js.ts';
import { wasmCurve } from './curve/curve-wasm.ts';
import type { CurveKernel } from './curve/curve.ts';
import type { ChangeKernel } from './change/change.ts';
import { jsChange } from './change/change-js.ts';
import { wasmChange } from './change/change-wasm.ts';
import { SeriesModule, compileSeries } from './module/module.ts';
import { type OrderKernel, jsOrder } from './order/order.ts';
import { wasmOrder } from './order/order-wasm.ts';
import type { OutlierKernel } from './outlier/outlier.ts';
import { jsProject } from './project/project-js.ts';
import { wasmProject } from './project/project-wasm.ts';
import type { ProjectKernel } from './project/project.ts';
import { jsOutlier } from './outlier/outlier-js.ts';
import { wasmOutlier } from './outlier/outlier-wasm.ts';

/** Numeric routines over one or two series, on the calling thread. */
export interface SeriesKernel
  extends CurveKernel, DrawKernel, OrderKernel, OutlierKernel, ProjectKernel, ChangeKernel {
  /** Which implementation this is: SIMD WebAssembly or plain JavaScript. */
  readonly kind: 'wasm' | 'js';
}

/**
 * The series kernels in plain JavaScript: where WebAssembly cannot run, and the oracle of the tests.
 *
 * @example
 * ```js
 * import { jsSeriesKernel } from 'quark-sdk/kernels';
 *
 * console.log(jsSeriesKernel.median(Float64Array.of(5, 1, 3))); // 3
 * console.log(jsSeriesKernel.quantiles(Float64Array.of(1, 2, 3, 4, 5), [0.25, 0.75])); // Float64Array(2) [ 2, 4 ]
 * ```
 */
export const jsSeriesKernel: SeriesKernel = {
  kind: 'js',
  ...jsCurve,
  ...jsDraw,
  ...jsOrder,
  ...jsOutlier,
  ...jsProject,
  ...jsChange,
};

/**
 * The series kernels in SIMD WebAssembly.
 *
 * @throws {WebAssembly.CompileError} where SIMD is missing or the page's policy forbids WebAssembly
 */
export async function loadWasmSeriesKernel(): Promise<SeriesKernel> {
  return createWasmSeriesKernel(new SeriesModule(await compileSeries()));
}

/** The series kernels over a module that has been compiled. */
export function createWasmSeriesKernel(module: SeriesModule): SeriesKernel {
  return {
    kind: 'wasm',
    ...wasmCurve(module),
    ...wasmDraw(module),
    ...wasmOrder(module),
    ...wasmOutlier(module),
    ...wasmProject(module),
    ...wasmChange(module),
  };
}
